#!/bin/sh
# Makes the user that Portico connects as, who is no superuser, and a table to look at. The image of PostgreSQL runs it
# once, when the database is new.
set -eu
psql --quiet --set=ON_ERROR_STOP=1 --set=password="$SALES_PASSWORD" --username="${POSTGRES_USER:-postgres}" --dbname="$POSTGRES_DB" <<'SQL'
CREATE ROLE portico_sales LOGIN PASSWORD :'password';
CREATE TABLE orders (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    customer text NOT NULL,
    amount numeric(10, 2) NOT NULL,
    placed date NOT NULL DEFAULT current_date
);
COMMENT ON TABLE orders IS 'What customers have ordered; amounts are in euros';
INSERT INTO orders (customer, amount) VALUES ('Ann', 10.50), ('Bob', 99), ('Ann', 0.10);
GRANT SELECT ON orders TO portico_sales;
SQL
