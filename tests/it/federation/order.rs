//! In which order sources are asked, and how many rows each of them sends.

use serde_json::json;

use super::{answer, sent, sources, two_sources, two_sources_with};
use crate::support::app::TestApp;
use crate::support::fixture;
use crate::support::postgres::connect;

/// How many rows each statement of a source came to, by the names of their connections.
async fn fetched(app: &TestApp, query: &str) -> Vec<(String, u64)> {
    let told = answer(app, &format!("EXPLAIN ANALYZE {query}")).await;
    let lines = told["rows"].as_array().unwrap().iter().map(|row| row[0].as_str().unwrap().to_owned());
    let between = |line: &str, from: &str| {
        let (_, rest) = line.split_once(from)?;
        Some(rest[..rest.find([',', ']']).unwrap_or(rest.len())].to_owned())
    };
    lines
        .filter_map(|line| {
            let connection = between(&line, "Source: connection=")?;
            let rows = between(&line, "output_rows=").unwrap_or_else(|| panic!("{line}"));
            // From a thousand on it is told in thousands.
            let rows = match rows.trim().strip_suffix(" K").and_then(|thousands| thousands.split_once('.')) {
                Some((whole, rest)) => format!("{whole}{rest:0<3}"),
                None => rows.trim().to_owned(),
            };
            let rows = rows.parse().unwrap_or_else(|_| panic!("{line}"));
            Some((connection, rows))
        })
        .collect()
}

/// How many rows the statements of this connection came to.
async fn fetched_from(app: &TestApp, connection: &str, query: &str) -> u64 {
    fetched(app, query).await.iter().filter(|(name, _)| name == connection).map(|(_, rows)| rows).sum()
}

/// A hundred things of which each has ten parts, of which each has ten marks.
async fn chain() -> TestApp {
    two_sources(
        "CREATE TABLE things (id int PRIMARY KEY, name text);
         INSERT INTO things SELECT i, 'thing ' || i FROM generate_series(1, 300) i;
         CREATE TABLE marks (id int PRIMARY KEY, part_id int, note text);
         INSERT INTO marks SELECT i, i % 3000, 'mark ' || i FROM generate_series(1, 30000) i;
         CREATE INDEX ON marks (part_id); ANALYZE things; ANALYZE marks",
        "CREATE TABLE parts (id INTEGER PRIMARY KEY, thing_id INTEGER, colour TEXT);
         WITH RECURSIVE i(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM i WHERE i < 2999)
         INSERT INTO parts SELECT i, i % 300 + 1, 'colour ' || (i % 7) FROM i;
         CREATE TABLE colours (id INTEGER PRIMARY KEY, name TEXT);
         WITH RECURSIVE i(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM i WHERE i < 2999)
         INSERT INTO colours SELECT i, 'c' || i FROM i",
    )
    .await
}

#[actix_web::test]
async fn a_chain_begins_where_the_fewest_rows_are() {
    let app = chain().await;
    for joined in [
        "shop.public.marks m JOIN crm.main.parts p ON p.id = m.part_id JOIN shop.public.things t ON t.id = p.thing_id",
        "crm.main.parts p JOIN shop.public.marks m ON p.id = m.part_id JOIN shop.public.things t ON p.thing_id = t.id",
        "shop.public.marks m, shop.public.things t, crm.main.parts p",
    ] {
        let on = if joined.contains(" ON ") { "" } else { "p.id = m.part_id AND t.id = p.thing_id AND " };
        let query = format!("SELECT count(*), min(m.id), max(t.name) FROM {joined} WHERE {on}t.name = 'thing 7'");
        assert_eq!(answer(&app, &query).await["rows"], json!([[100, 6, "thing 7"]]), "{joined}");
        let fetched = fetched(&app, &query).await;
        let rows: u64 = fetched.iter().map(|(_, rows)| rows).sum();
        assert_eq!((fetched.len(), rows), (3, 1 + 10 + 100), "{joined}: {fetched:?}");
    }
}

