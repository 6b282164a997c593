-- PostGIS.
--# postgis: coordinates and text
SELECT name, ST_X(place), ST_Y(place), ST_AsText(place), ST_AsEWKT(place), ST_SRID(place), GeometryType(place) FROM shops
--# postgis: distance
SELECT a.name, b.name, ST_Distance(a.place::geography, b.place::geography) / 1000 AS km FROM shops a JOIN shops b ON a.id < b.id
--# postgis: within a distance
SELECT name FROM shops WHERE ST_DWithin(place::geography, ST_SetSRID(ST_MakePoint(13.3, 52.4), 4326)::geography, 50000)
--# postgis: nearest neighbour
SELECT name FROM shops ORDER BY place <-> ST_SetSRID(ST_MakePoint(3, 48), 4326) LIMIT 1
--# postgis: a bounding box
SELECT name FROM shops WHERE place && ST_MakeEnvelope(10, 50, 15, 55, 4326) AND ST_Within(place, ST_MakeEnvelope(10, 50, 15, 55, 4326))
--# postgis: GeoJSON
SELECT json_build_object('type', 'Feature', 'geometry', ST_AsGeoJSON(place)::json, 'properties', json_build_object('name', name)) FROM shops
--# postgis: transform
SELECT name, ST_AsText(ST_Transform(place, 3857), 0) FROM shops
--# postgis: construct
SELECT ST_Area(ST_Buffer(ST_Point(0, 0), 1)), ST_Length(ST_MakeLine(ST_Point(0, 0), ST_Point(3, 4))), ST_AsText(ST_Centroid(ST_GeomFromText('POLYGON((0 0, 2 0, 2 2, 0 2, 0 0))')))
--# postgis: aggregates
SELECT ST_AsText(ST_Collect(place)), ST_Extent(place), ST_AsText(ST_ConvexHull(ST_Union(place))) FROM shops
--# postgis: predicates
SELECT ST_Contains(a, b), ST_Intersects(a, b), ST_AsText(ST_Intersection(a, b)), ST_IsValid(a) FROM (SELECT ST_MakeEnvelope(0, 0, 2, 2) AS a, ST_MakeEnvelope(1, 1, 3, 3) AS b) x
--# postgis: tiles
SELECT ST_AsMVT(t, 'shops') FROM (SELECT id, ST_AsMVTGeom(ST_Transform(place, 3857), ST_TileEnvelope(0, 0, 0)) AS geom FROM shops) t
--# postgis: insert
INSERT INTO shops VALUES (3, 'Rome', ST_GeomFromText('POINT(12.5 41.9)', 4326), NULL) RETURNING ST_AsText(place)
--# postgis: geography
SELECT ST_Area(area), ST_Covers(area, place::geography) FROM shops WHERE area IS NOT NULL
--# postgis: clusters
SELECT name, ST_ClusterDBSCAN(place, 1, 1) OVER () FROM shops
