CREATE TYPE order_status AS ENUM ('draft', 'placed', 'packed', 'shipped', 'returned', 'cancelled');
CREATE TYPE contract_kind AS ENUM ('permanent', 'fixed_term', 'intern');
CREATE TABLE countries (code char(2) PRIMARY KEY, name text NOT NULL);
CREATE TABLE reason_codes (code int PRIMARY KEY, meaning text NOT NULL);
CREATE TABLE vat_rates (country_code char(2) PRIMARY KEY REFERENCES countries, rate numeric(4, 2) NOT NULL);
CREATE TABLE departments (id int PRIMARY KEY, name text NOT NULL);
CREATE TABLE employees (
    id int PRIMARY KEY, name text NOT NULL, manager_id int REFERENCES employees, department_id int REFERENCES departments,
    contract contract_kind NOT NULL, hired date NOT NULL
);
CREATE TABLE customers (
    id int PRIMARY KEY, name text NOT NULL, country_code char(2) NOT NULL REFERENCES countries, deleted_at timestamptz
);
CREATE TABLE addresses (id int PRIMARY KEY, customer_id int NOT NULL REFERENCES customers, city text NOT NULL);
CREATE TABLE categories (id int PRIMARY KEY, name text NOT NULL, parent_id int REFERENCES categories);
CREATE TABLE products (id int PRIMARY KEY, name text NOT NULL, category_id int NOT NULL REFERENCES categories, weight int NOT NULL);
CREATE TABLE prices (product_id int REFERENCES products, valid_from date, cents int NOT NULL, PRIMARY KEY (product_id, valid_from));
CREATE TABLE suppliers (id int PRIMARY KEY, name text NOT NULL, country_code char(2) REFERENCES countries);
CREATE TABLE product_suppliers (product_id int REFERENCES products, supplier_id int REFERENCES suppliers, PRIMARY KEY (product_id, supplier_id));
CREATE TABLE warehouses (id int PRIMARY KEY, name text NOT NULL);
CREATE TABLE stock (warehouse_id int REFERENCES warehouses, product_id int REFERENCES products, pieces int NOT NULL, PRIMARY KEY (warehouse_id, product_id));
CREATE TABLE orders (id int PRIMARY KEY, customer_id int NOT NULL REFERENCES customers, status order_status NOT NULL, placed_on date);
CREATE TABLE order_lines (
    order_id int REFERENCES orders, line_no int, product_id int NOT NULL REFERENCES products, pieces int NOT NULL CHECK (pieces > 0),
    cents int NOT NULL, PRIMARY KEY (order_id, line_no)
);
CREATE TABLE returns (
    id int PRIMARY KEY, order_id int NOT NULL, line_no int NOT NULL, reason_code int NOT NULL REFERENCES reason_codes,
    FOREIGN KEY (order_id, line_no) REFERENCES order_lines
);
CREATE TABLE payments (id int PRIMARY KEY, order_id int NOT NULL REFERENCES orders, cents int NOT NULL, paid_on date);
CREATE TABLE shipments (id int PRIMARY KEY, order_id int NOT NULL REFERENCES orders, warehouse_id int REFERENCES warehouses, sent_on date);
CREATE TABLE "CustomerRating" (id int PRIMARY KEY, "customerId" int NOT NULL REFERENCES customers, "Stars" int NOT NULL CHECK ("Stars" BETWEEN 1 AND 5));
CREATE TABLE campaigns (id int PRIMARY KEY, name text NOT NULL, settings jsonb NOT NULL);
CREATE TABLE coupons (code text PRIMARY KEY, campaign_id int REFERENCES campaigns);
CREATE TABLE tickets (id int PRIMARY KEY, customer_id int REFERENCES customers, opened date NOT NULL, closed date);
CREATE TABLE ticket_notes (id int PRIMARY KEY, ticket_id int NOT NULL REFERENCES tickets, body text);
CREATE TABLE holidays (day date PRIMARY KEY, name text NOT NULL);
CREATE TABLE audits (id int PRIMARY KEY, employee_id int REFERENCES employees, noted text);
CREATE TABLE newsletters (id int PRIMARY KEY, subject text NOT NULL, sent_on date);
CREATE TABLE subscriptions (newsletter_id int REFERENCES newsletters, customer_id int REFERENCES customers, PRIMARY KEY (newsletter_id, customer_id));
CREATE TABLE visits (visitor text NOT NULL, seen_on date NOT NULL, pages int NOT NULL) PARTITION BY RANGE (seen_on);
CREATE TABLE visits_2026_01 PARTITION OF visits FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');
CREATE TABLE visits_2026_02 PARTITION OF visits FOR VALUES FROM ('2026-02-01') TO ('2026-03-01');
CREATE VIEW open_orders AS SELECT id, customer_id, placed_on FROM orders WHERE status IN ('placed', 'packed');
CREATE FUNCTION turnover(of_country char(2), since date DEFAULT '2026-01-01') RETURNS bigint LANGUAGE sql STABLE AS
    'SELECT COALESCE(sum(l.cents * l.pieces), 0) FROM orders o JOIN order_lines l ON l.order_id = o.id
     JOIN customers c ON c.id = o.customer_id WHERE c.country_code = of_country AND o.placed_on >= since';
