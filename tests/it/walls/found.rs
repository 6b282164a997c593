//! What was found by attacking the walls with their source at hand: each is refused, tells nothing of
//! what is hidden, and changes nothing of it.

use serde_json::json;

use super::server::say;
use crate::support::app::read;
use crate::support::cluster::Cluster;
use crate::support::configuration::Configuration;
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
    let app = Configuration::new().connection("shop", &url, HIDDEN).start().await;
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
    // What a batch finds only when it runs has the same hint as what is found before.
    let hint = async |table: &str| {
        let body = json!({"query": format!("DROP TABLE {table}"), "parameters": [{}]});
        let (_, answer) = read(app.post("/api/batch").json(&body).send().await.unwrap()).await;
        answer["error"]["hint"].clone()
    };
    assert_eq!(hint("secret").await, hint("nobody").await);
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

/// What another session makes is hidden from definitions at once.
#[actix_web::test]
async fn a_definition_knows_what_was_made_just_now() {
    let url = TestPostgres::shared().database("fresh").await;
    let admin = connect(&url).await;
    admin.batch_execute("CREATE TABLE shown (id int)").await.unwrap();
    let hidden = "access = \"read-write\"\n[connections.hidden]\ntables = [\"secret%\"]\nprocedures = [\"hush%\"]\n";
    let app = Configuration::new().connection("shop", &url, hidden).start().await;
    let (status, _) = app.query(json!({"query": "CREATE TABLE before (id int)"})).await;
    assert_eq!(status, 200);
    let made = "CREATE TABLE secret_fresh (word text); INSERT INTO secret_fresh VALUES ('CANARY-4711');
        CREATE TABLE secret_second (id int PRIMARY KEY);
        CREATE FUNCTION hush_fresh() RETURNS text LANGUAGE sql AS 'SELECT word FROM secret_fresh'";
    admin.batch_execute(made).await.unwrap();
    for query in [
        "ALTER TABLE secret_fresh RENAME TO shown_fresh",
        "CREATE TABLE copied (LIKE secret_fresh)",
        "CREATE TABLE child () INHERITS (secret_fresh)",
        "CREATE TABLE referring (id int REFERENCES secret_second)",
        "CREATE VIEW through AS SELECT hush_fresh()",
        "TRUNCATE secret_fresh",
        "DROP TABLE secret_fresh",
    ] {
        let (status, answer) = app.query(json!({"query": query})).await;
        assert!(status >= 400 && !answer.to_string().contains("CANARY"), "{query}: {answer}");
    }
    let rows = admin.query_one("SELECT count(*) FROM secret_fresh", &[]).await.unwrap();
    assert_eq!(rows.get::<_, i64>(0), 1);
}

const PLANS: &str = "
CREATE TABLE vaulted (id int, wage int, note text); INSERT INTO vaulted VALUES (1, 4711, 'a'), (2, 4712, 'b');
CREATE INDEX vaulted_wage ON vaulted (wage);
CREATE VIEW wages AS SELECT id, note FROM vaulted WHERE wage < 4711 + length(note);
CREATE TABLE plain (id int PRIMARY KEY, note text); INSERT INTO plain VALUES (1, 'x');
CREATE VIEW plain_view AS SELECT id FROM plain WHERE note <> 'shown';
CREATE TABLE family (id int); CREATE TABLE vaulted_child (CHECK (id > 4711)) INHERITS (family);
CREATE FUNCTION peek() RETURNS SETOF int LANGUAGE sql STABLE AS 'SELECT id FROM vaulted WHERE wage > 4711';
CREATE TABLE guarded (id int, owner text); ALTER TABLE guarded ENABLE ROW LEVEL SECURITY;
ALTER TABLE guarded FORCE ROW LEVEL SECURITY;
CREATE POLICY p ON guarded USING (id IN (SELECT id FROM vaulted WHERE wage > 4711));
CREATE VIEW peeked AS SELECT * FROM peek() AS id WHERE id <> 4711;
CREATE VIEW over_guarded AS SELECT id FROM guarded;
CREATE SCHEMA vaults; CREATE FUNCTION vaults.wage(int) RETURNS int LANGUAGE plpgsql STABLE AS 'BEGIN RETURN $1 + 4711; END';
CREATE TYPE vaults.mood AS ENUM ('good');
CREATE VIEW called AS SELECT vaults.wage(id) AS it FROM plain WHERE vaults.wage(id) > 4711;
CREATE VIEW cast_view AS SELECT id FROM plain WHERE note::text = 'good'::vaults.mood::text;
CREATE FUNCTION vaults.fixed() RETURNS int LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN 4711; END';
CREATE SEQUENCE vaulted_numbers;
CREATE TABLE filled (id int, number bigint DEFAULT nextval('vaulted_numbers'), wage int DEFAULT vaults.wage(1),
    fixed int DEFAULT vaults.fixed());
