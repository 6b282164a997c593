-- Queries in the manner of PostgreSQL's own regression tests (select, join, aggregates, window, with, subselect …).
--# select: order by an expression
SELECT unique1, string4 FROM tenk WHERE unique1 < 20 ORDER BY string4 USING <, unique1 DESC
--# select: whole rows, of an exposed table
SELECT t, (t).unique1 FROM tenk t WHERE unique1 < 2
--# select: attribute notation
SELECT t.* FROM (SELECT unique1, two FROM tenk LIMIT 3) AS t
--# select: VALUES
VALUES (1, 2), (3, 4 + 4), (7, 77.7)
--# select: VALUES in FROM
SELECT * FROM (VALUES (147, 'RFAAAA'), (931, 'VJAAAA')) AS v (i, j) WHERE i > 200
--# select: TABLE
TABLE int8_tbl ORDER BY q1 LIMIT 2
--# select: UNION of VALUES and TABLE
VALUES (1::int8, 2::int8), (3, 4 + 4) UNION ALL SELECT 2 + 2, 57 UNION ALL TABLE int8_tbl
--# select: row comparison
SELECT unique1 FROM tenk WHERE (ten, four) < (1, 3) ORDER BY 1 LIMIT 5
--# select: IS DISTINCT FROM
SELECT count(*) FROM j1 WHERE i IS DISTINCT FROM j
--# select: NULLS FIRST
SELECT i FROM j1 ORDER BY i DESC NULLS FIRST
--# select_distinct_on
SELECT DISTINCT ON (string4, ten) string4, ten, two FROM tenk ORDER BY string4 USING <, ten USING >, two USING <
--# select_having
SELECT ten, count(*) FROM tenk GROUP BY ten HAVING count(*) > 10 AND min(unique1) < 5
--# select: fetch with ties
SELECT thousand.hundred FROM tenk AS thousand WHERE unique1 < 500 ORDER BY hundred FETCH FIRST 2 ROWS WITH TIES
--# select: limit by an expression
SELECT unique1 FROM tenk ORDER BY 1 LIMIT (SELECT 3) OFFSET 2 + 1
--# select: for update of an exposed table
SELECT id FROM orders WHERE id = 1 FOR UPDATE
--# select: for share skip locked
SELECT id FROM orders ORDER BY id LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED
--# join: natural
SELECT * FROM j1 NATURAL JOIN j2
--# join: using with alias
SELECT x.i, j1.t, j2.k FROM j1 JOIN j2 USING (i) AS x ORDER BY 1, 3
--# join: full outer
SELECT * FROM j1 FULL JOIN j2 USING (i) ORDER BY i, k, t
--# join: nested with parentheses
SELECT count(*) FROM (j1 LEFT JOIN j2 ON j1.i = j2.i) CROSS JOIN (int8_tbl a JOIN int8_tbl b ON a.q1 = b.q2)
--# join: lateral subquery
SELECT t.unique1, s.m FROM tenk t, LATERAL (SELECT max(o.unique2) AS m FROM tenk o WHERE o.ten = t.ten) s WHERE t.unique1 < 4
--# join: lateral values
SELECT i8.q1, v.x FROM int8_tbl i8 CROSS JOIN LATERAL (VALUES (i8.q1 * 2), (i8.q2)) AS v (x)
--# join: lateral function of a column
SELECT c.name, tag FROM customers c LEFT JOIN LATERAL unnest(c.tags) AS tag ON true ORDER BY 1, 2
--# join: semi and anti
SELECT i FROM j1 WHERE EXISTS (SELECT 1 FROM j2 WHERE j2.i = j1.i) AND NOT EXISTS (SELECT 1 FROM j2 WHERE j2.i = j1.i AND k < 0)
--# join: self join with inequality
SELECT a.name, b.name AS boss FROM employees a LEFT JOIN employees b ON b.id = a.manager_id AND b.salary >= a.salary ORDER BY a.id
--# aggregates: basic
SELECT avg(four), sum(ten), max(hundred), min(unique2), stddev_pop(two), var_samp(four), bool_and(two < 2), every(two >= 0), bit_or(four), count(DISTINCT ten) FROM tenk
--# aggregates: filter and order
SELECT string_agg(DISTINCT string4, ',' ORDER BY string4), array_agg(unique1 ORDER BY unique1 DESC) FILTER (WHERE unique1 < 5) FROM tenk
--# aggregates: ordered sets
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY unique1), percentile_disc(ARRAY[0.25, 0.75]) WITHIN GROUP (ORDER BY hundred), mode() WITHIN GROUP (ORDER BY four) FROM tenk
--# aggregates: hypothetical sets
SELECT rank(3) WITHIN GROUP (ORDER BY x), cume_dist(3) WITHIN GROUP (ORDER BY x) FROM (VALUES (1), (2), (4)) v (x)
--# aggregates: statistics
SELECT corr(unique1, unique2), covar_pop(unique1, ten), regr_slope(unique2, unique1), regr_r2(ten, four) FROM tenk
--# aggregates: of a range
SELECT range_agg(r), range_intersect_agg(r) FROM multi WHERE NOT isempty(r)
--# aggregates: without rows
SELECT max(unique1), sum(unique1), count(*) FROM tenk WHERE unique1 > 100000
--# aggregates: min and max by an index
SELECT min(unique1), max(unique1) FROM tenk WHERE unique1 > 42
--# aggregates: grouping by a primary key
SELECT c.id, c.name, count(o.id) FROM customers c LEFT JOIN orders o ON o.customer_id = c.id GROUP BY c.id ORDER BY c.id
--# groupingsets: rollup
SELECT a, b, grouping(a, b), sum(v), count(*), max(v) FROM gstest GROUP BY ROLLUP (a, b) ORDER BY a NULLS LAST, b NULLS LAST
--# groupingsets: cube
SELECT a, b, sum(v) FROM gstest GROUP BY CUBE (a, b) HAVING sum(v) > 11
--# groupingsets: sets of sets
SELECT a, b, count(*) FROM gstest GROUP BY GROUPING SETS ((a), (b), ROLLUP (a, b), ())
--# groupingsets: distinct
SELECT a, b FROM gstest GROUP BY DISTINCT ROLLUP (a, b), ROLLUP (a)
--# window: running sums
SELECT depname, empno, salary, sum(salary) OVER (PARTITION BY depname), rank() OVER (PARTITION BY depname ORDER BY salary) FROM empsalary ORDER BY depname, salary
--# window: named windows
SELECT sum(salary) OVER w, avg(salary) OVER (w ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) FROM empsalary WINDOW w AS (PARTITION BY depname ORDER BY enroll_date, empno)
--# window: functions
SELECT lag(ten, 2, 0) OVER w, lead(ten) OVER w, first_value(ten) OVER w, last_value(four) OVER w, nth_value(ten, 2) OVER w, ntile(3) OVER w, row_number() OVER w, dense_rank() OVER w, percent_rank() OVER w, cume_dist() OVER w FROM tenk WHERE unique2 < 10 WINDOW w AS (PARTITION BY four ORDER BY ten)
--# window: range with an offset
SELECT sum(salary) OVER (ORDER BY enroll_date RANGE BETWEEN '1 year'::interval PRECEDING AND '1 year'::interval FOLLOWING EXCLUDE CURRENT ROW), salary, enroll_date FROM empsalary
--# window: groups and exclude ties
SELECT sum(unique1) OVER (ORDER BY four GROUPS BETWEEN 1 PRECEDING AND 1 FOLLOWING EXCLUDE TIES), unique1, four FROM tenk WHERE unique1 < 10
--# window: filter and top of each group
SELECT * FROM (SELECT depname, empno, row_number() OVER (PARTITION BY depname ORDER BY salary DESC) AS n, count(*) FILTER (WHERE salary > 4000) OVER (PARTITION BY depname) AS rich FROM empsalary) s WHERE n = 1
--# with: several
WITH a AS (SELECT unique1 FROM tenk WHERE unique1 < 5), b (x) AS MATERIALIZED (SELECT unique1 + 1 FROM a), c AS NOT MATERIALIZED (SELECT * FROM b) SELECT * FROM a JOIN c ON c.x = a.unique1
--# with: recursive sum
WITH RECURSIVE t (n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM t WHERE n < 100) SELECT sum(n) FROM t
--# with: recursive tree
WITH RECURSIVE sub AS (SELECT id, name, manager_id, 1 AS depth, ARRAY[name] AS path FROM employees WHERE manager_id IS NULL UNION ALL SELECT e.id, e.name, e.manager_id, s.depth + 1, s.path || e.name FROM employees e JOIN sub s ON s.id = e.manager_id) SELECT repeat('  ', depth - 1) || name, path FROM sub ORDER BY path
--# with: search and cycle clauses
WITH RECURSIVE g (f, t, label) AS (SELECT * FROM graph UNION ALL SELECT n.* FROM graph n, g WHERE n.f = g.t) SEARCH DEPTH FIRST BY f, t SET seq CYCLE f, t SET is_cycle USING path SELECT f, t, is_cycle FROM g WHERE NOT is_cycle ORDER BY seq
--# with: name of a table as the name of a CTE
WITH customers AS (SELECT 1 AS one) SELECT * FROM customers
--# with: nested
WITH outermost (x) AS (SELECT 1 UNION (WITH innermost AS (SELECT 2) SELECT * FROM innermost UNION SELECT 3)) SELECT * FROM outermost ORDER BY 1
--# subselect: scalar, correlated
SELECT name, (SELECT max(total) FROM orders o WHERE o.customer_id = c.id) FROM customers c
--# subselect: ANY, ALL and SOME
SELECT unique1 FROM tenk WHERE unique1 = ANY (SELECT q1 FROM int8_tbl) OR unique1 > ALL (SELECT ten FROM tenk WHERE ten < 3) AND unique1 < 5 OR ten = SOME (ARRAY[42])
--# subselect: row constructor IN
SELECT q1 FROM int8_tbl WHERE (q1, q2) IN (SELECT q1, q2 FROM int8_tbl WHERE q1 > 200)
--# subselect: ARRAY of a subquery
SELECT ARRAY(SELECT i FROM j1 WHERE i IS NOT NULL ORDER BY i DESC), ARRAY[ARRAY[1, 2], ARRAY[3, 4]]
--# union: set operations
SELECT i FROM j1 UNION SELECT i FROM j2 EXCEPT ALL SELECT 1 INTERSECT SELECT q1 FROM int8_tbl ORDER BY 1
--# case
SELECT CASE WHEN i > 2 THEN 'big' WHEN i IS NULL THEN 'none' ELSE 'small' END, CASE t WHEN 'one' THEN 1 ELSE 2 END, coalesce(i, 0), nullif(i, 2), greatest(i, j), least(i, j) FROM j1
--# rowtypes
SELECT ROW(1, 'x', NULL) IS NULL, ROW(1, 2) = ROW(1, 2), (c.home).zip, (ROW('a', 'b')::address).street FROM customers c
--# rangefuncs: with ordinality
SELECT * FROM generate_series(10, 14, 2) WITH ORDINALITY AS g (v, n)
--# rangefuncs: rows from
SELECT * FROM ROWS FROM (generate_series(1, 3), unnest(ARRAY['a', 'b'])) WITH ORDINALITY AS x (a, b, n)
--# rangefuncs: column definitions
SELECT * FROM json_to_recordset('[{"a": 1, "b": "x"}, {"a": 2}]') AS r (a int, b text)
--# rangefuncs: the owner's function
SELECT id, total FROM top_orders(2) ORDER BY id
--# rangefuncs: the owner's function of each row
SELECT name, order_count(id) FROM customers ORDER BY id
--# generate_series: dates
SELECT d::date FROM generate_series(date '2024-01-01', date '2024-01-05', interval '1 day') AS d
--# generate_series: timestamps with time zone
SELECT g FROM generate_series(timestamptz '2024-03-30 00:00+01', '2024-04-01 00:00+02', interval '12 hours') AS g
--# generate_subscripts
SELECT id, dims[s] FROM products, generate_subscripts(dims, 1) AS s
--# tablesample: bernoulli
SELECT count(*) >= 0 FROM tenk TABLESAMPLE BERNOULLI (50) REPEATABLE (1)
--# tablesample: system
SELECT count(*) >= 0 FROM tenk TABLESAMPLE SYSTEM (10)
--# inherit: with the children
SELECT name, elevation FROM cities WHERE elevation > 20 ORDER BY 1
--# inherit: without the children
SELECT name FROM ONLY cities
--# partition: through the parent
SELECT sensor, count(*), max(at) FROM measurements WHERE at >= '2024-12-15' GROUP BY sensor ORDER BY sensor
--# json: operators
SELECT profile -> 'langs' -> 0, profile ->> 'age', profile #> '{plan,name}', profile #>> '{plan,name}', profile ? 'age', profile ?| ARRAY['a', 'age'], profile @> '{"age": 36}', profile - 'age' FROM customers
--# json: subscripts
SELECT (profile['plan']['name'])::text, profile['langs'][0] FROM customers
--# json: building
SELECT json_build_object('id', id, 'name', name), to_jsonb(c) - 'created_at', row_to_json(ROW(id, name)), jsonb_build_array(id, city), json_agg(id) OVER () FROM customers c
--# json: aggregates
SELECT jsonb_object_agg(name, city), json_object_agg(id, name), jsonb_agg(DISTINCT country) FROM customers
--# json: expanding
SELECT c.id, e.key, e.value FROM customers c, jsonb_each(c.profile) e ORDER BY 1, 2
--# json: array elements
SELECT id, l FROM customers, jsonb_array_elements_text(coalesce(profile -> 'langs', '[]')) AS l
--# json: path
SELECT jsonb_path_query_array(profile, '$.langs[*] ? (@ starts with "e")'), profile @? '$.age ? (@ > 30)', profile @@ '$.age == 36', jsonb_path_exists(profile, '$.plan.name') FROM customers
--# json: path with variables
SELECT jsonb_path_query('{"a": [1, 2, 3, 4]}', '$.a[*] ? (@ >= $min)', '{"min": 2}')
--# json: populate
SELECT * FROM jsonb_populate_record(NULL::address, '{"street": "s", "zip": "z"}')
--# json: changes
SELECT jsonb_set(profile, '{age}', '50'), jsonb_insert('{"a": [1]}', '{a, 0}', '0'), jsonb_strip_nulls('{"a": null}'), jsonb_pretty('[1]'), profile || '{"x": 1}' FROM customers
--# json: keys and types
SELECT jsonb_object_keys('{"a": 1, "b": 2}'), jsonb_typeof('[]'), json_typeof('1'), json_array_length('[1, 2]')
--# arrays: operators
SELECT tags @> '{vip}', tags && ARRAY['new', 'x'], tags || 'y'::text, tags[1], tags[1:2], array_length(tags, 1), cardinality(tags), 'vip' = ANY (tags) FROM customers
--# arrays: functions
SELECT array_append(dims, 9), array_position(dims, 2), array_remove(dims, 1), array_to_string(dims, '-'), array_dims(dims), array_fill(7, ARRAY[2, 2]), string_to_array('a,b', ','), trim_array(ARRAY[1, 2, 3], 1) FROM products
--# arrays: unnest of several
SELECT * FROM unnest(ARRAY[1, 2], ARRAY['a', 'b', 'c']) AS u (n, t)
--# arrays: sorted by a subquery
SELECT name, (SELECT array_agg(t ORDER BY t) FROM unnest(tags) t) FROM customers
--# ranges: operators
SELECT id FROM bookings WHERE during && tstzrange('2024-05-01 11:30+00', '2024-05-01 12:30+00') AND days @> date '2024-05-01'
--# ranges: functions
SELECT lower(during), upper(during), upper(during) - lower(during), lower_inc(days), isempty(days), days * daterange('2024-05-02', '2024-05-09') FROM bookings
--# ranges: multiranges
SELECT id, spans, spans @> 3, range_merge(spans), unnest(spans), r -|- int4range(10, 12) FROM multi
--# textsearch: match
SELECT id, ts_rank(tsv, q), ts_headline('english', body, q) FROM documents, to_tsquery('english', 'fox & !dog') q WHERE tsv @@ q
--# textsearch: queries
SELECT plainto_tsquery('english', 'lazy cats'), phraseto_tsquery('english', 'brown fox'), websearch_to_tsquery('english', '"quick brown" -dog'), to_tsvector('simple', 'A B'), strip(tsv), setweight(tsv, 'A'), numnode('a & b'::tsquery) FROM documents
--# textsearch: default configuration
SELECT title FROM documents WHERE to_tsvector(body) @@ plainto_tsquery('fox')
--# textsearch: on a generated column
SELECT name, ts_rank_cd(search, query) AS rank FROM products, websearch_to_tsquery('toy or train') query WHERE search @@ query ORDER BY rank DESC
--# regex
SELECT name ~ '^A', name ~* 'ADA', name !~ 'x', name SIMILAR TO '(A|B)%', regexp_replace(name, '[aeiou]', '*', 'g'), regexp_match(email, '^(\w+)@(.+)$'), (regexp_split_to_array(email, '@'))[1], substring(email FROM '@(.*)') FROM customers
--# regex: set returning
SELECT (regexp_matches(body, '(\w+)s\M', 'g'))[1], w FROM documents, regexp_split_to_table(title, '') w
--# regex: counts
SELECT regexp_count(body, 'o'), regexp_instr(body, 'o'), regexp_like(body, 'FOX', 'i'), regexp_substr(body, '[a-z]+') FROM documents
--# strings
SELECT upper(name), lower(name), initcap('hi there'), length(name), octet_length(name), position('a' IN name), overlay('abc' PLACING 'x' FROM 2), trim(BOTH 'x' FROM 'xax'), lpad(name, 10, '*'), split_part(email, '@', 2), left(name, 1), reverse(name), replace(name, 'a', 'b'), translate(name, 'ab', 'xy'), concat(name, NULL, 1), concat_ws('-', name, city), md5(name), format('%s is %I %L', name, city, country), quote_literal(name), ascii(name), chr(65), repeat('a', 3), starts_with(name, 'A'), strpos(name, 'd'), to_hex(255), encode('abc', 'base64'), convert_from('\x41', 'UTF8'), normalize(name, NFC), name COLLATE "C" FROM customers WHERE city IS NOT NULL
--# strings: LIKE with escape
SELECT 'a_b' LIKE 'a#_b' ESCAPE '#', name ILIKE '%a%', name LIKE ANY (ARRAY['A%', 'B%']) FROM customers
--# strings: literals of every form
SELECT E'tab\there', U&'d\0061t\+000061', $$dollar 'quoted'$$, $tag$x$tag$, 'it''s', B'101', X'1F', 'con'
  'tinued'
