-- What changes data: serial and identity columns, keys to hidden tables, triggers that write hidden ones, upserts, MERGE.
--# insert: a serial key, a key to a hidden table by default, a trigger that writes a hidden one
INSERT INTO orders (customer_id, total) VALUES (1, 12.50)
--# insert: a key to a hidden table, named
INSERT INTO orders (customer_id, total, actor_id) VALUES (2, 1, 2) RETURNING id, actor_id
--# insert: an identity column
INSERT INTO customers (name, email) VALUES ('Eve', 'eve@example.com') RETURNING id
--# insert: GENERATED ALWAYS
INSERT INTO products (sku, name, price) VALUES ('x-1', 'New toy', 3) RETURNING id, search
--# insert: OVERRIDING
INSERT INTO customers (id, name) OVERRIDING SYSTEM VALUE VALUES (900, 'Over')
--# insert: OVERRIDING USER VALUE
INSERT INTO products (id, sku, name, price) OVERRIDING USER VALUE VALUES (900, 'x-2', 'Over', 1)
--# insert: DEFAULT VALUES
INSERT INTO events DEFAULT VALUES RETURNING id
--# insert: DEFAULT as a value, many rows
INSERT INTO orders (id, customer_id, placed_at, total) VALUES (DEFAULT, 1, DEFAULT, 1), (DEFAULT, 2, now(), 2)
--# insert: from a query
INSERT INTO accounts (id, owner, balance) SELECT id + 1000, lower(name), 0 FROM customers
--# insert: from a query with a CTE
WITH big AS (SELECT customer_id, sum(total) AS total FROM orders GROUP BY 1) INSERT INTO accounts (id, balance) SELECT customer_id + 2000, total FROM big
--# insert: ON CONFLICT DO NOTHING
INSERT INTO customers (name, email) VALUES ('Ada again', 'ada@example.com') ON CONFLICT DO NOTHING
--# insert: ON CONFLICT DO UPDATE
INSERT INTO inventory AS i (product_id, warehouse, qty) VALUES (1, 'north', 3) ON CONFLICT (product_id, warehouse) DO UPDATE SET qty = i.qty + excluded.qty WHERE i.qty < 100 RETURNING i.*
--# insert: ON CONFLICT ON CONSTRAINT
INSERT INTO accounts VALUES (1, 'x', 1, NULL) ON CONFLICT ON CONSTRAINT accounts_pkey DO UPDATE SET owner = excluded.owner
--# insert: into a partitioned table
INSERT INTO measurements VALUES (9, '2025-06-01 00:00+00', 1.5), (9, '2024-06-01 00:00+00', 2.5)
--# insert: arrays, composites, JSON, enums and ranges
INSERT INTO customers (name, tags, profile, status, home) VALUES ('All', ARRAY['a', 'b'], '{"x": [1, 2]}', 'gold', ROW('s', 'z')::address)
--# insert: parts of arrays and composites
INSERT INTO customers (name, home.zip, tags[1]) VALUES ('Part', 'Z1', 'first')
--# insert: geometry, network and ranges
INSERT INTO people (name, current_mood, place, ip, span, raw) VALUES ('Curly', 'ok', '(0,0)', '192.168.0.0/16', '2 weeks', decode('ff', 'hex'))
--# insert: with a drawn number
INSERT INTO accounts (id, owner) VALUES (nextval('ticket_seq'), 'drawn') RETURNING id
--# insert: the key of the row just before
INSERT INTO orders (customer_id, total) VALUES (1, 1); INSERT INTO order_items (order_id, line, product_id, qty) VALUES (currval('orders_id_seq'), 1, 1, 1)
--# insert: lastval of the same request
INSERT INTO customers (name) VALUES ('Last'); SELECT lastval() > 0
--# insert: parent and children in one statement
WITH o AS (INSERT INTO orders (customer_id, total) VALUES (1, 5) RETURNING id) INSERT INTO order_items (order_id, line, product_id, qty, price) SELECT o.id, n, n, 1, 2.5 FROM o, generate_series(1, 2) n RETURNING *
--# sequences: nextval of an exposed table's
SELECT nextval('orders_id_seq')
--# sequences: nextval by schema, and as regclass
SELECT nextval('public.orders_id_seq'::regclass), nextval('ticket_seq')
--# sequences: setval
SELECT setval('ticket_seq', 500), setval('orders_id_seq', (SELECT max(id) FROM orders))
--# sequences: read as a table
SELECT last_value, is_called FROM ticket_seq
--# update: simple
UPDATE orders SET status = 'paid' WHERE id = 2
--# update: all rows
UPDATE tenk SET two = 1 - two
--# update: FROM
UPDATE orders o SET note = c.name FROM customers c WHERE c.id = o.customer_id AND c.city = 'London' RETURNING o.id, o.note
--# update: FROM a subquery and a function
UPDATE accounts a SET balance = s.total, updated_at = now() FROM (SELECT customer_id, sum(total) AS total FROM orders GROUP BY 1) s WHERE s.customer_id = a.id
--# update: several columns from a subquery
UPDATE accounts SET (owner, balance) = (SELECT name, 7 FROM customers WHERE customers.id = accounts.id) WHERE id = 1
--# update: to DEFAULT
UPDATE orders SET placed_at = DEFAULT, status = DEFAULT WHERE id = 1
--# update: JSON
UPDATE customers SET profile = jsonb_set(profile, '{plan,name}', '"free"') || '{"seen": true}' WHERE profile ? 'plan' RETURNING profile
--# update: by a subscript
UPDATE customers SET profile['age'] = '37', tags[1] = 'first', home.zip = 'N2' WHERE id = 1
--# update: arrays
UPDATE customers SET tags = array_append(tags, 'x') WHERE NOT 'x' = ANY (tags)
--# update: of a key to a hidden table
UPDATE orders SET actor_id = 2 WHERE id = 1
--# update: in a partitioned table, into another partition
UPDATE measurements SET at = at + interval '2 months' WHERE at >= '2024-12-30' AND at < '2025-01-01'
--# update: with children of the table
UPDATE cities SET population = population + 1
--# update: without the children
UPDATE ONLY cities SET population = 0
--# update: with a CTE
WITH top AS (SELECT id FROM orders ORDER BY total DESC LIMIT 1) UPDATE orders SET note = 'top' WHERE id IN (SELECT id FROM top) RETURNING *
--# update: a queue with SKIP LOCKED
UPDATE orders SET status = 'taken' WHERE id = (SELECT id FROM orders WHERE status = 'open' ORDER BY id FOR UPDATE SKIP LOCKED LIMIT 1) RETURNING id
--# delete: simple
DELETE FROM order_items WHERE order_id = 1
--# delete: USING
DELETE FROM order_items i USING orders o WHERE o.id = i.order_id AND o.status = 'open' RETURNING i.*
--# delete: cascading to exposed rows
DELETE FROM orders WHERE id = 3
--# delete: duplicates
DELETE FROM int8_tbl a USING int8_tbl b WHERE a.ctid < b.ctid AND a.q1 = b.q1
--# delete: with EXISTS
DELETE FROM inventory i WHERE qty = 0 AND EXISTS (SELECT 1 FROM products p WHERE p.id = i.product_id)
--# delete: everything
DELETE FROM events
--# with: move rows
WITH gone AS (DELETE FROM events WHERE kind = 'view' RETURNING *) INSERT INTO accounts (id, owner) SELECT id + 5000, kind FROM gone
--# with: a change, then a query
WITH changed AS (UPDATE accounts SET balance = balance - 10 WHERE id = 1 RETURNING *) SELECT a.owner, c.balance FROM accounts a JOIN changed c USING (id)
--# with: a transfer
WITH debit AS (UPDATE accounts SET balance = balance - 5 WHERE id = 1 RETURNING id), credit AS (UPDATE accounts SET balance = balance + 5 WHERE id = 2 RETURNING id) SELECT * FROM debit UNION ALL SELECT * FROM credit
--# with: upsert, insert or select
WITH ins AS (INSERT INTO customers (name, email) VALUES ('Ada', 'ada@example.com') ON CONFLICT (email) DO NOTHING RETURNING id) SELECT id FROM ins UNION ALL SELECT id FROM customers WHERE email = 'ada@example.com'
--# merge: update and insert
MERGE INTO inventory AS t USING (VALUES (1, 'north', 4), (3, 'west', 9)) AS s (product_id, warehouse, qty) ON t.product_id = s.product_id AND t.warehouse = s.warehouse WHEN MATCHED THEN UPDATE SET qty = t.qty + s.qty WHEN NOT MATCHED THEN INSERT VALUES (s.product_id, s.warehouse, s.qty)
--# merge: delete and do nothing
MERGE INTO accounts a USING customers c ON c.id = a.id WHEN MATCHED AND c.city IS NULL THEN DELETE WHEN MATCHED THEN DO NOTHING WHEN NOT MATCHED AND c.active THEN INSERT (id, owner) VALUES (c.id, c.name)
--# merge: into a table with a hidden key
MERGE INTO orders o USING (SELECT 1 AS id) s ON o.id = s.id WHEN MATCHED THEN UPDATE SET note = 'merged'
--# merge: from a CTE
WITH s AS (SELECT id, name FROM customers) MERGE INTO accounts a USING s ON s.id = a.id WHEN MATCHED THEN UPDATE SET owner = s.name
--# returning: expressions, stars and subqueries
UPDATE orders SET total = total + 1 WHERE customer_id = 1 RETURNING *, total * 2 AS twice, (SELECT name FROM customers WHERE id = customer_id)
--# returning: the old and the new by a join
UPDATE accounts a SET balance = 0 FROM accounts old WHERE old.id = a.id RETURNING old.balance AS before, a.balance AS after
--# views: insert through a simple one
CREATE VIEW spare_open AS SELECT id, customer_id, total, status FROM orders WHERE status = 'open'; INSERT INTO spare_open (customer_id, total, status) VALUES (1, 3, 'open'); UPDATE spare_open SET total = 4
--# truncate
TRUNCATE events
--# truncate: with options
TRUNCATE TABLE ONLY events RESTART IDENTITY
--# truncate: several
TRUNCATE order_items, inventory
--# procedures: CALL of an exposed one
CALL close_orders('2024-05-10')
--# a script: change and look
INSERT INTO accounts (id, owner, balance) VALUES (77, 'script', 1); UPDATE accounts SET balance = 2 WHERE id = 77; SELECT balance FROM accounts WHERE id = 77; DELETE FROM accounts WHERE id = 77
