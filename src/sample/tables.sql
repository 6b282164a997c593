CREATE TABLE categories ( -- What the shop sells, as a tree of two levels.
    id INTEGER PRIMARY KEY, -- Number of the category.
    parent_id INTEGER REFERENCES categories (id), -- The category above; NULL at the top.
    name VARCHAR(40) NOT NULL UNIQUE -- As the shop's pages show it.
);

CREATE TABLE products ( -- Everything that is or was for sale.
    id INTEGER PRIMARY KEY, -- Number of the product.
    sku VARCHAR(12) NOT NULL UNIQUE, -- Stock keeping unit, as printed on the label.
    name VARCHAR(80) NOT NULL, -- As the shop's pages show it.
    category_id INTEGER NOT NULL REFERENCES categories (id), -- Where it is found; always a category of the second level.
    price DECIMAL(10,2) NOT NULL CHECK (price > 0), -- Today's price for one piece, in euro.
    cost DECIMAL(10,2) NOT NULL CHECK (cost > 0 AND cost <= price), -- What one piece costs the shop, in euro.
    attributes JSON NOT NULL CHECK (json_valid(attributes)), -- Colour, material, weight in grams and sizes, as a JSON object.
    discontinued_on DATE -- The last day it was sold; NULL while it is for sale.
);

CREATE TABLE customers ( -- People who have an account; not all of them have ordered.
    id INTEGER PRIMARY KEY, -- Number of the customer, in the order of their accounts.
    first_name VARCHAR(40) NOT NULL, -- Given name, in the customer's own script.
    last_name VARCHAR(40) NOT NULL, -- Family name, in the customer's own script.
    email VARCHAR(80) NOT NULL UNIQUE, -- Where the shop writes to; unique.
    country VARCHAR(40) NOT NULL, -- Country of the address, by its English name.
    city VARCHAR(40) NOT NULL, -- City of the address, in its local spelling.
    date_of_birth DATE, -- NULL where the customer did not tell.
    marketing_opt_in BOOLEAN NOT NULL CHECK (marketing_opt_in IN (0, 1)), -- Whether the customer agreed to receive newsletters.
    created_at TIMESTAMP NOT NULL -- When the account was opened, in UTC.
);

CREATE TABLE orders ( -- One row for each order, whatever became of it.
    id INTEGER PRIMARY KEY, -- Number of the order, in the order of their coming.
    customer_id INTEGER NOT NULL REFERENCES customers (id), -- Who ordered.
    ordered_at TIMESTAMP NOT NULL, -- When the order came in, in UTC.
    status VARCHAR(10) NOT NULL CHECK (status IN ('pending', 'paid', 'shipped', 'delivered', 'cancelled')), -- pending, paid, shipped, delivered or cancelled.
    currency CHAR(3) NOT NULL CHECK (length(currency) = 3), -- ISO 4217 code of all amounts of the order.
    euro_rate DECIMAL(10,4) NOT NULL CHECK (euro_rate > 0), -- How much of that currency one euro was worth; amount / euro_rate is in euro.
    note TEXT, -- What the customer wrote to the shop, in any language; mostly NULL.
    shipped_on DATE -- The day it left the warehouse; NULL before.
);

CREATE TABLE order_lines ( -- What was ordered: one product in one order.
    id INTEGER PRIMARY KEY, -- Number of the line.
    order_id INTEGER NOT NULL REFERENCES orders (id), -- The order it belongs to.
    product_id INTEGER NOT NULL REFERENCES products (id), -- What was ordered.
    quantity INTEGER NOT NULL CHECK (quantity > 0), -- How many pieces.
    unit_price DECIMAL(10,2) NOT NULL CHECK (unit_price > 0), -- Price of one piece at that time, in the order's currency.
    discount DECIMAL(10,2) NOT NULL DEFAULT 0 CHECK (discount >= 0 AND discount <= quantity * unit_price), -- Taken off the whole line, in the order's currency.
    UNIQUE (order_id, product_id)
);

CREATE TABLE payments ( -- Money that came in; those of an order add up to its total.
    id INTEGER PRIMARY KEY, -- Number of the payment.
    order_id INTEGER NOT NULL REFERENCES orders (id), -- The order that was paid.
    method VARCHAR(12) NOT NULL CHECK (method IN ('card', 'paypal', 'transfer', 'voucher')), -- card, paypal, transfer or voucher.
    amount DECIMAL(10,2) NOT NULL CHECK (amount > 0), -- In the order's currency.
    paid_at TIMESTAMP NOT NULL, -- When the money came in, in UTC.
    reference UUID NOT NULL UNIQUE -- The payment provider's own number.
);
