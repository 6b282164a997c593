//! Subtotals: `ROLLUP`, `CUBE` and `GROUPING SETS` of what several connections have.

use serde_json::{Value, json};

use super::{answer, two_sources};
use crate::support::app::TestApp;

const JOINED: &str = "FROM shop.public.bookings o JOIN crm.main.guests p ON p.id = o.person";

async fn app() -> TestApp {
    two_sources(
        "CREATE TABLE bookings (id int PRIMARY KEY, person int, at timestamp);
         INSERT INTO bookings SELECT i, i % 3 + 1, timestamp '2026-01-01 12:00' + i * interval '1 day' FROM generate_series(1, 6) i",
        "CREATE TABLE guests (id INTEGER PRIMARY KEY, name TEXT); INSERT INTO guests VALUES (1, 'Ann'), (2, 'Bob'), (3, 'Cem')",
    )
    .await
}

async fn rows(app: &TestApp, query: &str) -> Value {
    answer(app, query).await["rows"].take()
}

/// What the rows were before says nothing of the order of their subtotals.
#[actix_web::test]
async fn subtotals_are_sorted() {
    let app = app().await;
    // Both are equal in each row that is joined.
    let equal = format!(
        "SELECT o.person, p.id, count(*) {JOINED} GROUP BY ROLLUP (o.person, p.id) ORDER BY 1, 2 DESC NULLS LAST"
    );
    let expected = json!([[1, 1, 2], [1, null, 2], [2, 2, 2], [2, null, 2], [3, 3, 2], [3, null, 2], [null, null, 6]]);
    assert_eq!(rows(&app, &equal).await, expected);
    // One has but one value, in whichever direction it is sorted.
    for (direction, expected) in [("NULLS FIRST", json!([null, 7])), ("NULLS LAST", json!([7, null]))] {
        let query = format!(
            "SELECT x.seven FROM (SELECT CASE WHEN o.id > 2 THEN 7 ELSE 7 END AS seven {JOINED}) x
             GROUP BY ROLLUP (x.seven) ORDER BY 1 DESC {direction}"
        );
        let rows = rows(&app, &query).await;
        let values: Vec<&Value> = rows.as_array().unwrap().iter().map(|row| &row[0]).collect();
        assert_eq!(json!(values), expected, "{direction}");
    }
    // They were cut, and so sorted, before they were grouped.
    let cut = format!(
        "SELECT x.id, count(*) FROM (SELECT o.id {JOINED} ORDER BY o.id DESC LIMIT 2) x GROUP BY ROLLUP (x.id) ORDER BY 1 DESC"
    );
    assert_eq!(rows(&app, &cut).await, json!([[null, 2], [6, 1], [5, 1]]));
}

#[actix_web::test]
async fn sets_may_be_of_computed_values() {
    let app = app().await;
    let late = "CASE WHEN o.id > 2 THEN TIMESTAMP '2026-01-05 00:00:00' ELSE TIMESTAMP '2026-01-01 00:00:00' END";
    let query = format!(
        "SELECT {late} AS since, lower(p.name) AS name, grouping({late}) AS g, count(*) {JOINED}
         GROUP BY CUBE ({late}, lower(p.name)) HAVING count(*) > 1 ORDER BY g, since, name"
    );
    let since = "2026-01-05T00:00:00";
    let told = rows(&app, &query).await;
    assert_eq!(
        told,
        json!([
            ["2026-01-01T00:00:00", null, 0, 2],
            [since, "ann", 0, 2],
            [since, null, 0, 4],
            [null, "ann", 1, 2],
            [null, "bob", 1, 2],
            [null, "cem", 1, 2],
            [null, null, 1, 6]
        ])
    );
    let cast = format!(
        "SELECT CAST(o.id AS text), o.id, count(*) {JOINED} GROUP BY GROUPING SETS ((CAST(o.id AS text), o.id), (o.id)) HAVING o.id = 1 ORDER BY 1"
    );
    assert_eq!(rows(&app, &cast).await, json!([["1", 1, 1], [null, 1, 1]]));
}
