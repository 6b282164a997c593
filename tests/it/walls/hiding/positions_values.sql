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
