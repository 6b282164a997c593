CREATE EXTENSION "uuid-ossp"; CREATE TABLE tokens (id uuid PRIMARY KEY DEFAULT uuid_generate_v4(), n int);
