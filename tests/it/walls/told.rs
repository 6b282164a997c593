//! What agents are told of a schema has nothing of what is hidden from them: instructions, what clients are told at
//! first, resources, completions, listings, hints and near names, by generated spellings of hidden names, through
//! every address; and each role is told of what it may see alone, whoever asked before, also of keys and indexes.

use std::path::Path;

use serde_json::{Value, json};

use super::attack::{Answer, Random, cases, send};
use super::server::{Server, on_each_server, say, text};
use crate::support::app::{CONNECTION, Caller, awaited};
use crate::support::configuration::Configuration;
use crate::support::service::Service;

on_each_server! {
    no_text_for_agents_tells_what_is_hidden
    each_role_is_told_of_its_own
    a_key_is_told_to_who_may_see_its_columns
}

const EXPOSURE: &str = r#"access = "read-write"
pool = 6
[connections.hidden]
schemas = ["vault_zq7"]
tables = ["canary%"]
procedures = ["canary%"]
[[connections.prompts]]
name = "explain"
text = "Explain {{table}}."
[[connections.prompts.arguments]]
name = "table"
completes = "tables"
"#;
const WORKSPACE: &str = "[[workspaces]]\nname = \"market\"\nassets = [{ table = \"shop.%.%\" }]\n";
/// References of what is shown to what is hidden, and values that are hidden with their column's table.
const MORE: &str = "
CREATE TABLE vault_zq7.canary_code_zq7 (code text PRIMARY KEY, meaning text);
INSERT INTO vault_zq7.canary_code_zq7 VALUES ('canary_value_zq7_c', 'canary_value_zq7_d');
CREATE TABLE shown (id int PRIMARY KEY, code text REFERENCES vault_zq7.canary_code_zq7, ledger int REFERENCES canary_ledger_zq7,
    canary int REFERENCES orders);
CREATE TABLE canary_checked_zq7 (id int PRIMARY KEY REFERENCES shown, state text CHECK (state IN ('canary_value_zq7_e')));
CREATE TABLE measured (at date) PARTITION BY RANGE (at);
CREATE TABLE heir_zq7 () INHERITS (canary_ledger_zq7);
CREATE TABLE heir_part_zq7 PARTITION OF canary_parted_zq7 FOR VALUES IN (2);
CREATE TABLE heir_of_heir_zq7 (PRIMARY KEY (id)) INHERITS (heir_zq7);
ALTER TABLE shown ADD heir int REFERENCES heir_of_heir_zq7;
CREATE TABLE canary_measured_zq7 PARTITION OF measured FOR VALUES FROM ('2025-01-01') TO ('2026-01-01');
COMMENT ON SCHEMA vault_zq7 IS 'canary_comment_zq7';
ANALYZE;";

/// Names of what is hidden.
const HIDDEN: [(&str, &str); 11] = [
    ("public", "canary_ledger_zq7"),
    ("public", "Canary_Mixed_Zq7"),
    ("public", "canary_parted_zq7"),
    ("public", "canary_view_zq7"),
    ("public", "canary_checked_zq7"),
    ("public", "canary_measured_zq7"),
    ("public", "heir_zq7"),
    ("public", "heir_part_zq7"),
    ("public", "heir_of_heir_zq7"),
    ("vault_zq7", "canary_inner_zq7"),
    ("vault_zq7", "canary_code_zq7"),
];

fn addresses() -> [String; 3] {
    [format!("/mcp/connections/{CONNECTION}"), "/mcp".to_owned(), "/mcp/workspaces/market".to_owned()]
}

async fn ask(service: &Service, by: &Caller, address: &str, method: &str, params: &Value) -> Answer {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let url = format!("{}{address}", service.url);
    awaited("a catalogue that can be read in time", async || {
        let answer = send(service.http.post(&url).basic_auth(&by.name, Some(&by.secret)).json(&body)).await;
        (!answer.text.contains("could not be read in time")).then_some(answer)
    })
    .await
}

