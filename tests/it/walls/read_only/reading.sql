-- What only reads, and passes on a read-only connection.
SELECT count(*) FROM orders
TABLE orders
VALUES (1), (2)
WITH x AS (SELECT * FROM orders) SELECT * FROM x
(SELECT id FROM orders) UNION (SELECT 2)
SHOW work_mem
SHOW ALL
EXPLAIN SELECT * FROM orders
EXPLAIN (ANALYZE, BUFFERS) SELECT * FROM orders
SELECT now(), random(), gen_random_uuid(), clock_timestamp(), current_user, version()
SELECT relname FROM pg_class WHERE relname = 'orders'
SELECT table_name FROM information_schema.tables LIMIT 1
SELECT pg_size_pretty(pg_total_relation_size('orders'))
SELECT pg_get_viewdef('settings_view'::regclass)
SELECT to_char(now(), 'YYYY'), to_json(o), format('%s', note) FROM orders o
SELECT last_value FROM ticket_seq
/* /* nested */ */ SELECT 'DELETE FROM orders; NOTIFY x'
SELECT current_setting('work_mem'), pg_backend_pid() > 0, txid_current_if_assigned()
SELECT note AS "delete", 'lock' AS update FROM orders
SELECT 'pg_monitor'::regrole, 'postgres'::regrole::text
