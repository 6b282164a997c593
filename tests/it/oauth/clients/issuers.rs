//! Trusted issuers as they are configured, and their tokens on the wire.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use portico::config::Config;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::app::{CONNECTION, OTHER, THIRD, TestApp, eventually, read};
use crate::support::configuration::{Configuration, connection};
use crate::support::fixture;
use crate::support::postgres::connect;
use crate::support::process::{finished, program};

/// The key pair of RFC 8037 appendix A.
const D: &str = "nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A";
const X: &str = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo";

fn pem() -> String {
    let head = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];
    let key = STANDARD.encode([&head[..], &URL_SAFE_NO_PAD.decode(X).unwrap()].concat());
    format!("-----BEGIN PUBLIC KEY-----\n{key}\n-----END PUBLIC KEY-----\n")
}

fn sign(claims: &Value) -> String {
    let head = [0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20];
    let key = EncodingKey::from_ed_der(&[&head[..], &URL_SAFE_NO_PAD.decode(D).unwrap()].concat());
    jsonwebtoken::encode(&Header::new(Algorithm::EdDSA), claims, &key).unwrap()
}

fn claims(connections: Value) -> Value {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    json!({"iss": "https://id.example.org", "sub": "robot", "aud": "portico", "iat": now, "exp": now + 600,
           "scope": "read", "connection_ids": connections})
}

/// A text of the last record in the audit trail.
fn of_the_last_record(app: &TestApp, member: &str) -> Option<String> {
    let text = std::fs::read_to_string(app.config.with_file_name("audit.jsonl")).unwrap_or_default();
    let record = text.lines().rev().find_map(|line| serde_json::from_str::<Value>(line).ok())?;
    record[member].as_str().map(str::to_owned)
}

/// The service would go on with the key that it read before, and tell nobody.
#[test]
fn a_key_in_another_file_is_a_change_of_the_configuration() {
    let service = Configuration::new().sqlite("shop", "");
    let issuer = "[[issuers]]\nissuer = \"https://id.example.org\"\naudience = \"portico\"\npublic_key = \"idp.pem\"\n";
    std::fs::write(service.path().join("idp.pem"), pem()).unwrap();
    let folder = service.with(issuer).write();
    let path = folder.path().join("config.toml");
    let running = Config::load(&path).unwrap();
    assert!(running.reload(&path).is_ok());
    std::fs::write(folder.path().join("idp.pem"), format!("{}\n", pem())).unwrap();
    let refused = running.reload(&path).unwrap_err().to_string();
    assert!(refused.contains("issuers") && refused.contains("restart the service"), "{refused}");
}

#[actix_web::test]
async fn a_trusted_issuers_token_opens_its_connections() {
    let service = Configuration::new().sqlite("shop", "access = \"read-write\"");
    std::fs::write(service.path().join("idp.pem"), pem()).unwrap();
    let issuer = "[[issuers]]\nissuer = \"https://id.example.org\"\naudience = \"portico\"\npublic_key = \"idp.pem\"\n";
    let app = service.with(issuer).start().await;
    let tools = async |claims: Value| {
        let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).to_string();
        read(app.mcp_request().bearer_auth(sign(&claims)).body(list).send().await.unwrap()).await.0
    };
    assert_eq!(tools(claims(json!([CONNECTION]))).await, 200);
    assert_eq!(tools(claims(json!(format!("[\"{CONNECTION}\"]")))).await, 403, "a text is no list");
    assert_eq!(tools(claims(Value::Null)).await, 403);
    let mut elsewhere = claims(json!([CONNECTION]));
    elsewhere["aud"] = json!("elsewhere");
    assert_eq!(tools(elsewhere).await, 401);
    // Points in time may have fractions (RFC 7519 §2).
    let mut fractions = claims(json!([CONNECTION]));
    for time in ["iat", "exp"] {
        fractions[time] = json!(fractions[time].as_f64().unwrap() + 0.25);
    }
    assert_eq!(tools(fractions).await, 200);
    let mut endless = claims(json!([CONNECTION]));
    endless["exp"] = json!(1e300);
    assert_eq!(tools(endless).await, 401, "no point in time");
    let mut without_scope = claims(json!([CONNECTION]));
    without_scope.as_object_mut().unwrap().remove("scope");
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    let refused = app.mcp_request().bearer_auth(sign(&without_scope)).json(&list).send().await.unwrap();
    let challenge = refused.headers()["www-authenticate"].to_str().unwrap().to_owned();
    assert!(challenge.contains("error=\"insufficient_scope\", scope=\"read\""), "{challenge}");
    let (status, body) = read(refused).await;
    assert_eq!((status, &body["error"]["code"]), (403, &json!(1200)));
    assert!(body["error"]["message"].as_str().unwrap().contains("no scope"), "{body}");
    let query = app.http.post(format!("{}/api/query", app.url)).bearer_auth(sign(&claims(json!([CONNECTION]))));
    let query = query.json(&json!({"query": "UPDATE customers SET city = 'Here'"})).send().await.unwrap();
    assert_eq!(query.status(), 403, "the scope is read");
}