/// A hidden name as an attacker may write it.
fn spelt(random: &mut Random) -> String {
    let (schema, name) = HIDDEN[random.below(HIDDEN.len())];
    let cut = |text: &str, most: usize| text.chars().take(most).collect::<String>();
    let mut name = match random.below(9) {
        0 => name.to_uppercase(),
        1 => name.to_lowercase(),
        2 => format!("\"{name}\""),
        // What is near is not told to the end.
        3 => cut(name, name.chars().count() - 1),
        4 => format!("{}%", cut(name, 3 + random.below(5))),
        5 => "%".to_owned(),
        6 => name.replace('_', "%"),
        7 => format!("{name}s"),
        _ => name.to_owned(),
    };
    if random.once_in(2) {
        let schema = if random.once_in(4) { "%" } else { schema };
        name = format!("{schema}.{name}");
        if random.once_in(3) {
            name = format!("shop.{name}");
        }
    }
    if random.once_in(3) { format!("orders, {name}") } else { name }
}

/// One request: its method and its parameters.
fn drawn(random: &mut Random) -> (&'static str, Value) {
    let name = spelt(random);
    let tool = |name: &str, arguments: Value| ("tools/call", json!({"name": name, "arguments": arguments}));
    let uri = |name: &str| format!("portico://shop/{}", name.trim_start_matches("shop.").replace('.', "/"));
    let complete = |reference: Value, argument: &str| {
        let typed: String = name.chars().take(4).collect();
        ("completion/complete", json!({"ref": reference, "argument": {"name": argument, "value": typed}}))
    };
    match random.below(14) {
        0 => tool("get_instructions", json!({})),
        1 => tool("get_tables", json!({"tableName": name})),
        2 => tool("get_tables", json!({"search": name.replace(['.', '%', '"'], " ")})),
        3 => tool("get_tables", json!({"search": "canary id code ledger comment", "schemaName": name})),
        4 => tool("get_tables", json!({"tableType": "%", "schemaName": "vault%"})),
        5 => tool("get_columns", json!({"tableName": name})),
        6 => tool("get_columns", json!({"tableName": [name, "shown"], "columnName": "%"})),
        7 => tool("get_columns", json!({"tableName": "shown,measured", "columnName": name})),
        8 => tool("get_columns", json!({"columnName": "%canary%"})),
        9 => tool("execute_select", json!({"query": format!("SELECT * FROM {}", name.replace('%', "x"))})),
        10 => ("resources/read", json!({"uri": uri(&name)})),
        11 => ("resources/list", json!({})),
        12 => complete(json!({"type": "ref/prompt", "name": "explain"}), "table"),
        _ => complete(json!({"type": "ref/resource", "uri": "portico://shop/{schemaName}/{tableName}"}), "tableName"),
    }
}

/// A hidden name or value in `text` that is no part of what was `said`.
fn leak(text: &str, said: &str) -> Option<String> {
    let (lower, said) = (text.to_lowercase(), said.to_lowercase());
    let words = lower.split(|each: char| !(each.is_alphanumeric() || each == '_'));
    let mut hidden = words.filter(|word| word.contains("zq7"));
    hidden.find(|word| !said.contains(*word) || word.contains("canary_value")).map(str::to_owned)
}

