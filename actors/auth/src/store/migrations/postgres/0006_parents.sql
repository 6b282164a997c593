-- What was made out of a credential knows it, and ends with it. What has ended is gone: nothing revives it.

-- The token that began the session in which this one was made.
ALTER TABLE personal_access_tokens ADD COLUMN parent_id text REFERENCES personal_access_tokens (id) ON DELETE CASCADE;
-- 0: made before that was noted, so that nobody knows its parent.
ALTER TABLE personal_access_tokens ADD COLUMN parent_known bigint NOT NULL DEFAULT 0 CHECK (parent_known IN (0, 1));
CREATE INDEX personal_access_tokens_of_parent ON personal_access_tokens (parent_id);
CREATE INDEX sessions_of_token ON sessions (token_id);
CREATE INDEX grants_of_token ON grants (token_id);

-- A grant that was revoked is removed, with its code and its refresh tokens.
DELETE FROM grants WHERE revoked_at IS NOT NULL;
ALTER TABLE grants DROP COLUMN revoked_at;

-- The SHA-256 of what all refresh tokens of the grant have in common: one that was replaced is known by it.
ALTER TABLE grants ADD COLUMN line bytea CHECK (length(line) = 32);
CREATE UNIQUE INDEX grants_of_line ON grants (line);

-- When the account was last disabled, once it is enabled again: tokens until then have ended.
ALTER TABLE service_accounts ADD COLUMN ended_at bigint;

-- Subjects of other issuers that are refused, as `issuer#sub`.
CREATE TABLE refused_subjects (
    subject     text PRIMARY KEY,
    disabled_at bigint NOT NULL
);

-- 0: made, or its secret replaced, before whoever did that was kept within their own rights.
ALTER TABLE users ADD COLUMN judged bigint NOT NULL DEFAULT 0 CHECK (judged IN (0, 1));
ALTER TABLE service_accounts ADD COLUMN judged bigint NOT NULL DEFAULT 0 CHECK (judged IN (0, 1));

-- What people had whom somebody has disabled is not revived with them.
DELETE FROM sessions WHERE user_id IN (SELECT id FROM users WHERE disabled_at IS NOT NULL);
DELETE FROM grants WHERE user_id IN (SELECT id FROM users WHERE disabled_at IS NOT NULL);
