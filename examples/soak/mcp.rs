//! The soak test's calls of MCP, in both eras.

use reqwest::{RequestBuilder, Response};
use serde_json::{Value, json};

use super::ledger::{CUT, Fault, NO_PROCEDURES, Outcome, TOOL};
use super::service::{Caller, rows, same, sent, whole};

/// What clients of streams accept.
const BOTH: &str = "application/json, text/event-stream";
/// A statement that outlives its caller's patience and has no row until then.
const LONG: &str =
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000000) SELECT count(*) FROM n";
const TOOLS: [&str; 4] = ["execute_select", "execute_insert", "get_tables", "soak_range"];

/// One call, whose kind is told as soon as it is chosen.
pub(crate) async fn call(caller: &mut Caller, at: usize, kind: &mut &'static str) -> Outcome {
    let kinds = ["tool", "list", "progress", "leave", "listen", "session", "session progress", "session cancel"];
    // What burns the machine's time, and what waits for changes, comes less often.
    let often = [0, 0, 0, 0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 4, 5, 5, 6, 6, 7];
    *kind = kinds[often[usize::try_from(caller.dice.below(often.len() as u64)).unwrap()]];
    match *kind {
        "tool" => tool(caller, at).await,
        "list" => list(caller, at).await,
        "progress" => progress(caller, at).await,
        "leave" => leave(caller, at).await,
        "listen" => listen(caller, at).await,
        "session" => session(caller, at, false, false).await,
        "session progress" => session(caller, at, true, false).await,
        _ => session(caller, at, false, true).await,
    }
}

/// Server-sent events of a response.
struct Events {
    response: Response,
    read: Vec<u8>,
}

impl Events {
    async fn open(request: RequestBuilder) -> Outcome<Self> {
        let response = sent(request).await?;
        let stream = response.headers().get("content-type").is_some_and(|value| value == "text/event-stream");
        if response.status() == 200 && stream {
            return Ok(Self { response, read: Vec::new() });
        }
        let status = response.status();
        let text = response.text().await.unwrap_or_default();
        let body: Value = serde_json::from_str(&text).unwrap_or_default();
        Err(match body["error"]["code"].as_i64() {
            Some(code) => Fault::Error(code, text),
            None => Fault::wrong(format!("{status}, and no stream"), text),
        })
    }

    /// The next message; `None` at the end of the stream.
    async fn next(&mut self) -> Outcome<Option<Value>> {
        loop {
            while let Some(end) = self.read.windows(2).position(|pair| pair == b"\n\n") {
                let block: Vec<u8> = self.read.drain(..end + 2).collect();
                let block = String::from_utf8_lossy(&block);
                let data: String = block.lines().filter_map(|line| line.strip_prefix("data:")).collect();
                if !data.trim().is_empty() {
                    return serde_json::from_str(&data).map(Some).map_err(|error| Fault::wrong(error, data));
                }
            }
            let chunk = self.response.chunk().await.map_err(|error| Fault::Error(CUT, format!("{error:?}")))?;
            match chunk {
                Some(chunk) => self.read.extend_from_slice(&chunk),
                None => return Ok(None),
            }
        }
    }

    /// The next message, which there has to be.
    async fn message(&mut self) -> Outcome<Value> {
        self.next().await?.ok_or_else(|| Fault::Wrong("the stream has ended".to_owned()))
    }

    /// The response behind nothing but progress that grows.
    async fn response_behind_progress(&mut self) -> Outcome<Value> {
        let mut last = 0.0;
        loop {
            let message = self.message().await?;
            if message.get("id").is_some() {
                return match self.next().await? {
                    None => Ok(message),
                    Some(more) => Err(Fault::wrong("something behind the response", more)),
                };
            }
            let progress = message["params"]["progress"].as_f64().unwrap_or(0.0);
            if message["method"] != "notifications/progress" || progress <= last {
                return Err(Fault::wrong("no progress", message));
            }
            last = progress;
        }
    }
}

