//! A vertical tab is white space to PostgreSQL since 16: statements are of the class that their verb says, also behind one.

use serde_json::json;

use crate::support::cluster::Cluster;
use crate::support::fixture;
use crate::support::postgres::connect;

/// Where a newer server is at hand.
#[actix_web::test]
async fn a_vertical_tab_hides_no_verb() {
    let Some(server) = Cluster::newer() else { return };
    let url = server.url("postgres", "postgres");
    let admin = connect(&url).await;
    admin.batch_execute("CREATE TABLE t (n int); INSERT INTO t VALUES (1), (2)").await.unwrap();
    let app = fixture::with_postgres(&url, "access = \"read-write\"").await;

    let dry = json!({"query": "INSERT INTO t VALUES (3); \u{b}COMMIT", "dryRun": true});
    let (status, answer) = app.query(dry).await;
    assert_eq!(status, 400, "{answer}");
    for verb in ["SET search_path = pg_catalog", "COMMIT AND CHAIN", "PREPARE p AS SELECT 1", "LISTEN here"] {
        let (status, answer) = app.query(json!({"query": format!("\u{b}{verb}")})).await;
        assert_eq!(status, 400, "{verb}: {answer}");
    }
    let (status, answer) = app.query(json!({"query": "INSERT INTO t VALUES (3);\u{b}SELECT 1/0"})).await;
    assert_eq!((status, &answer["results"][0]), (400, &json!(null)), "{answer}");
    let left: i64 = admin.query_one("SELECT count(*) FROM t", &[]).await.unwrap().get(0);
    assert_eq!(left, 2);

    for update in
        ["\u{b}UPDATE t SET n = n", "WITH x AS (SELECT 1) \u{b}UPDATE t SET n = n", "UPDATE\u{b}t SET n = n\u{b}"]
    {
        let (status, answer) = app.query(json!({"query": update})).await;
        assert_eq!((status, &answer["results"][0]["affectedRows"]), (200, &json!(2)), "{update:?}: {answer}");
    }
}