async fn no_text_for_agents_tells_what_is_hidden(programs: &Path) {
    let server = Server::start(programs).await;
    server.cluster.write("canary_file.txt", "canary_value_zq7_file\n");
    server.admin().await.batch_execute(&format!("{}{MORE}", text("hiding/hiding.sql"))).await.unwrap();
    let service = Configuration::new().connection("shop", &server.url, EXPOSURE).with(WORKSPACE).serve().await;
    let mut random = Random::seeded("told");
    let begin =
        json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    for address in addresses() {
        let told = ask(&service, &service.writer, &address, "tools/call", &json!({"name": "get_instructions"})).await;
        assert!(told.text.contains("orders_keyed(") && told.text.contains("measured("), "{address}: {}", told.text);
        for (method, params) in [
            ("tools/call", json!({"name": "get_instructions"})),
            ("initialize", begin.clone()),
            ("tools/list", json!({})),
            ("resources/list", json!({})),
            ("resources/templates/list", json!({})),
            ("prompts/list", json!({})),
            ("prompts/get", json!({"name": "explain", "arguments": {"table": "orders"}})),
        ] {
            let answer = ask(&service, &service.writer, &address, method, &params).await;
            assert_eq!(leak(&answer.text, ""), None, "{address} {method}: {}", answer.text);
        }
    }
    let (all, mut found) = (cases(400), Vec::new());
    for _ in 0..all {
        let (method, params) = drawn(&mut random);
        let address = &addresses()[random.below(3)];
        let answer = ask(&service, &service.writer, address, method, &params).await;
        if let Some(told) = leak(&answer.text, &params.to_string()) {
            found.push(format!("{told}: {address} {method} {params}\n    {}", answer.beginning()));
        }
    }
    assert!(found.is_empty(), "{} of {all} told what is hidden, the first:\n{}", found.len(), found[0]);
    say(&format!("{all} requests for what agents are told, none told what is hidden"));
}

const IDENTITY: &str = r#"access = "read-write"
[connections.identity.principals]
"writer@example.com" = "north"
"reader@example.com" = "south"
"#;
/// Lookup tables: one of the second role's alone, one with a policy, one whose column the first may not read.
const ROLES: &str = "
CREATE TYPE mood AS ENUM ('canary_value_zq7_mood');
CREATE TABLE canary_codes_zq7 (id int PRIMARY KEY, label text);
INSERT INTO canary_codes_zq7 VALUES (1, 'canary_value_zq7_label');
GRANT SELECT ON canary_codes_zq7 TO south;
CREATE TABLE areas (id int PRIMARY KEY, label text);
INSERT INTO areas VALUES (1, 'canary_value_zq7_area');
GRANT SELECT ON areas TO north, south;
ALTER TABLE areas ENABLE ROW LEVEL SECURITY;
CREATE POLICY south ON areas TO south USING (true);
CREATE TABLE units (id int PRIMARY KEY, label text, canary_column_zq7 text);
INSERT INTO units VALUES (1, 'one', 'canary_value_zq7_unit');
GRANT SELECT (id, label) ON units TO north;
GRANT SELECT ON units TO south;
CREATE TABLE facts (id int PRIMARY KEY, code int REFERENCES canary_codes_zq7, area int REFERENCES areas, unit int REFERENCES units,
    canary_mood_zq7 mood);
GRANT SELECT (id, code, area, unit) ON facts TO north;
GRANT SELECT ON facts TO south;";

async fn each_role_is_told_of_its_own(programs: &Path) {
    let server = Server::start(programs).await;
    server.admin().await.batch_execute(&format!("{}{ROLES}", text("identity/setup.sql"))).await.unwrap();
    let url = server.cluster.url("gateway", "walls");
    let service = Configuration::new().connection("shop", &url, IDENTITY).with(WORKSPACE).serve().await;
    // Whoever is first: what was told to one is nobody else's.
    for round in 0..3 {
        for address in addresses() {
            let instructions = json!({"name": "get_instructions"});
            let own = ask(&service, &service.reader, &address, "tools/call", &instructions).await;
            for told in ["canary_codes_zq7", "canary_value_zq7_label", "canary_column_zq7", "canary_value_zq7_mood"] {
                assert!(own.text.contains(told), "{round} {address}: no {told} in {}", own.text);
            }
            assert!(!own.text.contains("canary_value_zq7_area"), "a policy chooses its rows: {}", own.text);
            let other = ask(&service, &service.writer, &address, "tools/call", &instructions).await;
            assert!(other.text.contains("facts("), "{address}: {}", other.text);
            assert_eq!(leak(&other.text, ""), None, "{round} {address}: {}", other.text);
            let columns = json!({"name": "get_columns", "arguments": {"tableName": "facts, units, areas"}});
            let other = ask(&service, &service.writer, &address, "tools/call", &columns).await;
            assert!(other.text.contains("public.areas.id") || other.text.contains("main.areas.id"), "{}", other.text);
            assert_eq!(leak(&other.text, ""), None, "{round} {address}: {}", other.text);
        }
    }
}