/// The result of a response with this id.
fn result(response: &Value, id: &Value) -> Outcome<Value> {
    if let Some(error) = response.get("error") {
        return Err(Fault::Error(error["code"].as_i64().unwrap_or(0), response.to_string()));
    }
    if response["id"] != *id {
        return Err(Fault::wrong(format!("not the answer to {id}"), response));
    }
    if response["result"]["isError"] == true {
        return Err(Fault::Error(TOOL, response["result"]["content"].to_string()));
    }
    Ok(response["result"].clone())
}

/// The rows of a tool's result are these.
fn only(result: &Value, expected: &Value) -> Outcome {
    let content = &result["structuredContent"];
    let count = expected.as_array().map_or(0, Vec::len);
    if same(&content["rows"], expected) && content["rowCount"] == count && content["truncated"] == false {
        return Ok(());
    }
    Err(Fault::wrong(format!("not the rows {expected:.300}"), result))
}

/// The parameters of a call that selects a range.
fn select(lowest: i64, most: i64) -> Value {
    let query = "SELECT id, word, amount FROM soak_numbers WHERE id >= @lowest AND id < @most ORDER BY id";
    let parameters = json!({"lowest": lowest, "most": most});
    json!({"name": "execute_select", "arguments": {"query": query, "parameters": parameters, "timeout": 10, "maxRows": 500}})
}

/// A statement that its caller does not wait for.
fn long() -> Value {
    json!({"name": "execute_select", "arguments": {"query": LONG, "timeout": 20}, "_meta": {"progressToken": "p"}})
}

fn address(caller: &Caller, at: usize) -> String {
    format!("{}/mcp/connections/{}", caller.service.url, caller.service.targets[at].id)
}

/// A request of 2026-07-28.
fn modern(caller: &Caller, at: usize, id: &Value, method: &str, mut params: Value) -> RequestBuilder {
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
    let mut built = caller.http.post(address(caller, at)).header("accept", BOTH);
    built = built.header("mcp-protocol-version", "2026-07-28").header("mcp-method", method);
    if let Some(name) = params["name"].as_str() {
        built = built.header("mcp-name", name);
    }
    let body = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
    caller.sign(built.json(&body))
}

async fn answer(request: RequestBuilder, id: &Value) -> Outcome<Value> {
    let text = whole(request).await?;
    let response = serde_json::from_str(&text).map_err(|error| Fault::wrong(error, &text))?;
    result(&response, id)
}

async fn tool(caller: &mut Caller, at: usize) -> Outcome {
    let (lowest, most) = caller.dice.range(100);
    let id = json!(lowest);
    let result = answer(modern(caller, at, &id, "tools/call", select(lowest, most)), &id).await?;
    only(&result, &rows(lowest, most))
}

/// Every tool is there. While the database is away its own procedures may not be.
async fn list(caller: &mut Caller, at: usize) -> Outcome {
    let id = json!("list");
    let result = answer(modern(caller, at, &id, "tools/list", json!({})), &id).await?;
    let names: Vec<&str> =
        result["tools"].as_array().into_iter().flatten().filter_map(|tool| tool["name"].as_str()).collect();
    match TOOLS.iter().find(|name| !names.contains(name)) {
        None => Ok(()),
        Some(&"soak_range") if caller.service.targets[at].fails => {
            Err(Fault::Error(TOOL, format!("{NO_PROCEDURES}: {names:?}")))
        }
        Some(name) => Err(Fault::wrong(format!("no tool {name}"), format!("{names:?}"))),
    }
}

async fn progress(caller: &mut Caller, at: usize) -> Outcome {
    let (lowest, most) = caller.dice.range(500);
    let mut params = select(lowest, most);
    params["_meta"] = json!({"progressToken": 7});
    let id = json!("progress");
    let mut events = Events::open(modern(caller, at, &id, "tools/call", params)).await?;
    only(&result(&events.response_behind_progress().await?, &id)?, &rows(lowest, most))
}

/// Who leaves cancels. Were the statement not stopped, the few sessions would soon be taken.
async fn leave(caller: &mut Caller, at: usize) -> Outcome {
    let mut events = Events::open(modern(caller, at, &json!("leave"), "tools/call", long())).await?;
    let first = events.message().await?;
    if first.get("id").is_some() {
        result(&first, &json!("leave"))?;
    }
    if first["method"] == "notifications/progress" { Ok(()) } else { Err(Fault::wrong("no progress", first)) }
}

