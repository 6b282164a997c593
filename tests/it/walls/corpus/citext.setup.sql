CREATE EXTENSION citext; CREATE TABLE members (email citext PRIMARY KEY, name citext); INSERT INTO members VALUES ('Ada@Example.com', 'Ada'), ('ben@example.com', 'BEN');
