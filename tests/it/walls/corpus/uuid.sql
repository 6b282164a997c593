-- uuid-ossp.
--# uuid-ossp: versions
SELECT uuid_generate_v4() <> uuid_generate_v4(), uuid_generate_v1() IS NOT NULL, uuid_generate_v5(uuid_ns_url(), 'https://example.com'), uuid_nil()
--# uuid-ossp: a default
INSERT INTO tokens (n) VALUES (1), (2) RETURNING id
