-- What is hidden (every name of it ends with zq7 or has it inside) and what is not.
DO $$ DECLARE what text; BEGIN
    FOR what IN SELECT format('DROP EVENT TRIGGER %I', evtname) FROM pg_event_trigger
        UNION ALL SELECT format('DROP PUBLICATION %I', pubname) FROM pg_publication
        UNION ALL SELECT format('DROP EXTENSION %I CASCADE', extname) FROM pg_extension WHERE extname <> 'plpgsql'
        UNION ALL SELECT format('DROP SCHEMA %I CASCADE', nspname) FROM pg_namespace WHERE nspname !~ '^pg_' AND nspname <> 'information_schema'
    LOOP EXECUTE what; END LOOP;
END $$;
ALTER DEFAULT PRIVILEGES REVOKE ALL ON TABLES FROM PUBLIC;
CREATE SCHEMA public;
GRANT ALL ON SCHEMA public TO PUBLIC;
ALTER ROLE postgres RESET ALL;
ALTER DATABASE walls RESET ALL;
SET search_path = public;
CREATE EXTENSION IF NOT EXISTS tablefunc;
CREATE EXTENSION IF NOT EXISTS dblink;
CREATE EXTENSION IF NOT EXISTS xml2;
CREATE SCHEMA vault_zq7;
CREATE TABLE canary_ledger_zq7 (id serial CONSTRAINT canary_constraint_zq7 PRIMARY KEY, canary_column_zq7 text);
ALTER SEQUENCE canary_ledger_zq7_id_seq RENAME TO canary_sequence_zq7;
INSERT INTO canary_ledger_zq7 (canary_column_zq7) VALUES ('canary_value_zq7_1'), ('canary_value_zq7_2');
CREATE INDEX canary_index_zq7 ON canary_ledger_zq7 (canary_column_zq7);
CREATE TRIGGER canary_trigger_zq7 BEFORE UPDATE ON canary_ledger_zq7 FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger();
CREATE STATISTICS canary_statistics_zq7 ON id, canary_column_zq7 FROM canary_ledger_zq7;
COMMENT ON TABLE canary_ledger_zq7 IS 'canary_comment_zq7';
CREATE TABLE canary_toasted_zq7 (id int, canary_column_zq7 text);
ALTER TABLE canary_toasted_zq7 ALTER canary_column_zq7 SET STORAGE EXTERNAL;
INSERT INTO canary_toasted_zq7 SELECT 1, repeat('canary_value_zq7_toast ', 1000);
CREATE TABLE "Canary_Mixed_Zq7" (id int, canary_column_zq7 text);
INSERT INTO "Canary_Mixed_Zq7" VALUES (1, 'canary_value_zq7_3');
CREATE TABLE canary_schlüssel_zq7 (id int, canary_column_zq7 text);
INSERT INTO canary_schlüssel_zq7 VALUES (1, 'canary_value_zq7_4');
-- Both are of 63 bytes; the second ends within what is cut of a longer spelling.
CREATE TABLE canary_long_zq7_34567890123456789012345678901234567890123456789 (id int, canary_column_zq7 text);
CREATE TABLE canary_löng_zq7_3456789012345678901234567890123456789012345678 (id int, canary_column_zq7 text);
INSERT INTO canary_long_zq7_34567890123456789012345678901234567890123456789 VALUES (1, 'canary_value_zq7_5');
INSERT INTO canary_löng_zq7_3456789012345678901234567890123456789012345678 VALUES (1, 'canary_value_zq7_6');
CREATE TABLE vault_zq7.canary_inner_zq7 (id int, canary_column_zq7 text);
INSERT INTO vault_zq7.canary_inner_zq7 VALUES (1, 'canary_value_zq7_7');
CREATE TABLE canary_parted_zq7 (id int, canary_column_zq7 text) PARTITION BY LIST (id);
CREATE TABLE canary_parted_zq7_one PARTITION OF canary_parted_zq7 FOR VALUES IN (1);
INSERT INTO canary_parted_zq7 VALUES (1, 'canary_value_zq7_8');
CREATE TABLE canary_child_zq7 () INHERITS (canary_ledger_zq7);
INSERT INTO canary_child_zq7 VALUES (77, 'canary_value_zq7_9');
CREATE VIEW canary_view_zq7 AS SELECT * FROM canary_ledger_zq7;
CREATE MATERIALIZED VIEW canary_matview_zq7 AS SELECT * FROM canary_ledger_zq7;
CREATE FUNCTION canary_function_zq7() RETURNS text LANGUAGE sql STABLE AS 'SELECT canary_column_zq7 FROM public.canary_ledger_zq7 LIMIT 1';
CREATE FUNCTION vault_zq7.canary_inner_function_zq7() RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT 'canary_value_zq7_f' $$;

CREATE TABLE orders (id int PRIMARY KEY, note text, total numeric DEFAULT 0);
INSERT INTO orders VALUES (1, 'first', 10), (2, 'second', 20);
CREATE TABLE orders_empty (id int PRIMARY KEY);
CREATE TABLE canary_referring_zq7 (id int REFERENCES orders_empty);
INSERT INTO orders_empty VALUES (1);
INSERT INTO canary_referring_zq7 VALUES (1);
CREATE TABLE orders_keyed (id int PRIMARY KEY, ledger int CONSTRAINT canary_fk_zq7 REFERENCES canary_ledger_zq7);
CREATE VIEW canary_dependant_zq7 AS SELECT id FROM orders_keyed;
INSERT INTO orders_keyed VALUES (1, 1);
CREATE TABLE orders_named (name text PRIMARY KEY, other text NOT NULL CHECK (other <> ''), parent text REFERENCES orders_named);
CREATE FUNCTION raised(words text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no such name: %', words; END $$;
CREATE FUNCTION raised_as(words text, state text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no such name: %', words USING ERRCODE = state; END $$;
CREATE TABLE parent_table (id int);
CREATE TABLE canary_offspring_zq7 () INHERITS (parent_table);
INSERT INTO canary_offspring_zq7 VALUES (1);
CREATE VIEW owners_view AS SELECT id, md5(canary_column_zq7) AS note FROM canary_ledger_zq7;
CREATE TYPE spare_box AS (r regclass);
CREATE DOMAIN spare_relation AS regclass;
CREATE FUNCTION size_of(t regclass) RETURNS text LANGUAGE sql STABLE AS $$ SELECT t::text $$;
CREATE FUNCTION size_of_all(t regclass[]) RETURNS text LANGUAGE sql STABLE AS $$ SELECT t[1]::text $$;
CREATE FUNCTION size_of_relation(t spare_relation) RETURNS text LANGUAGE sql STABLE AS $$ SELECT t::text $$;
CREATE PROCEDURE touch(INOUT t regclass) LANGUAGE plpgsql AS $$ BEGIN t := t; END $$;
CREATE PROCEDURE touch_all(t regclass[]) LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION '%', t; END $$;
ANALYZE;
