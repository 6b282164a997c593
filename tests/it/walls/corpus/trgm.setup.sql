CREATE EXTENSION pg_trgm; CREATE INDEX customers_trgm ON customers USING gin (name gin_trgm_ops);
