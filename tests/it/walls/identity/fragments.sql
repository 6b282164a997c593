-- What a caller could try so that it, or the next on its session, is somebody else. `{set}` is set_config in one of its notations,
-- `{role}` the other role as an expression, `{local}` true or false, `{settings}` pg_settings in one of its notations, `{c}` a spare name.
SET ROLE south
SET LOCAL ROLE south
SET SESSION ROLE 'south'
SET role = south
SET "role" TO 'south'
SET ROLE NONE
RESET ROLE
RESET ALL
DISCARD ALL
SET SESSION AUTHORIZATION south
SET LOCAL SESSION AUTHORIZATION gateway
SET SESSION AUTHORIZATION DEFAULT
RESET SESSION AUTHORIZATION
SET session_authorization = 'gateway'
SELECT {set}('role', {role}, {local})
SELECT {set}('ROLE', {role}, {local})
SELECT {set}('role', 'none', {local})
SELECT x.* FROM {set}('role', {role}, {local}) AS x
SELECT * FROM orders, LATERAL {set}('role', {role}, {local}) x
SELECT (SELECT {set}('role', {role}, {local}))
SELECT CASE WHEN true THEN {set}('role', {role}, {local}) END
VALUES ({set}('role', {role}, {local}))
SELECT upper({set}('role', {role}, {local})) FROM orders ORDER BY 1
WITH x AS (SELECT {set}('role', {role}, {local})) SELECT * FROM x
SELECT * FROM ROWS FROM ({set}('role', {role}, {local})) AS x
SELECT {set}(setting_name => 'role', new_value => {role}, is_local => {local})
SELECT {set}('ro' || 'le', {role}, {local})
SELECT {set}('session_authorization', 'gateway', {local})
SELECT {set}('search_path', 'pg_temp, public', {local})
SELECT {set}('row_security', 'off', {local})
SELECT {set}('request.jwt.claims', '{"sub": "reader@example.com"}', {local})
SELECT {set}('portico.principal', 'reader@example.com', {local})
SELECT {set}('attack.mark', 'was here', {local})
SELECT {set}('standard_conforming_strings', 'off', {local})
SELECT {set}('backslash_quote', 'on', {local})
SELECT {set}('client_encoding', 'SJIS', {local})
SELECT {set}('client_encoding', 'LATIN1', {local})
SELECT {set}('DateStyle', 'German', {local})
SELECT {set}('TimeZone', 'Asia/Tokyo', {local})
SELECT {set}('work_mem', '77MB', {local})
INSERT INTO notes (words) SELECT {set}('role', {role}, {local})
UPDATE orders SET region = region WHERE {set}('role', {role}, {local}) IS NOT NULL
DELETE FROM orders WHERE {set}('role', {role}, {local}) IS NULL
INSERT INTO notes (words) VALUES ('x') RETURNING {set}('role', {role}, {local})
EXPLAIN ANALYZE SELECT {set}('role', {role}, {local})
CREATE TEMP TABLE {c} AS SELECT {set}('role', {role}, {local}) AS a
SELECT {set}('role', {role}, {local}) AS a INTO TEMP {c}
CREATE TEMP TABLE {c} (a text DEFAULT {set}('role', {role}, {local})); INSERT INTO {c} DEFAULT VALUES
CREATE TEMP VIEW {c} AS SELECT {set}('role', {role}, {local}) AS a; SELECT * FROM {c}
CREATE VIEW {c} AS SELECT {set}('role', {role}, {local}) AS a; TABLE {c}
CREATE TABLE {c} (a text CHECK ({set}('role', a, {local}) IS NOT NULL)); INSERT INTO {c} VALUES ({role})
CREATE TABLE {c} (a text); CREATE INDEX ON {c} ((upper(a))) WHERE a = 'x'; CREATE POLICY p ON {c} USING ({set}('role', {role}, {local}) IS NOT NULL)
UPDATE {settings} SET setting = {role} WHERE name = 'role'
UPDATE ONLY {settings} AS s SET setting = {role} WHERE s.name = 'role'
UPDATE {settings} SET setting = {role} WHERE name IN (SELECT 'role')
UPDATE {settings} SET setting = {role} FROM orders WHERE name = 'role'
WITH x AS (UPDATE {settings} SET setting = {role} WHERE name = 'role' RETURNING 1) SELECT * FROM x
UPDATE {settings} SET setting = 'off' WHERE name = 'standard_conforming_strings'
UPDATE {settings} SET setting = 'SJIS' WHERE name = 'client_encoding'
UPDATE {settings} SET setting = '77MB' WHERE name = 'work_mem'
MERGE INTO {settings} s USING (SELECT 1) o ON s.name = 'role' WHEN MATCHED THEN UPDATE SET setting = {role}
CREATE TEMP VIEW {c} AS SELECT * FROM {settings}; UPDATE {c} SET setting = {role} WHERE name = 'role'
CREATE VIEW {c} AS SELECT name, setting FROM {settings}; UPDATE {c} SET setting = {role} WHERE name = 'role'
CREATE TEMP TABLE {c} (a int); CREATE RULE r AS ON INSERT TO {c} DO INSTEAD UPDATE {settings} SET setting = 'south' WHERE name = 'role'; INSERT INTO {c} VALUES (1)
DO $$ BEGIN SET ROLE south; END $$
DO $$ BEGIN PERFORM set_config('role', 'south', false); END $$
DO LANGUAGE plpgsql 'BEGIN EXECUTE ''SET SESSION ROLE south''; END'
CREATE FUNCTION pg_temp.{c}() RETURNS text LANGUAGE sql AS $$ SELECT set_config('role', 'south', false) $$; SELECT pg_temp.{c}()
CREATE FUNCTION {c}() RETURNS text LANGUAGE sql AS $$ SELECT set_config('role', 'south', false) $$; SELECT {c}()
CREATE FUNCTION {c}() RETURNS int LANGUAGE sql SET role = 'south' AS 'SELECT 1'; SELECT {c}()
CREATE PROCEDURE {c}() LANGUAGE plpgsql AS $$ BEGIN SET ROLE south; END $$; CALL {c}()
CREATE FUNCTION {c}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN SET ROLE south; RETURN new; END $$; CREATE TEMP TABLE {c}t (a int); CREATE TRIGGER t BEFORE INSERT ON {c}t FOR EACH ROW EXECUTE FUNCTION {c}(); INSERT INTO {c}t VALUES (1)
CREATE TEMP TABLE orders AS SELECT 99 AS id, 'trap'::text AS region
CREATE TEMP TABLE IF NOT EXISTS payroll (name text)
CREATE TEMP VIEW orders AS SELECT 99 AS id, 'trap'::text AS region
CREATE TEMP SEQUENCE {c}
CREATE TEMP TABLE {c} (a int) ON COMMIT PRESERVE ROWS
SELECT 1 AS a INTO TEMP {c}
CREATE FUNCTION pg_temp.{c}() RETURNS int LANGUAGE sql AS 'SELECT 1'
CREATE TYPE pg_temp.{c} AS (a int)
CREATE DOMAIN pg_temp.{c} AS int
PREPARE {c} AS SELECT 1
PREPARE {c} AS SELECT set_config('role', 'south', false); EXECUTE {c}
DECLARE {c} CURSOR WITH HOLD FOR SELECT 1
LISTEN {c}
LOAD 'auto_explain'
SELECT pg_advisory_lock(7)
SELECT pg_try_advisory_lock(7, 8)
SELECT pg_advisory_lock_shared(9) FROM orders
SET search_path = pg_temp, public
SET client_encoding = 'SJIS'
SET NAMES 'LATIN1'
SET standard_conforming_strings = off
SET LOCAL standard_conforming_strings TO off
SET backslash_quote TO on
SET TIME ZONE 'Asia/Tokyo'
SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL SERIALIZABLE
SET request.jwt.claims = '{"sub": "reader@example.com"}'
SET portico.principal TO 'reader@example.com'
SET work_mem = '77MB'
RESET portico.principal
ALTER ROLE CURRENT_USER SET role = 'south'
ALTER ROLE gateway SET role = 'south'
ALTER DATABASE walls SET role = 'south'
GRANT south TO north
COMMIT; SET ROLE south
ROLLBACK; SELECT set_config('role', 'south', false)
ROLLBACK AND CHAIN
COMMIT AND CHAIN
BEGIN; SET ROLE south
SAVEPOINT a; ROLLBACK TO a; RESET ROLE
END
ABORT
SELECT '\'; SELECT name FROM payroll; --'
SELECT E'\'; SELECT name FROM payroll; --'
SELECT '表'; SELECT '\'; RESET ROLE; --'
SELECT 1 / 0
SELECT * FROM nothing_at_all
SELECT query_to_xml('SELECT set_config(''role'', ''south'', false)', true, true, '')
SELECT query_to_xml('SELECT * FROM payroll', true, true, '') FROM (SELECT {set}('role', {role}, true)) x
SELECT * FROM ts_stat('SELECT to_tsvector(set_config(''role'', ''south'', false))')
SELECT cursor_to_xml('x', 1, true, true, '')
SELECT count(*) FROM orders
INSERT INTO notes (words) VALUES ('mine')
UPDATE {settings} SET setting = 'SJIS' WHERE name = 'client_encoding'; SELECT E'Á\' || set_config($$role$$, $$south$$, {local}) --'
UPDATE {settings} SET setting = 'GBK' WHERE name = 'client_encoding'; SELECT E'表\' || set_config($$role$$, $$south$$, {local}) --'
UPDATE {settings} SET setting = 'BIG5' WHERE name = 'client_encoding'; SELECT E'表\' || set_config($$role$$, $$south$$, {local}) --'
UPDATE {settings} SET setting = 'off' WHERE name = 'standard_conforming_strings'; SELECT '\' , ' || set_config($$role$$, $$south$$, {local}) --'
UPDATE {settings} SET setting = 'on' WHERE name = 'backslash_quote'; SELECT E'\' , ' || set_config($$role$$, $$south$$, {local}) --'
SELECT E'Á\' || set_config($$role$$, $$south$$, {local}) --'
SELECT E'表\' || set_config($$role$$, $$south$$, {local}) --'
SELECT '\' , ' || set_config($$role$$, $$south$$, {local}) --'
