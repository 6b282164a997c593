CREATE EXTENSION postgis;
CREATE TABLE shops (id int PRIMARY KEY, name text, place geometry(Point, 4326), area geography(Polygon, 4326));
INSERT INTO shops VALUES (1, 'Berlin', ST_SetSRID(ST_MakePoint(13.4, 52.5), 4326), ST_GeogFromText('POLYGON((13 52, 14 52, 14 53, 13 53, 13 52))')),
    (2, 'Paris', ST_SetSRID(ST_MakePoint(2.35, 48.86), 4326), NULL);
CREATE INDEX shops_place ON shops USING gist (place);
