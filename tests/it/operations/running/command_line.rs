//! The program itself, as people and units run it.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Output, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::app::{Caller, OTHER, client, read};
use crate::support::configuration::{Configuration, configure, connection, shop};
use crate::support::fixture;
use crate::support::process::{Running, demo, finished, json_of, output, portico, program, run};

/// Words that are none of what an option takes are told with what it takes, or where that is shown.
#[test]
fn a_wrong_word_is_told_with_its_remedy() {
    let folder = TempDir::new().unwrap();
    for (arguments, told) in [
        (&["consent", "revoke", "x"][..], "`portico consent list` shows what there is"),
        (&["pat", "create", "ann@example.org", "--expires", "100000000d"][..], "from 1s to 36525d"),
        (&["pat", "create", "ann@example.org", "--expires", "soon"][..], "a number and a unit"),
    ] {
        let refused = portico(folder.path(), arguments);
        let words = String::from_utf8(refused.stderr).unwrap();
        assert!(refused.status.code() == Some(2) && words.contains(told), "{arguments:?}: {words}");
    }
}

/// What Ctrl-C sends; the exit must be clean.
async fn interrupt(mut running: Running) {
    running.signal("INT");
    assert!(running.ended().await.success());
}

#[actix_web::test]
async fn the_demo_runs_keeps_its_data_and_stops_cleanly() {
    let folder = TempDir::new().unwrap();
    let (child, page) = demo(folder.path()).await;
    let path = folder.path().join("data/credentials.json");
    let written: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    assert_eq!(written, page);
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let members: Vec<&String> = written.as_object().unwrap().keys().collect();
    assert_eq!(
        members,
        ["baseUrl", "mcpUrl", "authUrl", "connectionId", "connectionName", "user", "pat", "clientId", "clientSecret"]
    );
    let text = |member: &str| written[member].as_str().unwrap().to_owned();
    let http = client();
    let query = async |sql: &str| {
        let request = http.post(format!("{}/api/query", text("baseUrl"))).basic_auth(text("user"), Some(text("pat")));
        let (status, document) = read(request.json(&json!({"query": sql})).send().await.unwrap()).await;
        assert_eq!(status, 200, "{document}");
        document["results"][0]["rows"].clone()
    };
    assert_eq!(query("SELECT count(*) FROM shop.main.customers").await, json!([[2000]]));
    query("INSERT INTO shop.main.categories (id, name) VALUES (9999, 'kept')").await;
    let both = "SELECT count(*) FROM crm.main.tickets t JOIN shop.main.orders o ON o.id = t.order_id \
                AND o.customer_id = t.customer_id";
    assert!(query(both).await[0][0].as_i64().unwrap() > 500, "tickets belong to orders");
    let config = folder.path().join("data/config.toml");
    assert_eq!(std::fs::metadata(&config).unwrap().permissions().mode() & 0o777, 0o600);
    let checked = json_of(&portico(&folder.path().join("data"), &["check", "--config", "config.toml", "--json"]));
    assert_eq!(checked["connections"].as_array().unwrap().len(), 2, "{checked}");
    let users = run(&["user", "list"], &folder.path().join("data"));
    assert!(users.to_string().contains("admin"), "{users}");
    let workspace = async |sql: &str| {
        let url = format!("{}/api/query?workspace=store", text("baseUrl"));
        let request = http.post(url).basic_auth(text("user"), Some(text("pat")));
        let (status, document) = read(request.json(&json!({"query": sql})).send().await.unwrap()).await;
        assert_eq!(status, 200, "{document}");
        document["results"][0]["rows"].clone()
    };
    let by_country = workspace("SELECT * FROM reports.tickets_by_country WHERE country = 'Poland'").await;
    assert!(by_country[0][1].as_i64().unwrap() > 10, "{by_country}");
    let troubled = workspace("SELECT * FROM reports.troubled_orders ORDER BY ticket_id LIMIT 3").await;
    assert_eq!(troubled.as_array().unwrap().len(), 3, "{troubled}");
    let form = [
        ("grant_type", "client_credentials"),
        ("client_id", &text("clientId")),
        ("client_secret", &text("clientSecret")),
    ];
    let (status, token) = read(http.post(text("authUrl")).form(&form).send().await.unwrap()).await;
    assert_eq!(status, 200, "{token}");
    let list = http.post(text("mcpUrl")).bearer_auth(token["access_token"].as_str().unwrap());
    let list = list.json(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})).send().await.unwrap();
    assert_eq!(
        read(list).await.1["result"]["tools"].as_array().unwrap().len(),
        15,
        "twelve tools and three procedures"
    );
    interrupt(child).await;
    let (child, again) = demo(folder.path()).await;
    assert_eq!((&again["pat"], &again["clientSecret"]), (&page["pat"], &page["clientSecret"]), "credentials are kept");
    let request = http
        .post(format!("{}/api/query", again["baseUrl"].as_str().unwrap()))
        .basic_auth(text("user"), Some(text("pat")));
    let kept =
        request.json(&json!({"query": "SELECT name FROM shop.main.categories WHERE id = 9999"})).send().await.unwrap();
    assert_eq!(read(kept).await.1["results"][0]["rows"], json!([["kept"]]), "data are kept");
    interrupt(child).await;
}

