CREATE EXTENSION vector;
CREATE TABLE chunks (id int PRIMARY KEY, words text, embedding vector(3));
INSERT INTO chunks VALUES (1, 'a', '[1,2,3]'), (2, 'b', '[4,5,6]'), (3, 'c', '[0,0,1]');