/// Both small sides are read before the large one in their middle.
#[actix_web::test]
async fn the_middle_of_a_star_comes_last() {
    let app = two_sources(
        "CREATE TABLE facts (id int PRIMARY KEY, shop_id int, day_id int, amount int);
         INSERT INTO facts SELECT i, i % 100, i / 100 % 200, i FROM generate_series(0, 19999) i; ANALYZE facts",
        "CREATE TABLE shops (id INTEGER PRIMARY KEY, city TEXT);
         WITH RECURSIVE i(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM i WHERE i < 99)
         INSERT INTO shops SELECT i, 'city ' || (i % 50) FROM i;
         CREATE TABLE days (id INTEGER PRIMARY KEY, month TEXT);
         WITH RECURSIVE i(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM i WHERE i < 199)
         INSERT INTO days SELECT i, 'month ' || (i / 20) FROM i",
    )
    .await;
    let query = "SELECT count(*), sum(f.amount) FROM crm.main.shops s JOIN shop.public.facts f ON f.shop_id = s.id \
                 JOIN crm.main.days d ON d.id = f.day_id WHERE s.city = 'city 3' AND d.month = 'month 2'";
    let expected = (0..20000_u64).filter(|i| i % 100 % 50 == 3 && i / 100 % 200 / 20 == 2);
    assert_eq!(answer(&app, query).await["rows"], json!([[expected.clone().count(), expected.sum::<u64>()]]));
    assert_eq!(fetched_from(&app, "shop", query).await, 40);
    assert_eq!(fetched_from(&app, "crm", query).await, 2 + 20);
}

/// What one source can join by a key it joins, also where its tables are not written next to each other.
#[actix_web::test]
async fn tables_of_one_source_are_joined_there() {
    let app = two_sources(
        "CREATE TABLE deals (id int PRIMARY KEY, buyer_id bigint, day int);
         INSERT INTO deals SELECT i, i % 100, i % 50 FROM generate_series(0, 999) i;
         CREATE TABLE pieces (deal_id int, buyer_id bigint, amount int);
         INSERT INTO pieces SELECT i % 1000, i % 100, i FROM generate_series(0, 9999) i; ANALYZE deals; ANALYZE pieces",
        "CREATE TABLE buyers (id INTEGER PRIMARY KEY, city TEXT);
         WITH RECURSIVE i(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM i WHERE i < 99)
         INSERT INTO buyers SELECT i, 'city ' || (i % 10) FROM i;
         CREATE TABLE towns (name TEXT PRIMARY KEY, size INTEGER);
         INSERT INTO towns SELECT DISTINCT city, 7 FROM buyers",
    )
    .await;
    let on = "o.buyer_id = c.id AND l.deal_id = o.id AND t.name = c.city AND o.day = 3 AND l.amount > 5000";
    let expected = json!([[(5001..10_000).filter(|i| i % 1000 % 50 == 3).count(), 7]]);
    for from in [
        "crm.main.buyers c, shop.public.deals o, crm.main.towns t, shop.public.pieces l",
        "shop.public.pieces l, crm.main.buyers c, shop.public.deals o, crm.main.towns t",
        "(SELECT * FROM shop.public.pieces WHERE amount > 0) l, crm.main.buyers c, crm.main.towns t, shop.public.deals o",
    ] {
        let query = format!("SELECT count(*), max(t.size) FROM {from} WHERE {on}");
        assert_eq!(answer(&app, &query).await["rows"], expected, "{from}");
        let mut fetched = fetched(&app, &query).await;
        fetched.sort();
        assert_eq!(fetched.iter().map(|(name, _)| &**name).collect::<Vec<_>>(), ["crm", "shop"], "{from}");
        assert_eq!(fetched[1].1, 100, "{from}: {fetched:?}");
    }
    // Which deals these are is asked first, and narrows what is joined.
    let query = "SELECT count(*) FROM crm.main.buyers c, shop.public.deals o, shop.public.pieces l \
                 WHERE o.buyer_id = c.id AND l.deal_id = o.id AND o.id IN \
                 (SELECT deal_id FROM shop.public.pieces GROUP BY deal_id HAVING sum(amount) >= 54980)";
    assert_eq!(answer(&app, query).await["rows"], json!([[20]]));
    assert_eq!(fetched_from(&app, "shop", query).await, 2 + 20);
    // Both have several rows of each customer: together they would be a hundred times as many.
    let query = "SELECT count(*) FROM shop.public.deals o, crm.main.buyers c, shop.public.pieces l \
                 WHERE o.buyer_id = c.id AND l.buyer_id = c.id AND o.buyer_id = l.buyer_id AND c.city = 'city 3'";
    assert_eq!(answer(&app, query).await["rows"], json!([[10 * 10 * 100]]));
    assert_eq!(fetched_from(&app, "shop", query).await, 10 * 10 + 10 * 100);
}

