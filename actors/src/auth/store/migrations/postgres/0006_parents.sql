-- 0: made before that was noted, so that nobody knows its parent.
ALTER TABLE personal_access_tokens ADD COLUMN parent_known bigint NOT NULL DEFAULT 0 CHECK (parent_known IN (0, 1));

-- 0: made, or its secret replaced, before whoever did that was kept within their own rights.
ALTER TABLE users ADD COLUMN judged bigint NOT NULL DEFAULT 0 CHECK (judged IN (0, 1));
ALTER TABLE service_accounts ADD COLUMN judged bigint NOT NULL DEFAULT 0 CHECK (judged IN (0, 1));