/// A stream is acknowledged, and tells of a table that comes.
async fn listen(caller: &mut Caller, at: usize) -> Outcome {
    let id = json!("listen");
    let asked = json!({"notifications": {"resourcesListChanged": true}});
    let mut events = Events::open(modern(caller, at, &id, "subscriptions/listen", asked)).await?;
    let first = events.message().await?;
    let subscription = "io.modelcontextprotocol/subscriptionId";
    if first["method"] != "notifications/subscriptions/acknowledged" || first["params"]["_meta"][subscription] != id {
        return Err(Fault::wrong("not acknowledged", first));
    }
    if caller.service.targets[at].fails {
        return Ok(());
    }
    let name = format!("soak_seen_{}", caller.number);
    caller.query(at, &format!("CREATE TABLE {name} (a INTEGER)"), json!({})).await?;
    let told = events.message().await?;
    caller.query(at, &format!("DROP TABLE {name}"), json!({})).await?;
    if told["method"] == "notifications/resources/list_changed" && told["params"]["_meta"][subscription] == id {
        return Ok(());
    }
    Err(Fault::wrong("not told of a table", told))
}

/// A session of 2025-11-25 from beginning to end.
async fn session(caller: &mut Caller, at: usize, progress: bool, cancel: bool) -> Outcome {
    let (lowest, most) = caller.dice.range(100);
    let version = "2025-11-25";
    let asked = json!({"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "soak", "version": "1"}});
    let begun = sent(legacy(caller, at, None, &message(0, "initialize", &asked))).await?;
    let session = begun.headers().get("mcp-session-id").and_then(|id| id.to_str().ok()).map(str::to_owned);
    let text = begun.text().await.unwrap_or_default();
    let response: Value = serde_json::from_str(&text).unwrap_or_default();
    if result(&response, &json!(0))?["protocolVersion"] != version {
        return Err(Fault::wrong("another revision", text));
    }
    let Some(session) = session else { return Err(Fault::wrong("no session", text)) };
    let ask = |body: &Value| legacy(caller, at, Some(&session), body);
    let notify = async |method: &str, params: Value| {
        let answer = sent(ask(&json!({"jsonrpc": "2.0", "method": method, "params": params}))).await?;
        if answer.status() == 202 { Ok(()) } else { Err(Fault::wrong(method, answer.status())) }
    };
    notify("notifications/initialized", json!({})).await?;
    let ended = async {
        if cancel {
            let mut events = Events::open(ask(&message(1, "tools/call", &long()))).await?;
            let first = events.message().await?;
            if first.get("id").is_some() {
                result(&first, &json!(1))?;
                return Err(Fault::wrong("an end of what has none", first));
            }
            notify("notifications/cancelled", json!({"requestId": 1})).await?;
            while let Some(message) = events.next().await? {
                if message.get("id").is_some() {
                    // It may have failed before it was cancelled.
                    result(&message, &json!(1))?;
                    return Err(Fault::wrong("an answer to what was cancelled", message));
                }
            }
            return Ok(());
        }
        let mut params = select(lowest, most);
        let response = if progress {
            params["_meta"] = json!({"progressToken": "t"});
            let mut events = Events::open(ask(&message(1, "tools/call", &params))).await?;
            result(&events.response_behind_progress().await?, &json!(1))?
        } else {
            answer(ask(&message(1, "tools/call", &params)), &json!(1)).await?
        };
        only(&response, &rows(lowest, most))?;
        answer(ask(&message(2, "ping", &json!({}))), &json!(2)).await.map(drop)
    }
    .await;
    let delete = caller.http.delete(address(caller, at)).header("mcp-session-id", &session);
    let deleted = sent(caller.sign(delete)).await?.status();
    ended?;
    if deleted == 204 { Ok(()) } else { Err(Fault::wrong("DELETE", deleted)) }
}

fn message(id: u64, method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

/// A request of the 2025 revisions.
fn legacy(caller: &Caller, at: usize, session: Option<&str>, body: &Value) -> RequestBuilder {
    let built = caller.sign(caller.http.post(address(caller, at)).header("accept", BOTH).json(body));
    match session {
        Some(session) => built.header("mcp-session-id", session),
        None => built,
    }
}
