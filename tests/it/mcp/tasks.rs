//! Tasks: calls of MCP clients that know the extension, which go on after they were answered.

use portico_actors::error::Kind;
use portico_actors::event::Event;
use reqwest::RequestBuilder;
use serde_json::{Value, json};

use crate::conformance_fixture::Fixture;
use crate::support::app::{CONNECTION, Caller, TestApp, awaited, eventually, read};
use crate::support::configuration::{Configuration, connection};
use crate::support::fixture;
use crate::support::mcp::{at_the_address_of_all, modern, modern_at};
use crate::support::postgres::connect;
use crate::support::stream::Events;

const EXTENSION: &str = "io.modelcontextprotocol/tasks";
const AT_ONCE: &str = "[server.tasks]\nafter = 0";

/// A request of a client that knows tasks and can ask its user.
fn asked(app: &TestApp, by: &Caller, method: &str, mut params: Value) -> RequestBuilder {
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] =
        json!({"elicitation": {}, "extensions": {EXTENSION: {}}});
    modern(app, by, &json!("t"), method, params)
}

async fn ask(app: &TestApp, by: &Caller, method: &str, params: Value) -> (u16, Value) {
    read(asked(app, by, method, params).send().await.unwrap()).await
}

/// The result of a request by the writer.
async fn result(app: &TestApp, method: &str, params: Value) -> Value {
    let (status, mut body) = ask(app, &app.writer, method, params).await;
    assert_eq!(status, 200, "{body}");
    assert!(body.get("error").is_none(), "{body}");
    body["result"].take()
}

fn select(query: &str) -> Value {
    json!({"name": "execute_select", "arguments": {"query": query}})
}

fn tool(name: &str, arguments: &Value) -> Value {
    json!({"name": name, "arguments": arguments})
}

/// The id of the task that the call has become.
fn id(result: &Value) -> Value {
    assert_eq!(result["resultType"], "task", "{result}");
    json!({"taskId": result["taskId"]})
}

/// The task, once it has this status.
async fn until(app: &TestApp, task: &Value, status: &str) -> Value {
    awaited(&format!("a task that is {status}"), async || {
        let now = result(app, "tasks/get", task.clone()).await;
        if now["status"] == status {
            return Some(now);
        }
        assert!(matches!(now["status"].as_str(), Some("working" | "input_required")), "{now}");
        None
    })
    .await
}

/// A service before PostgreSQL with these settings, and its database.
async fn service(server: &str, audit: &str) -> (TestApp, String) {
    let url = fixture::postgres().await;
    let app = Configuration::new().server(server).with(audit).connection("shop", &url, "access = \"read-write\"");
    (app.start().await, url)
}

/// A service that offers the fixture's tools.
async fn offering(server: &str) -> TestApp {
    Configuration::new().server(server).sqlite("shop", "").offering(Fixture::default()).start().await
}

/// Holds up whoever reads the table, until it is dropped or commits.
async fn hold(url: &str) -> tokio_postgres::Client {
    let holder = connect(url).await;
    holder.batch_execute("BEGIN; LOCK TABLE customers IN ACCESS EXCLUSIVE MODE").await.unwrap();
    holder
}

async fn running(app: &TestApp) -> u64 {
    let text = app.http.get(format!("{}/metrics", app.url)).send().await.unwrap().text().await.unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("portico_mcp_tasks_running ")).unwrap();
    line.parse().unwrap()
}

