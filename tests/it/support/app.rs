//! The service, started in-process on a free port, with a few callers; and how tests talk to it.

use std::net::TcpListener;
use std::panic::Location;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use portico::app::App;
use portico::config::Config;
use portico_actors::auth::Auth;
use portico_actors::auth::records::{NewPat, NewServiceAccount, NewUser};
use portico_actors::auth::store::{Store, StoreLocation};
use portico_actors::error::Kind;
use portico_actors::event::Event;
use portico_actors::principal::{Rights, Scope};
use reqwest::{RequestBuilder, Response};
use secrecy::ExposeSecret;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::oneshot;
use uuid::Uuid;

use super::configuration::Configuration;
use super::process::run;

/// The first connection of every test.
pub(crate) const CONNECTION: Uuid = Uuid::from_u128(0x1111_1111_1111_4111_8111_1111_1111_1111);
/// The second one, where there is one.
pub(crate) const OTHER: Uuid = Uuid::from_u128(0x2222_2222_2222_4222_8222_2222_2222_2222);
/// The third one.
pub(crate) const THIRD: Uuid = Uuid::from_u128(0x3333_3333_3333_4333_8333_3333_3333_3333);

/// A user and a token, or a client and its secret.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    pub(crate) name: String,
    pub(crate) secret: String,
}

/// A running service. Dropping it stops it.
pub(crate) struct TestApp {
    pub(crate) url: String,
    pub(crate) http: reqwest::Client,
    /// The path of the MCP endpoint that is tried.
    pub(crate) mcp: String,
    /// A user who may write on every connection.
    pub(crate) writer: Caller,
    /// A user who may read on every connection.
    pub(crate) reader: Caller,
    /// A service account that may write on the first connection.
    pub(crate) agent: Caller,
    pub(crate) events: Arc<Mutex<Vec<Event>>>,
    pub(crate) config: PathBuf,
    auth: Auth,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
    _folder: TempDir,
}

/// The store of services that are started where this is set; else each has a file of its own.
#[derive(Clone, Debug)]
pub(crate) struct Shared {
    /// `store.url`.
    pub(crate) url: String,
    /// Those who call, where the store has them already.
    pub(crate) callers: Option<(Caller, Caller, Caller)>,
}

tokio::task_local! {
    pub(crate) static STORE: Shared;
}

