-- Statements that do not only read, one or more spellings a command: all are refused on a read-only connection, and under a scope
-- that only reads. `{k}` is a number, `{d}` how dblink gets here, `{p}` the process of somebody else's session.
INSERT INTO orders (note) VALUES ('x')
INSERT INTO orders DEFAULT VALUES RETURNING id
UPDATE orders SET note = 'x'
DELETE FROM orders
MERGE INTO orders o USING (SELECT 1) s ON true WHEN MATCHED THEN DELETE
WITH x AS (DELETE FROM orders RETURNING *) SELECT * FROM x
WITH x AS (UPDATE orders SET note = 'y' RETURNING *) TABLE x
WITH x AS (INSERT INTO orders (note) VALUES ('x') RETURNING *) SELECT count(*) FROM x
SELECT * FROM orders FOR UPDATE
SELECT * FROM orders FOR KEY SHARE SKIP LOCKED
WITH x AS (SELECT * FROM orders FOR UPDATE) SELECT * FROM x
SELECT (SELECT id FROM orders LIMIT 1 FOR UPDATE)
SELECT * INTO spare_{k} FROM orders
SELECT * INTO TEMP spare_{k} FROM orders
WITH x AS (SELECT 1 AS a) SELECT a INTO UNLOGGED spare_{k} FROM x
CREATE TABLE spare_{k} AS SELECT 1
CREATE TABLE spare_{k} (a int)
CREATE TEMP TABLE spare_{k} (a int)
CREATE TEMP VIEW spare_{k} AS SELECT 1
CREATE VIEW spare_{k} AS SELECT 1
CREATE INDEX ON orders (id)
CREATE SEQUENCE spare_{k}
CREATE TEMP SEQUENCE spare_{k}
CREATE FUNCTION pg_temp.spare_{k}() RETURNS int LANGUAGE sql AS 'SELECT 1'
CREATE EXTENSION adminpack
CREATE ROLE spare_{k}
CREATE DATABASE spare_{k}
CREATE SCHEMA spare_{k}
CREATE PUBLICATION spare_{k} FOR ALL TABLES
CREATE TABLESPACE spare_{k} LOCATION '/tmp'
CREATE SUBSCRIPTION spare_{k} CONNECTION 'dbname=x' PUBLICATION p WITH (connect = false)
ALTER TABLE orders ADD COLUMN spare_{k} int
ALTER SYSTEM SET work_mem = '5MB'
ALTER SYSTEM RESET ALL
ALTER ROLE postgres SET work_mem = '5MB'
ALTER DATABASE walls SET work_mem = '5MB'
DROP TABLE orders
DROP OWNED BY CURRENT_USER
REASSIGN OWNED BY postgres TO postgres
TRUNCATE orders
GRANT SELECT ON orders TO PUBLIC
REVOKE ALL ON orders FROM PUBLIC
COMMENT ON TABLE orders IS 'x'
SECURITY LABEL ON TABLE orders IS 'x'
IMPORT FOREIGN SCHEMA public FROM SERVER s INTO public
REFRESH MATERIALIZED VIEW totals
LOCK orders
LOCK TABLE orders IN ACCESS SHARE MODE
LOCK TABLE ONLY orders IN ACCESS EXCLUSIVE MODE NOWAIT
NOTIFY attack
NOTIFY attack, 'x'
LISTEN attack
UNLISTEN *
REINDEX TABLE orders
REINDEX INDEX orders_note
REINDEX (VERBOSE) TABLE orders
REINDEX DATABASE walls
CHECKPOINT
VACUUM
VACUUM orders
VACUUM (FULL) orders
ANALYZE
ANALYZE orders
CLUSTER orders USING orders_note
CLUSTER
DISCARD ALL
DISCARD TEMP
SET work_mem = '5MB'
SET LOCAL work_mem = '5MB'
SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE
SET TRANSACTION READ WRITE
SET transaction_read_only = off
SET ROLE postgres
SET SESSION AUTHORIZATION postgres
SET CONSTRAINTS ALL IMMEDIATE
RESET ALL
RESET work_mem
PREPARE spare_{k} AS DELETE FROM orders
PREPARE spare_{k} AS SELECT 1
EXECUTE spare_{k}
DEALLOCATE ALL
DECLARE spare_{k} CURSOR FOR SELECT 1
DECLARE spare_{k} CURSOR WITH HOLD FOR SELECT 1
FETCH ALL FROM spare_{k}
MOVE spare_{k}
CLOSE ALL
LOAD 'auto_explain'
BEGIN; DELETE FROM orders; COMMIT
BEGIN READ WRITE
START TRANSACTION READ WRITE
COMMIT; DELETE FROM orders
ROLLBACK; DELETE FROM orders
ABORT
END
SAVEPOINT s
RELEASE s
PREPARE TRANSACTION 'spare_{k}'
COMMIT PREPARED 'spare_{k}'
ROLLBACK PREPARED 'spare_{k}'
DO $$ BEGIN PERFORM 1; END $$
DO $$ BEGIN PERFORM pg_notify('attack', 'x'); END $$
CALL change()
SELECT changing()
SELECT 1; DELETE FROM orders
SELECT 1; NOTIFY attack
COPY orders TO STDOUT
COPY orders FROM STDIN
COPY orders TO '/tmp/portico_attack_{k}'
COPY orders TO PROGRAM 'cat > attack_{k}'
COPY (SELECT 1) TO PROGRAM 'cat > attack_{k}'
COPY (SELECT 1) TO STDOUT
COPY (DELETE FROM orders RETURNING *) TO STDOUT
COPY orders FROM PROGRAM 'touch attack_{k}'
COPY (SELECT 1) TO PROGRAM $$cat > attack_{k}$$ WITH (FORMAT csv)
EXPLAIN ANALYZE DELETE FROM orders
EXPLAIN (ANALYZE) INSERT INTO orders (note) VALUES ('x')
EXPLAIN (ANALYZE on, COSTS off) UPDATE orders SET note = 'x'
EXPLAIN (ANALYZE 1) WITH x AS (DELETE FROM orders RETURNING *) SELECT * FROM x
EXPLAIN ANALYZE VERBOSE CREATE TABLE spare_{k} AS SELECT 1
EXPLAIN ANALYZE EXECUTE spare_{k}
EXPLAIN (ANALYZE) DECLARE c CURSOR FOR SELECT pg_notify('attack', 'x')
EXPLAIN ANALYZE SELECT pg_notify('attack', 'x')
EXPLAIN ANALYZE SELECT * FROM orders FOR UPDATE
UPDATE pg_settings SET setting = 'off' WHERE name = 'transaction_read_only'
UPDATE settings_view SET setting = '5MB' WHERE name = 'work_mem'
SELECT pg_notify('attack', 'x')
SELECT pg_terminate_backend({p})
SELECT pg_cancel_backend({p})
SELECT pg_catalog."pg_terminate_backend"({p})
SELECT U&"pg\005fcancel_backend"({p})
SELECT count(*) FROM pg_terminate_backend({p}, 10)
SELECT pg_reload_conf()
SELECT pg_rotate_logfile()
SELECT pg_stat_reset()
SELECT pg_stat_reset_shared('bgwriter')
SELECT pg_stat_reset_single_table_counters('orders'::regclass)
SELECT pg_stat_reset_slru(NULL)
SELECT pg_logical_emit_message(false, 'attack', 'x')
SELECT pg_logical_emit_message(true, 'attack', 'x'::bytea)
SELECT pg_create_restore_point('attack')
SELECT pg_switch_wal()
SELECT pg_create_physical_replication_slot('attack_{k}')
SELECT pg_drop_replication_slot('watched')
SELECT pg_logical_slot_get_changes('watched', NULL, NULL)
SELECT pg_replication_origin_create('attack_{k}')
SELECT pg_backup_start('attack')
SELECT pg_advisory_lock(1)
SELECT pg_advisory_xact_lock(1)
SELECT pg_try_advisory_lock(1, 2)
SELECT pg_advisory_unlock_all()
SELECT lo_import('/etc/hostname')
SELECT lo_export('orders'::regclass::oid, 'attack_{k}')
SELECT lo_create(0)
SELECT lo_unlink('orders'::regclass::oid)
SELECT lo_from_bytea(0, 'x')
SELECT lo_put('orders'::regclass::oid, 0, 'x')
SELECT lowrite(lo_open('orders'::regclass::oid, 131072), 'x')
SELECT set_config('transaction_read_only', 'off', true)
SELECT set_config('work_mem', '5MB', false) FROM orders
SELECT nextval('ticket_seq')
SELECT setval('ticket_seq', 9)
SELECT pg_export_snapshot()
SELECT pg_log_backend_memory_contexts({p})
SELECT pg_file_write('attack_{k}', 'x', false)
SELECT dblink_exec('{d}', 'DELETE FROM orders')
SELECT * FROM dblink('{d}', 'DELETE FROM orders RETURNING id') AS x (id int)
SELECT dblink_connect('{d}')
SELECT * FROM dblink('{d}', 'SELECT 1') AS x (a int)
SELECT query_to_xml('SELECT pg_notify(''attack'', ''x'')', true, true, '')
SELECT * FROM ts_stat('SELECT to_tsvector(pg_notify(''attack'', ''x'')::text)')
SELECT * FROM crosstab('SELECT ''a''::text, ''b''::text, pg_notify(''attack'', ''x'')::text') AS x (a text, b text)
SELECT x FROM orders, LATERAL pg_notify('attack', note) x
SELECT * FROM orders ORDER BY pg_notify('attack', 'x')::text
SELECT count(*) FILTER (WHERE pg_notify('attack', 'x') IS NULL) FROM orders
SELECT max(pg_reload_conf()::int) FROM orders
SELECT pg_stat_reset FROM pg_stat_reset()
SELECT CASE WHEN pg_reload_conf() THEN 1 END
VALUES (pg_reload_conf())
WITH x AS (SELECT pg_notify('attack', 'x')) SELECT * FROM x
