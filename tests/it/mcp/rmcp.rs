//! The client of the official Rust SDK against the service, in both lifecycles of MCP: what another's reading of the
//! specification makes of ours.

use portico_actors::error::Kind;
use portico_actors::event::Event;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CancelTaskParams, ClientCapabilities, ClientConfig,
    ClientRequest, GetTaskParams, Implementation, ProgressNotificationParam, ProtocolVersion, Request, ServerResult,
    TASKS_EXTENSION_ID, TaskPayload,
};
use rmcp::service::{ClientInitializeError, NotificationContext, PeerRequestOptions, RequestHandle, RunningService};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::{ClientHandler, ClientLifecycleMode, ClientServiceExt, RoleClient};
use serde_json::{Map, json};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::support::app::{TestApp, awaited, eventually, within};
use crate::support::configuration::Configuration;
use crate::support::fixture;
use crate::support::mcp::at_the_address_of_all;
use crate::support::postgres::connect;

/// Passes on what a call tells of its progress.
struct Listener(UnboundedSender<ProgressNotificationParam>);

impl ClientHandler for Listener {
    async fn on_progress(&self, params: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        // A test that has ended listens no more.
        drop(self.0.send(params));
    }
}

/// A running client.
type Client = RunningService<RoleClient, Listener>;

/// The ways a client can begin, and the revision that each comes to.
fn lifecycles() -> [(ClientLifecycleMode, ProtocolVersion); 3] {
    let modern = ProtocolVersion::V_2026_07_28;
    let discover = ClientLifecycleMode::Discover { preferred_versions: vec![modern.clone()] };
    let auto = ClientLifecycleMode::Auto { preferred_versions: vec![modern.clone()], legacy_version: None };
    [(ClientLifecycleMode::Initialize, ProtocolVersion::V_2025_11_25), (discover, modern.clone()), (auto, modern)]
}

fn transport(app: &TestApp, token: Option<String>) -> StreamableHttpClientTransport<reqwest::Client> {
    let mut config = StreamableHttpClientTransportConfig::with_uri(app.mcp_url());
    config.auth_header = token;
    StreamableHttpClientTransport::with_client(app.http.clone(), config)
}

/// Begins as `lifecycle` says, with `token` if there is one; also gives what calls tell of their progress.
async fn begin(
    app: &TestApp,
    lifecycle: ClientLifecycleMode,
    token: Option<String>,
) -> Result<(Client, UnboundedReceiver<ProgressNotificationParam>), ClientInitializeError> {
    let transport = transport(app, token);
    let (tell, told) = unbounded_channel();
    Ok((Listener(tell).serve_with_lifecycle(transport, lifecycle).await?, told))
}

/// Begins with an access token, and asserts that `version` was agreed on.
async fn connected(
    app: &TestApp,
    (lifecycle, version): (ClientLifecycleMode, ProtocolVersion),
) -> (Client, UnboundedReceiver<ProgressNotificationParam>) {
    let (client, told) = begin(app, lifecycle, Some(app.token().await)).await.unwrap();
    assert_eq!(client.peer_info().unwrap().protocol_version, version);
    (client, told)
}

/// A call of `execute_select`.
fn select(query: &str) -> CallToolRequestParams {
    let arguments = json!({"query": query}).as_object().unwrap().clone();
    CallToolRequestParams::new("execute_select").with_arguments(arguments)
}

/// Sends a call of `execute_select`, and does not wait for its answer.
async fn started(client: &Client, query: &str) -> RequestHandle<RoleClient> {
    let request = ClientRequest::CallToolRequest(Request::new(select(query)));
    client.send_cancellable_request(request, PeerRequestOptions::no_options()).await.unwrap()
}

/// The first text block.
fn text(result: &CallToolResult) -> &str {
    &result.content[0].as_text().unwrap().text
}

#[actix_web::test]
async fn a_client_lists_tools_calls_one_and_is_told_what_an_agent_can_mend() {
    let app = fixture::on_sqlite().await;
    for lifecycle in lifecycles() {
        let (client, _) = connected(&app, lifecycle).await;
        let tools = client.list_all_tools().await.unwrap();
        for name in ["get_tables", "get_instructions", "execute_select", "execute_sql"] {
            let tool = tools.iter().find(|tool| tool.name == name).unwrap();
            assert!(tool.description.is_some() && tool.output_schema.is_some(), "{tool:?}");
        }
        let answer = client.call_tool(select("SELECT id FROM customers ORDER BY id")).await.unwrap();
        assert_eq!(answer.is_error, Some(false));
        assert_eq!(answer.structured_content.unwrap()["rows"], json!([[1], [2], [3]]));
        let wrong = client.call_tool(select("SELECT id FROM custmers")).await.unwrap();
        assert_eq!(wrong.is_error, Some(true));
        for part in ["SQLSTATE: 42P01", "did you mean customers"] {
            assert!(text(&wrong).contains(part), "{wrong:?}");
        }
        client.cancel().await.unwrap();
    }
}

