-- The secret of a service account opens no more than whoever has seen it, and ends with what it was made out of.

-- The token that began the session in which the secret was made. No reference: one that is gone has ended.
ALTER TABLE service_accounts ADD COLUMN secret_parent text;
-- 0: made before that was noted.
ALTER TABLE service_accounts ADD COLUMN secret_parent_known bigint NOT NULL DEFAULT 0 CHECK (secret_parent_known IN (0, 1));
-- What it opens at most: the rights of whoever has seen it.
ALTER TABLE service_accounts ADD COLUMN secret_scope text CHECK (secret_scope IN ('read', 'write', 'admin'));
ALTER TABLE service_accounts ADD COLUMN secret_reach text CHECK (json_typeof(secret_reach::json) = 'array'); -- NULL: every connection
-- Whether somebody who reaches the whole service gave the name: only then roles are found by it.
ALTER TABLE service_accounts ADD COLUMN named bigint NOT NULL DEFAULT 1 CHECK (named IN (0, 1));

-- Nobody knows who has seen the secrets that there are: they do not grow.
UPDATE service_accounts SET secret_scope = scope, secret_reach = connections;
