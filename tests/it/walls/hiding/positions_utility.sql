-- Statements that the server does not analyse as queries, with references to what is hidden; written as in `positions.sql`.
ALTER TABLE {t} RENAME TO spare_{k}
ALTER TABLE {t} RENAME COLUMN {c} TO spare
ALTER TABLE IF EXISTS {t} ADD COLUMN spare int
ALTER TABLE ONLY {t} DROP COLUMN {c}
ALTER TABLE {t} SET SCHEMA tpch
ALTER TABLE {t} OWNER TO postgres
ALTER TABLE {t} ENABLE ROW LEVEL SECURITY
ALTER TABLE {t} DISABLE TRIGGER ALL
ALTER TABLE {t} ALTER COLUMN {c} SET DEFAULT 'x'
ALTER TABLE {t} ADD CHECK (id > 0)
ALTER TABLE {t} REPLICA IDENTITY FULL
ALTER TABLE orders INHERIT {t}
ALTER TABLE {t} INHERIT orders
ALTER TABLE orders ADD COLUMN spare_{k} {y}
ALTER TABLE orders ADD COLUMN spare_{k} text DEFAULT {f}()
ALTER TABLE orders ADD COLUMN spare_{k} int REFERENCES {t}
ALTER TABLE orders ADD FOREIGN KEY (id) REFERENCES {t} (id)
ALTER TABLE orders ADD CHECK (note <> {f}())
ALTER TABLE orders ALTER COLUMN note SET DEFAULT {f}()
ALTER TABLE orders ALTER COLUMN note TYPE text USING {f}()
ALTER TABLE orders OF {y}
ALTER TABLE orders RENAME TO spare_{k}; ALTER TABLE {t} RENAME TO orders; SELECT * FROM orders
ALTER TABLE ALL IN TABLESPACE pg_default SET TABLESPACE pg_default
ALTER VIEW {t} RENAME TO spare_{k}
ALTER SEQUENCE {s} RESTART
ALTER SEQUENCE {s} OWNED BY NONE
ALTER INDEX {i} RENAME TO spare_{k}
ALTER INDEX {i} SET (fillfactor = 50)
ALTER FUNCTION {f}() RENAME TO spare_{k}
ALTER FUNCTION {f}() OWNER TO postgres
ALTER TYPE {y} RENAME TO spare_{k}
ALTER SCHEMA vault_zq7 RENAME TO spare_{k}
ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO PUBLIC
ALTER PUBLICATION spare ADD TABLE {t}
ALTER ROLE postgres SET search_path = vault_zq7
ALTER DATABASE walls SET search_path = vault_zq7
ALTER ROUTINE {f} RENAME TO spare_{k}
ALTER TRIGGER canary_trigger_zq7 ON {t} RENAME TO spare
DROP TABLE {t}
DROP TABLE IF EXISTS {t} CASCADE
DROP TABLE spare_nothing, {t}
DROP VIEW {t}
DROP SEQUENCE {s}
DROP SEQUENCE {s} CASCADE
DROP INDEX {i}
DROP INDEX IF EXISTS spare_nothing, {i}
DROP FUNCTION {f}()
DROP FUNCTION IF EXISTS {f}
DROP ROUTINE {f}
DROP TYPE {y}
DROP SCHEMA vault_zq7
DROP SCHEMA vault_zq7 CASCADE
DROP SCHEMA public CASCADE
DROP OWNED BY CURRENT_USER
DROP TRIGGER canary_trigger_zq7 ON {t}
DROP POLICY IF EXISTS p ON {t}
DROP RULE r ON {t}
DROP STATISTICS canary_statistics_zq7
DROP MATERIALIZED VIEW {t}
REASSIGN OWNED BY postgres TO postgres
TRUNCATE {t}
TRUNCATE TABLE ONLY {t} CASCADE
TRUNCATE orders_empty, {t}
TRUNCATE orders_empty RESTART IDENTITY CASCADE
LOCK {t}
LOCK TABLE {t} IN ACCESS SHARE MODE
LOCK TABLE ONLY {t} IN SHARE MODE NOWAIT
LOCK orders, {t}
GRANT SELECT ON {t} TO PUBLIC
GRANT ALL ON TABLE {t} TO PUBLIC
GRANT SELECT ({c}) ON {t} TO PUBLIC
GRANT SELECT ON orders, {t} TO PUBLIC
GRANT SELECT ON ALL TABLES IN SCHEMA public TO PUBLIC
GRANT USAGE ON SCHEMA vault_zq7 TO PUBLIC
GRANT USAGE ON SEQUENCE {s} TO PUBLIC
GRANT EXECUTE ON FUNCTION {f}() TO PUBLIC
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA vault_zq7 TO PUBLIC
GRANT pg_read_all_data TO PUBLIC
REVOKE ALL ON {t} FROM postgres
REVOKE ALL ON ALL TABLES IN SCHEMA vault_zq7 FROM PUBLIC
COMMENT ON TABLE {t} IS 'seen'
COMMENT ON COLUMN {t}.{c} IS 'seen'
COMMENT ON VIEW {t} IS 'seen'
COMMENT ON SEQUENCE {s} IS 'seen'
COMMENT ON INDEX {i} IS 'seen'
COMMENT ON FUNCTION {f}() IS 'seen'
COMMENT ON TYPE {y} IS 'seen'
COMMENT ON SCHEMA vault_zq7 IS 'seen'
COMMENT ON CONSTRAINT canary_constraint_zq7 ON {t} IS 'seen'
COMMENT ON TRIGGER canary_trigger_zq7 ON {t} IS 'seen'
ANALYZE {t}
ANALYZE VERBOSE {t}
ANALYZE (VERBOSE) {t} ({c})
ANALYZE orders, {t}
ANALYZE VERBOSE
VACUUM {t}
VACUUM (VERBOSE, ANALYZE) {t}
VACUUM FULL {t}
VACUUM VERBOSE
CLUSTER {t} USING {i}
CLUSTER VERBOSE {t}
REINDEX TABLE {t}
REINDEX INDEX {i}
REINDEX (VERBOSE) TABLE CONCURRENTLY {t}
REINDEX SCHEMA vault_zq7
REFRESH MATERIALIZED VIEW {t}
REFRESH MATERIALIZED VIEW CONCURRENTLY {t}
COPY {t} TO STDOUT
COPY {t} ({c}) TO STDOUT WITH (FORMAT csv)
COPY {t} TO '/tmp/portico_copy_{k}'
COPY {t} TO PROGRAM 'cat'
COPY {t} FROM PROGRAM 'true'
COPY (SELECT * FROM {t}) TO STDOUT
COPY (SELECT {c} FROM {t}) TO PROGRAM 'cat >&2'
COPY orders (note) FROM 'canary_file.txt'
COPY orders (id, note) FROM PROGRAM 'echo 1'
EXPLAIN SELECT * FROM {t}
EXPLAIN (VERBOSE, FORMAT JSON) SELECT {c} FROM {t}
EXPLAIN ANALYZE SELECT * FROM {t}
EXPLAIN (ANALYZE, VERBOSE) UPDATE orders SET note = t.{c} FROM {t} t
EXPLAIN (ANALYZE TRUE) CREATE TABLE spare_{k} AS SELECT * FROM {t}
EXPLAIN EXECUTE spare_{k}
EXPLAIN DECLARE c CURSOR FOR SELECT * FROM {t}
EXPLAIN INSERT INTO orders (note) SELECT {c} FROM {t}
EXPLAIN VERBOSE SELECT NULL::{y}
EXPLAIN (VERBOSE) SELECT * FROM orders WHERE note = {f}()
~EXPLAIN (VERBOSE) SELECT * FROM owners_view
~EXPLAIN SELECT * FROM parent_table
~EXPLAIN (ANALYZE, VERBOSE) INSERT INTO orders_keyed (id) VALUES (5000 + {k})
~EXPLAIN DELETE FROM parent_table WHERE id = -1
~INSERT INTO orders_keyed (id, ledger) VALUES (6000 + {k}, 424242)
~INSERT INTO orders_keyed (id, ledger) VALUES (7000 + {k}, 1)
~SELECT * FROM owners_view WHERE note::int = 1
~UPDATE orders_keyed SET ledger = 424242 WHERE id = 1
~ALTER TABLE orders_keyed DROP COLUMN id
~DROP TABLE orders_keyed
~INSERT INTO parent_table (id) VALUES (-5)
~SELECT tableoid::regclass FROM parent_table
~SELECT tableoid FROM parent_table
~SELECT count(*) FROM parent_table
SELECT pg_get_viewdef('owners_view')
SELECT pg_get_viewdef('owners_view'::regclass)
SELECT pg_get_functiondef('canary_function_zq7'::regproc)
SELECT pg_get_functiondef('canary_function_zq7()'::regprocedure)
SELECT pg_get_function_identity_arguments('canary_function_zq7'::regproc)
SELECT pg_get_constraintdef(g::oid) FROM generate_series({o} - 300, {o} + 300) g
PREPARE spare_{k} AS SELECT * FROM {t}
PREPARE spare_{k} AS SELECT * FROM {t}; EXECUTE spare_{k}
DECLARE spare_{k} CURSOR FOR SELECT * FROM {t}
DECLARE spare_{k} CURSOR FOR SELECT * FROM {t}; FETCH ALL FROM spare_{k}
DECLARE spare_{k} CURSOR WITH HOLD FOR SELECT {c} FROM {t}
DO $$ BEGIN PERFORM 1 FROM {n}; END $$
DO $$ DECLARE x text; BEGIN SELECT {c} INTO x FROM {n} LIMIT 1; RAISE EXCEPTION '%', x; END $$
DO LANGUAGE plpgsql 'BEGIN UPDATE {n} SET {c} = NULL; END'
DO $$ BEGIN EXECUTE 'SELECT ' || 1; RAISE NOTICE '%', (SELECT {c} FROM {n} LIMIT 1); END $$
SET search_path = vault_zq7, public
SET LOCAL search_path TO vault_zq7; SELECT * FROM canary_inner_zq7
SET SESSION search_path = 'vault_zq7'; TABLE canary_inner_zq7
LISTEN canary_ledger_zq7
IMPORT FOREIGN SCHEMA public FROM SERVER spare INTO public
CREATE FOREIGN TABLE spare_{k} (a text) SERVER spare OPTIONS (table_name 'canary_ledger_zq7')
SECURITY LABEL ON TABLE {t} IS 'x'
SECURITY LABEL FOR dummy ON COLUMN {t}.{c} IS 'x'
SELECT * FROM {t} /* unterminated
SELECT 1; SELECT * FROM {t}
SELECT 1; SELECT 2; DELETE FROM {t}
BEGIN; SELECT * FROM {t}; COMMIT
~SELECT 'x' -- ; \n'; SELECT * FROM {t}
SELECT $$ /* $$; SELECT * FROM {t} -- $$ */ $$
SELECT E'\'' ; SELECT * FROM {t} -- '
SELECT '\'; SELECT * FROM {t} -- '
SELECT U&'\0027'; SELECT * FROM {t} -- '
SELECT $a$x$b$; $a$; SELECT * FROM {t}
SELECT 1 AS "/*"; SELECT * FROM {t} -- */
SELECT 1 - - 1; SELECT * FROM {t}
SELECT 1 /* -- */; SELECT * FROM {t}
SELECT B'1' /*/**/*/, {c} FROM {t}
SELECT @name::regclass
SELECT @name::regclass::oid
SELECT to_regclass(@name)
SELECT to_regclass(@name) IS NULL
SELECT (@name || '')::regclass::oid
SELECT CAST(@name AS regclass)
SELECT regclass(@name::text)
SELECT pg_relation_size(@name)
SELECT pg_relation_size(@name::regclass)
SELECT has_table_privilege(@name, 'SELECT')
SELECT table_to_xml(@name, true, true, '')
SELECT table_to_xml(@name::regclass, true, true, '')
SELECT query_to_xml('SELECT * FROM ' || @name, true, true, '')
SELECT query_to_xml(@name, true, true, '')
SELECT * FROM ts_stat('SELECT to_tsvector(t::text) FROM ' || @name || ' t')
SELECT * FROM dblink('{d}', 'SELECT t::text FROM ' || @name || ' t') AS x (c text)
SELECT * FROM crosstab('SELECT t::text, 1, 1 FROM ' || @name || ' t') AS x (a text, b int)
SELECT pg_get_viewdef(@name)
SELECT nextval(@name)
SELECT row_security_active(@name)
SELECT * FROM pg_partition_tree(@name)
SELECT set_config('search_path', @name, false)
SELECT jsonb_populate_record(NULL::spare_box, jsonb_build_object('r', @name))
SELECT * FROM json_to_record(json_build_object('a', @name)) AS x (a regclass)
SELECT ARRAY[@name]::regclass[]
SELECT COALESCE(@name, '')::regclass::oid
SELECT (SELECT @name)::regclass