#[actix_web::test]
async fn a_client_is_told_of_the_progress_of_its_call() {
    let app = fixture::on_sqlite().await;
    for lifecycle in lifecycles() {
        let (client, mut told) = connected(&app, lifecycle).await;
        let call = started(&client, "SELECT id FROM customers ORDER BY id").await;
        let token = call.progress_token.clone();
        let ServerResult::CallToolResult(answer) = call.await_response().await.unwrap() else {
            panic!("another answer than a tool's");
        };
        assert_eq!(answer.is_error, Some(false));
        // The client hands notifications on beside its answers: the last may come after them.
        loop {
            let progress = within("progress", told.recv()).await.unwrap();
            assert_eq!(progress.progress_token, token);
            assert!(progress.progress > 0.0, "{progress:?}");
            if progress.message.is_some_and(|message| message.starts_with("3 rows read, ")) {
                break;
            }
        }
        client.cancel().await.unwrap();
    }
}

#[actix_web::test]
async fn a_call_that_a_client_cancels_ends_at_the_source() {
    let database = fixture::postgres().await;
    let app = fixture::with_postgres(&database, "pool = 1").await;
    let source = connect(&database).await;
    let running = async || -> i64 {
        let question = "SELECT count(*) FROM pg_stat_activity \
             WHERE state = 'active' AND pid <> pg_backend_pid() AND query LIKE '%rmcp_nap%'";
        source.query_one(question, &[]).await.unwrap().get(0)
    };
    let lifecycles = lifecycles();
    let cancelled = lifecycles.len();
    for lifecycle in lifecycles {
        let (client, mut told) = connected(&app, lifecycle).await;
        let call = started(&client, "SELECT pg_sleep(250) AS rmcp_nap").await;
        assert_eq!(within("progress", told.recv()).await.unwrap().progress_token, call.progress_token);
        eventually("the statement at the server", async || running().await > 0).await;
        call.cancel(Some("enough".to_owned())).await.unwrap();
        eventually("the end of the statement at the server", async || running().await == 0).await;
        // The client goes on, and the only session of the source is free again.
        let next = client.call_tool(select("SELECT 1 AS n")).await.unwrap();
        assert_eq!(next.structured_content.unwrap()["rows"], json!([[1]]));
        client.cancel().await.unwrap();
    }
    // It was the client that ended them, not their timeout.
    let abandoned = |event: &&Event| matches!(event, Event::CallEnded(call) if call.failure == Some(Kind::Abandoned));
    eventually("the abandoned calls", async || {
        app.events.lock().unwrap().iter().filter(abandoned).count() == cancelled
    })
    .await;
}

#[actix_web::test]
async fn a_client_without_a_token_finds_the_way_to_one() {
    let app = fixture::on_sqlite().await;
    for (lifecycle, _) in lifecycles() {
        let refused = begin(&app, lifecycle, None).await.err().unwrap();
        assert!(refused.is_authorization_required(), "{refused}");
        let challenge = refused.auth_challenge().unwrap();
        assert!(challenge.contains("resource_metadata="), "{challenge}");
    }
}

#[actix_web::test]
async fn a_client_that_knows_tasks_fetches_and_cancels_them() {
    let database = fixture::postgres().await;
    let service = Configuration::new().server("[server.tasks]\nafter = 0");
    let app = service.connection("shop", &database, "").start().await;
    let capabilities = || {
        let mut capabilities = ClientCapabilities::default();
        capabilities.extensions = Some([(TASKS_EXTENSION_ID.to_owned(), Map::new())].into());
        capabilities
    };
    for (lifecycle, version) in lifecycles() {
        let transport = transport(&app, Some(app.token().await));
        let config = ClientConfig::new(capabilities(), Implementation::default());
        let client = config.serve_with_lifecycle(transport, lifecycle).await.unwrap();
        let holder = connect(&database).await;
        holder.batch_execute("BEGIN; LOCK TABLE customers IN ACCESS EXCLUSIVE MODE").await.unwrap();
        if version != ProtocolVersion::V_2026_07_28 {
            drop(holder);
            let answer = client.call_tool_once(select("SELECT id FROM customers")).await.unwrap();
            assert!(matches!(answer, CallToolResponse::Complete(_)), "the 2025 revisions have no such tasks");
            continue;
        }
        let mut begun = Vec::new();
        for _ in 0..2 {
            let answer = client.call_tool_once(select("SELECT id FROM customers ORDER BY id")).await.unwrap();
            let CallToolResponse::Task(created) = answer else { panic!("no task: {answer:?}") };
            begun.push(created.task.task_id);
        }
        let now = async |id: &String| client.get_task(GetTaskParams::new(id)).await.unwrap().task.payload;
        assert_eq!(now(&begun[0]).await, TaskPayload::Working);
        client.cancel_task(CancelTaskParams::new(&begun[0])).await.unwrap();
        eventually("the task to be cancelled", async || now(&begun[0]).await == TaskPayload::Cancelled).await;
        holder.batch_execute("COMMIT").await.unwrap();
        let result = awaited("the other task's result", async || match now(&begun[1]).await {
            TaskPayload::Completed { result } => Some(result),
            TaskPayload::Working => None,
            other => panic!("another end: {other:?}"),
        })
        .await;
        assert_eq!(result["structuredContent"]["rows"], json!([[1], [2], [3]]));
        client.cancel().await.unwrap();
    }
}

at_the_address_of_all! {
    a_client_lists_tools_calls_one_and_is_told_what_an_agent_can_mend
    a_client_is_told_of_the_progress_of_its_call
    a_call_that_a_client_cancels_ends_at_the_source
    a_client_without_a_token_finds_the_way_to_one
    a_client_that_knows_tasks_fetches_and_cancels_them
}