#[actix_web::test]
async fn identities_are_managed_beside_the_running_service() {
    let app = fixture::two_connections().await;
    let folder = app.config.parent().unwrap();
    let run = async |arguments: &[&str]| app.run(arguments).await;
    let connections = async |by: &Caller| {
        let request = app.http.get(format!("{}/api/connections", app.url)).basic_auth(&by.name, Some(&by.secret));
        let response = request.send().await.unwrap();
        let status = response.status().as_u16();
        let names = read(response).await.1["connections"]
            .as_array()
            .map(|all| all.iter().map(|it| it["name"].clone()).collect::<Vec<_>>());
        (status, names)
    };
    run(&["user", "add", "ann@example.org", "--connection", "archive", "--read-only"]).await;
    let pat = run(&["pat", "create", "ann@example.org", "--name", "laptop", "--expires", "90d"]).await;
    let ann = Caller { name: "ANN@example.org".to_owned(), secret: pat["pat"].as_str().unwrap().to_owned() };
    assert_eq!(connections(&ann).await, (200, Some(vec![json!("archive")])));
    let listed = run(&["pat", "list", "ann@example.org"]).await;
    assert_eq!(listed[0]["name"], "laptop");
    assert!(!listed.to_string().contains(&ann.secret), "a secret is shown once, on creation");
    run(&["pat", "revoke", "laptop"]).await;
    assert_eq!(connections(&ann).await.0, 401);
    let account = run(&["service-account", "create", "reports", "--connection", "shop", "--scope", "read"]).await;
    let token = async |secret: &Value| {
        let id = account["clientId"].as_str().unwrap();
        let form =
            [("grant_type", "client_credentials"), ("client_id", id), ("client_secret", secret.as_str().unwrap())];
        app.http.post(format!("{}/oauth/token", app.url)).form(&form).send().await.unwrap().status().as_u16()
    };
    assert_eq!(token(&account["clientSecret"]).await, 200);
    let rotated = run(&["service-account", "rotate", "reports"]).await;
    assert_eq!((token(&account["clientSecret"]).await, token(&rotated["clientSecret"]).await), (401, 200));
    let first = run(&["key", "list"]).await[0]["kid"].as_str().unwrap().to_owned();
    let second = run(&["key", "rotate"]).await;
    assert_eq!(second["ended"], Value::Null);
    assert_eq!(run(&["key", "list"]).await.as_array().unwrap().len(), 2);
    let (_, keys) = read(app.http.get(format!("{}/.well-known/jwks.json", app.url)).send().await.unwrap()).await;
    assert_eq!(keys["keys"].as_array().unwrap().len(), 2, "the old key still verifies");
    assert_eq!(token(&rotated["clientSecret"]).await, 200);
    let third = run(&["key", "rotate", "--compromised"]).await;
    assert_eq!((&third["ended"], &third["state"]), (&second["kid"], &json!("signs")));
    let fourth = run(&["key", "rotate", &format!("--compromised={first}")]).await;
    assert_eq!((&fourth["ended"], &fourth["kid"]), (&json!(first), &third["kid"]), "one that signs no more");
    let (_, keys) = read(app.http.get(format!("{}/.well-known/jwks.json", app.url)).send().await.unwrap()).await;
    assert_eq!(keys["keys"].as_array().unwrap().len(), 1, "{keys}");
    assert_eq!(token(&rotated["clientSecret"]).await, 200);
    run(&["service-account", "remove", "reports"]).await;
    assert_eq!(token(&rotated["clientSecret"]).await, 401);
    run(&["user", "remove", "ann@example.org"]).await;
    let users = portico(folder, &["user", "list"]);
    assert!(!String::from_utf8_lossy(&users.stdout).contains("ann@example.org"));
    let unknown = portico(folder, &["user", "add", "bob@example.org", "--connection", "shp"]);
    assert!(!unknown.status.success());
    assert!(String::from_utf8_lossy(&unknown.stderr).contains("did you mean shop?"));
}