/// Keys, indexes and rules of columns that the first role may not see, and some of those that it may.
const KEYED: &str = "
CREATE TABLE makers (id int PRIMARY KEY, name text, canary_code_zq7 text UNIQUE, UNIQUE (name) INCLUDE (canary_code_zq7));
CREATE TABLE sizes (width int, canary_height_zq7 int, PRIMARY KEY (width, canary_height_zq7));
CREATE POLICY high ON sizes USING (canary_height_zq7 > 0);
CREATE TABLE goods (id int PRIMARY KEY, brand text REFERENCES makers (name), maker text REFERENCES makers (canary_code_zq7),
    width int, height int, FOREIGN KEY (width, height) REFERENCES sizes, double int GENERATED ALWAYS AS (width * 2) STORED,
    canary_maker_zq7 int REFERENCES makers, canary_length_zq7 int GENERATED ALWAYS AS (length('canary_value_zq7_made')) STORED,
    canary_secret_zq7 text DEFAULT 'canary_value_zq7_default' CHECK (canary_secret_zq7 IN ('canary_value_zq7_one', 'canary_value_zq7_two')),
    UNIQUE (brand, canary_secret_zq7), CHECK (brand <> canary_secret_zq7), CHECK (width < 100));
COMMENT ON COLUMN goods.canary_secret_zq7 IS 'canary_value_zq7_comment';
CREATE FUNCTION is_good(goods) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT 'yes'::text $$;
CREATE INDEX goods_brand_width ON goods (brand) WHERE width > 7;
CREATE UNIQUE INDEX goods_shouted ON goods (upper(brand));
CREATE INDEX ON goods (canary_secret_zq7);
CREATE INDEX goods_lowered ON goods (lower(canary_secret_zq7));
CREATE INDEX goods_some ON goods (id) WHERE canary_secret_zq7 > 'canary_value_zq7_where';
CREATE INDEX goods_with ON goods (id) INCLUDE (canary_secret_zq7);
CREATE UNIQUE INDEX goods_once ON goods (brand) WHERE canary_secret_zq7 = 'canary_value_zq7_once';
CREATE INDEX goods_whole ON goods (id) WHERE is_good(goods.*) = 'canary_value_zq7_whole';
CREATE TRIGGER kept BEFORE UPDATE ON goods FOR EACH ROW WHEN (NEW.canary_secret_zq7 = 'canary_value_zq7_trigger')
    EXECUTE FUNCTION suppress_redundant_updates_trigger();
CREATE VIEW shelf AS SELECT id, canary_secret_zq7 FROM goods WHERE canary_secret_zq7 <> 'canary_value_zq7_view';
GRANT SELECT (id, name) ON makers TO north;
GRANT SELECT (width) ON sizes TO north;
GRANT SELECT (id, brand, maker, width, height, double), INSERT (id, brand) ON goods TO north;
GRANT SELECT (id) ON shelf TO north;
GRANT SELECT ON makers, sizes, goods, shelf TO south;";

