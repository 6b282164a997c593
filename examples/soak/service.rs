//! The service that the soak test loads, what it holds, and who calls it.

use std::collections::BTreeSet;
use std::net::TcpListener;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use portico::app::App;
use portico::config::Config;
use portico_actors::auth::records::{NewPat, NewServiceAccount, NewUser};
use portico_actors::auth::store::Store;
use portico_actors::principal::{Rights, Scope};
use reqwest::{RequestBuilder, Response};
use secrecy::ExposeSecret;
use serde_json::{Value, json};
use tempfile::TempDir;
use uuid::Uuid;

use super::ledger::{CUT, Fault, Outcome};

/// Sessions of each connection.
pub(crate) const POOL: usize = 4;
/// Rows of `soak_numbers`.
pub(crate) const NUMBERS: i64 = 2000;
const EMAIL: &str = "soak@example.org";
/// SQLite has procedures from the configuration alone.
const PROCEDURE: &str = r#"
[[connections.procedures]]
name = "soak_range"
description = "Rows from one number up to another."
sql = "SELECT id, word, amount FROM soak_numbers WHERE id >= @lowest AND id < @most ORDER BY id"
read_only = true
[[connections.procedures.parameters]]
name = "lowest"
type = "integer"
description = "The first."
[[connections.procedures.parameters]]
name = "most"
type = "integer"
description = "The one behind the last."
"#;
/// The same in PostgreSQL.
const FUNCTION: &str = "CREATE OR REPLACE FUNCTION soak_range(lowest int, most int) \
    RETURNS TABLE (id int, word text, amount numeric) LANGUAGE sql STABLE AS \
    'SELECT n.id, n.word, n.amount FROM soak_numbers n WHERE n.id >= lowest AND n.id < most ORDER BY n.id'";

/// A connection that is called.
pub(crate) struct Target {
    pub(crate) name: &'static str,
    pub(crate) id: Uuid,
    /// Whether it is reached through the proxy.
    pub(crate) fails: bool,
}

/// The running service. It ends with the process.
pub(crate) struct Service {
    pub(crate) url: String,
    pub(crate) targets: Vec<Target>,
    pat: String,
    pub(crate) client_id: String,
    pub(crate) client_secret: String,
    _folder: TempDir,
}

/// The word of a row of `soak_numbers`: with what CSV and JSON have to escape.
pub(crate) fn word(id: i64) -> String {
    format!("{}\"ł', {}", id % 97, id * 7919 % 1000)
}

/// The rows of `soak_numbers` from `lowest` up to `most`, as the service must answer them. The
/// amounts are quarters, which a double holds exactly.
pub(crate) fn rows(lowest: i64, most: i64) -> Value {
    let quarters = |id: i64| f64::from(i32::try_from(id).unwrap()) / 4.0;
    (lowest..most).map(|id| json!([id, word(id), quarters(id)])).collect()
}

/// An amount as the column's two digits have it.
pub(crate) fn amount(id: i64) -> String {
    format!("{}.{:02}", id / 4, id % 4 * 25)
}

/// Rows in the way in which numbers are compared: 1 and 1.00 are the same.
pub(crate) fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| same(left, right))
        }
        (Value::Number(left), Value::Number(right)) => left.as_f64() == right.as_f64(),
        _ => left == right,
    }
}

impl Service {
    /// Starts on a free port and a thread of its own.
    pub(crate) async fn start(far: Option<&str>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        portico::sample::create(&folder.path().join("shop.db")).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://localhost:{}", listener.local_addr().unwrap().port());
        let mut targets = vec![Target { name: "shop", id: Uuid::from_u128(1), fails: false }];
        let more = format!("access = \"read-write\"\npool = {POOL}\nconnect_timeout = 2\n");
        let table = |target: &Target, url: &str| {
            format!("[[connections]]\nid = \"{}\"\nname = \"{}\"\nurl = \"{url}\"\n{more}", target.id, target.name)
        };
        let mut text = format!("[server]\npublic_url = \"{url}\"\n");
        text += &(table(&targets[0], "sqlite:shop.db") + PROCEDURE);
        if let Some(far) = far {
            let target = Target { name: "far", id: Uuid::from_u128(2), fails: true };
            text += &table(&target, far);
            targets.push(target);
        }
        let config = Config::parse(&text, folder.path(), &|_| None).unwrap();
        let mut store = Store::open(&config.store.place).unwrap();
        let user = NewUser { email: EMAIL.to_owned(), rights: Rights::all(Scope::Write) };
        store.add_user(user).unwrap();
        let (_, pat) = store.create_pat(EMAIL, NewPat::default()).unwrap();
        let rights = Rights::only(targets.iter().map(|target| target.id), Scope::Write);
        let account = NewServiceAccount { name: "soak".to_owned(), rights };
        let (account, secret) = store.create_service_account(account).unwrap();
        let (started, ready) = tokio::sync::oneshot::channel();
        std::thread::spawn(move || {
            actix::System::new().block_on(async {
                let app = App::start(config, Arc::new(|_| {})).await.unwrap();
                started.send(()).unwrap();
                portico::run(app, listener, std::future::pending()).await.unwrap();
            });
        });
        ready.await.unwrap();
        Self {
            url,
            targets,
            pat: pat.expose_secret().to_owned(),
            client_id: account.client_id,
            client_secret: secret.expose_secret().to_owned(),
            _folder: folder,
        }
    }

