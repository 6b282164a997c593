-- Names that are taken, and what is named beside relations; written as in `positions.sql`.
CREATE TABLE {t} (a int)
CREATE TABLE IF NOT EXISTS {t} (a int)
CREATE TABLE {t} AS SELECT 1 AS a
CREATE VIEW {t} AS SELECT 1 AS a
CREATE MATERIALIZED VIEW {t} AS SELECT 1 AS a
CREATE SEQUENCE {s}
CREATE INDEX {i} ON orders (note)
CREATE TYPE {y} AS (a int)
CREATE TYPE {y} AS ENUM ('a')
CREATE DOMAIN {y} AS int
CREATE SCHEMA vault_zq7
CREATE STATISTICS canary_statistics_zq7 ON id, note FROM orders
SELECT 1 AS a INTO {t}
ALTER TABLE orders RENAME TO {t}
ALTER INDEX orders_pkey RENAME TO {i}
CREATE TABLE spare_{k} (a {y})
CREATE TABLE spare_{k} (a {y}[])
CREATE TABLE spare_{k} (LIKE {t})
CREATE TABLE spare_{k} () INHERITS ({t})
CREATE TABLE spare_{k} (a int REFERENCES {t})
CREATE TABLE spare_{k} (a int DEFAULT nextval('{s}'))
CREATE TABLE spare_{k} (a int CHECK ({f}() IS NULL))
CREATE TABLE vault_zq7.spare_{k} (a int)
CREATE VIEW vault_zq7.spare_{k} AS SELECT 1 AS a
ALTER TABLE orders SET SCHEMA vault_zq7
CREATE INDEX ON {t} (id)
DROP TABLE {t}
DROP VIEW {t}
DROP TYPE {y}
DROP DOMAIN {y}
DROP SEQUENCE {s}
DROP INDEX {i}
DROP TABLE vault_zq7.spare
CALL {f}()
CALL {f}(1)
SELECT {f}(1, 'a')
SELECT vault_zq7.lower('A')
SELECT * FROM vault_zq7.spare
SELECT vault_zq7.spare(1)
SELECT null::vault_zq7.spare
SELECT 1 OPERATOR(vault_zq7.+) 1
SELECT 'a' COLLATE vault_zq7.c
SELECT '{n}'::regclass
SELECT '{n}'::regtype
SELECT '{n}'::regclass::text
SELECT 'vault_zq7'::regnamespace
SELECT '{s}'::regclass
SELECT '{i}'::regclass
SELECT pg_relation_size('{n}')
SELECT nextval('{s}')
SELECT {t}.id, unknown_column FROM orders
SELECT {t}(orders) FROM orders
SELECT orders.{t} FROM orders
SELECT id FROM orders WHERE id = {t}.id
INSERT INTO {t} DEFAULT VALUES
INSERT INTO orders ({c}) VALUES (1)
UPDATE {t} SET id = 1
DELETE FROM {t} USING orders
MERGE INTO {t} USING orders ON true WHEN MATCHED THEN DO NOTHING
SELECT * FROM orders o JOIN {t} USING (id)
SELECT CAST(note AS {y}) FROM orders
SELECT note::{y} FROM orders
PREPARE spare AS SELECT * FROM {t}
