-- Sessions, registered clients, codes and refresh tokens are nothing that credentials are judged by from memory:
-- their changes are not counted any more. `revision.rs` makes the triggers of the other tables.
DROP TRIGGER IF EXISTS counted_insert_sessions;
DROP TRIGGER IF EXISTS counted_update_sessions;
DROP TRIGGER IF EXISTS counted_delete_sessions;
DROP TRIGGER IF EXISTS counted_insert_clients;
DROP TRIGGER IF EXISTS counted_update_clients;
DROP TRIGGER IF EXISTS counted_delete_clients;
DROP TRIGGER IF EXISTS counted_insert_authorization_codes;
DROP TRIGGER IF EXISTS counted_update_authorization_codes;
DROP TRIGGER IF EXISTS counted_delete_authorization_codes;
DROP TRIGGER IF EXISTS counted_insert_refresh_tokens;
DROP TRIGGER IF EXISTS counted_update_refresh_tokens;
DROP TRIGGER IF EXISTS counted_delete_refresh_tokens;