/// A refused token is recorded under the name that it is accepted under.
#[actix_web::test]
async fn a_refused_token_is_recorded_under_its_issuers_subject() {
    let issuer = format!(
        "[[issuers]]\nissuer = \"https://id.example.org\"\naudience = \"portico\"\nsubject_claim = \"oid\"\npublic_key = \"\"\"{}\"\"\"\n\
         [audit]\nfile = \"audit.jsonl\"\n",
        pem()
    );
    let app = Configuration::new().sqlite("shop", "").with(&issuer).start().await;
    let mut expired = claims(json!([CONNECTION]));
    expired["oid"] = json!("somebody");
    expired["exp"] = json!(1_000_000_000);
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    let refused = app.mcp_request().bearer_auth(sign(&expired)).json(&list).send().await.unwrap();
    assert_eq!(refused.status(), 401);
    let claimed = || of_the_last_record(&app, "claimed");
    eventually("the record of the refusal", async || claimed().is_some()).await;
    assert_eq!(claimed().unwrap(), "https://id.example.org#somebody");
}

/// Tokens of an issuer whose keys do not come wait for them, and keep no other stranger's credential out meanwhile.
#[actix_web::test]
async fn a_hanging_issuer_keeps_no_other_credential_out() {
    let hanging = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let jwks_url = format!("http://{}/jwks", hanging.local_addr().unwrap());
    let issuer = format!(
        "[[issuers]]\nissuer = \"https://id.example.org\"\naudience = \"portico\"\njwks_url = \"{jwks_url}\"\n"
    );
    let app = Configuration::new().sqlite("shop", "").with(&issuer).start().await;
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    let strangers = (0..48).map(|number| {
        let mut claims = claims(json!([CONNECTION]));
        claims["jti"] = json!(number);
        app.mcp_request().bearer_auth(sign(&claims)).json(&list).send()
    });
    let waiting = futures_util::future::join_all(strangers);
    tokio::pin!(waiting);
    // It is asked for its keys, and does not answer.
    let (socket, _) = tokio::select! {
        accepted = hanging.accept() => accepted.unwrap(),
        _ = &mut waiting => panic!("all were answered before the keys were asked for"),
    };
    // As soon as each of those that have a place waits for the keys.
    let fresh = eventually("a fresh credential's turn", async || {
        let basic = app.http.post(app.mcp_url()).basic_auth(&app.reader.name, Some(&app.reader.secret));
        read(basic.json(&list).send().await.unwrap()).await.0 == 200
    });
    tokio::select! {
        () = fresh => {}
        _ = &mut waiting => panic!("the keys came"),
    }
    drop((socket, hanging));
    // Those of one address who came before the first of them waited for the keys were too many.
    for answer in waiting.await {
        let status = answer.unwrap().status();
        assert!([503, 429].contains(&status.as_u16()), "{status}");
    }
}

/// Where the names of connections change, what an issuer's tokens reach changes with the connections' settings.
#[actix_web::test]
async fn no_token_reaches_a_connection_before_its_new_settings_are_in_force() {
    let issuer = format!(
        "[[issuers]]\nissuer = \"https://id.example.org\"\naudience = \"portico\"\nconnections = [\"shop:read\"]\n\
         public_key = \"\"\"{}\"\"\"\n",
        pem()
    );
    let service = Configuration::new().sqlite("shop", "").sqlite("archive", "").with(&issuer).serve().await;
    let ask = async |catalog: &str, query: &str| {
        let request =
            service.http.post(format!("{}/api/query", service.url)).bearer_auth(sign(&claims(json!([OTHER]))));
        let body = json!({"query": query, "defaultCatalog": catalog});
        read(request.json(&body).send().await.unwrap()).await.0
    };
    assert_ne!(ask("archive", "SELECT id FROM orders").await, 200, "it is out of reach");
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let place = silent.local_addr().unwrap();
    let tables = connection(CONNECTION, "archive", "sqlite:shop.db", "")
        + &connection(OTHER, "shop", "sqlite:archive.db", "[connections.hidden]\ntables = [\"orders\"]\n")
        + &connection(
            THIRD,
            "slow",
            &format!("postgres://nobody@{place}/none?sslmode=disable"),
            "connect_timeout = 300\n",
        );
    service.configure("", &(tables + &issuer));
    let reload = service.reload();
    tokio::pin!(reload);
    // Its first attempt goes on, and everything else waits for it.
    let (socket, _) = tokio::select! {
        accepted = silent.accept() => accepted.unwrap(),
        (_, said) = &mut reload => panic!("the reload did not wait: {said}"),
    };
    assert_ne!(ask("archive", "SELECT id FROM orders").await, 200, "reached before it hides its table");
    drop((socket, silent));
    let (done, said) = reload.await;
    assert!(done, "{said}");
    assert_eq!(ask("shop", "SELECT id FROM customers").await, 200);
    assert_ne!(ask("shop", "SELECT id FROM orders").await, 200);
}