#[actix_web::test]
async fn check_tells_every_problem_and_tries_each_connection() {
    let folder = Configuration::new().sqlite("shop", "").write();
    let good = portico(folder.path(), &["check", "--json"]);
    assert!(good.status.success());
    assert_eq!(json_of(&good)["connections"][0]["status"], "up");
    let lists =
        "[connections.exposed]\ntables = [\"ord%\", \"order_\"]\n[connections.hidden]\ntables = [\"main.customers\"]\n";
    configure(folder.path(), None, "", &shop(lists));
    let told = portico(folder.path(), &["check", "--json"]);
    let expected = json!([
        {"list": "exposed.tables", "entry": "ord%", "matches": ["main.orders"]},
        {"list": "exposed.tables", "entry": "order_", "matches": []},
        {"list": "hidden.tables", "entry": "main.customers", "matches": ["main.customers"]},
    ]);
    assert_eq!(json_of(&told)["connections"][0]["exposure"], expected);
    let told = portico(folder.path(), &["check"]);
    let words = String::from_utf8_lossy(&told.stdout).into_owned();
    assert!(words.contains("warning: exposed.tables: \"order_\" matches nothing; _ is not a wildcard"), "{words}");
    let away = connection(OTHER, "away", "postgres://nobody@127.0.0.1:1/nothing", "");
    configure(folder.path(), None, "", &(shop("") + &away));
    let down = portico(folder.path(), &["check", "--json"]);
    assert_eq!(down.status.code(), Some(1));
    assert_eq!((&json_of(&down)["ok"], &json_of(&down)["connections"][1]["status"]), (&json!(false), &json!("down")));
    std::fs::write(folder.path().join("config.toml"), "[server]\nlisten = 5\n[stor]\n").unwrap();
    let bad = portico(folder.path(), &["check", "--json"]);
    assert_eq!(bad.status.code(), Some(1));
    let keys: Vec<Value> = json_of(&bad)["problems"].as_array().unwrap().iter().map(|it| it["key"].clone()).collect();
    assert_eq!(keys, ["connections", "server.listen", "stor"]);
    let text = portico(folder.path(), &["serve"]);
    assert!(
        String::from_utf8_lossy(&text.stderr)
            .contains("config.toml:3:2: stor: there is no such key; did you mean store"),
        "serve says the same"
    );
}

/// Runs a command with a line on its standard input.
fn portico_with(input: &str, arguments: &[&str], folder: &Path) -> Output {
    use std::io::Write as _;
    let mut command = program();
    let piped = command.args(arguments).current_dir(folder).stdin(Stdio::piped());
    let mut child = piped.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    output(child)
}

#[actix_web::test]
async fn passwords_and_clients_are_looked_after_by_commands() {
    use crate::support::person::Person;
    let app = fixture::on_sqlite().await;
    let config = app.config.to_str().unwrap();
    let folder = app.config.parent().unwrap();
    let add = ["user", "add", "new@example.com", "--password", "--config", config, "--json"];
    let short = portico_with("short\n", &add, folder);
    let told = json_of(&short);
    assert!(!short.status.success() && told["message"].as_str().unwrap().contains("at least 12 characters"), "{told}");
    let added = portico_with("correct horse battery\r\n", &add, folder);
    assert_eq!(json_of(&added)["hasPassword"], true, "nothing of the failed command was left behind");
    let person = Person::new(&app);
    assert_eq!(person.sign_in("new@example.com", "correct horse battery").await.status, 303);
    let change = ["user", "password", "new@example.com", "--config", config];
    assert!(portico_with("another horse battery\n", &change, folder).status.success());
    assert_eq!(person.get("/account").await.status, 303, "the session has ended");
    assert_eq!(person.sign_in("new@example.com", "correct horse battery").await.status, 401);
    assert_eq!(person.sign_in("new@example.com", "another horse battery").await.status, 303);
    let disabled = portico(folder, &["user", "disable", "new@example.com", "--config", config, "--json"]);
    assert!(json_of(&disabled)["disabledAt"].is_string());
    assert_eq!(person.get("/account").await.status, 303);

    let add = [
        "client",
        "add",
        "Reports",
        "--redirect-uri",
        "https://reports.example/cb",
        "--confidential",
        "--config",
        config,
        "--json",
    ];
    let client = json_of(&portico(folder, &add));
    assert!(client["clientSecret"].as_str().unwrap().starts_with("ptc_cs_"), "{client}");
    let listed = json_of(&portico(folder, &["client", "list", "--config", config, "--json"]));
    assert_eq!((&listed[0]["clientId"], &listed[0]["kind"]), (&client["clientId"], &json!("registered")));
    assert!(listed[0].get("clientSecret").is_none());
    assert!(portico(folder, &["client", "remove", "Reports", "--config", config]).status.success());
    let again = portico(folder, &["client", "remove", "Reports", "--config", config]);
    assert!(String::from_utf8_lossy(&again.stderr).contains("there is no client"));
}

