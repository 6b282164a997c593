-- pgcrypto.
--# pgcrypto: digests
SELECT encode(digest('x', 'sha256'), 'hex'), encode(hmac('data', 'key', 'sha1'), 'hex')
--# pgcrypto: passwords
SELECT crypt('secret', '$2a$06$RaQjFJrR3JQ6k6QiQ6QiQe') IS NOT NULL, length(gen_salt('bf', 4))
--# pgcrypto: encryption
SELECT pgp_sym_decrypt(pgp_sym_encrypt('words', 'pass'), 'pass'), convert_from(decrypt(encrypt('a', 'k', 'aes'), 'k', 'aes'), 'UTF8')
--# pgcrypto: random
SELECT length(gen_random_bytes(8)), gen_random_uuid() IS NOT NULL
--# pgcrypto: over a table
SELECT id, encode(digest(email, 'md5'), 'hex') FROM customers