#[actix_web::test]
async fn a_call_that_takes_long_goes_on_and_its_result_is_fetched() {
    let (app, url) = service(&format!("metrics = \"open\"\n{AT_ONCE}"), "[audit]\nfile = \"audit.jsonl\"").await;
    let query = "SELECT name FROM customers ORDER BY id";
    let plain = modern(&app, &app.writer, &json!("p"), "tools/call", select(query)).send().await.unwrap();
    let plain = read(plain).await.1["result"].take();
    let discovered = result(&app, "server/discover", json!({})).await;
    assert_eq!(discovered["capabilities"]["extensions"][EXTENSION], json!({}));
    let holder = hold(&url).await;
    let begun = result(&app, "tools/call", select(query)).await;
    let task = id(&begun);
    assert_eq!((&begun["status"], begun.get("result")), (&json!("working"), None));
    assert!(begun["ttlMs"].as_u64().unwrap() >= 300_000 && begun["pollIntervalMs"].as_u64().unwrap() > 0, "{begun}");
    let working = result(&app, "tasks/get", task.clone()).await;
    assert_eq!(
        (&working["status"], &working["resultType"], &working["taskId"]),
        (&json!("working"), &json!("complete"), &begun["taskId"])
    );
    assert!(working["statusMessage"].as_str().unwrap().starts_with("no rows yet, "), "{working}");
    assert_eq!(running(&app).await, 1);
    assert_eq!(app.endings("execute_select"), [None], "the task's call is under way");
    holder.batch_execute("COMMIT").await.unwrap();
    let completed = until(&app, &task, "completed").await;
    assert_eq!(completed["result"], plain, "the same as without a task");
    assert_eq!(completed["result"]["structuredContent"]["rows"], json!([["Łukasz"], ["José"], ["美咲"]]));
    assert_eq!(until(&app, &task, "completed").await["result"], plain, "it can be fetched again");
    assert_eq!(running(&app).await, 0);
    // One account of each call, whichever way it was answered.
    assert_eq!(app.endings("execute_select"), [None, None]);
    let trail = app.config.with_file_name("audit.jsonl");
    let records = || {
        let text = std::fs::read_to_string(&trail).unwrap();
        let records = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let calls = records.filter(|record| record["tool"] == "execute_select");
        calls.map(|record| json!([record["outcome"], record["rows"], record["statement"]])).collect::<Vec<_>>()
    };
    eventually("the records of both tasks", async || records().len() == 2).await;
    assert_eq!(records(), [json!(["ok", 3, query]), json!(["ok", 3, query])]);
    // What is over is left as it is, and acknowledged.
    assert_eq!(result(&app, "tasks/cancel", task.clone()).await["resultType"], "complete");
    let mut update = task.clone();
    update["inputResponses"] = json!({"input-1": {}});
    assert_eq!(result(&app, "tasks/update", update).await.get("taskId"), None);
    until(&app, &task, "completed").await;
}

#[actix_web::test]
async fn what_is_soon_done_is_no_task_and_neither_is_anything_where_they_are_off() {
    let quick = fixture::with_server("[server.tasks]\nafter = 3600", "").await;
    let done = result(&quick, "tools/call", select("SELECT 1 AS n")).await;
    assert_eq!((&done["resultType"], &done["structuredContent"]["rows"]), (&json!("complete"), &json!([[1]])));
    let off = fixture::with_server("[server.tasks]\nafter = 0\nper_principal = 0", "").await;
    assert_eq!(result(&off, "tools/call", select("SELECT 1 AS n")).await["resultType"], "complete");
    let discovered = result(&off, "server/discover", json!({})).await;
    assert_eq!(discovered["capabilities"]["extensions"].get(EXTENSION), None);
    let (status, body) = ask(&off, &off.writer, "tasks/get", json!({"taskId": "x"})).await;
    assert_eq!((status, &body["error"]["code"]), (404, &json!(-32601)));
}

#[actix_web::test]
async fn a_client_that_does_not_know_tasks_sees_none() {
    let app = offering(AT_ONCE).await;
    let plain = async |method: &str, params: Value| {
        read(modern(&app, &app.writer, &json!(1), method, params).send().await.unwrap()).await
    };
    let (_, body) = plain("tools/call", tool("slow_compute", &json!({"seconds": 0.01}))).await;
    assert_eq!(body["result"]["resultType"], "complete", "{body}");
    let required = json!({"requiredCapabilities": {"extensions": {EXTENSION: {}}}});
    let listen = json!({"notifications": {"taskIds": ["x"]}});
    let update = json!({"taskId": "x", "inputResponses": {}});
    for (method, params) in [
        ("tools/call", tool("failing_job", &json!({}))),
        ("tasks/get", json!({"taskId": "x"})),
        ("tasks/update", update),
        ("tasks/cancel", json!({"taskId": "x"})),
        ("subscriptions/listen", listen),
    ] {
        let (status, body) = plain(method, params).await;
        assert_eq!((status, &body["error"]["code"]), (400, &json!(-32021)), "{method}: {body}");
        assert_eq!(body["error"]["data"], required, "{method}");
    }
    // The 2025 revisions have no such methods.
    let (_, body) = app.mcp(&app.writer, "tasks/get", json!({"taskId": "x"})).await;
    assert_eq!(body["error"]["code"], -32601);
}

