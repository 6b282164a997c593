-- People in a browser: passwords, sessions, the clients that ask for consent, and what was granted to them.
-- Of secrets only SHA-256 digests are kept; of passwords only argon2id.

ALTER TABLE users ADD COLUMN password TEXT;                 -- PHC string; NULL: signs in with tokens alone
ALTER TABLE personal_access_tokens ADD COLUMN last_used_at INTEGER;

CREATE TABLE clients (
    client_id     TEXT PRIMARY KEY,
    kind          TEXT NOT NULL CHECK (kind IN ('registered', 'dynamic')),
    name          TEXT NOT NULL,
    digest        BLOB CHECK (length(digest) = 32),         -- NULL: a public client
    redirect_uris TEXT NOT NULL CHECK (json_type(redirect_uris) = 'array'),
    created_at    INTEGER NOT NULL,
    used_at       INTEGER                                   -- when a person last gave it something
) STRICT;

CREATE UNIQUE INDEX client_names ON clients (name) WHERE kind = 'registered';

CREATE TABLE sessions (
    digest     BLOB PRIMARY KEY CHECK (length(digest) = 32),
    user_id    INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    token_id   TEXT REFERENCES personal_access_tokens (id) ON DELETE CASCADE, -- NULL: began with the password
    created_at INTEGER NOT NULL,
    seen_at    INTEGER NOT NULL
) STRICT;

CREATE INDEX sessions_of_user ON sessions (user_id);

-- One consent of one person to one client: the family of all its tokens.
CREATE TABLE grants (
    id          TEXT PRIMARY KEY,
    user_id     INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    token_id    TEXT REFERENCES personal_access_tokens (id) ON DELETE CASCADE, -- ends with that token
    client_id   TEXT NOT NULL,
    client_name TEXT NOT NULL,
    scope       TEXT NOT NULL CHECK (scope IN ('read', 'write', 'admin')),
    connections TEXT NOT NULL CHECK (json_type(connections) = 'array'),
    resource    TEXT,                                       -- RFC 8707
    created_at  INTEGER NOT NULL,
    expires_at  INTEGER NOT NULL,
    used_at     INTEGER,                                    -- when tokens were last issued; NULL: the code was never redeemed
    revoked_at  INTEGER
) STRICT;

CREATE INDEX grants_of_user ON grants (user_id);
CREATE INDEX grants_of_client ON grants (client_id);

CREATE TABLE authorization_codes (
    digest       BLOB PRIMARY KEY CHECK (length(digest) = 32),
    grant_id     TEXT NOT NULL REFERENCES grants (id) ON DELETE CASCADE,
    redirect_uri TEXT NOT NULL,
    challenge    TEXT NOT NULL,                             -- PKCE, S256
    expires_at   INTEGER NOT NULL,
    used_at      INTEGER
) STRICT;

CREATE INDEX codes_of_grant ON authorization_codes (grant_id);

CREATE TABLE refresh_tokens (
    digest     BLOB PRIMARY KEY CHECK (length(digest) = 32),
    grant_id   TEXT NOT NULL REFERENCES grants (id) ON DELETE CASCADE,
    expires_at INTEGER NOT NULL,
    used_at    INTEGER
) STRICT;

CREATE INDEX refresh_tokens_of_grant ON refresh_tokens (grant_id);