--# dates: arithmetic
SELECT placed_at + interval '1 day', placed_at::date - date '2024-01-01', age(placed_at), age(placed_at, '2024-01-01'), extract(epoch FROM placed_at), date_part('dow', placed_at), date_trunc('week', placed_at), to_char(placed_at, 'YYYY-MM-DD HH24:MI TZ') FROM orders
--# dates: time zones
SELECT placed_at AT TIME ZONE 'Europe/Berlin', timezone('UTC', placed_at), (placed_at AT TIME ZONE 'UTC')::date, timestamp '2024-01-01 10:00' AT TIME ZONE 'America/New_York', date_trunc('day', placed_at, 'Asia/Tokyo') FROM orders
--# dates: the clock
SELECT now() > '2020-01-01', current_date > date '2020-01-01', current_timestamp IS NOT NULL, localtime IS NOT NULL, clock_timestamp() >= now(), statement_timestamp() >= transaction_timestamp(), timeofday() <> ''
--# dates: making and binning
SELECT make_date(2024, 2, 29), make_interval(days => 3, hours => 4), make_timestamptz(2024, 1, 1, 0, 0, 0, 'UTC'), to_timestamp(0), to_date('2024-05', 'YYYY-MM'), date_bin('15 minutes', placed_at, timestamptz '2001-01-01 00:00+00'), justify_days('40 days') FROM orders
--# dates: compared with other types
SELECT count(*) FROM orders WHERE placed_at >= date '2024-05-10' AND placed_at < timestamp '2025-01-01 00:00' AND (placed_at, placed_at + interval '1 h') OVERLAPS (timestamptz '2024-05-01 00:00+00', interval '1 year')
--# dates: special values
SELECT 'infinity'::timestamptz > now(), 'epoch'::timestamptz, 'today'::date = current_date, isfinite('infinity'::date), date 'tomorrow' > date 'yesterday'
--# numeric
SELECT round(total, 1), trunc(total), ceil(total), floor(total), mod(total, 3), total ^ 2, sqrt(total), ln(10), log(2, 8), exp(1.0), power(2, 10), sign(-1), abs(-1), div(7, 2), 7 % 3, 7 / 2.0, width_bucket(total, 0, 100, 5), to_char(total, 'FM999G990D00'), scale(total), gcd(12, 18), factorial(5), 'NaN'::numeric, random() < 1, pi() FROM orders
--# numeric: casts
SELECT 1::int2, '12.5'::numeric(4, 1), 3.7::int, 1e10::int8, CAST('7' AS smallint), total::float8, 5::text, '5'::int, true::int, 'yes'::boolean, float4 '1.5', 10.0::money::numeric FROM orders
--# int8: operators
SELECT q1 + q2, q1 - q2, q1 / 7, -q1, q1 & 255, q1 | 1, q1 # 2, ~q1, q1 << 1, q1 >> 1, @ q2 FROM int8_tbl WHERE q1 < 1000 AND q2 < 1000
--# uuid
SELECT uid = uid, gen_random_uuid() <> gen_random_uuid(), 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid, uid::text LIKE '%-%' FROM orders
--# enum
SELECT current_mood, current_mood > 'sad', enum_range(NULL::mood), enum_first(NULL::mood), 'ok'::mood, current_mood::text AS words FROM people ORDER BY people.current_mood
--# enum: as a filter and a group
SELECT status, count(*) FROM customers WHERE status IN ('new', 'gold') OR status = ANY ('{regular}'::customer_status[]) GROUP BY status
--# domain
SELECT 5::positive + 1, '2.5'::positive
--# inet
SELECT ip << '10.0.0.0/8', host(ip), network(ip), masklen(ip), broadcast(ip), family(ip), set_masklen(ip, 16), ip + 1, text(ip), mac::text FROM people
--# geometry
SELECT place <-> point '(0,0)', circle(place, 2) @> point '(1,1)', box '((0,0),(1,1))' && box '((1,1),(2,2))', area(circle '<(0,0),2>'), lseg '[(0,0),(1,1)]' ?# lseg '[(0,1),(1,0)]', path '((0,0),(1,1))', place[0] FROM people
--# bit strings, bytea and money
SELECT bits & B'1100', bits || B'1', length(bits), raw, encode(raw, 'hex'), get_byte(raw, 0), sha256(raw), substring(raw FROM 1 FOR 1), pay + '1'::money, span * 2, extract(day FROM span), justify_interval(span) FROM people
--# xml: values
SELECT xmlelement(name foo, xmlattributes(id AS x), 'bar'), xmlforest(id, 'b' AS b), xmlconcat('<a/>', '<b/>'), xmlparse(DOCUMENT '<a/>'), xmlserialize(CONTENT data AS text), data IS DOCUMENT, xmlcomment('c'), xmlpi(name php, 'echo') FROM xmldata
--# xml: xpath and xmltable
SELECT x.* FROM xmldata, XMLTABLE('//rows/row' PASSING data COLUMNS id int PATH '@id', name text PATH 'name', size float PATH 'size', unit text PATH 'size/@unit' DEFAULT 'none') AS x
--# xml: xpath
SELECT xpath('/rows/row/name/text()', data), xpath_exists('//row', data), xmlexists('//row' PASSING data), (xpath('count(//row)', data))[1]::text, (SELECT xmlagg(x.data) FROM xmldata x) FROM xmldata
--# views: exposed, over exposed ones
SELECT * FROM order_summary WHERE total > 10
--# views: exposed, over hidden ones
SELECT * FROM ledger_total
--# views: joined with a table
SELECT o.id, a.actor FROM orders o JOIN order_actors a USING (id)
--# views: a materialized one
SELECT month, total FROM monthly ORDER BY 1
--# who and what one is
SELECT current_user IS NOT NULL, session_user IS NOT NULL, current_database() <> '', version() LIKE 'PostgreSQL%', current_schema()
--# misc: system columns
SELECT ctid, xmin, tableoid > 0, id FROM orders WHERE ctid = '(0,1)'
--# misc: operators by their schema
SELECT 1 OPERATOR(pg_catalog.+) 2, pg_catalog.upper('x'), 'a'::pg_catalog.text COLLATE pg_catalog."default"
--# misc: named and variadic arguments
SELECT make_interval(hours := 2), concat_ws(',', VARIADIC ARRAY['a', 'b']), format('%s', VARIADIC ARRAY['x'])
--# misc: comments everywhere
SELECT /* one /* nested */ */ id -- to the end
FROM /**/ orders -- another
WHERE id = 1 /* last */
--# misc: quoted names
SELECT o."id" AS "The ""Id""", "o".total FROM "public"."orders" "o" ORDER BY "The ""Id"""
--# misc: names of three parts
SELECT shop.public.orders.id FROM shop.public.orders WHERE shop.public.orders.id = 2
--# misc: values that look like hidden names
SELECT 'canary_ledger' AS canary_ledger, 'vault.actors' AS "vault" FROM orders WHERE note IS DISTINCT FROM 'canary_value'
