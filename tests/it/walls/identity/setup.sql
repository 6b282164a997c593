-- Two roles behind one user, as in examples/row-level-security; the second alone may read the payroll.
CREATE ROLE gateway LOGIN NOINHERIT;
CREATE ROLE north NOLOGIN;
CREATE ROLE south NOLOGIN;
GRANT north, south TO gateway;
-- A caller may make things of its own: the harder case.
GRANT CREATE ON SCHEMA public TO north, south;
CREATE TABLE orders (id int PRIMARY KEY, region text NOT NULL);
INSERT INTO orders VALUES (1, 'north'), (2, 'north'), (3, 'south');
GRANT SELECT, INSERT, UPDATE, DELETE ON orders TO north, south;
ALTER TABLE orders ENABLE ROW LEVEL SECURITY;
CREATE POLICY north ON orders TO north USING (region = 'north');
CREATE POLICY south ON orders TO south USING (region = 'south');
CREATE TABLE payroll (name text PRIMARY KEY, salary numeric);
INSERT INTO payroll VALUES ('canary_value_zq7', 100);
GRANT SELECT ON payroll TO south;
CREATE TABLE notes (owner text NOT NULL DEFAULT current_setting('portico.principal', true), words text);
INSERT INTO notes VALUES ('reader@example.com', 'canary_value_zq7 note');
GRANT SELECT, INSERT ON notes TO north, south;
ALTER TABLE notes ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON notes USING (owner = current_setting('portico.principal', true));
CREATE POLICY claimed ON notes FOR SELECT USING (owner = nullif(current_setting('request.jwt.claims', true), '')::json ->> 'sub');
-- What a session is, told by the database's owner.
CREATE FUNCTION probe() RETURNS text LANGUAGE plpgsql STABLE AS $$ BEGIN RETURN concat_ws(' | ',
    current_user, session_user, current_setting('role'), current_setting('search_path'), current_setting('standard_conforming_strings'),
    current_setting('backslash_quote'), current_setting('client_encoding'), current_setting('default_transaction_isolation'),
    current_setting('row_security'), current_setting('DateStyle'), current_setting('TimeZone'), current_setting('work_mem'),
    current_setting('portico.principal', true), current_setting('request.jwt.claims', true), current_setting('portico.scope', true),
    current_setting('attack.mark', true), current_setting('session_replication_role'), current_setting('lock_timeout'),
    current_setting('bytea_output'), current_setting('IntervalStyle'), current_setting('quote_all_identifiers'),
    (SELECT count(*) FROM pg_prepared_statements WHERE from_sql), (SELECT count(*) FROM pg_cursors WHERE name NOT LIKE '<%' AND name <> ''),
    (SELECT string_agg(c, ',') FROM pg_listening_channels() c),
    (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()),
    (SELECT count(*) FROM pg_class WHERE relpersistence = 't' AND relkind IN ('r', 'v', 'S') AND pg_table_is_visible(oid)),
    (SELECT count(*) FROM pg_proc WHERE pronamespace = pg_my_temp_schema()),
    'orders'::regclass::oid, (SELECT string_agg(id::text, ',') FROM orders)); END $$;