/// A client that was told 401 would throw its token away, and a good one would count as a guess.
#[actix_web::test]
async fn an_issuer_whose_keys_cannot_be_fetched_makes_its_tokens_wait() {
    let nobody = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let jwks_url = format!("http://{}/jwks", nobody.local_addr().unwrap());
    drop(nobody);
    let more = format!(
        "[[issuers]]\nissuer = \"https://id.example.org\"\naudience = \"portico\"\njwks_url = \"{jwks_url}\"\n\
         [limits]\nfailures_per_address = 1\n[audit]\nfile = \"audit.jsonl\"\n"
    );
    let app = Configuration::new().sqlite("shop", "").with(&more).start().await;
    for _ in 0..3 {
        let query = app.http.post(format!("{}/api/query", app.url)).bearer_auth(sign(&claims(json!([CONNECTION]))));
        let refused = query.json(&json!({"query": "SELECT 1"})).send().await.unwrap();
        let after = refused.headers()["retry-after"].to_str().unwrap();
        assert_eq!((refused.status().as_u16(), after), (503, "5"));
        assert_eq!(read(refused).await.1["error"]["code"], json!(1700));
    }
    let reason = || of_the_last_record(&app, "reason");
    eventually("the record of the refusal", async || reason().is_some()).await;
    assert!(reason().unwrap().contains("its issuer's keys could not be fetched"), "{:?}", reason());
}

/// Who a token's caller is to the database: role, claims and the settings of ours.
async fn in_the_database(app: &TestApp, claims: &Value) -> Result<Vec<Value>, Value> {
    let query = "SELECT current_user::text, current_setting('request.jwt.claims'), \
                 current_setting('portico.principal'), current_setting('portico.client_id')";
    let request = app.http.post(format!("{}/api/query", app.url)).bearer_auth(sign(claims));
    let (status, mut answer) = read(request.json(&json!({"query": query})).send().await.unwrap()).await;
    if status != 200 {
        return Err(answer["error"]["code"].take());
    }
    Ok(answer["results"][0]["rows"][0].as_array().unwrap().clone())
}

#[actix_web::test]
async fn somebodys_address_in_a_foreign_token_does_not_lead_to_their_role() {
    let url = fixture::postgres().await;
    let anns = format!("{}_ann", url.rsplit('/').next().unwrap());
    let admin = connect(&url).await;
    admin.batch_execute(&format!("CREATE ROLE \"{anns}\"; GRANT \"{anns}\" TO CURRENT_USER")).await.unwrap();
    let identity = format!(
        "[connections.identity]\nclaim = \"email\"\n[connections.identity.claim_roles]\n\"ann@example.org\" = \"{anns}\"\n\
         [[issuers]]\nissuer = \"https://id.example.org\"\naudience = \"portico\"\npublic_key = \"\"\"{}\"\"\"\n",
        pem()
    );
    let mut token = claims(json!([CONNECTION]));
    token["email"] = json!("ann@example.org");
    token["client_id"] = json!("trusted-client");
    let app = fixture::with_postgres(&url, &identity).await;
    assert_eq!(in_the_database(&app, &token).await, Err(json!(1200)), "its own table names no claim");

    let counts = "[issuers.identity]\nclaims = [\"email\"]\n";
    let app = fixture::with_postgres(&url, &(identity + counts)).await;
    assert_eq!(in_the_database(&app, &token).await, Err(json!(1200)), "nobody has verified the address");
    token["email_verified"] = json!(true);
    let row = in_the_database(&app, &token).await.unwrap();
    let subject = "https://id.example.org#robot";
    assert_eq!([&row[0], &row[2], &row[3]], [&json!(anns), &json!(subject), &json!("")]);
    let told: Value = serde_json::from_str(row[1].as_str().unwrap()).unwrap();
    assert_eq!(told, json!({"email": "ann@example.org", "sub": subject, "scope": "read", "role": anns}));
}

