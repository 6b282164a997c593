-- The same as schema.sql for SQLite, which has no enums, no partitions and no procedures of its own.

CREATE TABLE country (
    code char(2) PRIMARY KEY,
    name text NOT NULL,
    is_eu boolean NOT NULL
);
INSERT INTO country VALUES ('AT', 'Austria', true), ('CH', 'Switzerland', false), ('DE', 'Germany', true), ('GB', 'United Kingdom', false);
CREATE TABLE tax_code (
    id smallint PRIMARY KEY,
    label text NOT NULL,
    rate numeric(4, 2) NOT NULL -- Percent.
);
INSERT INTO tax_code VALUES (1, 'standard', 20), (2, 'reduced', 10), (3, 'exempt', 0);
CREATE TABLE complaint_reason (
    code text PRIMARY KEY,
    meaning text NOT NULL
);
INSERT INTO complaint_reason VALUES ('DMG', 'Arrived damaged'), ('LATE', 'Arrived late'), ('WRNG', 'Wrong article');
CREATE TABLE unit (
    code text PRIMARY KEY,
    name text NOT NULL
);
INSERT INTO unit VALUES ('kg', 'Kilogram'), ('pc', 'Piece');

CREATE TABLE region (
    country_code char(2) NOT NULL REFERENCES country,
    code text,
    name text NOT NULL,
    PRIMARY KEY (country_code, code)
);
INSERT INTO region VALUES ('AT', 'W', 'Vienna'), ('AT', 'T', 'Tyrol'), ('DE', 'BY', 'Bavaria');
CREATE TABLE customer ( -- Who buys.
    id int PRIMARY KEY,
    name text NOT NULL,
    email text,
    region_country char(2),
    region_code text,
    referred_by int REFERENCES customer,
    since date NOT NULL,
    deleted_at timestamp, -- Set when the customer has left; such rows do not count.
    FOREIGN KEY (region_country, region_code) REFERENCES region
);
INSERT INTO customer VALUES (1, 'Ada', 'ada@example.org', 'AT', 'W', NULL, '2024-01-05', NULL),
    (2, 'Bob', NULL, 'AT', 'W', 1, '2024-03-01', NULL), (3, 'Cleo', NULL, 'DE', 'BY', 1, '2025-02-01', '2025-06-01'),
    (4, 'Dan', NULL, 'AT', 'T', 2, '2025-05-01', NULL);
CREATE TABLE "CustomerNote" (
    "noteId" int PRIMARY KEY,
    "customerId" int NOT NULL REFERENCES customer,
    "writtenAt" timestamp NOT NULL,
    "Text" text
);
INSERT INTO "CustomerNote" VALUES (1, 1, '2025-01-01', 'Calls on Mondays'), (2, 1, '2025-02-01', 'Prefers mail'), (3, 2, '2025-02-01', 'New');
CREATE TABLE address (
    id int PRIMARY KEY,
    customer_id int NOT NULL REFERENCES customer,
    street text NOT NULL,
    city text NOT NULL,
    country_code char(2) NOT NULL REFERENCES country
);
CREATE TABLE category ( -- A tree; roots have no parent.
    id int PRIMARY KEY,
    parent_id int REFERENCES category,
    name text NOT NULL
);
INSERT INTO category VALUES (1, NULL, 'Tools'), (2, 1, 'Hand tools'), (3, 2, 'Hammers'), (4, NULL, 'Paint');
CREATE TABLE supplier (
    id int PRIMARY KEY,
    name text NOT NULL,
    country_code char(2) NOT NULL REFERENCES country,
    rating int CHECK (rating IN (1, 2, 3, 4, 5)) -- 1 is best.
);
INSERT INTO supplier VALUES (1, 'Iron & Co', 'DE', 1), (2, 'Farben', 'AT', 4);
CREATE TABLE product (
    id int PRIMARY KEY,
    sku text NOT NULL UNIQUE,
    name text NOT NULL,
    category_id int NOT NULL REFERENCES category,
    supplier_id int NOT NULL REFERENCES supplier,
    tax_code_id smallint NOT NULL REFERENCES tax_code,
    unit_code text NOT NULL REFERENCES unit,
    price_cents int NOT NULL, -- Net price in euro cents.
    attributes json NOT NULL DEFAULT '{}', -- Keys: weight_g (number), colour (text).
    is_active boolean NOT NULL
);
INSERT INTO product VALUES (1, 'H-1', 'Claw hammer', 3, 1, 1, 'pc', 1999, '{"weight_g": 450, "colour": "black"}', true),
    (2, 'H-2', 'Mallet', 3, 1, 1, 'pc', 1299, '{"weight_g": 700, "colour": "brown"}', true),
    (3, 'P-1', 'White paint', 4, 2, 2, 'kg', 899, '{"weight_g": 1000, "colour": "white"}', false);