#[actix_web::test]
async fn a_call_that_tells_of_its_progress_ends_its_stream_with_the_task() {
    let (app, url) = service("[server.tasks]\nafter = 1", "").await;
    let holder = hold(&url).await;
    let mut told = select("SELECT name FROM customers");
    told["_meta"]["progressToken"] = json!(1);
    let mut messages = Events::new(asked(&app, &app.writer, "tools/call", told).send().await.unwrap()).rest().await;
    let task = id(&messages.pop().unwrap()["result"]);
    assert!(!messages.is_empty());
    for message in messages {
        assert_eq!(
            (&message["method"], &message["params"]["progressToken"]),
            (&json!("notifications/progress"), &json!(1))
        );
    }
    holder.batch_execute("COMMIT").await.unwrap();
    assert_eq!(
        until(&app, &task, "completed").await["result"]["structuredContent"]["rows"].as_array().unwrap().len(),
        3
    );
}

#[actix_web::test]
async fn cancelling_a_task_stops_its_statement_at_the_source() {
    let (app, url) = service(AT_ONCE, "").await;
    let holder = hold(&url).await;
    let task = id(&result(&app, "tools/call", select("SELECT name AS cancelled_marker FROM customers")).await);
    let watcher = connect(&url).await;
    let active = async || {
        let query = "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%cancelled\\_marker%' \
                     AND pid <> pg_backend_pid()";
        watcher.query_one(query, &[]).await.unwrap().get::<_, i64>(0)
    };
    eventually("the statement at the server", async || active().await != 0).await;
    assert_eq!(result(&app, "tasks/cancel", task.clone()).await["resultType"], "complete");
    let cancelled = until(&app, &task, "cancelled").await;
    assert_eq!((cancelled.get("result"), cancelled.get("error")), (None, None));
    eventually("the end of the statement at the server", async || active().await == 0).await;
    eventually("the abandoned call", async || app.endings("execute_select") == [Some(Kind::Abandoned)]).await;
    assert_eq!(result(&app, "tasks/cancel", task.clone()).await["resultType"], "complete", "twice is once");
    drop(holder);
}

/// What is offered has nothing to do with what runs already; what its source is started with has.
#[actix_web::test]
async fn a_reload_leaves_tasks_to_their_caller() {
    let url = fixture::postgres().await;
    let service = Configuration::new().server(AT_ONCE).connection("shop", &url, "").serve().await;
    let ask = async |method: &str, mut params: Value| {
        params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({"extensions": {EXTENSION: {}}});
        let address =
            service.post(&format!("/mcp/connections/{CONNECTION}")).header("content-type", "application/json");
        read(modern_at(address, &json!("t"), method, params).send().await.unwrap()).await.1
    };
    let holder = hold(&url).await;
    let task = id(&ask("tools/call", select("SELECT name FROM customers")).await["result"]);
    let reload = async |keys: &str| {
        service.configure(AT_ONCE, &connection(CONNECTION, "shop", &url, keys));
        let (done, said) = service.reload().await;
        assert!(done, "{said}");
    };
    reload("tool_rows = 201").await;
    assert_eq!(ask("tasks/get", task.clone()).await["result"]["status"], "working");
    drop(holder);
    let ended = awaited("the end of the task", async || {
        let answer = ask("tasks/get", task.clone()).await;
        (answer["result"]["status"] != "working").then_some(answer)
    });
    let ended = ended.await;
    assert_eq!(ended["result"]["status"], "completed", "{ended}");
    reload("[connections.hidden]\ntables = [\"customers\"]\n").await;
    let refused = ask("tasks/get", task.clone()).await;
    assert!(refused["error"]["message"].as_str().unwrap().contains("have changed since"), "{refused}");
    assert!(ask("tasks/cancel", task).await["error"].is_null());
}