#[actix_web::test]
async fn the_log_is_json_lines_where_it_is_configured_so() {
    let service = Configuration::new().sqlite("shop", "").with("[log]\nformat = \"json\"\nlevel = \"info\"");
    let mut command = program();
    command.env_remove("RUST_LOG");
    let mut service = service.serve_by(command).await;
    let object = |line: &String| serde_json::from_str::<Value>(line).expect("each line is an object");
    let listening = service.seen().iter().map(object).find(|line| line["message"].to_string().contains("listening on"));
    let listening = listening.unwrap();
    assert_eq!((&listening["level"], &listening["target"]), (&json!("info"), &json!("portico::cli::running::serve")));
    let id = uuid::Uuid::from_u128(77).to_string();
    let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let request = service.http.post(format!("{}/api/query", service.url)).header("x-request-id", &id);
    assert_eq!(request.header("traceparent", trace).send().await.unwrap().status(), 401);
    let call = object(&service.line("\"portico::call\"").await);
    assert_eq!((&call["request"], &call["trace"]), (&json!(id), &json!("4bf92f3577b34da6a3ce929d0e0e4736")));
    assert_eq!((&call["what"], &call["outcome"]), (&json!("/api/query"), &json!("unauthenticated")));
    assert_eq!((&call["rows"], call["ms"].is_u64()), (&json!(0), true));
    service.signal("INT");
    assert!(service.rest().await.iter().all(|line| object(line).is_object()));
    assert!(service.ended().await.success());
}

#[test]
fn a_reader_that_has_left_ends_no_command_in_an_alarm() {
    let folder = Configuration::new().sqlite("shop", "").write();
    run(&["user", "add", "ann@example.org"], folder.path());
    for arguments in [
        &["user", "list", "--json"][..],
        &["user", "list"],
        &["pat", "create", "ann@example.org"],
        &["pat", "list"],
        &["key", "list"],
        &["check"],
        &["check", "--json"],
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = program();
        let command = command.args(arguments).current_dir(folder.path()).stdout(writer).stderr(Stdio::piped());
        let output = output(command.spawn().unwrap());
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success() && !told.contains("panicked"), "{arguments:?}: {told}");
    }
}

/// What the demo prints for people: each of its lines works as it stands.
#[actix_web::test]
async fn the_demo_says_on_one_screen_how_to_use_it() {
    let folder = TempDir::new().unwrap();
    let mut command = program();
    command.args(["demo", "--listen", "127.0.0.1:0", "--data-dir", "data"]).current_dir(folder.path());
    let mut demo = Running::begin(command.stdout(Stdio::piped()).stderr(Stdio::null()));
    demo.line("Ctrl-C stops it").await;
    let page = demo.seen().join("\n");
    assert!(demo.seen().len() <= 25, "{page}");
    let find = |begin: &str| {
        let line = demo.seen().iter().find(|line| line.trim_start().starts_with(begin));
        line.unwrap_or_else(|| panic!("no {begin} in {page}")).trim_start().to_owned()
    };
    let credentials = std::fs::read(folder.path().join("data/credentials.json")).unwrap();
    let credentials: Value = serde_json::from_slice(&credentials).unwrap();
    let (base, token) = (credentials["baseUrl"].as_str().unwrap(), credentials["pat"].as_str().unwrap());
    assert!(find("In a browser").ends_with(base));
    let front = client().get(base).header("accept", "text/html").send().await.unwrap();
    assert!(front.status() == 200 && front.text().await.unwrap().contains("Sign in"));
    let claude = find("claude mcp add ");
    assert!(claude.contains(&format!(" portico {base}/mcp --header \"Authorization: Bearer {token}\"")), "{claude}");
    let launched = find("PORTICO_TOKEN=");
    assert!(launched.starts_with(&format!("PORTICO_TOKEN={token} /")), "{launched}");
    assert!(launched.ends_with(&format!("/portico stdio --server {base}")), "{launched}");
    let mut shell = std::process::Command::new("sh");
    let asked =
        output(shell.args(["-c", &find("curl ")]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap());
    let asked = json_of(&asked);
    assert!(asked["results"][0]["rows"].as_array().unwrap().len() > 2, "{asked}");
    let others = find("Other clients: ").replacen("Other clients: ", "", 1).replace("CLIENT", "gemini");
    let mut shell = std::process::Command::new("sh");
    let printed = finished(shell.args(["-c", &others]).current_dir(folder.path()));
    assert!(String::from_utf8_lossy(&printed.stdout).contains(&format!(" portico {base}/mcp")), "{printed:?}");
    interrupt(demo).await;
}
