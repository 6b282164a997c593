//! Statements that are refused, and a part of what is said to do instead.

pub(super) const REFUSED: &[(&str, &str)] = &[
    ("SELECT o.id, count(*) OVER (w) @ WINDOW w AS (ORDER BY o.id)", "OVER and its name"),
    ("SELECT o.id, count(*) OVER v @ WINDOW w AS (ORDER BY o.id), v AS (w)", "OVER and its name"),
    ("SELECT c.id, count(o.*) @ GROUP BY 1", "count(o.id)"),
    ("SELECT c.id @ WHERE o.* IS NULL", "one of its columns"),
    ("SELECT id / 2 FROM (SELECT id::numeric AS id FROM $purchases) o JOIN $clients c USING (id)", "CAST both"),
    (
        "WITH RECURSIVE b(n, bal) AS (SELECT 1, 100.00 UNION ALL SELECT n + 1, bal * 1.015 FROM b WHERE n < 6) \
             SELECT b.n, b.bal FROM b JOIN $clients c ON c.id = b.n JOIN $purchases o ON o.id = b.n",
        "AS numeric",
    ),
    ("SELECT lag(o.id, 1, 0.5) OVER (ORDER BY o.id) @", "CAST both"),
    ("SELECT o.id, (SELECT c.name FROM $clients c WHERE c.id > o.customer_id) FROM $purchases o", "max(…)"),
    ("SELECT o.id, (SELECT t.rating FROM $tickets t WHERE t.customer_id = o.customer_id) FROM $purchases o", "max(…)"),
    ("SELECT a.id FROM $purchases a JOIN $clients a ON true", "an alias of its own"),
    ("SELECT round(o.amount::numeric(40, 2)) FROM $purchases o, $clients c", "at most 38"),
    ("SELECT sum(row_number() OVER ()) @", "in a subquery"),
    ("SELECT bool_and(o.id) @", "CAST its arguments"),
    ("SELECT sum(max(o.id)) @", "in a subquery"),
    (
        "SELECT c.id, x.r FROM $clients c, LATERAL (SELECT row_number() OVER (ORDER BY o.id) AS r FROM $purchases o WHERE o.customer_id = c.id) x",
        "PARTITION BY",
    ),
    (
        "SELECT c.id FROM $clients c WHERE c.id IN (SELECT rank() OVER (ORDER BY o.id) FROM $purchases o WHERE o.customer_id = c.id)",
        "PARTITION BY",
    ),
    (
        "SELECT c.id, (SELECT sum(o.id) FROM $purchases o WHERE o.customer_id = c.id HAVING count(*) = 0) FROM $clients c",
        "GROUP BY",
    ),
    (
        "SELECT c.id, x.k FROM $clients c, LATERAL (SELECT max(o.id) AS m, 'x' AS k FROM $purchases o WHERE o.customer_id = c.id) x",
        "GROUP BY",
    ),
    (
        "SELECT c.id, x.n FROM $clients c, LATERAL (SELECT DISTINCT count(*) AS n FROM $purchases o WHERE o.customer_id = c.id) x",
        "GROUP BY",
    ),
    (
        "SELECT c.id, (SELECT count(*) FROM $tickets t RIGHT JOIN $purchases o ON o.id = t.id AND t.id = c.id) FROM $clients c",
        "outer join",
    ),
    (
        "SELECT c.id, x.n FROM $clients c, LATERAL (SELECT o.status, count(*) AS n FROM $purchases o WHERE o.customer_id = c.id GROUP BY ROLLUP (o.status)) x",
        "grouping sets",
    ),
    (
        "SELECT string_agg(DISTINCT o.status, ',' ORDER BY o.status), string_agg(DISTINCT o.status, ',' ORDER BY o.status DESC) @",
        "in a subquery",
    ),
    (
        "SELECT c.id, x.n FROM $clients c, LATERAL (SELECT DISTINCT o.status AS n FROM $purchases o WHERE o.id > c.id) x",
        "GROUP BY",
    ),
    (
        "SELECT c.id, x.n FROM $clients c, LATERAL (SELECT o.status AS n FROM $purchases o WHERE o.id > c.id GROUP BY o.status) x",
        "GROUP BY",
    ),
    ("SELECT sum(purchases.id) / 4, max(id) FROM $purchases JOIN $clients USING (id)", "write ON"),
    ("SELECT 5 AS c, count(*) @ GROUP BY ROLLUP (1)", "leave it out"),
    ("SELECT first_value(o.id) IGNORE NULLS OVER (ORDER BY o.id) @", "IGNORE NULLS"),
    ("SELECT sum(o.status) @", "CAST its arguments"),
    ("SELECT \"\u{1}single\"(o.id) @", "the service's own"),
    (
        "SELECT d.id FROM $oddities d, $clients c WHERE d.doc IN (SELECT doc FROM $oddities WHERE id = 2) AND c.id = 1",
        "own connection",
    ),
    (
        "SELECT d.id FROM $oddities d, $clients c WHERE d.wait IN (SELECT wait FROM $oddities WHERE id = 2) AND c.id = 1",
        "own connection",
    ),
    ("SELECT c.id FROM $clients c WHERE '1' IN (SELECT price FROM $oddities)", "own connection"),
    ("SELECT d.id FROM $oddities d, $clients c WHERE d.price LIKE '1' AND c.id = 1", "own connection"),
    ("SELECT d.id FROM $oddities d JOIN $clients c ON c.id = d.id ORDER BY nullif(d.mood, 'ok')", "own connection"),
    ("SELECT d.price FROM $oddities d EXCEPT SELECT '1' FROM $clients", "own connection"),
    (
        "SELECT CASE WHEN c.id > 1 THEN '7' ELSE d.price END FROM $oddities d JOIN $clients c ON c.id = d.id",
        "own connection",
    ),
    (
        "SELECT lag(d.wait, 1, '1') OVER (ORDER BY d.id) FROM $oddities d JOIN $clients c ON c.id = d.id",
        "own connection",
    ),
    ("SELECT concat(d.doc, c.name) FROM $oddities d JOIN $clients c ON c.id = d.id", "own connection"),
    ("SELECT concat(c.name, d.list) FROM $oddities d JOIN $clients c ON c.id = d.id", "own connection"),
    ("SELECT c.name || d.list FROM $oddities d JOIN $clients c ON c.id = d.id", "own connection"),
    ("SELECT string_agg(d.list, ',') FROM $oddities d JOIN $clients c ON c.id = d.id", "own connection"),
    ("SELECT sum(x.id) FROM (SELECT o.id, c.id @) x", "names of their own"),
    ("WITH x AS (SELECT o.id, c.id @) SELECT 1 FROM x WHERE id = 1", "names of their own"),
    ("SELECT o.id @ WHERE row_number() OVER (ORDER BY o.id) = 1", "in a subquery"),
    ("SELECT o.id FROM $purchases o JOIN $clients c ON c.id = max(o.id)", "in a subquery"),
    ("SELECT lag(o.id, NULL) OVER (ORDER BY o.id) @", "offset"),
    ("SELECT o.id IN (SELECT id FROM $clients) FROM $purchases o", "join its table"),
    ("SELECT c.name, sum(o.amount) @ GROUP BY c.country", "add it to GROUP BY"),
    (
        "SELECT o.id, (SELECT x.t FROM (SELECT 1 AS id, 'q' AS t UNION ALL SELECT 1, 'r') x WHERE x.id = c.id) @",
        "max(…)",
    ),
    ("SELECT o.id @ WHERE c.name ~ '(?#c)a'", "own connection"),
    ("SELECT corr(DISTINCT o.weight, o.id) @", "DISTINCT rows"),
    ("SELECT o.amount::numeric(260, 2) @", "at most 38"),
    ("SELECT stddev(c.name) @", "CAST its arguments"),
];