/// Whether there is a partner in another table is asked at the source that has both, also where the engine joins what is
/// asked about with something else first.
#[actix_web::test]
async fn partners_are_looked_for_at_their_source() {
    let app = two_sources(
        "CREATE TABLE lines (id int PRIMARY KEY, deal_id int, seller_id int, late bool);
         INSERT INTO lines SELECT i, i / 4, i % 100, i % 7 = 0 FROM generate_series(0, 3999) i; ANALYZE lines",
        "CREATE TABLE sellers (id INTEGER PRIMARY KEY, city TEXT);
         WITH RECURSIVE i(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM i WHERE i < 99)
         INSERT INTO sellers SELECT i, 'city ' || (i % 10) FROM i",
    )
    .await;
    let is_late = |i: i32| i % 7 == 0;
    let others = |i: i32| (i / 4 * 4..i / 4 * 4 + 4).filter(move |other| *other != i);
    let of_city = |i: i32| i % 10 == 3;
    let alone_late = |i: &i32| of_city(*i) && is_late(*i) && !others(*i).any(is_late);
    let some_late = |i: &i32| of_city(*i) && others(*i).any(is_late);
    let (alone_late, some_late) = ((0..4000).filter(alone_late).count(), (0..4000).filter(some_late).count());
    let exists = "EXISTS (SELECT 1 FROM shop.public.lines x WHERE x.deal_id = l.deal_id AND x.id <> l.id AND x.late)";
    for (condition, expected) in [
        (format!("l.late AND NOT {exists}"), alone_late),
        (exists.to_owned(), some_late),
        (format!("{exists} AND l.deal_id IN (SELECT deal_id FROM shop.public.lines WHERE id > 0)"), some_late),
        (format!("{exists} AND l.deal_id NOT IN (SELECT deal_id FROM shop.public.lines WHERE id < 0)"), some_late),
    ] {
        for from in [
            "shop.public.lines l JOIN crm.main.sellers s ON s.id = l.seller_id",
            "crm.main.sellers s JOIN (SELECT id AS id, deal_id, seller_id, late FROM shop.public.lines) l \
             ON s.id = l.seller_id",
        ] {
            let query = format!("SELECT count(*) FROM {from} WHERE s.city = 'city 3' AND {condition}");
            assert_eq!(answer(&app, &query).await["rows"], json!([[expected]]), "{query}");
            if !condition.contains("NOT IN") {
                let mut fetched = fetched(&app, &query).await;
                fetched.sort();
                assert_eq!(fetched, [("crm".to_owned(), 10), ("shop".to_owned(), expected as u64)], "{query}");
            }
        }
    }
    // What its source does not do is asked of what the join leaves.
    for condition in ["x.id < l.id", "x.deal_id = l.deal_id AND upper(x.deal_id || 'a') <> '1A' AND x.id <> l.id"] {
        let query = format!(
            "SELECT count(*) FROM shop.public.lines l JOIN shop.public.lines m ON m.id = l.id \
             JOIN crm.main.sellers s ON s.id = l.seller_id WHERE s.city = 'city 3' \
             AND EXISTS (SELECT 1 FROM shop.public.lines x WHERE {condition})"
        );
        let mut fetched = fetched(&app, &query).await;
        fetched.sort();
        assert_eq!(fetched.iter().map(|(name, _)| &**name).collect::<Vec<_>>(), ["crm", "shop", "shop"], "{condition}");
        assert!(fetched.contains(&("shop".to_owned(), 400)), "{condition}: {fetched:?}");
    }
    // The seller is another source's: what is asked of it stays.
    let query = "SELECT count(*) FROM shop.public.lines l JOIN crm.main.sellers s ON s.id = l.seller_id WHERE EXISTS \
                 (SELECT 1 FROM shop.public.lines x WHERE x.deal_id = s.id AND x.id <> l.id)";
    assert_eq!(answer(&app, query).await["rows"], json!([[4000]]));
}

