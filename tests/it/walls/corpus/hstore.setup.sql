CREATE EXTENSION hstore; CREATE TABLE settings_of (id int PRIMARY KEY, h hstore); INSERT INTO settings_of VALUES (1, 'a=>1, b=>x'), (2, 'c=>NULL');
