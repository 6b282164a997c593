//! The server compiles none of our questions about its catalogue: that would take a second for what takes milliseconds.

use serde_json::json;

use crate::support::cluster::Cluster;
use crate::support::configuration::Configuration;
use crate::support::postgres::{connect, programs};
use crate::walls::server::say;

/// Whatever looks at more than a row or two is large enough to be compiled.
const SETTINGS: &str = "shared_preload_libraries = 'pg_stat_statements'\njit = on\njit_above_cost = 15\n";

#[actix_web::test]
async fn the_server_compiles_no_question_of_ours() {
    let cluster = Cluster::with_programs(&programs());
    cluster.configure(SETTINGS);
    cluster.obey("start");
    let url = cluster.url("postgres", "postgres");
    let admin = connect(&url).await;
    // The extension tells of it from PostgreSQL 15 on.
    let able = "SELECT current_setting('server_version_num')::int >= 150000 AND pg_jit_available()";
    if !admin.query_one(able, &[]).await.unwrap().get::<_, bool>(0) {
        say("passed over: this server compiles nothing, or tells nothing of it");
        return;
    }
    let objects = "CREATE EXTENSION pg_stat_statements; CREATE TABLE things (id int PRIMARY KEY, name text);
        CREATE TABLE hidden_things (id int PRIMARY KEY); INSERT INTO things SELECT i, 'thing ' || i FROM generate_series(1, 100) i;
        CREATE FUNCTION doubled(n int) RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN 2 * n; END'; SELECT pg_stat_statements_reset()";
    admin.batch_execute(objects).await.unwrap();
    let keys = "access = \"read-write\"\n[connections.hidden]\ntables = [\"hidden%\"]\n";
    let app = Configuration::new().connection("shop", &url, keys).start().await;
    for tool in ["get_instructions", "get_schemas", "get_tables", "get_procedures"] {
        app.tool(tool, json!({})).await;
    }
    app.tool("get_columns", json!({"tableName": "things"})).await;
    assert_eq!(app.rows("SELECT count(*) FROM things, things AS others").await, json!([[10000]]));
    assert_eq!(app.rows("SELECT doubled(id) FROM things WHERE id = 3").await, json!([[6]]));
    let (status, _) = app.query(json!({"query": "SELECT * FROM hidden_things"})).await;
    assert_eq!(status, 404);
    let compiled = admin.query("SELECT query FROM pg_stat_statements WHERE jit_functions > 0", &[]).await.unwrap();
    let compiled: Vec<String> = compiled.iter().map(|row| row.get(0)).collect();
    assert!(compiled.iter().any(|query| query.contains("FROM things")), "it compiles nothing: {compiled:?}");
    let ours: Vec<&String> = compiled.iter().filter(|query| query.contains("pg_catalog.")).collect();
    assert!(ours.is_empty(), "{ours:?}");
}
