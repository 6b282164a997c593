-- pgvector.
--# vector: nearest by distance
SELECT id, words FROM chunks ORDER BY embedding <-> '[3,1,2]' LIMIT 2
--# vector: cosine and inner product
SELECT id, 1 - (embedding <=> '[3,1,2]') AS similarity, (embedding <#> '[3,1,2]') * -1 AS product FROM chunks
--# vector: with a value
--@ {"@v": "[1,1,1]"}
SELECT id FROM chunks ORDER BY embedding <=> @v::vector LIMIT 1
--# vector: aggregates and functions
SELECT avg(embedding), vector_dims(avg(embedding)), sum(embedding), l2_distance('[1,2]'::vector, '[2,3]') FROM chunks
--# vector: insert
INSERT INTO chunks VALUES (4, 'd', '[7,8,9]'), (5, 'e', ARRAY[1, 2, 3]::vector)
--# vector: an index
CREATE INDEX spare_vector ON chunks USING ivfflat (embedding vector_cosine_ops) WITH (lists = 1)