CREATE TABLE product_supplier ( -- Further suppliers of a product.
    product_id int REFERENCES product,
    supplier_id int REFERENCES supplier,
    lead_days int NOT NULL,
    PRIMARY KEY (product_id, supplier_id)
);
CREATE TABLE price_list (
    id int PRIMARY KEY,
    name text NOT NULL,
    currency char(3) NOT NULL CHECK (currency IN ('EUR', 'USD', 'GBP')),
    valid_from date NOT NULL
);
CREATE TABLE price_list_item (
    price_list_id int REFERENCES price_list,
    product_id int REFERENCES product,
    amount numeric(10, 2) NOT NULL,
    PRIMARY KEY (price_list_id, product_id)
);
CREATE TABLE warehouse (
    id int PRIMARY KEY,
    name text NOT NULL,
    country_code char(2) NOT NULL REFERENCES country
);
INSERT INTO warehouse VALUES (1, 'North', 'DE'), (2, 'South', 'AT');
CREATE TABLE stock (
    warehouse_id int REFERENCES warehouse,
    product_id int REFERENCES product,
    on_hand int NOT NULL, -- Pieces or kilograms, see the product's unit.
    PRIMARY KEY (warehouse_id, product_id)
);
INSERT INTO stock VALUES (1, 1, 10), (1, 2, 0), (2, 1, 5), (2, 3, 40);
CREATE TABLE stock_move (
    id INTEGER PRIMARY KEY,
    warehouse_id int NOT NULL,
    product_id int NOT NULL,
    moved_on date NOT NULL,
    quantity int NOT NULL, -- Negative when goods leave.
    FOREIGN KEY (warehouse_id, product_id) REFERENCES stock
);
INSERT INTO stock_move (warehouse_id, product_id, moved_on, quantity) VALUES (1, 1, '2024-12-30', 12), (1, 1, '2025-01-10', -2), (2, 3, '2025-03-01', 40);
CREATE TABLE orders ( -- One basket of one customer.
    id int PRIMARY KEY,
    customer_id int NOT NULL REFERENCES customer,
    ship_to int REFERENCES address,
    status text NOT NULL CHECK (status IN ('draft', 'placed', 'paid', 'shipped', 'returned')),
    channel text NOT NULL CHECK (channel IN ('web', 'phone', 'store')),
    placed_at timestamp NOT NULL,
    currency char(3) NOT NULL CHECK (currency IN ('EUR', 'USD', 'GBP')),
    priority text CHECK (priority IN ('low', 'normal', 'rush'))
);
INSERT INTO orders VALUES (1, 1, NULL, 'paid', 'web', '2025-01-03', 'EUR', 'rush'), (2, 2, NULL, 'shipped', 'phone', '2025-02-03', 'EUR', 'normal'),
    (3, 1, NULL, 'returned', 'web', '2025-03-03', 'USD', NULL), (4, 4, NULL, 'draft', 'store', '2025-04-03', 'EUR', 'low');
