-- citext.
--# citext: equality
SELECT email FROM members WHERE email = 'ADA@example.COM' AND name <> 'x'
--# citext: functions and patterns
SELECT replace(name, 'a', 'x'), split_part(email, '@', 2), email ~ '^ada', email LIKE 'ADA%', lower(email), max(email) OVER (), name || '!' FROM members
--# citext: casts and order
SELECT 'A'::citext = 'a'::citext, email::text FROM members ORDER BY name
--# citext: upsert
INSERT INTO members VALUES ('ADA@EXAMPLE.COM', 'other') ON CONFLICT (email) DO UPDATE SET name = excluded.name