CREATE TABLE ruled (id int);
CREATE RULE r AS ON INSERT TO ruled DO ALSO INSERT INTO vaulted SELECT NEW.id, 4711, 'rule';
CREATE TABLE numbered (id serial, note text);
CREATE TABLE indexed (id int); CREATE INDEX ON indexed (id, (vaults.fixed() + id));
CREATE DOMAIN wages_domain AS int DEFAULT 4711; CREATE TABLE domained (id int, wage wages_domain);
CREATE FUNCTION defaulted(a int, b int DEFAULT vaults.fixed()) RETURNS int LANGUAGE plpgsql STABLE AS 'BEGIN RETURN a; END';
CREATE VIEW listing AS SELECT relname FROM pg_class WHERE relname <> 'vaulted_4711';
CREATE COLLATION vaults.secretly FROM \"C\"; CREATE TABLE collated (n text COLLATE vaults.secretly);
CREATE TABLE parent (id int PRIMARY KEY); CREATE TABLE vaulted_kin (id int REFERENCES parent ON DELETE CASCADE);
";

/// What a plan tells of somebody's own behind these must not be told.
const BEHIND: [&str; 18] = [
    "SELECT * FROM wages WHERE note = 'x'",
    "SELECT * FROM peek()",
    "SELECT * FROM guarded",
    "SELECT * FROM family",
    "SELECT * FROM (SELECT id FROM wages LIMIT 1) w",
    "SELECT * FROM peeked",
    "SELECT * FROM over_guarded",
    "SELECT * FROM called",
    "SELECT * FROM cast_view",
    "INSERT INTO filled (id) VALUES (1000)",
    "INSERT INTO ruled VALUES (1)",
    "UPDATE filled SET wage = DEFAULT",
    "SELECT 1 FROM plain, peeked",
    "SELECT id FROM indexed WHERE id < 5",
    "INSERT INTO domained (id) VALUES (1)",
    "SELECT defaulted(id) FROM plain",
    "SELECT * FROM listing",
    "SELECT n FROM collated ORDER BY n",
];
/// Words of what is hidden, of a condition, and of a list of columns.
const TOLD: [&str; 11] =
    ["secretly", "4711", "4712", "vaulted", "vaults", "wage)", "wage <", "mood", "Filter", "Output", "Cond"];