#[test]
fn every_problem_of_an_issuer_is_told() {
    let text = format!(
        "{}[[issuers]]\nissuer = \"http://localhost:8787\"\npublic_key = \"\"\"{}\"\"\"\n\
         [[issuers]]\nissuer = \"a\"\njwks_url = \"http://id.example.org/jwks\"\nscope = \"root\"\n\
         [[issuers]]\npublic_key = \"nowhere.pem\"\nconnections = [\"shop:root\", \"shap\"]\n\
         [[issuers]]\nissuer = \"b\"\n\
         [[issuers]]\nissuer = \"c\"\njwks_url = \"https://c/\"\npublic_key = \"x\"\njwks = 1\n\
         [[issuers]]\nissuer = \"https://f#x\"\njwks_url = \"https://f/\"\n\
         [[issuers]]\nissuer = \"e\"\njwks_url = \"https://e/\"\nmax_age = 1\n\
         [issuers.identity]\nclaims = [\"role\"]\nclaim = \"\"\nclaim_roles = {{ a = \"none\" }}\n\
         [[issuers]]\nissuer = \"d\"\npublic_key = \"-----BEGIN PUBLIC KEY-----AAAA-----END PUBLIC KEY-----\"\n",
        connection(CONNECTION, "shop", "sqlite:x.db", ""),
        pem()
    );
    let problems = Config::parse(&text, Path::new("/base"), &|_| None).unwrap_err().0;
    let keys: Vec<&str> = problems.iter().map(|problem| problem.key.as_str()).collect();
    for key in [
        "issuers[0].issuer",
        "issuers[1].jwks_url",
        "issuers[1].scope",
        "issuers[2].issuer",
        "issuers[2].public_key",
        "issuers[2].connections",
        "issuers[3].jwks_url",
        "issuers[4].public_key",
        "issuers[4].jwks",
        "issuers[5].issuer",
        "issuers[6].max_age",
        "issuers[6].identity.claims",
        "issuers[6].identity.claim",
        "issuers[6].identity.claim_roles",
        "issuers[7].public_key",
    ] {
        assert!(keys.contains(&key), "{key} is not among {keys:?}");
    }
    assert!(problems.iter().all(|problem| problem.line > 0 && !problem.remedy.is_empty()), "{problems:?}");
}

#[test]
fn the_stores_key_comes_from_one_place() {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("store.key"), "ab".repeat(32)).unwrap();
    let parse = |store: &str, variable: Option<&str>| {
        let text = format!("[store]\n{store}\n{}", connection(CONNECTION, "shop", "sqlite:x.db", ""));
        let environment = |name: &str| variable.filter(|_| name == "PORTICO_STORE_KEY").map(str::to_owned);
        Config::parse(&text, folder.path(), &environment).map(|config| config.store.key.is_some())
    };
    let key = "cd".repeat(32);
    assert!(!parse("", None).unwrap());
    assert!(parse("", Some(&key)).unwrap());
    assert!(parse("key_file = \"store.key\"", None).unwrap());
    for (store, variable) in
        [("", Some("hunter2")), ("key_file = \"store.key\"", Some(key.as_str())), ("key_file = \"absent.key\"", None)]
    {
        let problems = parse(store, variable).unwrap_err().0;
        assert_eq!(problems[0].key, "store.key_file");
        assert!(!problems[0].to_string().contains("hunter2"), "{problems:?}");
    }
}

#[test]
fn an_encrypted_key_needs_its_key() {
    let folder = Configuration::new().connection("shop", "sqlite:x.db", "").write();
    let run = |arguments: &[&str], key: &str| {
        finished(program().args(arguments).env("PORTICO_STORE_KEY", key).current_dir(folder.path()))
    };
    let made = run(&["key", "rotate", "--algorithm", "ES256", "--json"], &"ab".repeat(32));
    let key: Value = serde_json::from_slice(&made.stdout).unwrap();
    assert_eq!((&key["algorithm"], &key["state"]), (&json!("ES256"), &json!("signs")));
    for (key, words) in [("", "no key is given"), (&"cd".repeat(32), "encrypted with another one")] {
        let refused = run(&["serve"], key);
        let told = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(!refused.status.success() && told.contains(words) && told.contains("PORTICO_STORE_KEY"), "{told}");
    }
}
