-- The audit trail, where it is kept in the store: the newest records, as many as configured.
CREATE TABLE audit_records (
    -- Never used twice, so that a reader can go on behind the last one it saw.
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    -- RFC 3339 in UTC with milliseconds: sorts as time does.
    time       TEXT NOT NULL,
    -- The whole record, a JSON object.
    record     TEXT NOT NULL
) STRICT;

-- Counts the changes of everything but the trail, so that whoever judges credentials from memory need
-- not read them anew for each record. Triggers count; `revision.rs` makes them.
CREATE TABLE revision (
    only   INTEGER PRIMARY KEY CHECK (only = 1),
    number INTEGER NOT NULL
) STRICT;
INSERT INTO revision VALUES (1, 0);