#[actix_web::test]
async fn a_plan_tells_no_condition_of_what_is_hidden() {
    let url = TestPostgres::shared().database("plans").await;
    let admin = connect(&url).await;
    admin.batch_execute(PLANS).await.unwrap();
    let hidden = "access = \"read-write\"\n[connections.hidden]\ntables = [\"vaulted%\"]\nschemas = [\"vaults\"]\n";
    let app = Configuration::new().connection("shop", &url, hidden).start().await;
    for options in ["", "VERBOSE", "ANALYZE VERBOSE", "(VERBOSE, COSTS off)", "(ANALYZE, VERBOSE, BUFFERS, SETTINGS)"] {
        for what in BEHIND.iter().filter(|what| what.starts_with("SELECT") || !options.contains("ANALYZE")) {
            let query = format!("EXPLAIN {options} {what}");
            let (status, answer) = app.query(json!({"query": query})).await;
            let words = answer.to_string();
            assert_eq!((status, answer.get("error")), (200, None), "{query}: {words}");
            for told in TOLD {
                assert!(!words.contains(told), "{query} tells {told}: {words}");
            }
            // In a script nothing is left out of an answer, so there is none.
            for script in [format!("SELECT 1; {query}"), format!("{query}; SELECT 1"), format!("{query}; {query}")] {
                let (status, answer) = app.query(json!({"query": script})).await;
                assert_eq!((status, &answer["error"]["sqlState"]), (403, &json!("42501")), "{script}: {answer}");
            }
        }
    }
    for format in ["JSON", "XML", "YAML"] {
        for what in BEHIND {
            let query = format!("EXPLAIN (VERBOSE, FORMAT {format}) {what}");
            let (status, answer) = app.query(json!({"query": query})).await;
            assert_eq!((status, &answer["error"]["sqlState"]), (403, &json!("42501")), "{query}: {answer}");
            assert!(!answer.to_string().contains("4711"), "{query}: {answer}");
        }
        let query = format!("EXPLAIN (FORMAT {format}) SELECT * FROM plain_view");
        let (status, answer) = app.query(json!({"query": query})).await;
        assert_eq!((status, answer.get("error")), (200, None), "{query}: {answer}");
    }
    for format in ["JSON", "XML", "YAML"] {
        let query = format!("EXPLAIN (ANALYZE, FORMAT {format}) DELETE FROM parent WHERE id = 1");
        let (status, answer) = app.query(json!({"query": query, "dryRun": true})).await;
        let words = answer.to_string();
        assert_eq!((status, answer.get("error")), (200, None), "{query}: {words}");
        assert!(words.contains("Execution") && !words.contains("RI_") && !words.contains("Calls"), "{query}: {words}");
    }
    // A setting may name a hidden schema.
    let (status, answer) = app.query(json!({"query": "EXPLAIN (SETTINGS, FORMAT JSON) SELECT 1"})).await;
    assert_eq!((status, &answer["error"]["sqlState"]), (403, &json!("42501")), "{answer}");
    // What hides nothing is told whole.
    for (query, told) in [
        ("EXPLAIN SELECT * FROM plain WHERE note = 'x'", "Filter"),
        ("EXPLAIN VERBOSE SELECT * FROM plain_view", "Filter"),
        ("EXPLAIN VERBOSE INSERT INTO numbered (note) VALUES ('x')", "Output"),
    ] {
        let (_, answer) = app.query(json!({"query": query})).await;
        assert!(answer.to_string().contains(told), "{query}: {answer}");
    }
}

#[actix_web::test]
async fn a_function_of_postgis_that_runs_sql_is_refused() {
    let url = TestPostgres::shared().database("flatgeobuf").await;
    let admin = connect(&url).await;
    let there = "SELECT count(*) FROM pg_available_extensions WHERE name = 'postgis'";
    let there: i64 = admin.query_one(there, &[]).await.unwrap().get(0);
    if there == 0 {
        say("passed over: the server has no PostGIS");
        return;
    }
    admin
        .batch_execute("CREATE EXTENSION postgis; CREATE TABLE orders (id int); CREATE TABLE secret (id int)")
        .await
        .unwrap();
    let hidden = "access = \"read-write\"\n[connections.hidden]\ntables = [\"secret\"]\n";
    let app = Configuration::new().connection("shop", &url, hidden).start().await;
    let data = "(SELECT ST_AsFlatGeobuf(q, false, 'g') FROM (SELECT ST_MakePoint(1, 2) AS g, 1 AS id) q)";
    for query in [
        format!("SELECT ST_FromFlatGeobufToTable('public', 'planted', {data})"),
        format!(
            "SELECT public.\"st_fromflatgeobuftotable\"('public', 'planted (id int); DROP TABLE orders; --', {data})"
        ),
        format!("CREATE TABLE made AS SELECT ST_FromFlatGeobufToTable('public', 'planted', {data})"),
        "CREATE TABLE made (a int CHECK (ST_FromFlatGeobufToTable('public', 'planted', '') IS NULL))".to_owned(),
    ] {
        let (status, answer) = app.query(json!({"query": query})).await;
        assert_eq!((status, &answer["error"]["sqlState"]), (403, &json!("42501")), "{query}: {answer}");
    }
    let left = "SELECT count(*) FROM pg_class WHERE relname IN ('planted', 'made', 'orders')";
    assert_eq!(admin.query_one(left, &[]).await.unwrap().get::<_, i64>(0), 1);
}