async fn a_key_is_told_to_who_may_see_its_columns(programs: &Path) {
    let server = Server::start(programs).await;
    server.admin().await.batch_execute(&format!("{}{KEYED}", text("identity/setup.sql"))).await.unwrap();
    let url = server.cluster.url("gateway", "walls");
    let service = Configuration::new().connection("shop", &url, IDENTITY).with(WORKSPACE).serve().await;
    let listed = async |by: &Caller, path: &str| {
        let url = format!("{}/api/{path}", service.url);
        send(service.http.get(url).basic_auth(&by.name, Some(&by.secret))).await
    };
    // What the first role is told of a listing, and what only the second one is.
    let listings: [(&str, &[&str], &[&str]); 8] = [
        ("tables", &["goods", "makers", "shelf", "sizes"], &[]),
        ("columns", &["double", "public.makers.name"], &["canary_secret_zq7", "public.makers.canary_code_zq7"]),
        ("primaryKeys", &["goods_pkey", "makers_pkey"], &["sizes_pkey", "canary_height_zq7"]),
        (
            "importedKeys",
            &["goods_brand_fkey"],
            &["goods_maker_fkey", "goods_width_height_fkey", "makers_name_canary_code_zq7_key"],
        ),
        ("exportedKeys", &["goods_brand_fkey"], &["goods_maker_fkey", "goods_width_height_fkey", "canary_maker_zq7"]),
        (
            "indexes",
            &["goods_pkey", "makers_pkey", "goods_brand_width", "goods_shouted"],
            &[
                "goods_lowered",
                "goods_some",
                "canary_value_zq7_where",
                "goods_with",
                "goods_once",
                "goods_whole",
                "sizes_pkey",
            ],
        ),
        ("procedures", &["is_good"], &[]),
        ("procedureParameters", &["is_good"], &[]),
    ];
    for (listing, told, kept) in listings {
        let path = format!("{listing}?catalogName=shop&schemaName=public");
        let (first, second) = (listed(&service.writer, &path).await, listed(&service.reader, &path).await);
        assert_eq!((first.status, second.status), (200, 200), "{path}: {} {}", first.text, second.text);
        assert_eq!(leak(&first.text, ""), None, "{path}: {}", first.text);
        for word in told {
            assert!(first.text.contains(word) && second.text.contains(word), "{path}: no {word} in {}", first.text);
        }
        for word in kept {
            assert!(second.text.contains(word), "{path}: no {word} in {}", second.text);
            assert!(!first.text.contains(word), "{path}: {word} in {}", first.text);
        }
    }
    for listing in ["tables", "columns", "primaryKeys", "importedKeys", "exportedKeys", "indexes"] {
        let path = format!("{listing}?workspace=market");
        let first = listed(&service.writer, &path).await;
        assert_eq!((first.status, leak(&first.text, "")), (200, None), "{path}: {}", first.text);
    }
    let instructions = json!({"name": "get_instructions"});
    for address in addresses() {
        let second = ask(&service, &service.reader, &address, "tools/call", &instructions).await;
        for word in ["canary_secret_zq7", "canary_height_zq7", "makers.canary_code_zq7"] {
            assert!(second.text.contains(word), "{address}: no {word} in {}", second.text);
        }
        let first = ask(&service, &service.writer, &address, "tools/call", &instructions).await;
        assert!(first.text.contains("makers.name"), "{address}: {}", first.text);
        assert_eq!(leak(&first.text, ""), None, "{address}: {}", first.text);
    }
    let address = &addresses()[0];
    for table in ["goods", "makers", "sizes"] {
        let uri = json!({"uri": format!("portico://shop/public/{table}")});
        let first = ask(&service, &service.writer, address, "resources/read", &uri).await;
        assert!(first.text.contains("contents"), "{table}: {}", first.text);
        assert_eq!(leak(&first.text, ""), None, "{table}: {}", first.text);
    }
    let query = "INSERT INTO goods (id, brand) VALUES (1, 'x') ON CONFLICT (brand) DO NOTHING";
    let call = json!({"name": "execute_sql", "arguments": {"query": query}});
    let first = ask(&service, &service.writer, address, "tools/call", &call).await;
    assert!(first.text.contains("upper(brand)"), "the keys that there are: {}", first.text);
    assert_eq!(leak(&first.text, ""), None, "{}", first.text);
}
