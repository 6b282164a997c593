-- unaccent and fuzzystrmatch.
--# unaccent: search
SELECT name FROM customers WHERE unaccent(name) ILIKE 'jose'
--# unaccent: a dictionary
SELECT unaccent('unaccent', 'Hôtel'), unaccent('é')
--# fuzzystrmatch
SELECT levenshtein('kitten', 'sitting'), soundex('Ada'), difference('Ann', 'Anne'), metaphone('Thompson', 4), dmetaphone('x'), levenshtein_less_equal('a', 'b', 1)
