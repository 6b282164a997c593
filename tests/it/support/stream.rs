//! Reads server-sent events as a client would (WHATWG HTML §9.2.6), with a deadline on each: a
//! test that waits for what never comes fails instead of hanging.

use reqwest::Response;
use serde_json::Value;

use super::app::within;

/// One event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) id: Option<String>,
    pub(crate) data: String,
}

/// The events of a response.
pub(crate) struct Events {
    response: Response,
    read: Vec<u8>,
}

impl Events {
    pub(crate) fn new(response: Response) -> Self {
        assert_eq!(response.status(), 200);
        let header = |name: &str| response.headers().get(name).map(|value| value.to_str().unwrap());
        assert_eq!(header("content-type"), Some("text/event-stream"));
        assert_eq!((header("cache-control"), header("x-accel-buffering")), (Some("no-store"), Some("no")));
        Self { response, read: Vec::new() }
    }

    /// The next event that has data or an id; `None` at the end of the stream.
    pub(crate) async fn next(&mut self) -> Option<Event> {
        loop {
            while let Some(end) = self.read.windows(2).position(|pair| pair == b"\n\n") {
                let block: Vec<u8> = self.read.drain(..end + 2).collect();
                if let Some(event) = read(std::str::from_utf8(&block).unwrap()) {
                    return Some(event);
                }
            }
            let chunk = within("an event", self.response.chunk()).await;
            self.read.extend_from_slice(&chunk.unwrap()?);
        }
    }

    /// The next message.
    pub(crate) async fn message(&mut self) -> Value {
        let event = self.next().await.expect("the stream has ended");
        serde_json::from_str(&event.data).unwrap_or_else(|_| panic!("no JSON: {event:?}"))
    }

    /// All messages to the end of the stream.
    pub(crate) async fn rest(mut self) -> Vec<Value> {
        let mut messages = Vec::new();
        while let Some(event) = self.next().await {
            messages.push(serde_json::from_str(&event.data).unwrap_or_else(|_| panic!("no JSON: {event:?}")));
        }
        messages
    }
}

fn read(block: &str) -> Option<Event> {
    let (mut id, mut data) = (None, Vec::new());
    for line in block.lines().filter(|line| !line.is_empty() && !line.starts_with(':')) {
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match name {
            "id" => id = Some(value.to_owned()),
            "data" => data.push(value),
            "retry" => drop(value.parse::<u32>().unwrap()),
            other => panic!("an unexpected field {other:?}"),
        }
    }
    (id.is_some() || !data.is_empty()).then(|| Event { id, data: data.join("\n") })
}