CREATE TABLE order_line (
    order_id int REFERENCES orders,
    line_no int,
    product_id int NOT NULL REFERENCES product,
    quantity int NOT NULL,
    unit_cents int NOT NULL,
    PRIMARY KEY (order_id, line_no)
);
INSERT INTO order_line VALUES (1, 1, 1, 2, 1999), (1, 2, 2, 1, 1299), (2, 1, 3, 4, 899), (3, 1, 1, 1, 1999), (4, 1, 2, 3, 1299);
CREATE TABLE shipment (
    id int PRIMARY KEY,
    order_id int NOT NULL REFERENCES orders,
    warehouse_id int NOT NULL REFERENCES warehouse,
    carrier text NOT NULL CHECK (carrier IN ('DHL', 'UPS', 'own')),
    shipped_at timestamp
);
CREATE TABLE shipment_line (
    shipment_id int REFERENCES shipment,
    order_id int,
    line_no int,
    quantity int NOT NULL,
    PRIMARY KEY (shipment_id, order_id, line_no),
    FOREIGN KEY (order_id, line_no) REFERENCES order_line
);
INSERT INTO shipment VALUES (1, 2, 2, 'DHL', '2025-02-05');
INSERT INTO shipment_line VALUES (1, 2, 1, 4);
CREATE TABLE invoice (
    id int PRIMARY KEY,
    order_id int NOT NULL REFERENCES orders,
    issued_on date NOT NULL,
    due_on date NOT NULL,
    paid_on date
);
CREATE TABLE payment (
    id int PRIMARY KEY,
    invoice_id int NOT NULL REFERENCES invoice,
    amount numeric(10, 2) NOT NULL,
    method text NOT NULL CHECK (method IN ('card', 'transfer'))
);
CREATE TABLE complaint (
    id int PRIMARY KEY,
    order_id int NOT NULL,
    line_no int NOT NULL,
    reason_code text NOT NULL REFERENCES complaint_reason,
    opened_on date NOT NULL,
    FOREIGN KEY (order_id, line_no) REFERENCES order_line
);
INSERT INTO complaint VALUES (1, 1, 1, 'DMG', '2025-01-20'), (2, 2, 1, 'LATE', '2025-02-20'), (3, 3, 1, 'DMG', '2025-03-20');
CREATE TABLE hr_department (
    id int PRIMARY KEY,
    name text NOT NULL
);
INSERT INTO hr_department VALUES (1, 'Sales'), (2, 'Depot');
CREATE TABLE hr_employee (
    id int PRIMARY KEY,
    name text NOT NULL,
    manager_id int REFERENCES hr_employee,
    department_id int NOT NULL REFERENCES hr_department,
    hired_on date NOT NULL
);
INSERT INTO hr_employee VALUES (1, 'Eva', NULL, 1, '2020-01-01'), (2, 'Finn', 1, 1, '2021-01-01'), (3, 'Gus', 2, 2, '2022-01-01');
CREATE TABLE hr_absence (
    employee_id int REFERENCES hr_employee,
    day date,
    kind text NOT NULL CHECK (kind IN ('sick', 'leave')),
    PRIMARY KEY (employee_id, day)
);
CREATE TABLE "select" ( -- Orders picked for the yearly audit.
    id int PRIMARY KEY,
    "order" int NOT NULL REFERENCES orders,
    "group" text
);
CREATE TABLE campaign (
    id int PRIMARY KEY,
    name text NOT NULL,
    channel text NOT NULL CHECK (channel IN ('web', 'phone', 'store')),
    budget numeric(12, 2) -- Thousand euros.
);
CREATE TABLE campaign_customer (
    campaign_id int REFERENCES campaign,
    customer_id int REFERENCES customer,
    PRIMARY KEY (campaign_id, customer_id)
);
CREATE TABLE "exchange rate" (
    currency char(3) CHECK (currency IN ('EUR', 'USD', 'GBP')),
    "valid on" date,
    rate numeric(12, 6) NOT NULL, -- Euros for one unit.
    PRIMARY KEY (currency, "valid on")
);
CREATE TABLE setting ( -- Of the shop's own program.
    key text PRIMARY KEY,
    value json NOT NULL
);
CREATE VIEW open_orders AS -- Orders that nobody has paid yet.
SELECT id, customer_id, placed_at FROM orders WHERE status IN ('draft', 'placed');
