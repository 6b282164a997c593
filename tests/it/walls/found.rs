//! What was found by attacking the walls with their source at hand: each is refused, tells nothing of
//! what is hidden, and changes nothing of it.

use serde_json::json;
use tempfile::TempDir;

use crate::support::app::{CONNECTION, TestApp, connection};
use crate::support::postgres::{TestPostgres, connect};

const SETUP: &str = "
CREATE SCHEMA vault; CREATE TABLE vault.gold (v text); INSERT INTO vault.gold VALUES ('CANARY-GOLD');
CREATE TYPE vault.level AS ENUM ('TOPSECRETLABEL');
CREATE TABLE secret (id serial PRIMARY KEY, canary text); INSERT INTO secret (canary) VALUES ('CANARY-4711');
CREATE TABLE \"geheim_Änderung\" (a text); INSERT INTO \"geheim_Änderung\" VALUES ('CANARY-UML');
CREATE TABLE \"lohn€x\" (a text); INSERT INTO \"lohn€x\" VALUES ('CANARY-EURO');
CREATE TABLE orders (id int PRIMARY KEY, note text); INSERT INTO orders VALUES (1, 'spy');
CREATE DOMAIN email AS text; CREATE TABLE addresses (mail email); INSERT INTO addresses VALUES ('spy@x');
CREATE FUNCTION hush() RETURNS text LANGUAGE sql AS 'SELECT canary FROM secret';
CREATE FUNCTION hush2(text, text) RETURNS text LANGUAGE sql AS 'SELECT canary FROM secret';
CREATE OPERATOR ### (LEFTARG = text, RIGHTARG = text, FUNCTION = hush2);
CREATE PROCEDURE echo(words text) LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION '%', words; END $$;
CREATE TABLE stored (a regclass[]); INSERT INTO stored VALUES (ARRAY['secret'::regclass]);
";
const HIDDEN: &str = "access = \"read-write\"
[connections.hidden]
schemas = [\"vault\"]
tables = [\"secret\", \"geheim%\", \"lohn%\"]
procedures = [\"hush%\"]
";

const FOUND: [&str; 26] = [
    "CALL echo(table_to_xml('sec'||'ret',true,true,'')::text)",
    "CREATE TABLE e1 (a int, b text DEFAULT table_to_xml('sec'||'ret',true,true,'')::text)",
    "CREATE SCHEMA s2 CREATE VIEW v AS SELECT table_to_xml('sec'||'ret',true,true,'')::text AS x",
    "CREATE TABLE e3 (a int, b bigint DEFAULT nextval('sec'||'ret_id_seq'))",
    "CREATE TABLE o1 (a int, b text DEFAULT ('a'::text ### 'b'::text))",
    "SELECT 'a'::text ### 'b'::text",
    "ALTER TABLE GEHEIM_ÄNDERUNG RENAME TO offen",
    "ALTER TABLE LOHN€X RENAME TO offen2",
    "TRUNCATE Geheim_Änderung",
    "CREATE SCHEMA s8 GRANT SELECT ON ALL TABLES IN SCHEMA public TO PUBLIC",
    "CREATE SCHEMA s7 CREATE TABLE t (a int) CREATE TRIGGER tr BEFORE INSERT ON t EXECUTE FUNCTION trg('x')",
    "CREATE TABLE x AS EXECUTE s49(16791)",
    "CREATE TABLE r1 (id int, a _regclass DEFAULT ('{sec'||'ret}')::_regclass)",
    "CREATE TABLE r2 (id int, a _regrole DEFAULT '{10}')",
    "CREATE TABLE c1 (id int, a _secret)",
    "ALTER TABLE orders ADD COLUMN s _secret",
    "ALTER DOMAIN email ADD CONSTRAINT c CHECK (VALUE NOT LIKE 'spy%')",
    "SELECT table_to_xml(a[1],true,true,'')::text FROM stored",
    "SELECT (stored).a[1]::text FROM stored",
    "SELECT format('%s', jsonb_populate_record(stored, jsonb_build_object('a', jsonb_build_array('1259')))) FROM stored",
    "SELECT enum_range(null::vault.level)",
    "SELECT null::secret",
    "SELECT '1259'::regclass",
    "CREATE INDEX ON orders ((hush()))",
    "CREATE POLICY p ON orders USING (note = hush())",
    "CREATE VIEW v AS SELECT hush()",
];

#[actix_web::test]
async fn what_was_found_is_refused_and_tells_nothing() {
    let url = TestPostgres::shared().database("found").await;
    let admin = connect(&url).await;
    admin.batch_execute(SETUP).await.unwrap();
    let app = TestApp::start(TempDir::new().unwrap(), &connection(CONNECTION, "shop", &url, HIDDEN)).await;
    app.ready().await;
    let number: u32 = admin.query_one("SELECT 'vault.gold'::regclass::oid", &[]).await.unwrap().get(0);
    let by_number = [
        format!("SELECT '{number}'::regclass"),
        format!("SELECT pg_relation_size('{number}')"),
        format!("SELECT * FROM pg_relation_size({number}::regclass)"),
    ];
    for query in FOUND.iter().map(ToString::to_string).chain(by_number) {
        let (status, answer) = app.query(json!({"query": query})).await;
        let words = answer.to_string();
        assert!(status >= 400, "{query}: {words}");
        for canary in ["CANARY", "TOPSECRET", "gold"] {
            assert!(!words.contains(canary), "{query}: {words}");
        }
    }
    for (schema, query) in
        [("vault", "SELECT 1"), ("information_schema", "SELECT 1"), ("vault", "CREATE TABLE planted (a int)")]
    {
        let (status, hidden) = app.query(json!({"query": query, "defaultSchema": schema})).await;
        assert_eq!((status, &hidden["error"]["code"]), (404, &json!(1300)), "{schema}: {hidden}");
    }
    let rows = admin.query_one("SELECT count(*) FROM secret WHERE canary = 'CANARY-4711'", &[]).await.unwrap();
    assert_eq!(rows.get::<_, i64>(0), 1);
    let moved: i64 = admin.query_one("SELECT last_value FROM secret_id_seq", &[]).await.unwrap().get(0);
    assert_eq!(moved, 1, "the hidden sequence was not moved");
    for query in ["SELECT * FROM orders", "CREATE TABLE spare (a int, b text DEFAULT lower('X'))", "CREATE SCHEMA own"]
    {
        let (status, answer) = app.query(json!({"query": query})).await;
        assert_eq!((status, answer.get("error")), (200, None), "{query}: {answer}");
    }
}