#[actix_web::test]
async fn a_task_is_its_principals_alone_and_its_name_stands_in_the_header() {
    let app = offering(AT_ONCE).await;
    let task = id(&result(&app, "tools/call", tool("slow_compute", &json!({"seconds": 600}))).await);
    let unknown = json!({"taskId": "00000000-0000-4000-8000-000000000000"});
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        let mut refusals = Vec::new();
        for (by, task) in [(&app.reader, &task), (&app.writer, &unknown)] {
            let mut params = task.clone();
            params["inputResponses"] = json!({});
            let (status, body) = ask(&app, by, method, params).await;
            assert_eq!((status, &body["error"]["code"]), (200, &json!(-32602)), "{method}");
            refusals.push(body);
        }
        assert_eq!(refusals[0], refusals[1], "{method}: another's task is told from none");
        for (name, value) in [("mcp-name", "other"), ("mcp-method", "tools/call")] {
            let (client, request) = asked(&app, &app.writer, method, task.clone()).build_split();
            let mut request = request.unwrap();
            request.headers_mut().insert(name, value.parse().unwrap());
            let (status, body) = read(client.execute(request).await.unwrap()).await;
            assert_eq!((status, &body["error"]["code"]), (400, &json!(-32020)), "{method} {name}");
        }
    }
    let (_, body) = ask(&app, &app.writer, "tasks/update", task.clone()).await;
    assert!(body["error"]["message"].as_str().unwrap().contains("inputResponses"), "{body}");
    assert_eq!(result(&app, "tasks/get", task.clone()).await["status"], "working", "nobody else could cancel it");
    result(&app, "tasks/cancel", task.clone()).await;
    until(&app, &task, "cancelled").await;
}

#[actix_web::test]
async fn a_result_is_kept_for_a_while_and_then_gone() {
    let app = offering("[server.tasks]\nkeep = 1").await;
    let task = id(&result(&app, "tools/call", tool("failing_job", &json!({}))).await);
    let gone = awaited("the end of the task", async || {
        let (_, body) = ask(&app, &app.writer, "tasks/get", task.clone()).await;
        match body["result"]["status"].as_str() {
            Some("working") => None,
            // A tool's failure is a result of its call.
            Some("completed") => {
                assert_eq!(body["result"]["result"]["isError"], true);
                None
            }
            _ => Some(body),
        }
    })
    .await;
    assert_eq!(gone["error"]["code"], -32602, "{gone}");
}

#[actix_web::test]
async fn beyond_the_bounds_a_call_is_answered_when_it_is_done() {
    let app = offering("[server.tasks]\nper_principal = 1").await;
    let slow = |seconds: f64| tool("slow_compute", &json!({"seconds": seconds}));
    let task = id(&result(&app, "tools/call", slow(600.0)).await);
    assert_eq!(result(&app, "tools/call", slow(0.01)).await["resultType"], "complete");
    let refused = result(&app, "tools/call", tool("failing_job", &json!({}))).await;
    assert_eq!((&refused["resultType"], &refused["isError"]), (&json!("complete"), &json!(true)));
    let words = refused["content"][0]["text"].as_str().unwrap();
    assert!(words.starts_with("there are as many tasks as may be") && words.contains("Retry after"), "{words}");
    assert_eq!(app.endings("failing_job"), [Some(Kind::Busy)]);
    let (_, other) = ask(&app, &app.reader, "tools/call", slow(600.0)).await;
    assert_eq!(other["result"]["resultType"], "task", "another's tasks do not count");
    result(&app, "tasks/cancel", task).await;
}

#[actix_web::test]
async fn a_result_that_there_is_no_room_for_is_told_so() {
    let (app, url) = service("[server.tasks]\nafter = 0\nkept_bytes = 1024", "").await;
    let holder = hold(&url).await;
    let task = id(&result(&app, "tools/call", select("SELECT repeat(name, 1000) AS long FROM customers")).await);
    holder.batch_execute("COMMIT").await.unwrap();
    let failed = until(&app, &task, "failed").await;
    assert_eq!((&failed["error"]["code"], failed.get("result")), (&json!(-32603), None));
    assert!(failed["statusMessage"].as_str().unwrap().contains("no room to keep its result"), "{failed}");
}