    /// Makes and fills the tables, through the service itself.
    pub(crate) async fn set_up(self: &Rc<Self>) {
        let caller = Caller::new(Rc::clone(self), 0);
        let mut pace = tokio::time::interval(Duration::from_millis(50));
        while !caller.http.get(format!("{}/readyz", self.url)).send().await.is_ok_and(|it| it.status() == 200) {
            pace.tick().await;
        }
        for (at, target) in self.targets.iter().enumerate() {
            for statement in [
                "DROP TABLE IF EXISTS soak_numbers",
                "DROP TABLE IF EXISTS soak_kept",
                "CREATE TABLE soak_numbers (id INTEGER PRIMARY KEY, word VARCHAR(40), amount NUMERIC(10, 2))",
                "CREATE TABLE soak_kept (caller INTEGER, number INTEGER, word VARCHAR(40), PRIMARY KEY (caller, number))",
            ] {
                caller.query(at, statement, json!({})).await.unwrap();
            }
            if target.fails {
                caller.query(at, FUNCTION, json!({})).await.unwrap();
            }
            let sets: Vec<Value> = (1..=NUMBERS).map(|id| json!([id, word(id), amount(id)])).collect();
            let insert = "INSERT INTO soak_numbers VALUES (@id, @word, @amount)";
            caller.api("/api/batch", at, json!({"query": insert, "parameters": sets})).await.unwrap();
        }
    }

    /// Drops what was made in a database of others.
    pub(crate) async fn tear_down(self: &Rc<Self>) {
        let caller = Caller::new(Rc::clone(self), 0);
        for (at, target) in self.targets.iter().enumerate() {
            if target.fails {
                caller.query(at, "DROP FUNCTION soak_range(int, int)", json!({})).await.unwrap();
            }
            for table in ["soak_numbers", "soak_kept"] {
                caller.query(at, &format!("DROP TABLE {table}"), json!({})).await.unwrap();
            }
        }
    }
}

/// Chance that begins where it is told to (`SplitMix64`).
pub(crate) struct Dice(u64);

impl Dice {
    /// A number below `most`.
    pub(crate) fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % most
    }

    /// A range of `soak_numbers`, at most `width` rows of it.
    pub(crate) fn range(&mut self, width: u64) -> (i64, i64) {
        let lowest = 1 + i64::try_from(self.below(NUMBERS as u64)).unwrap();
        (lowest, (lowest + i64::try_from(self.below(width)).unwrap()).min(NUMBERS + 1))
    }
}

/// The rows of one caller in `soak_kept`.
#[derive(Default)]
pub(crate) struct Own {
    /// They were acknowledged.
    pub(crate) certain: BTreeSet<i64>,
    /// A fault came before it could be told what became of them.
    pub(crate) uncertain: BTreeSet<i64>,
    /// The number of the next one.
    pub(crate) next: i64,
}

/// One client, with connections of its own.
pub(crate) struct Caller {
    pub(crate) service: Rc<Service>,
    pub(crate) http: reqwest::Client,
    pub(crate) number: u64,
    pub(crate) dice: Dice,
    /// For each target.
    pub(crate) own: Vec<Own>,
}

impl Caller {
    /// A client that has sent nothing yet.
    pub(crate) fn new(service: Rc<Service>, number: u64) -> Self {
        let http = reqwest::Client::builder().no_proxy().build().unwrap();
        let own = service.targets.iter().map(|_| Own::default()).collect();
        Self { service, http, number, dice: Dice(number), own }
    }

    /// Adds the user's personal access token.
    pub(crate) fn sign(&self, request: RequestBuilder) -> RequestBuilder {
        request.basic_auth(EMAIL, Some(&self.service.pat))
    }

    /// A call of the SQL API in the form `accept`: its text.
    pub(crate) async fn text(&self, path: &str, at: usize, accept: &str, mut body: Value) -> Outcome<String> {
        body["defaultCatalog"] = json!(self.service.targets[at].name);
        body["timeout"] = json!(10);
        let request = self.http.post(format!("{}{path}", self.service.url)).header("accept", accept).json(&body);
        whole(self.sign(request)).await
    }

    /// A call of the SQL API: its results.
    pub(crate) async fn api(&self, path: &str, at: usize, body: Value) -> Outcome<Vec<Value>> {
        results(&self.text(path, at, "application/json", body).await?)
    }

    /// One statement with values.
    pub(crate) async fn query(&self, at: usize, query: &str, parameters: Value) -> Outcome<Vec<Value>> {
        self.api("/api/query", at, json!({"query": query, "parameters": parameters})).await
    }
}

/// Sends a request; every request of ours gets an answer.
pub(crate) async fn sent(request: RequestBuilder) -> Outcome<Response> {
    request.send().await.map_err(|error| Fault::wrong("no answer", format!("{error:?}")))
}

/// The whole text of an answer that is no error.
pub(crate) async fn whole(request: RequestBuilder) -> Outcome<String> {
    let response = sent(request).await?;
    let status = response.status().as_u16();
    let text = response.text().await.map_err(|error| Fault::Error(CUT, format!("{error:?}")))?;
    if status == 200 {
        return Ok(text);
    }
    let code = serde_json::from_str::<Value>(&text).ok().and_then(|body| body["error"]["code"].as_i64());
    match code {
        Some(code) => Err(Fault::Error(code, text)),
        None => Err(Fault::wrong(format!("status {status} without a code"), text)),
    }
}

/// The results of a document that ends well.
pub(crate) fn results(text: &str) -> Outcome<Vec<Value>> {
    let mut document: Value = serde_json::from_str(text).map_err(|error| Fault::wrong(error, text))?;
    if let Some(error) = document.get("error") {
        return Err(Fault::Error(error["code"].as_i64().unwrap_or(0), error.to_string()));
    }
    match document["results"].take() {
        Value::Array(results) => Ok(results),
        _ => Err(Fault::wrong("no results", text)),
    }
}
