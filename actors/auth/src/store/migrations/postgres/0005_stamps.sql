-- Sessions, registered clients, codes and refresh tokens are nothing that credentials are judged by from memory:
-- their changes are not counted any more. Nor is it counted when a token or a grant was last used: the triggers
-- of those two tables are made anew, with the rows as they were.
DROP TRIGGER IF EXISTS counted_insert ON sessions;
DROP TRIGGER IF EXISTS counted_update ON sessions;
DROP TRIGGER IF EXISTS counted_delete ON sessions;
DROP TRIGGER IF EXISTS counted_truncate ON sessions;
DROP TRIGGER IF EXISTS counted_insert ON clients;
DROP TRIGGER IF EXISTS counted_update ON clients;
DROP TRIGGER IF EXISTS counted_delete ON clients;
DROP TRIGGER IF EXISTS counted_truncate ON clients;
DROP TRIGGER IF EXISTS counted_insert ON authorization_codes;
DROP TRIGGER IF EXISTS counted_update ON authorization_codes;
DROP TRIGGER IF EXISTS counted_delete ON authorization_codes;
DROP TRIGGER IF EXISTS counted_truncate ON authorization_codes;
DROP TRIGGER IF EXISTS counted_insert ON refresh_tokens;
DROP TRIGGER IF EXISTS counted_update ON refresh_tokens;
DROP TRIGGER IF EXISTS counted_delete ON refresh_tokens;
DROP TRIGGER IF EXISTS counted_truncate ON refresh_tokens;
DROP TRIGGER IF EXISTS counted_insert ON personal_access_tokens;
DROP TRIGGER IF EXISTS counted_update ON personal_access_tokens;
DROP TRIGGER IF EXISTS counted_delete ON personal_access_tokens;
DROP TRIGGER IF EXISTS counted_truncate ON personal_access_tokens;
DROP TRIGGER IF EXISTS counted_insert ON grants;
DROP TRIGGER IF EXISTS counted_update ON grants;
DROP TRIGGER IF EXISTS counted_delete ON grants;
DROP TRIGGER IF EXISTS counted_truncate ON grants;

CREATE OR REPLACE FUNCTION count_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND TG_TABLE_NAME = 'personal_access_tokens' THEN
        IF NOT EXISTS (SELECT pg_catalog.to_jsonb(c) - 'last_used_at' FROM changed c
                       EXCEPT SELECT pg_catalog.to_jsonb(f) - 'last_used_at' FROM former f) THEN
            RETURN NULL;
        END IF;
    ELSIF TG_OP = 'UPDATE' AND TG_TABLE_NAME = 'grants' THEN
        -- A grant is none before it is used for the first time.
        IF NOT EXISTS (SELECT pg_catalog.to_jsonb(c) - 'used_at', c.used_at IS NULL FROM changed c
                       EXCEPT SELECT pg_catalog.to_jsonb(f) - 'used_at', f.used_at IS NULL FROM former f) THEN
            RETURN NULL;
        END IF;
    ELSIF TG_OP <> 'TRUNCATE' THEN
        IF NOT EXISTS (SELECT FROM changed) THEN
            RETURN NULL;
        END IF;
    END IF;
    EXECUTE pg_catalog.format('UPDATE %I.revision SET number = number + 1', TG_TABLE_SCHEMA);
    PERFORM pg_catalog.pg_notify('portico_store', TG_TABLE_SCHEMA);
    RETURN NULL;
END
$$;