/// Joins of other kinds stay where they are, and what is inside of them is ordered by itself.
#[actix_web::test]
async fn other_joins_keep_their_places() {
    let app = chain().await;
    let query = "SELECT count(*), count(c.id) FROM (SELECT m.id, p.id AS part FROM shop.public.marks m \
                 JOIN crm.main.parts p ON p.id = m.part_id JOIN shop.public.things t ON t.id = p.thing_id \
                 WHERE t.name IN ('thing 7', 'thing 8')) x LEFT JOIN crm.main.colours c ON c.id = x.part AND c.id < 400";
    assert_eq!(answer(&app, query).await["rows"], json!([[200, 40]]));
    assert_eq!(fetched_from(&app, "shop", query).await, 202);
    // Conditions between items that are not next to each other, and a value of two of them.
    let query = "SELECT count(*) FROM shop.public.marks m JOIN crm.main.parts p ON p.id = m.part_id \
                 JOIN shop.public.things t ON t.id = p.thing_id AND m.id > t.id * 1000 \
                 JOIN crm.main.colours c ON c.id = p.thing_id + m.part_id WHERE t.name = 'thing 7'";
    let expected = (1..=30000_u64).filter(|m| m % 3000 % 300 + 1 == 7 && *m > 7000 && 7 + m % 3000 < 3000).count();
    assert_eq!(answer(&app, query).await["rows"], json!([[expected]]));
}

