-- What the server repeats of values, given or computed; written as in `positions.sql`.
SELECT '{n}'::int
SELECT ('' || '{n}')::int
SELECT lower('{n} x')::date FROM orders
SELECT concat('"', '{n}', ' x')::numeric
SELECT ('{"a": ' || '{n}')::json
SELECT encode('a', '{n}')
SELECT date_trunc('{n}', now())
SELECT regexp_replace('a', '(' || '{n}', '')
SELECT raised('{n}')
SELECT raised('"' || '{n}')
SELECT @name::int
INSERT INTO orders (id) SELECT ('' || '{n}')::int
INSERT INTO orders_named VALUES ('{n}', 'a'), ('{n}', 'b')
INSERT INTO orders_named VALUES (')=({n}', ''), ('b', 'b')
INSERT INTO orders_named VALUES ('{n} )=(', '')
INSERT INTO orders_named VALUES ('({n})', NULL)
INSERT INTO orders_named VALUES ('a', 'b', '{n}')
INSERT INTO orders_named VALUES ('a', 'b', ')=("{n}" (')
SELECT canary_ledger_zq7 FROM (SELECT 1 AS canary_ledger_zq7) AS q WHERE canary_ledger_zq7 = 'a'
WITH {t} AS (SELECT 1 AS x) SELECT x FROM {t} WHERE x = 'a'
SELECT 1 FROM orders AS {t}, orders AS {t}
SELECT 1 FROM orders WINDOW canary_ledger_zq7 AS (), canary_ledger_zq7 AS ()
SELECT jsonb_path_query('[7]', '$canary_ledger_zq7')
SELECT jsonb_path_query('[7]', '$canary_ledger_zq7')
SELECT to_tsquery('canary_ledger_zq7 &')
SELECT @canary_ledger_zq7
EXPLAIN (VERBOSE) SELECT '{n}', 'x{n}x' FROM orders
EXPLAIN SELECT * FROM orders AS {t}
EXPLAIN SELECT canary_ledger_zq7.id FROM owners_view AS canary_ledger_zq7
SELECT raised_as('{n}', '42P01')
SELECT raised_as('{n}', 'XX000')
