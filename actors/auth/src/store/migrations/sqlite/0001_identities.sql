-- Users, their personal access tokens, service accounts, and the keys that sign access tokens.
-- Times are seconds since 1970-01-01T00:00:00Z; sets of connections are JSON arrays of UUIDs.

CREATE TABLE users (
    id         INTEGER PRIMARY KEY,
    email      TEXT NOT NULL,
    email_key  TEXT NOT NULL UNIQUE,                       -- the address in lower case
    admin      INTEGER NOT NULL CHECK (admin IN (0, 1)),
    scope      TEXT NOT NULL CHECK (scope IN ('read', 'write', 'admin')),
    reach      TEXT CHECK (json_type(reach) = 'array'),    -- NULL: every connection
    created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE personal_access_tokens (
    id         TEXT PRIMARY KEY,
    user_id    INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    name       TEXT NOT NULL,
    digest     BLOB NOT NULL UNIQUE CHECK (length(digest) = 32),
    scope      TEXT CHECK (scope IN ('read', 'write', 'admin')), -- NULL: the user's own
    reach      TEXT CHECK (json_type(reach) = 'array'),          -- NULL: the user's own
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    revoked_at INTEGER
) STRICT;

CREATE UNIQUE INDEX personal_access_token_names ON personal_access_tokens (user_id, name) WHERE revoked_at IS NULL;

CREATE TABLE service_accounts (
    client_id   TEXT PRIMARY KEY,
    name        TEXT NOT NULL UNIQUE,
    digest      BLOB NOT NULL CHECK (length(digest) = 32),
    scope       TEXT NOT NULL CHECK (scope IN ('read', 'write', 'admin')),
    connections TEXT NOT NULL CHECK (json_type(connections) = 'array'),
    created_at  INTEGER NOT NULL,
    rotated_at  INTEGER,
    disabled_at INTEGER
) STRICT;

CREATE TABLE signing_keys (
    kid         TEXT PRIMARY KEY,
    algorithm   TEXT NOT NULL CHECK (algorithm IN ('EdDSA', 'ES256', 'RS256')),
    private_key BLOB,                                      -- NULL once retired
    public_key  TEXT NOT NULL CHECK (json_type(public_key) = 'object'),
    created_at  INTEGER NOT NULL,
    retired_at  INTEGER,
    CHECK ((private_key IS NULL) = (retired_at IS NOT NULL))
) STRICT;

-- Only one key signs at a time.
CREATE UNIQUE INDEX signing_key_in_use ON signing_keys ((retired_at IS NULL)) WHERE retired_at IS NULL;
