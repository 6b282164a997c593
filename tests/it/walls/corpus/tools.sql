-- What agents, BI tools and dbt send over tables of their users, macros expanded.
--# agent: a first look
SELECT * FROM orders LIMIT 5
--# agent: how many
SELECT COUNT(*) AS total_orders FROM public.orders;
--# agent: the last month
SELECT c.name, SUM(o.total) AS revenue FROM orders o JOIN customers c ON o.customer_id = c.id WHERE o.placed_at >= NOW() - INTERVAL '5 years' GROUP BY c.name ORDER BY revenue DESC LIMIT 10;
--# agent: profile of a column
SELECT status, COUNT(*) AS n, ROUND(100.0 * COUNT(*) / SUM(COUNT(*)) OVER (), 2) AS pct FROM orders GROUP BY 1 ORDER BY 2 DESC
--# agent: missing values
SELECT count(*) FILTER (WHERE city IS NULL) AS no_city, count(*) FILTER (WHERE email = '') AS no_email, count(DISTINCT country) AS countries FROM customers
--# agent: duplicates
SELECT email, count(*) FROM customers GROUP BY email HAVING count(*) > 1
--# agent: plan of a query
EXPLAIN SELECT * FROM orders WHERE customer_id = 1
--# agent: plan that was run
EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) SELECT count(*) FROM tenk WHERE hundred = 5
--# agent: plan of a change
EXPLAIN (COSTS OFF, VERBOSE) UPDATE accounts SET balance = 0 WHERE id = 1
--# agent: size of a table
SELECT pg_size_pretty(pg_total_relation_size('orders'))
--# agent: sizes of a table's parts
SELECT pg_relation_size('public.orders'), pg_table_size('orders'::regclass), pg_indexes_size('orders'), pg_size_pretty(1024::bigint)
--# agent: number of a table
SELECT 'orders'::regclass::oid > 0, 'public.customers'::regclass::text
--# agent: which table a row came from
SELECT tableoid = 'cities'::regclass AS own, name FROM cities
--# agent: the server's version and zone
SELECT version(), current_setting('server_version_num')::int > 0, current_setting('TimeZone') <> ''
--# agent: version by SHOW
SHOW server_version
--# agent: time zone by SHOW
SHOW TIME ZONE
--# agent: cohort analysis
WITH firsts AS (SELECT customer_id, MIN(placed_at) AS first_at FROM orders GROUP BY customer_id), months AS (SELECT o.customer_id, DATE_TRUNC('month', f.first_at) AS cohort, (EXTRACT(YEAR FROM AGE(o.placed_at, f.first_at)) * 12 + EXTRACT(MONTH FROM AGE(o.placed_at, f.first_at)))::int AS month FROM orders o JOIN firsts f USING (customer_id)) SELECT TO_CHAR(cohort, 'YYYY-MM') AS cohort, month, COUNT(DISTINCT customer_id) FROM months GROUP BY 1, 2 ORDER BY 1, 2
--# agent: month over month
SELECT month, total, total - LAG(total) OVER (ORDER BY month) AS diff, ROUND((total / NULLIF(LAG(total) OVER (ORDER BY month), 0) - 1) * 100, 1) AS growth FROM (SELECT DATE_TRUNC('month', placed_at) AS month, SUM(total) AS total FROM orders GROUP BY 1) AS m ORDER BY month
--# agent: pivot by filter
SELECT DATE_TRUNC('month', placed_at)::DATE AS month, SUM(total) FILTER (WHERE status = 'paid') AS paid, SUM(CASE WHEN status = 'open' THEN total END) AS open FROM orders GROUP BY 1
--# agent: gaps filled
SELECT d::date AS day, COALESCE(SUM(o.total), 0) AS total FROM generate_series('2024-05-01'::timestamp, '2024-05-07'::timestamp, '1 day') AS d LEFT JOIN orders o ON o.placed_at::date = d::date GROUP BY d ORDER BY d
--# agent: median and outliers
WITH q AS (SELECT percentile_cont(ARRAY[0.25, 0.5, 0.75]) WITHIN GROUP (ORDER BY total) AS p FROM orders) SELECT o.id, o.total FROM orders o, q WHERE o.total > p[3] + 1.5 * (p[3] - p[1])
--# agent: funnel
SELECT kind, count(DISTINCT user_id), min(at), max(at) FROM events WHERE at BETWEEN '2024-01-01' AND '2024-02-01' GROUP BY kind ORDER BY array_position(ARRAY['view', 'click', 'buy'], kind)
--# agent: sessions by gaps and islands
SELECT user_id, session, count(*) FROM (SELECT user_id, sum(CASE WHEN at - prev > interval '30 hours' OR prev IS NULL THEN 1 ELSE 0 END) OVER (PARTITION BY user_id ORDER BY at) AS session FROM (SELECT user_id, at, lag(at) OVER (PARTITION BY user_id ORDER BY at) AS prev FROM events) a) b GROUP BY 1, 2 ORDER BY 1, 2
--# agent: top of each group by LATERAL
SELECT c.name, t.total FROM customers c CROSS JOIN LATERAL (SELECT total FROM orders o WHERE o.customer_id = c.id ORDER BY total DESC LIMIT 1) t
--# agent: random sample
SELECT id FROM orders ORDER BY RANDOM() LIMIT 2
--# agent: brackets, as some services write names
SELECT [o].[id], [total] FROM [orders] AS [o] WHERE [o].[id] = 1
--# agent: catalog in front
SELECT * FROM shop.public.customers WHERE shop.public.customers.city = 'London'
--# Metabase: a question with a join
SELECT "public"."orders"."id" AS "id", "public"."orders"."total" AS "total", "Customers"."name" AS "Customers__name" FROM "public"."orders" LEFT JOIN "public"."customers" AS "Customers" ON "public"."orders"."customer_id" = "Customers"."id" LIMIT 2000
--# Metabase: summarize by month
SELECT CAST(DATE_TRUNC('month', CAST("public"."orders"."placed_at" AS timestamp)) AS timestamp) AS "placed_at", SUM("public"."orders"."total") AS "sum" FROM "public"."orders" GROUP BY CAST(DATE_TRUNC('month', CAST("public"."orders"."placed_at" AS timestamp)) AS timestamp) ORDER BY 1 ASC
--# Metabase: relative dates
SELECT COUNT(*) AS "count" FROM "public"."orders" WHERE "public"."orders"."placed_at" >= CAST((NOW() + INTERVAL '-30 year') AS date) AND "public"."orders"."placed_at" < CAST(NOW() AS date)
--# Metabase: binning
SELECT (FLOOR(("public"."orders"."total" / 12.5)) * 12.5) AS "total", COUNT(*) AS "count" FROM "public"."orders" GROUP BY (FLOOR(("public"."orders"."total" / 12.5)) * 12.5) ORDER BY 1
--# Metabase: fingerprint of a table
SELECT SUBSTRING("source"."name", 1, 1234) AS "substring", "source"."email" AS "email" FROM (SELECT "public"."customers"."name" AS "name", "public"."customers"."email" AS "email" FROM "public"."customers" LIMIT 10000) AS "source"
--# Metabase: JSON columns unfolded
SELECT ("public"."customers"."profile"#>>ARRAY['plan', 'name']::text[])::text AS "profile → plan → name" FROM "public"."customers" LIMIT 1048575
--# Metabase: field filter with a comment
-- Metabase:: userID: 1 queryType: native queryHash: 0af1
SELECT * FROM customers WHERE lower(name) LIKE '%a%' AND (1 = 1)
--# Metabase: distinct values of a field
SELECT "public"."customers"."city" AS "city" FROM "public"."customers" GROUP BY "public"."customers"."city" ORDER BY "public"."customers"."city" ASC LIMIT 1000
--# Grafana: a time series ($__timeGroup, $__timeFilter)
SELECT floor(extract(epoch FROM at)/3600)*3600 AS "time", kind AS metric, count(*) AS value FROM events WHERE at BETWEEN '2024-01-01T00:00:00Z' AND '2024-02-01T00:00:00Z' GROUP BY 1, 2 ORDER BY 1, 2
--# Grafana: time buckets in UTC ($__timeGroupAlias)
SELECT date_trunc('hour', at AT TIME ZONE 'UTC') AS "time", avg((payload ->> 'n')::numeric) AS "avg_n" FROM events WHERE at >= to_timestamp(1704067200) AND extract(epoch FROM at) < 1735689600 GROUP BY 1 ORDER BY 1
--# Grafana: a variable
SELECT DISTINCT name AS __text, id AS __value FROM customers ORDER BY 1
--# Grafana: a table panel with a regex variable
SELECT at AS "time", sensor::text AS metric, value FROM measurements WHERE sensor::text ~ '^(0|1)$' AND at >= '2024-11-01' ORDER BY at LIMIT 50
--# Grafana: annotations
SELECT extract(epoch FROM placed_at) AS time, note AS text, status AS tags FROM orders WHERE note IS NOT NULL
--# Tableau: a live connection
SELECT "orders"."status" AS "status", SUM("orders"."total") AS "sum:total:ok", COUNT(DISTINCT "orders"."customer_id") AS "ctd:customer_id:ok" FROM "public"."orders" "orders" INNER JOIN "public"."customers" "customers" ON ("orders"."customer_id" = "customers"."id") WHERE (NOT ("customers"."city" IS NULL)) GROUP BY 1
--# Tableau: dates as parts
SELECT CAST(TRUNC(EXTRACT(YEAR FROM "orders"."placed_at")) AS INTEGER) AS "yr:placed_at:ok", CAST(DATE_TRUNC('QUARTER', "orders"."placed_at") AS DATE) AS "tqr" FROM "public"."orders" "orders" GROUP BY 1, 2
--# Tableau: custom SQL
SELECT "Custom SQL Query"."name" AS "name" FROM (SELECT * FROM customers) "Custom SQL Query" GROUP BY 1
--# Tableau: a level of detail expression
SELECT "t0"."x" AS "x", AVG("t0"."n") AS "avg" FROM (SELECT "orders"."customer_id" AS "x", CAST(COUNT(1) AS DOUBLE PRECISION) AS "n" FROM "public"."orders" "orders" GROUP BY 1) "t0" GROUP BY 1 HAVING (COUNT(1) > 0)
--# Tableau: probe of a table
SELECT * FROM "public"."orders" "orders" LIMIT 0
--# Superset: a chart
SELECT DATE_TRUNC('day', placed_at) AS __timestamp, status AS status, sum(total) AS "SUM(total)" FROM public.orders WHERE placed_at >= TO_TIMESTAMP('2024-01-01 00:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US') AND placed_at < TO_TIMESTAMP('2026-01-01 00:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US') GROUP BY DATE_TRUNC('day', placed_at), status ORDER BY "SUM(total)" DESC LIMIT 10000
--# Superset: a virtual dataset
SELECT city AS city, COUNT(*) AS count FROM (SELECT c.*, o.total FROM customers c LEFT JOIN orders o ON o.customer_id = c.id) AS virtual_table WHERE city IN ('London', 'Berlin') GROUP BY city LIMIT 1000
--# Superset: percentiles
SELECT PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY total) AS p90 FROM public.orders AS virtual_table
--# Looker: symmetric aggregates
SELECT COALESCE(COALESCE(CAST((SUM(DISTINCT (CAST(FLOOR(COALESCE(o.total, 0) * (1000000 * 1.0)) AS DECIMAL(65, 0))) + ('x' || MD5(o.id::varchar))::bit(64)::bigint::DECIMAL(65) * 18446744073709551616) - SUM(DISTINCT ('x' || MD5(o.id::varchar))::bit(64)::bigint::DECIMAL(65) * 18446744073709551616)) AS DOUBLE PRECISION) / CAST((1000000 * 1.0) AS DOUBLE PRECISION), 0), 0) AS total FROM orders o LEFT JOIN order_items i ON i.order_id = o.id
--# Power BI: folded query
select "rows"."status" as "status", sum("rows"."total") as "a0" from (select "_"."status", "_"."total" from "public"."orders" "_" where "_"."status" = 'paid') "rows" group by "status" limit 1000001
--# dbt: a test for uniqueness
select count(*) as failures, count(*) != 0 as should_warn, count(*) != 0 as should_error from (select email as unique_field, count(*) as n_records from "shop"."public"."customers" where email is not null group by email having count(*) > 1) dbt_internal_test
--# dbt: a test for relationships
with child as (select customer_id as from_field from public.orders where customer_id is not null), parent as (select id as to_field from public.customers) select from_field from child left join parent on child.from_field = parent.to_field where parent.to_field is null
--# dbt: accepted values
with all_values as (select status as value_field, count(*) as n_records from public.orders group by status) select * from all_values where value_field not in ('paid', 'open', 'void', 'closed')
--# dbt: a model, built
create table "public"."spare_model__dbt_tmp" as (with source as (select * from public.orders), renamed as (select id as order_id, total as amount from source) select * from renamed)
--# dbt: a view
create view "public"."spare_view__dbt_tmp" as (select id, upper(name) as name from public.customers)
--# dbt: an incremental model
insert into public.accounts ("id", "owner") (select "id" + 100, "name" from public.customers where id > (select max(id) from public.accounts))
--# SQLAlchemy: an ORM query
SELECT orders.id AS orders_id, orders.customer_id AS orders_customer_id, anon_1.name AS anon_1_name FROM (SELECT customers.id AS id, customers.name AS name FROM customers LIMIT 10 OFFSET 0) AS anon_1 JOIN orders ON anon_1.id = orders.customer_id
--# Django: exists and count
SELECT COUNT(*) AS "__count" FROM "orders" INNER JOIN "customers" ON ("orders"."customer_id" = "customers"."id") WHERE UPPER("customers"."name"::text) LIKE UPPER('%a%')
--# Django: a boolean exists
SELECT (1) AS "a" FROM "orders" WHERE "orders"."status" = 'paid' LIMIT 1
--# Prisma: a nested read
SELECT "t0"."id", "t0_items"."__prisma_data__" FROM "public"."orders" AS "t0" LEFT JOIN LATERAL (SELECT COALESCE(JSONB_AGG("__prisma_data__"), '[]') AS "__prisma_data__" FROM (SELECT JSONB_BUILD_OBJECT('line', "t1"."line") AS "__prisma_data__" FROM "public"."order_items" AS "t1" WHERE "t0"."id" = "t1"."order_id") AS "t2") AS "t0_items" ON TRUE
--# PostgREST: a read as JSON
WITH pgrst_source AS (SELECT "public"."customers"."id", row_to_json("customers_home".*) AS "home" FROM "public"."customers" LEFT JOIN LATERAL (SELECT "o"."id" FROM "public"."orders" AS "o" WHERE "o"."customer_id" = "public"."customers"."id" LIMIT 1) AS "customers_home" ON TRUE) SELECT null::bigint AS total_result_set, pg_catalog.count(_postgrest_t) AS page_total, coalesce(json_agg(_postgrest_t), '[]') AS body FROM (SELECT * FROM pgrst_source) _postgrest_t
--# Hasura: a query as JSON
SELECT coalesce(json_agg("root"), '[]') AS "root" FROM (SELECT row_to_json((SELECT "_e" FROM (SELECT "_root.base"."id" AS "id") AS "_e")) AS "root" FROM (SELECT * FROM "public"."orders" WHERE ('true')) AS "_root.base") AS "_root"
--# a probe of the connection
SELECT 1
--# a probe with an alias and a semicolon
select 1 as ok;
--# several statements
SELECT count(*) FROM orders; SELECT count(*) FROM customers; SELECT name FROM order_summary