const ROWS: &str = "
CREATE TABLE orders (id int PRIMARY KEY, note text); INSERT INTO orders VALUES (1, 'x'), (2, 'y');
CREATE TABLE vaulted (id int, odd_wage int CHECK (odd_wage < 200) NOT NULL, \"zig zag\" text NOT NULL DEFAULT 'CANARY',
    owner int REFERENCES orders ON UPDATE CASCADE CONSTRAINT positive CHECK (owner > 0), UNIQUE (odd_wage, \"zig zag\"));
INSERT INTO vaulted VALUES (1, 100, 'CANARY', 1), (2, 101, 'CANARY', 2);
CREATE VIEW rich AS SELECT id, odd_wage AS wage FROM vaulted;
CREATE VIEW few AS SELECT id, odd_wage AS wage FROM vaulted WHERE odd_wage > 50 WITH CHECK OPTION;
CREATE FUNCTION log() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO vaulted VALUES (3, 300, NULL, 1); RETURN NEW; END $$;
CREATE TABLE logged (id int); CREATE TRIGGER log BEFORE INSERT ON logged FOR EACH ROW EXECUTE FUNCTION log();
CREATE TABLE \"order\" (id int); CREATE TABLE count (id int);
";

/// What is wrong with a row of a hidden table is told without it, whatever the way to it.
#[actix_web::test]
async fn a_failure_tells_no_row_of_what_is_hidden() {
    let url = TestPostgres::shared().database("rows").await;
    connect(&url).await.batch_execute(ROWS).await.unwrap();
    let hidden = "access = \"read-write\"\n[connections.hidden]\ntables = [\"vaulted\", \"order\", \"count\"]\n";
    let app = Configuration::new().connection("shop", &url, hidden).start().await;
    for (query, sqlstate) in [
        ("UPDATE orders SET id = -5 WHERE id = 1", "23514"),
        ("UPDATE rich SET wage = NULL WHERE id = 1", "23502"),
        ("UPDATE rich SET wage = 300 WHERE id = 1", "23514"),
        ("UPDATE rich SET wage = 101 WHERE id = 1", "23505"),
        ("UPDATE few SET wage = 1 WHERE id = 1", "44000"),
        ("INSERT INTO logged VALUES (1)", "23502"),
    ] {
        for dry_run in [true, false] {
            let (_, answer) = app.query(json!({"query": query, "dryRun": dry_run})).await;
            let words = answer.to_string();
            assert_eq!(answer["error"]["sqlState"], json!(sqlstate), "{query}: {words}");
            for told in ["CANARY", "vaulted", "zig zag", "odd_wage", "positive"] {
                assert!(!words.contains(told), "{query} tells {told}: {words}");
            }
        }
    }
    // A hidden table that is called like a word of the grammar, or like a function, is no reason for what else is wrong.
    for (query, sqlstate) in [
        ("SELECT nope FROM orders ORDER BY id", "42703"),
        ("SELECT id, count(*) FROM orders", "42803"),
        ("SELECT count(*) FROM orders WHERE nope = 1", "42703"),
        ("SELECT * FROM \"order\"", "42P01"),
    ] {
        let (_, answer) = app.query(json!({"query": query})).await;
        assert_eq!(answer["error"]["sqlState"], json!(sqlstate), "{query}: {answer}");
    }
}

/// A statement that is admitted, and another one behind it that must not be taken for the same.
const LOOKALIKES: [(&str, &str); 7] = [
    (
        "WITH \"s#0065cret\" AS (SELECT id, note FROM orders) SELECT * FROM U&\"s#0065cret\" UESCAPE '!'",
        "WITH \"s#0065cret\" AS (SELECT id, note FROM orders) SELECT * FROM U&\"s#0065cret\" UESCAPE '#'",
    ),
    (
        "SELECT 1 AS a, chr FROM (SELECT 1) t, LATERAL (SELECT coalesce(left(note, 0), chr(65)) FROM orders) c(chr) WHERE -2147483648 < 0",
        "SELECT 1 AS a, chr FROM (SELECT 1) t, LATERAL (SELECT chr(-2147483649)) c(chr) WHERE -2147483648 < 0",
    ),
    ("SELECT deep(-2147483648)", "SELECT deep(-2147483649)"),
    ("SELECT deep(9223372036854775807)", "SELECT deep(9223372036854775808)"),
    ("SELECT ROW(2)::pair::float(1)", "SELECT ROW(2)::pair::float(53)"),
    ("SELECT id FROM orders ORDER BY 1", "SELECT hush() ORDER BY 1"),
    ("SELECT id FROM orders WHERE id = 1", "SELECT canary FROM secret WHERE id = 1"),
];

#[actix_web::test]
async fn a_statement_is_not_admitted_by_another_one_s_literals() {
    let url = TestPostgres::shared().database("lookalikes").await;
    let admin = connect(&url).await;
    admin.batch_execute(SETUP).await.unwrap();
    admin
        .batch_execute(
            "CREATE FUNCTION deep(int4) RETURNS text IMMUTABLE LANGUAGE sql AS $$ SELECT 'open' $$;
             CREATE FUNCTION deep(int8) RETURNS text IMMUTABLE LANGUAGE sql AS $$ SELECT 'CANARY-8' $$;
             CREATE FUNCTION deep(numeric) RETURNS text IMMUTABLE LANGUAGE sql AS $$ SELECT 'CANARY-N' $$;
             CREATE FUNCTION public.chr(int8) RETURNS text IMMUTABLE LANGUAGE sql AS $$ SELECT 'CANARY-C' $$;
             CREATE TYPE pair AS (a int4);
             CREATE FUNCTION to4(pair) RETURNS float4 IMMUTABLE LANGUAGE sql AS $$ SELECT 4 $$;
             CREATE FUNCTION to8(pair) RETURNS float8 IMMUTABLE LANGUAGE sql AS $$ SELECT 4711 $$;
             CREATE CAST (pair AS float4) WITH FUNCTION to4(pair); CREATE CAST (pair AS float8) WITH FUNCTION to8(pair);",
        )
        .await
        .unwrap();
    let hidden = "access = \"read-write\"\n[connections.hidden]\ntables = [\"secret\"]\n\
        procedures = [\"hush%\", \"chr\", \"to8\"]\n";
    let app = Configuration::new().connection("shop", &url, hidden).start().await;
    for (admitted, other) in LOOKALIKES {
        for _ in 0..2 {
            let (_, answer) = app.query(json!({"query": admitted})).await;
            assert!(!answer.to_string().contains("CANARY-4711"), "{admitted}: {answer}");
        }
        let (_, answer) = app.query(json!({"query": other})).await;
        let words = answer.to_string();
        let hidden = ["CANARY-4711", "CANARY-C", "4711"];
        assert!(!hidden.iter().any(|canary| words.contains(canary)), "{other}, behind {admitted}: {words}");
    }
    // All of them are of the same name: which one is meant is found out each time.
    for (number, answer) in [("-2147483648", "open"), ("-2147483649", "CANARY-8"), ("9223372036854775808", "CANARY-N")]
    {
        let (_, said) = app.query(json!({"query": format!("SELECT deep({number}) AS it")})).await;
        assert!(said.to_string().contains(answer), "{number}: {said}");
    }
}

/// Where a newer server is at hand.
#[actix_web::test]
async fn a_type_that_json_is_returned_as_is_judged() {
    let Some(server) = Cluster::newer() else { return };
    let url = server.url("postgres", "postgres");
    let admin = connect(&url).await;
    admin.batch_execute("CREATE TABLE secret (v text); INSERT INTO secret VALUES ('CANARY')").await.unwrap();
    let app =
        Configuration::new().connection("shop", &url, "[connections.hidden]\ntables = [\"secret\"]\n").start().await;
    for query in [
        "SELECT table_to_xml(JSON_VALUE(jsonb '\"secret\"', '$' RETURNING regclass), true, false, '')",
        "SELECT JSON_VALUE(jsonb '\"secret\"', '$' RETURNING regclass)::oid::int8 AS \"CANARY\"",
        "SELECT (JSON_QUERY(jsonb '{\"v\": \"CANARY\"}', '$' RETURNING secret)).*",
        "SELECT JSON_VALUE(jsonb '\"postgres\"', '$' RETURNING regrole) AS \"CANARY\"",
    ] {
        let (status, answer) = app.query(json!({"query": query})).await;
        assert!(status >= 400 && !answer.to_string().contains("CANARY"), "{query}: {answer}");
    }
    let (status, answer) =
        app.query(json!({"query": "SELECT JSON_VALUE(jsonb '\"4711\"', '$' RETURNING int) AS it"})).await;
    assert!(status == 200 && answer.to_string().contains("4711"), "{answer}");
}
