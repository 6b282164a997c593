-- What attacks on a read-only connection could change. Every extension that the server has is tried as an attack.
CREATE TABLE orders (id serial PRIMARY KEY, note text, total numeric);
INSERT INTO orders (note, total) SELECT 'order ' || i, i FROM generate_series(1, 20) i;
CREATE INDEX orders_note ON orders (note);
CREATE MATERIALIZED VIEW totals AS SELECT sum(total) FROM orders;
CREATE SEQUENCE ticket_seq;
CREATE TABLE flushed (n int);
INSERT INTO flushed VALUES (0);
CREATE VIEW settings_view AS SELECT * FROM pg_settings;
CREATE PROCEDURE change() LANGUAGE sql AS 'DELETE FROM public.orders';
CREATE FUNCTION changing() RETURNS int LANGUAGE sql VOLATILE AS 'DELETE FROM public.orders RETURNING 1';
SELECT lo_create('orders'::regclass::oid);
DO $$ DECLARE name text; BEGIN
    FOR name IN SELECT e.name FROM pg_available_extensions e WHERE e.name !~ 'plperl|plpython|pltcl|postgis|plpgsql|address_standardizer|old_snapshot' LOOP
        BEGIN EXECUTE format('CREATE EXTENSION %I CASCADE', name);
        EXCEPTION WHEN OTHERS THEN RAISE NOTICE '%: %', name, SQLERRM; END;
    END LOOP;
END $$;
ANALYZE;