/// Keys of every type, and of several columns.
#[actix_web::test]
async fn keys_narrow_what_is_fetched() {
    let app = two_sources(
        "CREATE TABLE events (id int PRIMARY KEY, who text, at uuid, day date, price numeric(10, 2), free numeric, n bigint,
             small smallint, moment timestamp);
         INSERT INTO events SELECT i, 'p' || i, ('00000000-0000-4000-8000-' || lpad(i::text, 12, '0'))::uuid,
             date '2026-01-01' + i, i / 100.0, i / 100.0, i, i, timestamp '2026-01-01' + i * interval '1 hour'
             FROM generate_series(1, 3000) i; ANALYZE events",
        "CREATE TABLE wanted (who TEXT, at UUID, day DATE, price DECIMAL(10, 2), n BIGINT, moment TIMESTAMP);
         INSERT INTO wanted VALUES
             ('p7', '00000000-0000-4000-8000-000000000007', '2026-01-08', 0.07, 7, '2026-01-01 07:00:00'),
             ('p9', '00000000-0000-4000-8000-000000000009', '2026-01-10', 0.09, 9, '2026-01-01 09:00:00'),
             (NULL, NULL, NULL, NULL, NULL, NULL)",
    )
    .await;
    for (condition, rows) in [
        ("e.who = w.who", 2),
        ("e.at = w.at", 2),
        ("e.day = w.day", 2),
        ("e.price = w.price", 2),
        ("e.free = w.price", 2),
        ("e.n = w.n", 2),
        ("e.id = w.n", 2),
        ("e.small = w.n", 2),
        ("e.moment = w.moment", 2),
        ("e.n = w.n AND e.who = w.who", 2),
        ("e.day = w.day AND e.price = w.price AND e.at = w.at", 2),
    ] {
        let query = format!("SELECT e.id FROM crm.main.wanted w JOIN shop.public.events e ON {condition} ORDER BY 1");
        assert_eq!(answer(&app, &query).await["rows"], json!([[7], [9]]), "{condition}");
        assert_eq!(fetched_from(&app, "shop", &query).await, rows, "{condition}");
    }
    // The other way round, into the file.
    let query = "SELECT w.n FROM shop.public.events e JOIN crm.main.wanted w ON w.who = e.who WHERE e.id = 9";
    assert_eq!(answer(&app, query).await["rows"], json!([[9]]));
    assert_eq!(fetched_from(&app, "crm", query).await, 1);
    // Through a union and its groups.
    let query = "SELECT x.n, x.times FROM crm.main.wanted w JOIN (SELECT n, count(*) AS times FROM \
                 (SELECT n FROM shop.public.events UNION ALL SELECT n FROM crm.main.wanted) AS u GROUP BY n) AS x \
                 ON x.n = w.n ORDER BY 1";
    assert_eq!(answer(&app, query).await["rows"], json!([[7, 2], [9, 2]]));
    assert_eq!(fetched_from(&app, "shop", query).await, 2);
}

/// A source gives totals and numbers of values; their quotients are the engine's.
#[actix_web::test]
async fn averages_fetch_a_row_a_group() {
    let sales = "CREATE TABLE sales (kind int, small smallint, n int, l bigint, p numeric(15, 2), q numeric);
         INSERT INTO sales SELECT i % 3, i % 7, CASE WHEN i % 3 = 1 THEN i * 1000 - 7 END, 9223372036854775807 - i, i / 100.0, i / 4.0
             FROM generate_series(1, 3000) i; ANALYZE sales";
    let kinds = "CREATE TABLE kinds (id INTEGER PRIMARY KEY, name TEXT); INSERT INTO kinds VALUES (0, 'none'), (1, 'one'), (2, 'two')";
    let url = fixture::postgres().await;
    connect(&url).await.batch_execute(sales).await.unwrap();
    let pushing = sources(&url, kinds, "").await;
    let local = sources(&url, kinds, "[federation]\npushdown = false\n").await;
    for (averages, rows) in [
        ("avg(small) AS a, avg(n) AS b", 3),
        ("avg(p) AS a, sum(p) AS b", 3),
        ("count(*) AS a, avg(p - 0.01) AS b", 3),
        ("avg(DISTINCT p) AS a, 1 AS b", 3),
        // What a source cannot total up for certain, the engine does.
        ("avg(q) AS a, 1 AS b", 3000),
        ("avg(p * p) AS a, 1 AS b", 3000),
    ] {
        let query = format!(
            "SELECT k.name, s.a, s.b FROM crm.main.kinds k JOIN (SELECT kind, {averages} FROM shop.public.sales GROUP BY kind) s \
             ON s.kind = k.id ORDER BY 1"
        );
        let told = answer(&pushing, &query).await["rows"].clone();
        assert_eq!(told, answer(&local, &query).await["rows"], "{averages}");
        assert_eq!(told[0][0], "none", "{averages}");
        assert_eq!(fetched_from(&pushing, "shop", &query).await, rows, "{averages}");
    }
    // The average of numbers that have nineteen digits has no room for twenty more.
    let query = "SELECT k.name, s.a FROM crm.main.kinds k JOIN (SELECT kind, avg(l) AS a FROM shop.public.sales GROUP BY kind) s \
                 ON s.kind = k.id";
    for app in [&pushing, &local] {
        let (status, answer) = app.query(json!({"query": query})).await;
        assert_eq!((status, &answer["error"]["sqlState"]), (400, &json!("22003")), "{answer}");
    }
}