impl TestApp {
    /// Starts the service, and waits for none of its connections.
    pub(crate) async fn begin(mut configuration: Configuration) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let place = listener.local_addr().unwrap();
        let url = format!("http://localhost:{}", place.port());
        let public_url = format!("public_url = \"{url}\"\n");
        let public_url = if configuration.server.contains("public_url =") { "" } else { &public_url };
        let common = format!("listen = \"{place}\"\n{public_url}shutdown_timeout = 1\n");
        configuration.server.insert_str(0, &common);
        let (features, store) = (Arc::clone(&configuration.features), configuration.store.clone());
        let folder = configuration.write();
        let path = folder.path().join("config.toml");
        let config = Config::load(&path).unwrap();
        let known = store.and_then(|store| store.callers);
        let (writer, reader, agent) = known.unwrap_or_else(|| callers(&config.store.place));
        let events: Arc<Mutex<Vec<Event>>> = Arc::default();
        let seen = Arc::clone(&events);
        let (stop, stopped) = oneshot::channel::<()>();
        let (started, ready) = oneshot::channel();
        let thread = std::thread::spawn(move || {
            on_a_system(async move {
                let observer = Arc::new(move |event: &Event| seen.lock().unwrap().push(event.clone()));
                let app = App::start_offering(config, observer, features).await.unwrap();
                started.send(app.auth.clone()).ok().unwrap();
                portico::run(app, listener, async { drop(stopped.await) }).await.unwrap();
            });
        });
        let auth = within("the service to start", ready).await.unwrap();
        let http = client();
        let (stop, thread) = (Some(stop), Some(thread));
        let mcp = super::mcp::address();
        Self { url, http, mcp, writer, reader, agent, events, config: path, auth, stop, thread, _folder: folder }
    }

    /// Has the service look at its store, as commands do that have changed it.
    pub(crate) async fn look(&self) {
        self.auth.sync().await;
    }

    pub(crate) fn store(&self) -> Store {
        Store::open(Config::load(&self.config).unwrap().store.place).unwrap()
    }

    /// A request of the writer's, with a personal access token.
    pub(crate) fn post(&self, path: &str) -> RequestBuilder {
        let Caller { name, secret } = &self.writer;
        self.http.post(format!("{}{path}", self.url)).basic_auth(name, Some(secret))
    }

    pub(crate) fn get(&self, path: &str) -> RequestBuilder {
        let Caller { name, secret } = &self.writer;
        self.http.get(format!("{}{path}", self.url)).basic_auth(name, Some(secret))
    }

    /// `POST /api/query` by the writer.
    pub(crate) async fn query(&self, body: Value) -> (u16, Value) {
        read(self.post("/api/query").json(&body).send().await.unwrap()).await
    }

    /// The rows of one query that succeeds.
    pub(crate) async fn rows(&self, query: &str) -> Value {
        let (status, mut document) = self.query(json!({"query": query})).await;
        assert_eq!(status, 200, "{query}: {document}");
        assert!(document.get("error").is_none(), "{query}: {document}");
        document["results"][0]["rows"].take()
    }

    /// `POST /api/exec` by the writer.
    pub(crate) async fn exec(&self, body: Value) -> (u16, Value) {
        read(self.post("/api/exec").json(&body).send().await.unwrap()).await
    }

    /// An access token of the agent's.
    pub(crate) async fn token(&self) -> String {
        let form = [
            ("grant_type", "client_credentials"),
            ("client_id", &self.agent.name),
            ("client_secret", &self.agent.secret),
        ];
        let response = self.http.post(format!("{}/oauth/token", self.url)).form(&form).send().await.unwrap();
        let (status, body) = read(response).await;
        assert_eq!(status, 200, "{body}");
        body["access_token"].as_str().unwrap().to_owned()
    }

    /// The MCP endpoint that is tried: the first connection's, or that of all.
    pub(crate) fn mcp_url(&self) -> String {
        format!("{}{}", self.url, self.mcp)
    }

    /// The same with every other path.
    pub(crate) fn at(mut self, mcp: &str) -> Self {
        mcp.clone_into(&mut self.mcp);
        self
    }

    /// A request at the MCP endpoint, without a credential.
    pub(crate) fn mcp_request(&self) -> RequestBuilder {
        self.http.post(self.mcp_url()).header("content-type", "application/json")
    }

    /// A JSON-RPC request of a caller of the 2025 revisions.
    pub(crate) async fn mcp(&self, by: &Caller, method: &str, params: Value) -> (u16, Value) {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let request = self.mcp_request().basic_auth(&by.name, Some(&by.secret)).body(body.to_string());
        read(request.send().await.unwrap()).await
    }

    /// The result of a tool called by the writer.
    pub(crate) async fn tool(&self, name: &str, arguments: Value) -> Value {
        let (status, mut body) =
            self.mcp(&self.writer, "tools/call", json!({"name": name, "arguments": arguments})).await;
        assert_eq!(status, 200, "{body}");
        assert!(body.get("error").is_none(), "{name}: {body}");
        body["result"].take()
    }

    /// The text of a tool's failure.
    pub(crate) async fn tool_error(&self, name: &str, arguments: Value) -> String {
        let result = self.tool(name, arguments).await;
        assert_eq!(result["isError"], true, "{result}");
        result["content"][0]["text"].as_str().unwrap().to_owned()
    }

    /// Waits until `/readyz` says that every connection had its first attempt.
    pub(crate) async fn ready(&self) -> Value {
        awaited("the first attempt of every connection", async || {
            let (_, body) = read(self.http.get(format!("{}/readyz", self.url)).send().await.unwrap()).await;
            (body["status"] != "starting").then_some(body)
        })
        .await
    }
}

impl TestApp {
    /// How the calls of `what` have ended by now.
    pub(crate) fn endings(&self, what: &str) -> Vec<Option<Kind>> {
        let events = self.events.lock().unwrap();
        let calls = events.iter().filter_map(|event| match event {
            Event::CallEnded(call) if call.what == what => Some(call.failure),
            _ => None,
        });
        calls.collect()
    }

