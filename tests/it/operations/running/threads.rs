//! A running service of which a thread stops turning, or panics. What it offers is at fault: the program of these tests,
//! begun once more, serves it.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use portico::config::{Log, LogFormat};
use portico::mcp::connection::ConnectionFeatures;
use portico::mcp::features::{
    CompletionRequest, Digests, FeatureRequest, Features, RequestResult, ToolList, ToolOutcome,
};
use portico::mcp::{Context, Summary};
use reqwest::RequestBuilder;
use serde_json::{Value, json};

use crate::support::app::{CONNECTION, DEADLINE, awaited, client, eventually, read};
use crate::support::configuration::Configuration;
use crate::support::process::Running;

/// Set for the program that serves.
const SERVES: &str = "PORTICO_TEST_SERVES_FAULTS";
/// Octets of an answer's head and body are there within this, from a thread that turns.
const SOON: Duration = Duration::from_secs(2);

/// A configured connection with two tools that no source would have.
#[derive(Default)]
struct Faulty(ConnectionFeatures);

#[async_trait::async_trait(?Send)]
impl Features for Faulty {
    fn capabilities(&self) -> Value {
        self.0.capabilities()
    }

    fn tools(&self, context: &Context<'_>) -> Arc<ToolList> {
        self.0.tools(context)
    }

    async fn call(
        &self,
        context: &Context<'_>,
        asked: FeatureRequest,
        summary: &mut Summary,
    ) -> RequestResult<ToolOutcome> {
        match asked.name.as_str() {
            "panic" => panic!("a fault\nof the test's own"),
            // Nothing else happens on this thread until somebody writes.
            "stall" => drop(std::io::stdin().read(&mut [0])),
            _ => {}
        }
        self.0.call(context, asked, summary).await
    }

    async fn resources(&self, context: &Context<'_>, summary: &mut Summary) -> RequestResult<Vec<Value>> {
        self.0.resources(context, summary).await
    }

    fn templates(&self, context: &Context<'_>) -> Vec<Value> {
        self.0.templates(context)
    }

    async fn read(
        &self,
        context: &Context<'_>,
        asked: FeatureRequest,
        summary: &mut Summary,
    ) -> RequestResult<ToolOutcome> {
        self.0.read(context, asked, summary).await
    }

    fn prompts(&self, context: &Context<'_>) -> Vec<Value> {
        self.0.prompts(context)
    }

    async fn prompt(
        &self,
        context: &Context<'_>,
        asked: FeatureRequest,
        arguments: BTreeMap<String, String>,
    ) -> RequestResult<ToolOutcome> {
        self.0.prompt(context, asked, arguments).await
    }

    async fn complete(
        &self,
        context: &Context<'_>,
        completion: CompletionRequest,
        summary: &mut Summary,
    ) -> RequestResult<Vec<String>> {
        self.0.complete(context, completion, summary).await
    }

    fn digests(&self, context: &Context<'_>) -> Digests {
        self.0.digests(context)
    }
}

/// Serves, says where and to whom, and ends with whoever began it.
async fn serve() {
    portico::cli::start_log_of_service(&Log { format: LogFormat::Text, level: "info".to_owned() });
    let app = Configuration::new().sqlite("shop", "").offering(Faulty::default()).start().await;
    portico::observe::queue::say(&format!("serves {} {} {}\n", app.url, app.writer.name, app.writer.secret));
    std::thread::park_timeout(3 * DEADLINE);
}

/// Such a program.
struct Served {
    running: Running,
    url: String,
    name: String,
    secret: String,
}

impl Served {
    /// Begins the test `name` of this file once more, as the one that serves.
    async fn start(name: &str) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args([&format!("{}::{name}", module_path!().trim_start_matches("it::")), "--exact", "--nocapture"])
            .env(SERVES, "1");
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut running = Running::begin(&mut command);
        let line = running.line("serves ").await;
        let mut words = line.split(' ').skip(1).map(str::to_owned);
        let mut next = || words.next().unwrap();
        Self { running, url: next(), name: next(), secret: next() }
    }

    fn query(&self) -> RequestBuilder {
        let request = client().post(format!("{}/api/query", self.url)).json(&json!({"query": "SELECT 1"}));
        request.basic_auth(&self.name, Some(&self.secret))
    }

    fn tool(&self, name: &str) -> RequestBuilder {
        let call =
            json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": {}}});
        let request = client().post(format!("{}/mcp/connections/{CONNECTION}", self.url)).json(&call);
        request.basic_auth(&self.name, Some(&self.secret))
    }

    /// What a path is answered with by a thread that turns: connections go to each of them in turn.
    async fn told(&self, path: &str) -> (u16, Value) {
        let answer = awaited("an answer of a thread that turns", async || {
            let asked = client().get(format!("{}{path}", self.url)).timeout(SOON).send().await;
            // Of the thread that stalled a head can come too late.
            asked.ok().filter(|answer| answer.status() != 408)
        });
        read(answer.await).await
    }
}

#[actix_web::test]
async fn a_panic_is_a_line_of_the_log_and_takes_nobody_along() {
    if std::env::var_os(SERVES).is_some() {
        return serve().await;
    }
    let mut served = Served::start("a_panic_is_a_line_of_the_log_and_takes_nobody_along").await;
    // More often than there are threads.
    for _ in 0..4 {
        let lost = served.tool("panic").send().await;
        assert!(lost.is_err() || lost.is_ok_and(|answer| answer.status() == 500), "it was answered");
        let line = served.running.line("panicked at").await;
        assert!(line.contains(" ERROR ") && line.contains("a fault\\nof the test's own"), "{line}");
        let (status, document) = read(served.query().send().await.unwrap()).await;
        assert_eq!((status, &document["results"][0]["rows"]), (200, &json!([[1]])), "{document}");
    }
    assert_eq!(served.told("/healthz").await, (200, json!({"status": "ok"})));
}

#[actix_web::test]
async fn a_thread_that_does_not_turn_is_told_of() {
    if std::env::var_os(SERVES).is_some() {
        return serve().await;
    }
    let mut served = Served::start("a_thread_that_does_not_turn_is_told_of").await;
    assert_eq!(served.told("/healthz").await, (200, json!({"status": "ok"})));
    let stalled = tokio::spawn(served.tool("stall").send());
    let (_, stuck) = awaited("the stalled thread to be told of", async || {
        Some(served.told("/healthz").await).filter(|(status, _)| *status == 503)
    })
    .await;
    assert_eq!((&stuck["status"], stuck["threads"].as_array().map(Vec::len)), (&json!("stuck"), Some(1)), "{stuck}");
    let (status, told) = served.told("/readyz").await;
    assert_eq!((status, &told["status"]), (503, &json!("unavailable")));
    let reason = told["reason"].as_str().unwrap();
    assert!(reason.ends_with(stuck["threads"][0].as_str().unwrap()) && reason.contains("are stuck"), "{reason}");
    served.running.input().write_all(b"on\n").unwrap();
    eventually("all threads to turn", async || served.told("/healthz").await.0 == 200).await;
    assert_eq!(served.told("/readyz").await.0, 200);
    assert_eq!(stalled.await.unwrap().unwrap().status(), 200);
}
