//! What sources expect of statements, and for how long that counts.

use serde_json::json;

use super::{answer, sources};
use crate::support::postgres::{TestPostgres, connect};
use crate::support::wire::Listener;

/// What a source said of a statement holds for a while; nothing of an answer does.
#[actix_web::test]
async fn an_estimate_is_asked_for_once() {
    let url = TestPostgres::shared().database("estimates").await;
    let tables =
        "CREATE TABLE bills (id int PRIMARY KEY, n int); INSERT INTO bills SELECT i, i FROM generate_series(1, 100) i;
        ANALYZE bills";
    connect(&url).await.batch_execute(tables).await.unwrap();
    let wire = Listener::start(&url).await;
    let paid = "CREATE TABLE paid (bill_id INTEGER); INSERT INTO paid VALUES (7), (8)";
    let app = sources(&format!("{}?sslmode=disable", wire.url(&url)), paid, "").await;
    let query = |least: i32| {
        format!(
            "SELECT b.n FROM shop.public.bills b JOIN crm.main.paid p ON p.bill_id = b.id WHERE b.n > {least} ORDER BY 1"
        )
    };
    let asked = || wire.count("EXPLAIN (FORMAT JSON) SELECT ");
    assert_eq!(answer(&app, &query(3)).await["rows"], json!([[7], [8]]));
    let once = asked();
    assert!(once > 0);
    connect(&url).await.batch_execute("UPDATE bills SET n = -1 WHERE id = 7").await.unwrap();
    assert_eq!(answer(&app, &query(3)).await["rows"], json!([[8]]));
    assert_eq!(asked(), once);
    assert_eq!(answer(&app, &query(4)).await["rows"], json!([[8]]));
    assert_eq!(asked(), once + 1);
}