    /// Whether it has told of such an event by now.
    pub(crate) fn told(&self, met: impl Fn(&Event) -> bool) -> bool {
        self.events.lock().unwrap().iter().any(met)
    }

    /// The JSON of a command beside this service, which is told of it as the service of the program is.
    pub(crate) async fn run(&self, arguments: &[&str]) -> Value {
        let told = run(arguments, self.config.parent().unwrap());
        self.look().await;
        told
    }

    /// Asks the service to end, and does not wait for it.
    pub(crate) fn stop(&mut self) {
        drop(self.stop.take());
    }
}

impl Drop for TestApp {
    fn drop(&mut self) {
        self.stop();
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
            && !std::thread::panicking()
        {
            panic!("the service panicked");
        }
    }
}

/// Runs a service on a system of its own, and ends what it has begun: its threads, and with them its actors, would live
/// on to the end of the process.
pub(crate) fn on_a_system(service: impl Future<Output = ()>) {
    let system = actix::System::new();
    system.block_on(async {
        service.await;
        actix::System::current().stop();
    });
    system.run().unwrap();
}

/// A user who may write, one who may read, and a service account that may write on the first
/// connection.
pub(crate) fn callers(store: impl Into<StoreLocation>) -> (Caller, Caller, Caller) {
    let mut store = Store::open(store).unwrap();
    let mut user = |name: &str, scope| {
        let email = format!("{name}@example.com");
        store.add_user(NewUser { email: email.clone(), rights: Rights::all(scope) }).unwrap();
        let (_, pat) = store.create_pat(&email, NewPat::default()).unwrap();
        Caller { name: email, secret: pat.expose_secret().to_owned() }
    };
    let (writer, reader) = (user("writer", Scope::Write), user("reader", Scope::Read));
    let account = NewServiceAccount { name: "agent".to_owned(), rights: Rights::only([CONNECTION], Scope::Write) };
    let (account, secret) = store.create_service_account(account).unwrap();
    (writer, reader, Caller { name: account.client_id, secret: secret.expose_secret().to_owned() })
}

/// Far beyond what anything takes that a test waits for, also where many tests share two cores.
pub(crate) const DEADLINE: Duration = Duration::from_secs(120);
/// How often a condition is looked at that is waited for.
pub(crate) const PACE: Duration = Duration::from_millis(20);

/// Waits for `work`: the one way to wait in a test. What never comes fails it, and says where and for what.
#[track_caller]
pub(crate) fn within<T>(what: &str, work: impl Future<Output = T>) -> impl Future<Output = T> {
    let (place, what) = (Location::caller(), what.to_owned());
    async move {
        let done = tokio::time::timeout(DEADLINE, work).await;
        done.unwrap_or_else(|_| panic!("{place}: waited {} s for {what}", DEADLINE.as_secs()))
    }
}

/// Waits until `find` has something. Between two looks it leaves the processor to whoever is to bring it about.
#[track_caller]
pub(crate) fn awaited<T>(what: &str, mut find: impl AsyncFnMut() -> Option<T>) -> impl Future<Output = T> {
    within(what, async move {
        let mut pace = tokio::time::interval(PACE);
        loop {
            pace.tick().await;
            if let Some(found) = find().await {
                return found;
            }
        }
    })
}

/// Waits until `met` holds.
#[track_caller]
pub(crate) fn eventually(what: &str, mut met: impl AsyncFnMut() -> bool) -> impl Future<Output = ()> {
    awaited(what, async move || met().await.then_some(()))
}

/// A client that does not wait for ever either: for an answer to begin, or for its next piece.
pub(crate) fn client() -> reqwest::Client {
    builder().build().unwrap()
}

/// The same, which is to know something more.
pub(crate) fn builder() -> reqwest::ClientBuilder {
    reqwest::Client::builder().no_proxy().read_timeout(2 * DEADLINE)
}

/// Status and JSON body.
pub(crate) async fn read(response: Response) -> (u16, Value) {
    let status = response.status().as_u16();
    let text = response.text().await.unwrap();
    let body = serde_json::from_str(&text).unwrap_or_else(|_| panic!("{status}, and no JSON: {text:?}"));
    (status, body)
}
