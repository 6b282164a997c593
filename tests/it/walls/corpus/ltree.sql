-- ltree.
--# ltree: descendants and ancestors
SELECT path FROM topics WHERE path <@ 'Top.Science' OR path @> 'Top.Hobbies'
--# ltree: patterns
SELECT path FROM topics WHERE path ~ '*.Astronomy.*{0,2}' OR path ? ARRAY['Top.*']::lquery[] OR path @ 'Science & !Hobbies'
--# ltree: functions
SELECT subpath(path, 0, 1), nlevel(path), path || 'x', subltree(path, 0, 1), index(path, 'Science'), text2ltree('A.B'), ltree2text(path), lca(path, 'Top.Science') FROM topics WHERE nlevel(path) > 1
