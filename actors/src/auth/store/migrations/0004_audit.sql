-- The audit trail, where it is kept in the store: the newest records, as many as configured.
CREATE TABLE audit_records (
    -- Never used twice, so that a reader can go on behind the last one it saw.
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    -- RFC 3339 in UTC with milliseconds: sorts as time does.
    time       TEXT NOT NULL,
    -- The whole record, a JSON object.
    record     TEXT NOT NULL
) STRICT;
