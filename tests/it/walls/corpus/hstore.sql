-- hstore.
--# hstore: operators
SELECT h -> 'a', h ? 'b', h @> 'a=>1', h || 'z=>9', h - 'a'::text, h -> ARRAY['a', 'b'], h ?& ARRAY['a', 'b'], h['a'] FROM settings_of
--# hstore: functions
SELECT akeys(h), avals(h), hstore_to_json(h), hstore_to_jsonb_loose(h), slice(h, ARRAY['a']), exist(h, 'a'), defined(h, 'c'), delete(h, 'a') FROM settings_of
--# hstore: expanding
SELECT id, (each(h)).key, (each(h)).value, skeys(h) FROM settings_of
--# hstore: building
SELECT hstore('k', 'v'), hstore(ARRAY['a', 'b'], ARRAY['1', '2']), hstore(ROW(1, 2))
--# hstore: change
UPDATE settings_of SET h = h || hstore('seen', 'yes') WHERE id = 1
