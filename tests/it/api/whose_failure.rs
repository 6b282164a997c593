//! Whose failure it is: a statement's own error is the statement's, whatever SQLSTATE it bears; the source
//! is unavailable where it ends the session.

use serde_json::{Value, json};

use crate::support::app::{TestApp, read};
use crate::support::fixture;
use crate::support::postgres::connect;

/// Of a source that is away, as a statement may raise them.
const RAISED: [&str; 9] = ["08000", "08001", "08003", "08006", "57P01", "57P02", "57P03", "57P05", "53300"];

async fn raising(more: &str) -> TestApp {
    let url = fixture::postgres().await;
    let setup = "CREATE FUNCTION raises(code text) RETURNS int4 LANGUAGE plpgsql AS
        $$ BEGIN RAISE 'the words of %', code USING ERRCODE = code, HINT = 'a hint'; END $$;
        CREATE FUNCTION checks() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM raises(new.name); RETURN new; END $$;
        CREATE CONSTRAINT TRIGGER late AFTER UPDATE ON customers DEFERRABLE INITIALLY DEFERRED
            FOR EACH ROW EXECUTE FUNCTION checks();";
    connect(&url).await.batch_execute(setup).await.unwrap();
    fixture::with_postgres(&format!("{url}{more}"), "access = \"read-write\"").await
}

fn is_the_statements(code: &str, (status, answer): (u16, Value)) {
    let error = &answer["error"];
    assert_eq!((&error["code"], &error["sqlState"]), (&json!(1400), &json!(code)), "{status} {answer}");
    assert!(error["message"].as_str().unwrap().contains(&format!("the words of {code}")), "{answer}");
    assert_eq!(error["hint"], "a hint", "{answer}");
}

#[actix_web::test]
async fn what_a_statement_raises_is_its_own() {
    for more in ["", "?target_session_attrs=read-write"] {
        let app = raising(more).await;
        for code in RAISED {
            let query = format!("SELECT raises('{code}')");
            is_the_statements(code, app.query(json!({"query": query})).await);
            is_the_statements(code, app.query(json!({"query": format!("SELECT 1; {query}")})).await);
            let rows = format!("SELECT CASE WHEN i = 2000 THEN raises('{code}') END FROM generate_series(1, 2000) i");
            is_the_statements(code, app.query(json!({"query": rows})).await);
            let body = json!({"query": "SELECT raises(@code)", "parameters": [{"code": code}]});
            is_the_statements(code, read(app.post("/api/batch").json(&body).send().await.unwrap()).await);
            is_the_statements(code, app.exec(json!({"procedure": "raises", "parameters": [code]})).await);
            // At the end of the transaction.
            let update = format!("UPDATE customers SET name = '{code}' WHERE id = 1");
            is_the_statements(code, app.query(json!({"query": update})).await);
        }
        assert_eq!(app.rows("SELECT count(*) FROM customers").await, json!([[3]]));
        // The session itself.
        let (status, answer) = app.query(json!({"query": "SELECT pg_terminate_backend(pg_backend_pid())"})).await;
        assert_eq!((status, &answer["error"]["code"]), (503, &json!(1700)), "{answer}");
        assert_eq!(app.rows("SELECT count(*) FROM customers").await, json!([[3]]));
    }
}

#[actix_web::test]
async fn a_foreign_server_that_is_down_is_not_the_source() {
    let url = fixture::postgres().await;
    let setup = "CREATE EXTENSION postgres_fdw;
        CREATE SERVER away FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '127.0.0.1', port '1');
        CREATE USER MAPPING FOR CURRENT_USER SERVER away; CREATE FOREIGN TABLE gone (a int4) SERVER away;";
    connect(&url).await.batch_execute(setup).await.unwrap();
    let app = fixture::with_postgres(&url, "access = \"read-write\"").await;
    for query in ["SELECT * FROM gone", "INSERT INTO gone VALUES (1)"] {
        let (status, answer) = app.query(json!({"query": query})).await;
        assert_eq!((status, &answer["error"]["code"]), (400, &json!(1400)), "{answer}");
        assert_eq!(answer["error"]["sqlState"], "08001", "{answer}");
        assert!(answer["error"]["message"].as_str().unwrap().contains("could not connect to server"), "{answer}");
    }
}