/// What is named twice is asked for once, where its source makes groups of it: also where one place reads other columns.
#[actix_web::test]
async fn groups_that_are_read_twice_are_made_once() {
    let app = two_sources(
        "CREATE TABLE sales (id int PRIMARY KEY, shop_id int, amount numeric(10, 2));
         INSERT INTO sales SELECT i, i % 100, i FROM generate_series(1, 2000) i; ANALYZE sales",
        "CREATE TABLE shops (id INTEGER PRIMARY KEY, city TEXT);
         WITH RECURSIVE i(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM i WHERE i < 99)
         INSERT INTO shops SELECT i, 'city ' || i FROM i",
    )
    .await;
    let turnover = "WITH turnover AS (SELECT shop_id, sum(amount) AS total, count(*) AS n, avg(amount) AS usual \
                    FROM shop.public.sales GROUP BY shop_id)";
    let of_city = "FROM crm.main.shops s JOIN turnover t ON t.shop_id = s.id";
    // Shop 0 has 100, 200 … 2000.
    for (query, rows) in [
        (
            format!("SELECT s.city, t.total {of_city} WHERE t.total = (SELECT max(total) FROM turnover)"),
            json!([["city 0", 21000.0]]),
        ),
        (
            format!(
                "SELECT s.city, t.n {of_city} WHERE t.usual >= (SELECT max(usual) FROM turnover) \
                 AND t.total > (SELECT avg(total) FROM turnover)"
            ),
            json!([["city 0", 20]]),
        ),
        (
            format!(
                "SELECT s.city, count(*) {of_city} JOIN turnover u ON u.total > t.total WHERE s.city LIKE 'city 9_' \
                 GROUP BY 1 ORDER BY 2, 1 LIMIT 2"
            ),
            json!([["city 99", 1], ["city 98", 2]]),
        ),
    ] {
        let query = format!("{turnover} {query}");
        assert_eq!(answer(&app, &query).await["rows"], rows, "{query}");
        let sent = sent(&app);
        let groups: Vec<&str> = sent.iter().filter(|(name, _)| name == "shop").map(|(_, text)| text.as_str()).collect();
        assert!(matches!(groups.as_slice(), [one] if !one.contains("max(")), "{query}: {sent:?}");
        let told = answer(&app, &format!("EXPLAIN {query}")).await["rows"].to_string();
        assert!(told.contains(", shared") && !told.contains("Snapshots"), "{told}");
    }
    // Each place has its own rows where its conditions tell which, or keys do at all of them, and where all of it is one
    // statement anyway.
    for (query, statements) in [
        (
            "SELECT t.total, u.n FROM crm.main.shops s JOIN turnover t ON t.shop_id = s.id JOIN turnover u ON u.shop_id = s.id WHERE s.city = 'city 7'",
            2,
        ),
        (
            "SELECT a.total, b.total FROM turnover a, turnover b, crm.main.shops s WHERE a.shop_id = 1 AND b.shop_id = 2 AND s.id = 1",
            2,
        ),
        (
            "SELECT a.total FROM turnover a JOIN turnover b ON a.shop_id = b.shop_id JOIN crm.main.shops s ON s.id = a.shop_id WHERE s.city = 'city 7'",
            1,
        ),
    ] {
        answer(&app, &format!("{turnover} {query}")).await;
        let sent = sent(&app);
        let groups = sent.iter().filter(|(name, _)| name == "shop").count();
        assert_eq!(groups, statements, "{query}: {sent:?}");
    }
}

