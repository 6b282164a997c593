//! A value of each type is looked up among those of each other type, as PostgreSQL looks it up.

use super::comparing::{BOTH, COLUMNS, Refusal, kinds, texts_here, texts_there};
use crate::walls::server::say;

/// How a value is looked up, with `{b}` for the column that is looked in.
const FORMS: [&str; 6] = [
    "IN (SELECT {b} FROM {q})",
    "NOT IN (SELECT {b} FROM {q} WHERE {b} IS NOT NULL)",
    "= ANY (SELECT {b} FROM {q})",
    "<> ALL (SELECT {b} FROM {q} WHERE {b} IS NOT NULL)",
    "> ANY (SELECT {b} FROM {q})",
    ">= ALL (SELECT {b} FROM {q} WHERE {b} IS NOT NULL)",
];
/// Values that a column is not.
const COMPUTED: [&str; 6] =
    ["k.f / 1e20::float8", "k.p * 1e-3", "0.1", "0.1::real", "DATE '9999-12-31'", "TIMESTAMP '9999-12-31 12:00:00.5'"];

#[actix_web::test]
async fn a_value_is_found_where_postgresql_finds_it() {
    let (database, app) = kinds().await;
    let values = COLUMNS.iter().map(|column| format!("k.{column}")).chain(COMPUTED.map(str::to_owned));
    let (mut compared, mut refused, mut differ) = (0, Vec::new(), Vec::new());
    for value in values {
        for (listed, form) in COLUMNS.iter().flat_map(|listed| FORMS.map(|form| (listed, form))) {
            let look = |from: &str, list: &str| {
                let form = form.replace("{b}", &format!("q.{listed}")).replace("{q}", list);
                format!("SELECT CAST(k.id AS text) FROM {from} WHERE {value} {form} ORDER BY k.id")
            };
            let there = texts_there(&database, &look("kinds k", "kinds q")).await;
            // What has no operator there need not have one here.
            if there.as_ref().is_err_and(Refusal::is_of_statement) {
                continue;
            }
            let query = look(BOTH, "shop.public.kinds q");
            match (texts_here(&app, &query).await, there) {
                (Ok(here), Ok(there)) if here == there => compared += 1,
                (Err(here), _) if here.is_of_statement() || here.words.contains("write NOT EXISTS") => {
                    refused.push(format!("{query}: {}", here.words));
                }
                (Err(_), Err(_)) => {}
                (here, there) => differ.push(format!("{query}\n  PostgreSQL: {there:?}\n  Portico:    {here:?}")),
            }
        }
    }
    // The query's own column stands beside what it is made to.
    for (value, listed, equal) in
        [("k.f", "q.n", "q.n = k.p"), ("k.d", "q.ts", "q.ts = k.ts"), ("k.p", "q.f", "q.f = k.r")]
    {
        let look = |from: &str, list: &str| {
            format!(
                "SELECT CAST(k.id AS text) FROM {from} WHERE {value} = ANY (SELECT {listed} FROM {list} WHERE {equal}) ORDER BY k.id"
            )
        };
        let there = texts_there(&database, &look("kinds k", "kinds q")).await.unwrap();
        let query = look(BOTH, "shop.public.kinds q");
        let here = texts_here(&app, &query).await;
        assert!(here.as_ref().is_ok_and(|here| *here == there), "{query}: {there:?}, {here:?}");
    }
    say(&format!("{compared} compared; refused here:\n{}", refused.join("\n")));
    assert!(differ.is_empty(), "{} differ:\n{}", differ.len(), differ.join("\n"));
    assert!(compared > 300, "{compared} compared");
}
