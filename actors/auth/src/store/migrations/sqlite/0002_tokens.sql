-- Keys that are encrypted at rest, users that are refused for a while, and access tokens that were
-- revoked before their end.

-- Whether private_key is encrypted with the key that the configuration gives.
ALTER TABLE signing_keys ADD COLUMN sealed INTEGER NOT NULL DEFAULT 0 CHECK (sealed IN (0, 1));

ALTER TABLE users ADD COLUMN disabled_at INTEGER;

CREATE TABLE revoked_tokens (
    jti        TEXT PRIMARY KEY,
    client_id  TEXT NOT NULL,
    expires_at INTEGER NOT NULL                            -- no check finds the token valid from then on
) STRICT;

CREATE INDEX revoked_tokens_by_client ON revoked_tokens (client_id);