COMMENT ON COLUMN customers.deleted_at IS 'NULL while the customer is active';
COMMENT ON COLUMN products.weight IS 'in grams';
COMMENT ON COLUMN campaigns.settings IS 'JSON keys: channel (web, shop), budget (euros)';
COMMENT ON FUNCTION turnover IS 'Cents turned over with customers of one country since a day.';
INSERT INTO countries VALUES ('PL', 'Poland'), ('PT', 'Portugal'), ('JP', 'Japan');
INSERT INTO reason_codes VALUES (1, 'damaged'), (2, 'wrong size'), (3, 'changed mind');
INSERT INTO vat_rates VALUES ('PL', 23), ('PT', 22), ('JP', 10);
INSERT INTO departments VALUES (1, 'Sales'), (2, 'Stores');
INSERT INTO employees VALUES (1, 'Ada', NULL, 1, 'permanent', '2020-01-01'), (2, 'Bo', 1, 1, 'permanent', '2021-01-01'), (3, 'Cy', 1, 2, 'fixed_term', '2025-06-01'), (4, 'Di', 2, 1, 'intern', '2026-01-01');
INSERT INTO customers VALUES (1, 'Łukasz', 'PL', NULL), (2, 'José', 'PT', NULL), (3, '美咲', 'JP', '2026-01-31Z'), (4, 'Ewa', 'PL', NULL);
INSERT INTO categories VALUES (1, 'Clothes', NULL), (2, 'Shoes', 1), (3, 'Books', NULL);
INSERT INTO products VALUES (1, 'Boot', 2, 1200), (2, 'Shirt', 1, 250), (3, 'Atlas', 3, 2100);
INSERT INTO prices VALUES (1, '2025-01-01', 9000), (1, '2026-01-01', 9900), (2, '2025-01-01', 2500), (3, '2025-01-01', 4000);
INSERT INTO warehouses VALUES (1, 'North'), (2, 'South');
INSERT INTO stock VALUES (1, 1, 5), (2, 1, 7), (1, 3, 1);
INSERT INTO orders VALUES (1, 1, 'shipped', '2026-01-10'), (2, 2, 'placed', '2026-02-01'), (3, 1, 'returned', '2026-01-20'), (4, 3, 'cancelled', '2025-12-01');
INSERT INTO order_lines VALUES (1, 1, 1, 1, 9900), (1, 2, 2, 2, 2500), (2, 1, 3, 1, 4000), (3, 1, 2, 1, 2500), (4, 1, 3, 2, 4000);
INSERT INTO returns VALUES (1, 1, 2, 2), (2, 3, 1, 1);
INSERT INTO "CustomerRating" VALUES (1, 1, 5), (2, 2, 3), (3, 1, 4);
INSERT INTO campaigns VALUES (1, 'Spring', '{"channel": "web", "budget": 500}'), (2, 'Summer', '{"channel": "shop", "budget": 900}');
INSERT INTO visits VALUES ('a', '2026-01-05', 3), ('b', '2026-02-05', 4), ('a', '2026-02-06', 5);
ANALYZE;