/// What is too much to be kept is asked for at each place.
#[actix_web::test]
async fn many_groups_are_not_kept() {
    let app = two_sources_with(
        "CREATE TABLE many (id int PRIMARY KEY, amount int);
         INSERT INTO many SELECT i, i FROM generate_series(1, 60000) i;
         CREATE TABLE wide (id int PRIMARY KEY, filler text);
         INSERT INTO wide SELECT i, repeat(md5(i::text), 80) FROM generate_series(1, 20000) i; ANALYZE many; ANALYZE wide",
        "CREATE TABLE one (id INTEGER PRIMARY KEY); INSERT INTO one VALUES (7)",
        "[federation]\nstatement_memory = 16777216",
    )
    .await;
    for (groups, rows) in [
        ("SELECT id, sum(amount) AS total FROM shop.public.many GROUP BY id", json!([[7, 7]])),
        // So few are expected, and yet they do not fit.
        ("SELECT id, count(*) AS total, max(filler) AS filler FROM shop.public.wide GROUP BY id", json!([[7, 1]])),
    ] {
        let wide = if groups.contains("filler") { "g.filler <> ''" } else { "true" };
        let query = format!(
            "WITH g AS ({groups}) SELECT g.id, g.total FROM g JOIN crm.main.one o ON o.id = g.id \
             WHERE {wide} AND g.total / 100000 = (SELECT max(total) / 100000 FROM g)"
        );
        assert_eq!(answer(&app, &query).await["rows"], rows, "{query}");
        let sent = sent(&app);
        let of_shop = sent.iter().filter(|(name, _)| name == "shop").count();
        assert!(of_shop >= 2, "{query}: {sent:?}");
    }
}

#[actix_web::test]
async fn a_source_is_not_asked_for_partners_of_nothing() {
    let app = two_sources(
        "CREATE TABLE events (id int PRIMARY KEY); INSERT INTO events SELECT generate_series(1, 1000); ANALYZE events",
        "CREATE TABLE wanted (n BIGINT); INSERT INTO wanted VALUES (1)",
    )
    .await;
    let query = "SELECT e.id FROM crm.main.wanted w JOIN shop.public.events e ON e.id = w.n WHERE w.n > 100";
    assert_eq!(answer(&app, query).await["rows"], json!([]));
    let sent = sent(&app);
    assert!(sent.iter().all(|(name, _)| name == "crm") && sent.len() == 1, "{sent:?}");
}

/// There is no snapshot over several statements of one connection: a plan says so.
#[actix_web::test]
async fn a_plan_says_what_it_asks_and_that_snapshots_are_several() {
    let app = chain().await;
    let explained = async |query: &str| {
        let told = answer(&app, &format!("EXPLAIN {query}")).await;
        let lines = told["rows"].as_array().unwrap().iter().map(|row| row[0].as_str().unwrap().to_owned());
        lines.collect::<Vec<_>>()
    };
    let one = "SELECT m.note FROM shop.public.marks m JOIN crm.main.parts p ON p.id = m.part_id WHERE m.id < 7";
    let lines = explained(one).await;
    let source = |name: &str| format!("Source: connection={name}, sql=SELECT ");
    for name in ["shop", "crm"] {
        assert!(lines.iter().any(|line| line.trim_start().starts_with(&source(name))), "{lines:?}");
    }
    assert!(lines.iter().any(|line| line.contains(" WHERE ") && line.contains("< ")), "{lines:?}");
    assert!(lines.iter().any(|line| line.contains("keys=c")), "{lines:?}");
    assert!(!lines.iter().any(|line| line.starts_with("Snapshots")), "{lines:?}");
    let two = "SELECT count(*) FROM shop.public.marks m JOIN crm.main.parts p ON p.id = m.part_id \
               JOIN shop.public.things t ON t.id = p.thing_id";
    let lines = explained(two).await;
    let last = lines.last().unwrap();
    assert!(last.starts_with("Snapshots: connection=shop, statements=2, "), "{lines:?}");
}
