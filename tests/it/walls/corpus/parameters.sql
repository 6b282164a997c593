-- Statements with values: `--@` gives them.
--# an integer
--@ {"@id": 2}
SELECT * FROM orders WHERE id = @id
--# the same twice, and a text
--@ {"@status": "paid", "@min": 10.5}
SELECT id FROM orders WHERE status = @status AND total >= @min AND @status <> 'x'
--# a text that looks like a hidden name
--@ {"@note": "canary_ledger"}
SELECT id, @note::text AS said FROM orders WHERE note = @note OR id = 1
--# a list
--@ {"@ids": [1, 2]}
SELECT id FROM orders WHERE id = ANY (ARRAY(SELECT x::int FROM jsonb_array_elements_text(@ids::jsonb) AS x))
--# LIKE
--@ {"@part": "%a%"}
SELECT name FROM customers WHERE name ILIKE @part ORDER BY name LIMIT 10
--# dates
--@ {"@from": "2024-01-01", "@to": "2024-12-31T23:59:59Z"}
SELECT count(*) FROM orders WHERE placed_at BETWEEN @from AND @to
--# an interval
--@ {"@since": "90 days"}
SELECT count(*) FROM orders WHERE placed_at > now() - @since::interval
--# LIMIT and OFFSET
--@ {"@limit": 2, "@offset": 1}
SELECT id FROM orders ORDER BY id LIMIT @limit OFFSET @offset
--# JSON
--@ {"@filter": {"age": 36}}
SELECT name FROM customers WHERE profile @> @filter
--# JSON as text
--@ {"@profile": "{\"a\": 1}"}
UPDATE customers SET profile = @profile WHERE id = 1 RETURNING profile
--# NULL
--@ {"@city": null}
SELECT name FROM customers WHERE city IS NOT DISTINCT FROM @city
--# a boolean
--@ {"@active": true}
SELECT count(*) FROM customers WHERE active = @active
--# a uuid
--@ {"@uid": "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"}
SELECT count(*) FROM orders WHERE uid = @uid
--# an enum
--@ {"@status": "gold"}
SELECT name FROM customers WHERE status = @status
--# an array
--@ {"@tag": "vip"}
SELECT name FROM customers WHERE @tag = ANY (tags)
--# text search
--@ {"@words": "quick fox"}
SELECT title FROM documents WHERE tsv @@ plainto_tsquery('english', @words)
--# an INSERT
--@ {"@name": "Zoe", "@email": "zoe@example.com", "@age": 30}
INSERT INTO customers (name, email, profile) VALUES (@name, @email, jsonb_build_object('age', @age::int)) RETURNING id
--# an upsert
--@ {"@id": 1, "@balance": 12.34}
INSERT INTO accounts (id, balance) VALUES (@id, @balance) ON CONFLICT (id) DO UPDATE SET balance = accounts.balance + excluded.balance RETURNING balance
--# a procedure's argument
--@ {"@before": "2024-05-10T00:00:00Z"}
CALL close_orders(@before)
--# a function's argument
--@ {"@customer": 1}
SELECT order_count(@customer), (SELECT count(*) FROM top_orders(@customer))
--# an index into an array
--@ {"@n": 1}
SELECT dims[@n] FROM products
--# VALUES
--@ {"@a": 1, "@b": 2}
SELECT o.id FROM orders o JOIN (VALUES (@a::int), (@b::int)) AS v (id) USING (id)
