-- pg_trgm.
--# pg_trgm: similar names
SELECT name, similarity(name, 'Joze') AS s FROM customers WHERE name % 'Ada' OR similarity(name, 'Joze') > 0.1 ORDER BY s DESC
--# pg_trgm: distance
SELECT name FROM customers ORDER BY name <-> 'Bem' LIMIT 2
--# pg_trgm: words
SELECT word_similarity('word', 'two words'), strict_word_similarity('word', 'two words'), show_trgm('cat'), 'word' <% 'two words', 'word' <<-> 'words'
--# pg_trgm: LIKE by the index
SELECT name FROM customers WHERE name ILIKE '%da%'
