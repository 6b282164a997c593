-- Where a reference to what is hidden can stand, one a line. `{t}` is a relation, `{s}` its sequence, `{i}` its index, `{y}` a row
-- type, `{n}` a relation's name within a text, `{o}` its number, `{c}` its column, `{f}` a hidden function, `{k}` a number for names
-- of one's own, `{d}` how dblink gets here, `@name` a bound parameter with its name. A line that begins with `~` may run, and must
-- tell nothing; one with `#schema` is sent with that default schema; behind `!` a routine is called that is handed the name.
SELECT * FROM {t}
SELECT {c} FROM {t}
SELECT t.* FROM {t} AS t
SELECT t FROM {t} t
SELECT (t).{c} FROM {t} t
SELECT t.{c}::text FROM {t} t
SELECT to_jsonb(t) FROM {t} t
SELECT row_to_json(t.*) FROM {t} t
SELECT count(*) FROM {t}
SELECT max({c}) FROM ONLY {t}
SELECT * FROM {t} *
SELECT * FROM ({t})
SELECT * FROM {t} TABLESAMPLE SYSTEM (100)
TABLE {t}
TABLE ONLY {t}
(TABLE {t})
SELECT 1 UNION ALL SELECT length({c}) FROM {t}
SELECT id FROM orders WHERE EXISTS (TABLE {t})
SELECT id FROM orders WHERE note IN (SELECT {c} FROM {t})
SELECT id FROM orders WHERE note = ANY (SELECT {c} FROM {t})
SELECT (SELECT {c} FROM {t} LIMIT 1)
SELECT ARRAY(SELECT {c} FROM {t})
SELECT o.id, t.{c} FROM orders o, {t} t
SELECT t.{c} FROM orders o LEFT JOIN {t} t ON true
SELECT * FROM orders NATURAL JOIN {t}
SELECT * FROM orders o CROSS JOIN LATERAL (SELECT {c} FROM {t}) x
SELECT * FROM (SELECT * FROM (SELECT * FROM {t}) a) b
WITH x AS (SELECT * FROM {t}) SELECT * FROM x
WITH x AS MATERIALIZED (TABLE {t}) SELECT * FROM x
WITH RECURSIVE x AS (SELECT {c}, 1 AS n FROM {t} UNION ALL SELECT {c}, n + 1 FROM x WHERE n < 2) SELECT * FROM x
WITH orders AS (SELECT * FROM {t}) SELECT * FROM orders
SELECT * FROM orders ORDER BY (SELECT {c} FROM {t} LIMIT 1)
SELECT id FROM orders GROUP BY id HAVING id < (SELECT count(*) FROM {t})
SELECT id FROM orders LIMIT (SELECT count(*) FROM {t})
SELECT sum(total) FILTER (WHERE EXISTS (SELECT FROM {t})) FROM orders
SELECT sum(total) OVER (ORDER BY (SELECT {c} FROM {t} LIMIT 1)) FROM orders
SELECT CASE WHEN EXISTS (SELECT 1 FROM {t} WHERE {c} LIKE 'canary%') THEN 1 / 0 END
SELECT (SELECT {c} FROM {t} LIMIT 1)::int
VALUES ((SELECT {c} FROM {t} LIMIT 1))
SELECT * FROM ROWS FROM (unnest(ARRAY(SELECT {c} FROM {t}))) AS u
SELECT * FROM generate_series(1, (SELECT count(*) FROM {t})) g
SELECT coalesce(NULL, (SELECT {c} FROM {t} LIMIT 1))
SELECT xmlforest((SELECT {c} FROM {t} LIMIT 1) AS a)
SELECT * FROM {t} FOR UPDATE
SELECT o.id FROM orders o, {t} t FOR SHARE OF t
SELECT {t}.{c} FROM {t}
SELECT NULL::{y}
SELECT (NULL::{y}).*
SELECT (NULL::{y}).{c}
SELECT CAST(NULL AS {y})
SELECT NULL::{y}[]
SELECT row_to_json(NULL::{y})
SELECT to_jsonb(jsonb_populate_record(NULL::{y}, '{}'))
SELECT * FROM jsonb_populate_record(NULL::{y}, '{}')
SELECT * FROM json_populate_recordset(NULL::{y}, '[{}]')
SELECT * FROM jsonb_to_record('{}') AS x (a {y})
SELECT * FROM unnest(ARRAY[NULL]::{y}[])
SELECT id FROM orders o WHERE EXISTS (SELECT FROM unnest(ARRAY[NULL::{y}]) u)
SELECT ('(x,y,z)'::{y}).*
SELECT {f}()
SELECT * FROM {f}()
SELECT id FROM orders WHERE note = {f}()
SELECT x FROM orders, LATERAL {f}() x
SELECT upper({f}())
CALL {f}()
SELECT nextval('{s}')
SELECT nextval('{s}'::regclass)
SELECT setval('{s}', 777)
SELECT currval('{s}')
SELECT pg_sequence_last_value('{s}'::regclass)
SELECT last_value FROM {s}
SELECT * FROM {s}
TABLE {s}
SELECT * FROM pg_sequence_parameters('{s}'::regclass)
SELECT '{n}'::regclass
SELECT '{n}'::regclass::oid
SELECT CAST('{n}' AS regclass)
SELECT regclass '{n}'
SELECT regclass('{n}')
SELECT pg_catalog.regclass('{n}'::text)
SELECT '{n}'::text::regclass::oid::int
SELECT to_regclass('{n}')
SELECT to_regclass('{n}') IS NOT NULL
SELECT '{n}'::regtype
SELECT to_regtype('{n}')::oid
SELECT regclassin('{n}'::cstring)
SELECT ('{n}')::regclass
SELECT ('{n}'||'')::regclass::oid
SELECT lower('{n}')::regclass
SELECT concat('{n}')::regclass
SELECT {o}::regclass
SELECT {o}::oid::regclass::text
SELECT ({o} + 0)::oid::regclass
SELECT {o}::regtype
SELECT ({o} + 2)::oid::regtype::text
SELECT regclassout({o}::regclass)
SELECT format('%s', {o}::regclass)
SELECT {o}::oid::int8::oid::regclass
SELECT ARRAY[{o}]::regclass[]
SELECT '{{o}}'::regclass[]
SELECT * FROM unnest('{{o}}'::regclass[])
SELECT ('[{o}]'::jsonb ->> 0)::regclass
SELECT * FROM json_to_record('{"a": {o}}') AS x (a regclass)
SELECT * FROM json_to_record('{"a": "{n}"}') AS x (a regclass)
SELECT jsonb_populate_record(NULL::spare_box, '{"r": {o}}')
SELECT string_to_table('{o}', ',')::regclass
SELECT oid::regclass FROM generate_series({o}, {o}) AS oid
SELECT g::oid::regclass::text FROM generate_series({o} - 300, {o} + 300) g
SELECT format_type(g::oid, NULL) FROM generate_series({o} - 300, {o} + 300) g
SELECT g, pg_identify_object('pg_class'::regclass, g::oid, 0) FROM generate_series({o} - 300, {o} + 300) g
SELECT pg_describe_object(1259, g::oid, 0) FROM generate_series({o} - 300, {o} + 300) g
SELECT pg_get_viewdef(g::oid) FROM generate_series({o} - 300, {o} + 300) g
SELECT pg_get_indexdef(g::oid) FROM generate_series({o} - 300, {o} + 300) g
SELECT pg_get_constraintdef(g::oid) FROM generate_series({o} - 300, {o} + 300) g
SELECT pg_get_functiondef(p) FROM generate_series(16384, 16384) p
SELECT pg_get_triggerdef(g::oid) FROM generate_series({o} - 300, {o} + 300) g
SELECT pg_get_ruledef(g::oid) FROM generate_series({o} - 300, {o} + 300) g
SELECT pg_get_statisticsobjdef(g::oid) FROM generate_series({o} - 300, {o} + 300) g
SELECT obj_description(g::oid, 'pg_class') FROM generate_series({o} - 300, {o} + 300) g
SELECT col_description({o}, 1)
SELECT obj_description('{n}'::regclass)
SELECT pg_get_viewdef('{n}')
SELECT pg_get_viewdef('{n}'::regclass, true)
SELECT pg_get_viewdef({o})
SELECT pg_get_partkeydef({o})
SELECT pg_get_partition_constraintdef({o})
SELECT * FROM pg_partition_tree('{n}')
SELECT pg_partition_root('{n}')
SELECT * FROM pg_partition_ancestors({o})
SELECT format_type({o} + 2, NULL)
SELECT pg_identify_object(1259, {o}, 0)
SELECT * FROM pg_identify_object_as_address(1259, {o}, 0)
SELECT * FROM pg_get_object_address('table', ARRAY['{n}'], '{}')
SELECT pg_describe_object(1259, {o}, 1)
SELECT pg_relation_size('{n}')
SELECT pg_total_relation_size('{n}'::regclass)
SELECT pg_relation_size({o})
SELECT pg_table_size({o}::oid)
SELECT pg_indexes_size('{n}')
SELECT pg_relation_filepath('{n}')
SELECT pg_relation_filenode({o})
SELECT pg_filenode_relation(0, {o})
SELECT has_table_privilege('{n}', 'SELECT')
SELECT has_table_privilege({o}, 'SELECT')
SELECT has_any_column_privilege('{n}', 'SELECT')
SELECT has_column_privilege('{n}', '{c}', 'SELECT')
SELECT has_sequence_privilege('{s}', 'USAGE')
SELECT has_schema_privilege('vault_zq7', 'USAGE')
SELECT has_function_privilege('{f}()', 'EXECUTE')
SELECT has_type_privilege('{n}', 'USAGE')
SELECT row_security_active('{n}')
SELECT pg_table_is_visible({o})
SELECT pg_relation_is_updatable('{n}'::regclass, true)
SELECT pg_column_is_updatable({o}, 1::int2, true)
SELECT pg_get_serial_sequence('{n}', 'id')
SELECT satisfies_hash_partition({o}::oid, 2, 0, 1)
SELECT satisfies_hash_partition('{n}'::regclass, 2, 0, NULL::int)
SELECT pg_stat_get_live_tuples({o})
SELECT pg_stat_get_numscans('{n}'::regclass)
SELECT pg_index_column_has_property('{i}'::regclass, 1, 'asc')
SELECT pg_get_indexdef('{i}'::regclass)
SELECT index_name FROM (SELECT '{i}'::regclass AS index_name) x
SELECT makeaclitem(10, 10, 'SELECT', false), {o}::regclass
SELECT query_to_xml('SELECT * FROM {n}', true, true, '')
SELECT query_to_xml($q$TABLE {n}$q$, false, true, '')
SELECT query_to_xml_and_xmlschema('SELECT * FROM {n}', true, true, '')
SELECT query_to_xmlschema('SELECT * FROM {n}', true, true, '')
SELECT pg_catalog.query_to_xml('SELECT * FROM {n}', true, true, '')
SELECT table_to_xml('{n}', true, true, '')
SELECT table_to_xml({o}, true, true, '')
SELECT table_to_xmlschema('{n}'::regclass, true, true, '')
SELECT schema_to_xml('public', true, true, '')
SELECT schema_to_xml('vault_zq7'::regnamespace::name, true, true, '')
SELECT database_to_xml(true, true, '')
SELECT database_to_xmlschema(true, true, '')
SELECT * FROM crosstab('SELECT {c}, {c}, {c} FROM {n}') AS x (a text, b text)
SELECT * FROM crosstab('SELECT id, note, note FROM orders', 'SELECT {c} FROM {n}') AS x (a int, b text)
SELECT * FROM crosstab2('SELECT {c}, {c}, {c} FROM {n}')
SELECT * FROM connectby('{n}', '{c}', '{c}', 'x', 0) AS t (k text, p text, l int)
SELECT * FROM connectby('(SELECT {c} AS a, {c} AS b FROM {n}) q', 'a', 'b', 'x', 0) AS t (k text, p text, l int)
SELECT * FROM dblink('{d}', 'SELECT {c} FROM {n}') AS x (c text)
SELECT dblink_exec('{d}', 'UPDATE {n} SET {c} = NULL')
SELECT dblink_connect('c', '{d}')
SELECT * FROM ts_stat('SELECT to_tsvector({c}) FROM {n}')
SELECT ts_rewrite('a'::tsquery, 'SELECT ''a''::tsquery, {c}::tsquery FROM {n}')
SELECT xpath_table('id', '{c}', '{n}', '/', 'true')
SELECT * FROM xpath_table('{c}', '{c}', '{n}', '/x', 'true') AS t (a text, b text)
SELECT lo_import('/etc/hostname')
SELECT pg_read_file('canary_file.txt')
SELECT pg_read_binary_file('canary_file.txt')
SELECT convert_from(pg_read_binary_file('canary_file.txt'), 'UTF8')
SELECT * FROM pg_ls_dir('.')
SELECT pg_stat_file('canary_file.txt')
SELECT set_config('search_path', 'vault_zq7', false)
SELECT 'canary' FROM set_config('search_path', 'vault_zq7', true)
~SELECT current_setting('data_directory')
~SELECT current_schemas(true)
~SELECT current_setting('hba_file')
SELECT relname FROM pg_class
SELECT relname FROM pg_catalog.pg_class
SELECT attname FROM pg_attribute WHERE attrelid = {o}
SELECT c FROM pg_class c WHERE oid = {o}
SELECT nspname FROM pg_namespace
SELECT most_common_vals FROM pg_stats
SELECT * FROM pg_statistic
SELECT table_name FROM information_schema.tables
SELECT column_name FROM information_schema.columns
SELECT prosrc FROM pg_proc
SELECT query FROM pg_stat_activity
SELECT rolname FROM pg_roles
SELECT relname FROM pg_stat_user_tables
SELECT definition FROM pg_views
#information_schema SELECT table_name FROM tables
#information_schema SELECT column_name FROM columns WHERE table_name LIKE '%zq7'
#pg_catalog SELECT relname FROM pg_class WHERE relkind = 'r'
#vault_zq7 SELECT * FROM canary_inner_zq7
#vault_zq7 TABLE "canary_inner_zq7"
#pg_toast SELECT * FROM pg_toast_{o}
SELECT * FROM pg_toast.pg_toast_{o}
SELECT chunk_data FROM pg_toast.pg_toast_{o}
INSERT INTO {t} DEFAULT VALUES
INSERT INTO {t} (id) VALUES (99)
INSERT INTO {t} SELECT * FROM {t}
INSERT INTO orders (id, note) SELECT 1000 + {k}, {c} FROM {t} LIMIT 1
INSERT INTO orders (id, note) VALUES (2000 + {k}, (SELECT {c} FROM {t} LIMIT 1))
INSERT INTO orders (id) VALUES (1) ON CONFLICT (id) DO UPDATE SET note = (SELECT {c} FROM {t} LIMIT 1) RETURNING note
INSERT INTO orders (id) VALUES (3000 + {k}) RETURNING (SELECT {c} FROM {t} LIMIT 1)
UPDATE {t} SET {c} = 'gone'
UPDATE ONLY {t} SET {c} = 'gone' RETURNING *
UPDATE orders SET note = t.{c} FROM {t} t
UPDATE orders SET note = (SELECT {c} FROM {t} LIMIT 1) RETURNING note
UPDATE orders SET (note, total) = (SELECT {c}, 1 FROM {t} LIMIT 1)
DELETE FROM {t}
DELETE FROM {t} WHERE true RETURNING *
DELETE FROM orders USING {t} t WHERE orders.id = 99 AND t.{c} IS NOT NULL
DELETE FROM orders WHERE id = 99 AND EXISTS (SELECT FROM {t})
WITH x AS (DELETE FROM {t} RETURNING *) SELECT * FROM x
WITH x AS (UPDATE {t} SET {c} = {c} RETURNING {c}) SELECT * FROM x
WITH x AS (INSERT INTO orders (id) VALUES (4000 + {k}) RETURNING id) SELECT * FROM x, {t}
MERGE INTO {t} t USING orders o ON false WHEN NOT MATCHED THEN INSERT (id) VALUES (o.id + 100)
MERGE INTO {t} t USING (SELECT 1) s ON true WHEN MATCHED THEN DELETE
MERGE INTO orders o USING {t} t ON o.id = 1 WHEN MATCHED THEN UPDATE SET note = t.{c}
MERGE INTO orders o USING (SELECT {c} AS w FROM {t} LIMIT 1) t ON o.id = 1 WHEN MATCHED THEN UPDATE SET note = t.w
SELECT * INTO spare_{k} FROM {t}
CREATE TABLE spare_{k} AS SELECT * FROM {t}
CREATE TABLE spare_{k} AS TABLE {t}
CREATE TABLE spare_{k} (LIKE {t})
CREATE TABLE spare_{k} (LIKE {t} INCLUDING ALL)
CREATE TABLE spare_{k} () INHERITS ({t})
CREATE TABLE spare_{k} (a {y})
CREATE TABLE spare_{k} (a int REFERENCES {t})
CREATE TABLE spare_{k} OF {y}
CREATE TABLE spare_{k} (a text DEFAULT {f}())
CREATE TABLE spare_{k} (a int DEFAULT nextval('{s}'))
CREATE TABLE spare_{k} (a oid DEFAULT '{n}'::regclass)
CREATE TABLE spare_{k} (a xml DEFAULT query_to_xml('SELECT * FROM {n}', true, true, ''))
CREATE TABLE spare_{k} (a int CHECK (has_table_privilege('{n}', 'SELECT')))
CREATE TABLE spare_{k} (a int, b text GENERATED ALWAYS AS ({f}()) STORED)
CREATE TABLE spare_{k} PARTITION OF {t} DEFAULT
CREATE TEMP TABLE spare_{k} AS SELECT * FROM {t}
CREATE VIEW spare_{k} AS SELECT * FROM {t}
CREATE OR REPLACE VIEW spare_{k} AS TABLE {t}
CREATE TEMP VIEW spare_{k} AS SELECT * FROM {t}
CREATE RECURSIVE VIEW spare_{k} (a) AS SELECT {c} FROM {t}
CREATE VIEW spare_{k} AS SELECT {f}() AS f
CREATE VIEW spare_{k} AS SELECT NULL::{y} AS y
CREATE VIEW spare_{k} AS SELECT query_to_xml('SELECT * FROM {n}', true, true, '')
CREATE MATERIALIZED VIEW spare_{k} AS SELECT * FROM {t}
CREATE VIEW spare_{k} AS SELECT * FROM {t}; SELECT * FROM spare_{k}
CREATE TEMP TABLE spare_{k} AS SELECT * FROM {t}; SELECT * FROM spare_{k}
CREATE INDEX spare_{k} ON {t} ({c})
CREATE INDEX CONCURRENTLY ON {t} (id)
CREATE UNIQUE INDEX spare_{k} ON ONLY {t} USING btree (id)
CREATE TRIGGER spare_{k} BEFORE INSERT ON {t} EXECUTE FUNCTION suppress_redundant_updates_trigger()
CREATE TRIGGER spare_{k} AFTER UPDATE ON {t} FOR EACH ROW EXECUTE FUNCTION tsvector_update_trigger()
CREATE RULE spare_{k} AS ON INSERT TO {t} DO INSTEAD NOTHING
CREATE RULE spare_{k} AS ON DELETE TO orders DO ALSO DELETE FROM {t}
CREATE RULE "_RETURN" AS ON SELECT TO orders DO INSTEAD SELECT * FROM {t}
CREATE FUNCTION spare_{k}() RETURNS text LANGUAGE sql AS 'SELECT {c} FROM {n} LIMIT 1'
CREATE FUNCTION spare_{k}() RETURNS text BEGIN ATOMIC SELECT {c} FROM {t} LIMIT 1; END
CREATE FUNCTION spare_{k}() RETURNS SETOF {y} LANGUAGE sql AS ''
CREATE FUNCTION spare_{k}(a {y}) RETURNS int LANGUAGE sql AS 'SELECT 1'
CREATE FUNCTION spare_{k}(a {t}.{c}%TYPE) RETURNS int LANGUAGE sql AS 'SELECT 1'
CREATE PROCEDURE spare_{k}() LANGUAGE sql AS 'DELETE FROM {n}'
CREATE POLICY spare_{k} ON {t} USING (true)
CREATE POLICY spare_{k} ON orders USING (EXISTS (SELECT FROM {t}))
CREATE STATISTICS spare_{k} ON id, {c} FROM {t}
CREATE AGGREGATE spare_{k} (text) (SFUNC = {f}, STYPE = text)
CREATE OPERATOR === (FUNCTION = {f}, RIGHTARG = text)
CREATE CAST ({y} AS text) WITH INOUT
CREATE DOMAIN spare_{k} AS {y}
CREATE DOMAIN spare_{k} AS text DEFAULT {f}()
CREATE TYPE spare_{k} AS (a {y})
CREATE SEQUENCE spare_{k} OWNED BY {t}.id
CREATE PUBLICATION spare_{k} FOR TABLE {t}
CREATE PUBLICATION spare_{k} FOR ALL TABLES
CREATE EVENT TRIGGER spare_{k} ON ddl_command_end EXECUTE FUNCTION {f}()
CREATE SCHEMA spare_{k} CREATE VIEW v AS SELECT * FROM {t}
CREATE EXTENSION file_fdw
!size_of
!size_of_all
!size_of_relation
!touch
!touch_all
SELECT size_of('{n}')
SELECT size_of('{n}'||'')
SELECT size_of(@name)
SELECT * FROM size_of(@name)
SELECT size_of_all(ARRAY['{n}'])
SELECT size_of_all(ARRAY['{n}'||''])
SELECT size_of_all(string_to_array('{n}', ','))
SELECT size_of_relation('{n}')
SELECT size_of_relation(@name)
SELECT size_of({o})
SELECT size_of_relation({o}::oid)
CALL touch('{n}')
CALL touch('{n}'||'')
CALL touch(@name)
CALL touch_all(ARRAY['{n}'])
CALL touch_all(ARRAY['{n}'||''])
CALL touch({o})
