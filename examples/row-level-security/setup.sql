-- Row-level security behind Portico: run this once, as the owner of an empty database.

-- The user of Portico's URL. It owns nothing, is granted nothing but the roles of its callers, and
-- inherits nothing from them: whoever could leave a caller's role would have less, not more.
CREATE ROLE shop_gateway LOGIN NOINHERIT PASSWORD 'change-me';

-- What callers are in the database. They cannot log in.
CREATE ROLE shop_north NOLOGIN;
CREATE ROLE shop_south NOLOGIN;
GRANT shop_north, shop_south TO shop_gateway;

CREATE TABLE orders (
    id        integer PRIMARY KEY,
    region    text NOT NULL,
    total     numeric(10, 2) NOT NULL,
    -- Portico says who is calling.
    placed_by text NOT NULL DEFAULT nullif(current_setting('portico.principal', true), '')
);
INSERT INTO orders VALUES (1, 'north', 10.50, 'import'), (2, 'north', 20.00, 'import'), (3, 'south', 99.90, 'import');
GRANT SELECT, INSERT, UPDATE ON orders TO shop_north, shop_south;
ALTER TABLE orders ENABLE ROW LEVEL SECURITY;
-- A role sees, and may write, the rows of its region.
CREATE POLICY north ON orders TO shop_north USING (region = 'north');
CREATE POLICY south ON orders TO shop_south USING (region = 'south');

-- Rows by a claim instead of a role. The setting is empty, not absent, where nobody is calling.
CREATE TABLE notes (
    owner text NOT NULL DEFAULT nullif(current_setting('request.jwt.claims', true), '')::json ->> 'sub',
    words text NOT NULL
);
GRANT SELECT, INSERT ON notes TO shop_north, shop_south;
ALTER TABLE notes ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON notes
    USING (owner = nullif(current_setting('request.jwt.claims', true), '')::json ->> 'sub');

-- Only for the south: no other role finds it in a listing, or reads it.
CREATE TABLE payroll (name text PRIMARY KEY, salary numeric(10, 2) NOT NULL);
INSERT INTO payroll VALUES ('Ann', 100), ('Ben', 200);
GRANT SELECT ON payroll TO shop_south;

-- Runs as its caller, and so reads what its caller may read.
CREATE FUNCTION order_total() RETURNS numeric LANGUAGE sql STABLE AS 'SELECT sum(total) FROM orders';
CREATE FUNCTION payroll_total() RETURNS numeric LANGUAGE sql STABLE AS 'SELECT sum(salary) FROM payroll';
REVOKE EXECUTE ON FUNCTION payroll_total() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION payroll_total() TO shop_south;