#[actix_web::test]
async fn who_follows_a_task_is_told_of_each_change_and_answers_what_it_asks() {
    let mut app = offering("").await;
    let task = id(&result(&app, "tools/call", tool("confirm_delete", &json!({"filename": "a.txt"}))).await);
    let wanted = json!({"notifications": {"taskIds": [task["taskId"], task["taskId"], "unknown"]}});
    let mut events = Events::new(asked(&app, &app.writer, "subscriptions/listen", wanted).send().await.unwrap());
    let acknowledged = events.message().await;
    assert_eq!(acknowledged["params"]["notifications"], json!({"taskIds": [task["taskId"]]}));
    let told = events.message().await;
    assert_eq!((&told["method"], told.get("id")), (&json!("notifications/tasks"), None));
    assert_eq!(told["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], "t");
    assert_eq!(told["params"]["status"], "input_required", "what was before is told too: {told}");
    let questions = told["params"]["inputRequests"].as_object().unwrap();
    let (key, question) = questions.iter().next().unwrap();
    assert_eq!((questions.len(), &question["params"]["message"]), (1, &json!("Delete a.txt?")));
    let mut wrong = task.clone();
    wrong["inputResponses"] = json!({key.as_str(): 5});
    assert_eq!(ask(&app, &app.writer, "tasks/update", wrong).await.1["error"]["code"], -32602);
    let mut answer = task.clone();
    answer["inputResponses"] = json!({"other": {}, key.as_str(): {"action": "accept", "content": {}}});
    assert_eq!(result(&app, "tasks/update", answer).await["resultType"], "complete");
    let completed = loop {
        let told = events.message().await;
        if told["params"]["status"] != "working" {
            break told;
        }
    };
    assert_eq!(completed["params"]["status"], "completed", "{completed}");
    let text = &completed["params"]["result"]["content"][0]["text"];
    assert_eq!(text, "Asked whether to delete a.txt: accept");
    app.stop();
    assert_eq!(events.rest().await.len(), 1, "only the subscription's own end");
}

#[actix_web::test]
async fn who_is_not_let_in_any_more_has_no_tasks() {
    let app = offering("").await;
    let task = id(&result(&app, "tools/call", tool("slow_compute", &json!({"seconds": 600}))).await);
    let store = &mut app.store();
    let pats = store.pats(Some(&app.writer.name)).unwrap();
    store.revoke_pat(&pats[0].id.to_string()).unwrap();
    app.look().await;
    assert_eq!(ask(&app, &app.writer, "tasks/get", task).await.0, 401);
    let ended = [Some(Kind::Unauthenticated)];
    eventually("the end of the call", async || app.endings("slow_compute") == ended).await;
}

#[actix_web::test]
async fn the_end_of_the_service_waits_for_tasks_as_for_calls_and_then_cuts_them() {
    let (mut app, url) = service(AT_ONCE, "").await;
    let holder = hold(&url).await;
    id(&result(&app, "tools/call", select("SELECT name AS cut_marker FROM customers")).await);
    app.stop();
    eventually("the service's end", async || app.told(|event| matches!(event, Event::Stopped))).await;
    // Cancelled at its source, or dropped with the service: it has its account.
    eventually("the end of the call", async || matches!(app.endings("execute_select")[..], [Some(_)])).await;
    let watcher = connect(&url).await;
    let active = "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%cut\\_marker%' \
                  AND pid <> pg_backend_pid()";
    eventually("the end of the statement at the server", async || {
        watcher.query_one(active, &[]).await.unwrap().get::<_, i64>(0) == 0
    })
    .await;
    drop(holder);
}

at_the_address_of_all! {
    a_call_that_takes_long_goes_on_and_its_result_is_fetched
    what_is_soon_done_is_no_task_and_neither_is_anything_where_they_are_off
    a_client_that_does_not_know_tasks_sees_none
    a_call_that_tells_of_its_progress_ends_its_stream_with_the_task
    cancelling_a_task_stops_its_statement_at_the_source
    a_task_is_its_principals_alone_and_its_name_stands_in_the_header
    a_result_is_kept_for_a_while_and_then_gone
    beyond_the_bounds_a_call_is_answered_when_it_is_done
    a_result_that_there_is_no_room_for_is_told_so
    who_follows_a_task_is_told_of_each_change_and_answers_what_it_asks
    who_is_not_let_in_any_more_has_no_tasks
    the_end_of_the_service_waits_for_tasks_as_for_calls_and_then_cuts_them
}
