//! Where the server cannot be asked what it understood, because the connection's user may make no
//! temporary objects or because the server is a standby, names stand in: what is hidden stays hidden,
//! what acts is refused, and ordinary statements pass.

use serde_json::json;

use crate::support::app::TestApp;
use crate::support::cluster::Cluster;
use crate::support::configuration::Configuration;
use crate::support::postgres::{TestPostgres, connect};

const SETUP: &str = "CREATE TABLE orders (id int PRIMARY KEY, note text);
    INSERT INTO orders VALUES (1, 'one'), (2, 'two');
    CREATE TABLE \"Canary Ledger\" (value text); INSERT INTO \"Canary Ledger\" VALUES ('canary_value');
    CREATE TABLE canary (value text); INSERT INTO canary VALUES ('canary_value');
    CREATE FUNCTION canary_function() RETURNS text LANGUAGE sql AS 'SELECT value FROM canary'";
const HIDDEN: &str = "[connections.hidden]\ntables = [\"canary%\"]\nprocedures = [\"canary%\"]\n";

const ORDINARY: [&str; 6] = [
    "SELECT id, upper(note) FROM orders WHERE id = 1",
    "WITH o AS (SELECT * FROM orders) SELECT count(*), max(now()) FROM o",
    "SELECT to_char(now(), 'YYYY'), random() < 2, jsonb_build_object('a', array_agg(id)) FROM orders",
    "EXPLAIN SELECT * FROM orders",
    "VALUES (1), (2)",
    "TABLE orders",
];
const ACTING: [&str; 9] = [
    "SELECT pg_notify('a', 'b')",
    "SELECT PG_CATALOG.\"pg_notify\"('a', 'b')",
    "SELECT pg_terminate_backend(1)",
    "SELECT query_to_xml('SELECT 1', true, true, '')",
    "NOTIFY a",
    "LOCK TABLE orders",
    "/* /* */ */ COPY orders TO PROGRAM 'true'",
    "CHECKPOINT",
    "SELECT * FROM orders FOR UPDATE",
];
const HIDING: [&str; 9] = [
    "SELECT * FROM canary",
    "SELECT * FROM \"Canary Ledger\"",
    "SELECT (SELECT value FROM public.CANARY)",
    "SELECT canary_function()",
    "SELECT null::canary",
    "SELECT 'canary'::regclass",
    "SELECT pg_relation_size('canary')",
    "SELECT relname FROM pg_class",
    "SELECT * FROM U&\"c\\0061nary\"",
];

async fn holds(app: &TestApp) {
    for query in ORDINARY {
        let (status, document) = app.query(json!({"query": query})).await;
        assert_eq!((status, document.get("error")), (200, None), "{query}: {document}");
    }
    for query in ACTING.into_iter().chain(HIDING) {
        let (status, document) = app.query(json!({"query": query})).await;
        assert!(status >= 400, "{query}: {document}");
        assert!(!document.to_string().contains("canary_value"), "{query}: {document}");
    }
}

async fn on(url: &str, more: &str) -> TestApp {
    Configuration::new().connection("shop", url, more).start().await
}

#[actix_web::test]
async fn names_stand_in_where_no_temporary_object_may_be_made() {
    let url = TestPostgres::shared().database("unasked").await;
    let admin = connect(&url).await;
    admin.batch_execute(SETUP).await.unwrap();
    let database: String = admin.query_one("SELECT current_database()", &[]).await.unwrap().get(0);
    let user = format!("plain_{database}");
    let rights = format!(
        "REVOKE TEMP ON DATABASE {database} FROM PUBLIC; CREATE ROLE {user} LOGIN;
        GRANT SELECT ON ALL TABLES IN SCHEMA public TO {user}"
    );
    admin.batch_execute(&rights).await.unwrap();
    let app = on(&TestPostgres::shared().url_as(&user, &database), HIDDEN).await;
    holds(&app).await;
    let words = app.query(json!({"query": "SELECT * FROM canary"})).await.1;
    assert_eq!(words["error"]["code"], json!(1300), "{words}");
}

#[actix_web::test]
async fn names_stand_in_on_a_standby() {
    let primary = Cluster::new();
    primary.obey("start");
    connect(&primary.url("postgres", "postgres")).await.batch_execute(SETUP).await.unwrap();
    let standby = Cluster::standby_of(&primary);
    standby.obey("start");
    holds(&on(&standby.url("postgres", "postgres"), HIDDEN).await).await;
    // The same without anything hidden: what acts is refused all the same.
    let app = on(&standby.url("postgres", "postgres"), "").await;
    for query in ORDINARY {
        let (status, document) = app.query(json!({"query": query})).await;
        assert_eq!((status, document.get("error")), (200, None), "{query}: {document}");
    }
    for query in ACTING {
        let (status, document) = app.query(json!({"query": query})).await;
        assert!(status >= 400, "{query}: {document}");
    }
}
