-- Statements of definition over what is exposed.
--# create table
CREATE TABLE spare_plain (id serial PRIMARY KEY, name text NOT NULL, at timestamptz DEFAULT now(), uid uuid DEFAULT gen_random_uuid(), total numeric(10, 2) CHECK (total >= 0))
--# create table: keys, identity, generated columns
CREATE TABLE IF NOT EXISTS spare_keys (id bigint GENERATED ALWAYS AS IDENTITY, order_id int REFERENCES orders (id) ON DELETE CASCADE, a int, b int GENERATED ALWAYS AS (a * 2) STORED, UNIQUE (order_id, a), CONSTRAINT positive_a CHECK (a > 0))
--# create table: LIKE
CREATE TABLE spare_like (LIKE customers INCLUDING DEFAULTS INCLUDING CONSTRAINTS)
--# create table: partitioned, with a partition
CREATE TABLE spare_parts (at date, v int) PARTITION BY RANGE (at); CREATE TABLE spare_parts_2024 PARTITION OF spare_parts FOR VALUES FROM ('2024-01-01') TO ('2025-01-01')
--# create table: a child of an exposed one
CREATE TABLE spare_villages (mayor text) INHERITS (cities)
--# create table: unlogged, with storage options
CREATE UNLOGGED TABLE spare_fast (a int) WITH (fillfactor = 70)
--# create table as
CREATE TABLE spare_copy AS SELECT o.id, c.name FROM orders o JOIN customers c ON c.id = o.customer_id
--# create table as: without data
CREATE TABLE spare_empty AS TABLE orders WITH NO DATA
--# create table as: with columns and a CTE
CREATE TABLE spare_ctas (k, n) AS WITH x AS (SELECT status, count(*) AS n FROM orders GROUP BY 1) SELECT * FROM x
--# select into
SELECT id, total INTO spare_into FROM orders
--# create temp table
CREATE TEMP TABLE spare_temp AS SELECT * FROM customers WHERE active
--# create temp table: and use it
CREATE TEMPORARY TABLE spare_temp2 (a int) ON COMMIT DROP; INSERT INTO spare_temp2 VALUES (1); SELECT * FROM spare_temp2
--# create view
CREATE VIEW spare_view AS SELECT id, total FROM orders WHERE status = 'paid'
--# create view: replaced
CREATE OR REPLACE VIEW spare_view2 (a, b) WITH (security_barrier) AS SELECT c.id, s.total FROM customers c JOIN order_summary s ON s.name = c.name
--# create view: over an exposed view that reads hidden ones
CREATE VIEW spare_ledger AS SELECT total * 2 AS twice FROM ledger_total
--# create view: with a window and a CTE
CREATE VIEW spare_ranked AS WITH t AS (SELECT customer_id, sum(total) AS total FROM orders GROUP BY 1) SELECT *, rank() OVER (ORDER BY total DESC) FROM t
--# create materialized view
CREATE MATERIALIZED VIEW spare_matview AS SELECT kind, count(*) FROM events GROUP BY kind WITH DATA
--# refresh materialized view
REFRESH MATERIALIZED VIEW monthly
--# create index
CREATE INDEX spare_index ON orders (customer_id, placed_at DESC NULLS LAST)
--# create index: unique, partial, with an expression
CREATE UNIQUE INDEX IF NOT EXISTS spare_unique ON customers (lower(email)) WHERE active
--# create index: gin
CREATE INDEX spare_gin ON customers USING gin (profile jsonb_path_ops)
--# create index: covering
CREATE INDEX spare_cover ON orders USING btree (status) INCLUDE (total) WITH (fillfactor = 80)
--# create sequence
CREATE SEQUENCE spare_seq START 10 INCREMENT BY 5 OWNED BY orders.id
--# create type: enum
CREATE TYPE spare_level AS ENUM ('low', 'high')
--# create type: composite
CREATE TYPE spare_pair AS (a int, b text)
--# create domain
CREATE DOMAIN spare_zip AS text CHECK (VALUE ~ '^\d{5}$')
--# create schema
CREATE SCHEMA spare_schema
--# alter table: add column
ALTER TABLE orders ADD COLUMN spare_note text DEFAULT 'none'
--# alter table: add column if not exists, with a key
ALTER TABLE IF EXISTS public.orders ADD COLUMN IF NOT EXISTS parent_id int REFERENCES orders (id)
--# alter table: several
ALTER TABLE customers ALTER COLUMN city SET DEFAULT 'Paris', ALTER COLUMN country TYPE text USING country::text, DROP COLUMN active
--# alter table: constraints
ALTER TABLE accounts ADD CONSTRAINT spare_check CHECK (balance > -1000), ADD UNIQUE (owner)
--# alter table: not null
ALTER TABLE accounts ALTER owner SET NOT NULL
--# alter table: rename
ALTER TABLE gstest RENAME TO spare_gstest
--# alter table: rename a column
ALTER TABLE customers RENAME COLUMN city TO town
--# alter type: add a value
ALTER TYPE mood ADD VALUE IF NOT EXISTS 'great' AFTER 'happy'
--# alter sequence
ALTER SEQUENCE ticket_seq RESTART WITH 1000
--# alter index and view
ALTER INDEX tenk_hundred RENAME TO spare_hundred; ALTER VIEW order_summary RENAME TO spare_summary
--# comment
COMMENT ON TABLE orders IS 'What customers ordered'; COMMENT ON COLUMN orders.total IS 'In euros'; COMMENT ON VIEW order_summary IS NULL
--# drop table
DROP TABLE gstest
--# drop: several, if they are there
DROP TABLE IF EXISTS j1, j2, spare_nothing
--# drop: view and index
DROP VIEW order_summary; DROP INDEX tenk_hundred; DROP SEQUENCE ticket_seq; DROP MATERIALIZED VIEW IF EXISTS monthly
--# policies
ALTER TABLE accounts ENABLE ROW LEVEL SECURITY; CREATE POLICY spare_own ON accounts USING (owner = current_user)
--# statistics
CREATE STATISTICS spare_stats (dependencies) ON two, four FROM tenk
--# analyze
ANALYZE orders
--# analyze: columns
ANALYZE customers (city, country)
