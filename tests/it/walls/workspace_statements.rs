//! The wall of a workspace over a connection that hides nothing: the same by every way that a statement takes to it.

use portico_actors::auth::records::{NewPat, NewUser};
use portico_actors::principal::{Rights, Scope, WorkspaceGrant};
use secrecy::ExposeSecret;
use serde_json::{Value, json};

use crate::support::app::read;
use crate::support::configuration::Configuration;
use crate::support::fixture;
use crate::support::postgres::connect;

const BEYOND: &str =
    "CREATE TABLE canary (id INTEGER PRIMARY KEY, word TEXT); INSERT INTO canary VALUES (1, 'CANARY-WORD');
    CREATE TABLE canary_lines (id INTEGER PRIMARY KEY, bill INTEGER REFERENCES orders (id));
    INSERT INTO canary_lines VALUES (1, 1);";

/// One workspace over each connection, and one over both.
const WORKSPACES: &str = r#"
[[workspaces]]
name = "postgres"
assets = [{ table = "shop.public.orders", alias = "bills" }]
[[workspaces]]
name = "limited"
assets = [{ table = "costly.public.orders", alias = "bills" }, { table = "costly.public.canary_lines", alias = "large" }]
[[workspaces]]
name = "sqlite"
assets = [{ table = "beside.main.orders", alias = "bills" }]
[[workspaces]]
name = "joined"
assets = [{ table = "shop.public.orders", alias = "bills" }, { table = "beside.main.orders", folder = "other" }]
"#;

const STATEMENTS: [&str; 12] = [
    "UPDATE bills SET total = (query_to_xml('SELECT word FROM public.canary', true, true, ''))::text::int",
    "UPDATE bills SET total = (SELECT word::int FROM canary)",
    "UPDATE bills SET customer_id = (SELECT length(word) FROM public.canary) RETURNING customer_id",
    "DELETE FROM bills",
    "DELETE FROM bills USING canary WHERE canary.word::int = bills.id",
    "WITH d AS (DELETE FROM bills RETURNING id) SELECT (database_to_xml(true, true, '')::text)::int FROM d",
    "WITH c AS (SELECT word FROM public.canary) UPDATE bills SET total = word::int FROM c",
    "SELECT word FROM canary",
    "SELECT query_to_xml('TABLE canary', true, true, '') FROM bills",
    "INSERT INTO bills (id, customer_id, total) SELECT id, 1, word::int FROM canary",
    "SELECT id FROM large WHERE bill = -1",
    "MERGE INTO bills b USING canary c ON c.id = b.id WHEN MATCHED THEN UPDATE SET total = c.word::int",
];

#[actix_web::test]
async fn no_way_of_a_statement_leads_out_of_a_workspace() {
    let url = fixture::postgres().await;
    let client = connect(&url).await;
    client.batch_execute(BEYOND).await.unwrap();
    client
        .batch_execute("INSERT INTO canary_lines SELECT i, 1 FROM generate_series(2, 20000) i; ANALYZE")
        .await
        .unwrap();
    let writes = "access = \"read-write\"\n";
    let configuration = Configuration::new()
        .connection("shop", &url, writes)
        .connection("costly", &url, &format!("{writes}explain_cost_limit = 100\n"))
        .sqlite("beside", writes)
        .with(WORKSPACES);
    let file = rusqlite::Connection::open(configuration.path().join("beside.db")).unwrap();
    file.execute_batch(BEYOND).unwrap();
    let app = configuration.start().await;
    let names = ["postgres", "limited", "sqlite", "joined"];
    let rights = Rights::each([]).with_workspaces(names.map(|name| (name.into(), WorkspaceGrant::Given(Scope::Write))));
    let email = "writer@example.org".to_owned();
    app.store().add_user(NewUser { email: email.clone(), rights }).unwrap();
    let secret = app.store().create_pat(&email, NewPat::default()).unwrap().1.expose_secret().to_owned();
    let mut refused = 0;
    let mut judge = |what: &str, (status, document): (u16, Value)| {
        let said = document.to_string();
        assert!(!said.contains("CANARY-WORD") && !said.contains("canary_lines"), "{what}: {document}");
        assert!(status < 500, "{what}: {status} {document}");
        refused += usize::from(status >= 400 || said.contains("\"isError\":true") || said.contains("\"error\":{"));
    };
    for workspace in names {
        for statement in STATEMENTS {
            for text in
                [statement.to_owned(), format!("{statement} WHERE true"), format!("EXPLAIN ANALYZE {statement}")]
            {
                for extra in [json!({}), json!({"dryRun": true}), json!({"all": true}), json!({"schemaOnly": true})] {
                    let mut arguments = extra.clone();
                    arguments["query"] = json!(text);
                    for tool in ["execute_select", "execute_update", "execute_insert", "execute_sql"] {
                        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                            "params": {"name": tool, "arguments": arguments}});
                        let request = app.http.post(format!("{}/mcp/workspaces/{workspace}", app.url)).json(&call);
                        let answer = read(request.basic_auth(&email, Some(&secret)).send().await.unwrap()).await;
                        judge(&format!("{workspace} {tool}: {arguments}"), answer);
                    }
                    let request =
                        app.http.post(format!("{}/api/query?workspace={workspace}", app.url)).json(&arguments);
                    let answer = read(request.basic_auth(&email, Some(&secret)).send().await.unwrap()).await;
                    judge(&format!("{workspace}: {arguments}"), answer);
                }
            }
        }
    }
    assert!(refused > 1_500, "{refused} of them are refused");
    let words: i64 =
        client.query_one("SELECT count(*) FROM canary WHERE word = 'CANARY-WORD'", &[]).await.unwrap().get(0);
    assert_eq!(words, 1);
}
