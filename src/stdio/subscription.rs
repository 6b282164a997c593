//! `subscriptions/listen` of 2026-07-28: an endless stream. If it ends because its service was restarted, it is
//! opened again, and the client is notified of everything it may have missed.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::call::{Call, is_stream};
use super::events::Events;
use super::frames::Outbox;
use super::server::{Failure, Headers, Server};
use crate::mcp::envelope;
use crate::mcp::features::ListKind;

/// The method.
pub(super) const LISTEN: &str = "subscriptions/listen";

/// How long the first and the longest wait for the stream to be opened again are.
const DELAY: Duration = Duration::from_millis(250);
const LONGEST_DELAY: Duration = Duration::from_secs(5);
/// How long a stream has to last for the next one to be opened without a long wait.
const STEADY: Duration = Duration::from_secs(10);

const META_SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

/// The service's acknowledgement.
struct Acknowledged(Value);

impl Acknowledged {
    /// Reads the first message of a stream.
    fn read(message: &[u8]) -> Option<Self> {
        let mut message: Value = serde_json::from_slice(message).ok()?;
        let is_one = message["method"] == "notifications/subscriptions/acknowledged";
        is_one.then(|| Self(message["params"].take()))
    }

    /// Returns the notifications of every change that is listened for.
    fn changes(&self) -> Vec<Vec<u8>> {
        let meta = json!({META_SUBSCRIPTION: self.0["_meta"][META_SUBSCRIPTION]});
        let notifications = &self.0["notifications"];
        let lists = ListKind::ALL.into_iter().filter(|list| notifications[list.subscription()] == true);
        let lists = lists.map(|list| envelope::notification(&list.notification(), json!({"_meta": meta})));
        let resources = notifications["resourceSubscriptions"].as_array().into_iter().flatten();
        let resources = resources
            .map(|uri| envelope::notification("notifications/resources/updated", json!({"uri": uri, "_meta": meta})));
        lists.chain(resources).collect()
    }
}

/// Carries a subscription until the client calls it off, or the service refuses it.
pub(super) async fn carry(server: &Server, out: &Outbox, call: &Call, headers: &Headers) {
    let (mut acknowledged, mut delay) = (None::<Acknowledged>, DELAY);
    loop {
        let opened = Instant::now();
        match server.post(&call.body, headers, true).await {
            Ok(response) if response.status().is_success() && is_stream(&response) => {
                let mut events = Events::new(response);
                while let Ok(Some(event)) = events.next().await {
                    // At its end the service answers the request; this process continues.
                    if event.data.is_empty() || call.is_answered_by(&event.data) {
                        continue;
                    }
                    match (Acknowledged::read(&event.data), &acknowledged) {
                        (Some(_), Some(before)) => {
                            for change in before.changes() {
                                call.say(out, change).await;
                            }
                        }
                        (Some(first), None) => {
                            acknowledged = Some(first);
                            call.say(out, event.data).await;
                        }
                        (None, _) => call.say(out, event.data).await,
                    }
                }
            }
            // It came to be once, and a server that is not there may come back.
            Err(Failure::Unreached(_) | Failure::Broken(_)) if acknowledged.is_some() => {}
            Ok(response) if response.status().as_u16() == 503 && acknowledged.is_some() => {}
            Ok(response) => {
                if let Err(failure) = call.pass_on(out, response).await {
                    call.fail(out, failure).await;
                }
                return;
            }
            Err(failure) => return call.fail(out, failure).await,
        }
        if opened.elapsed() > STEADY {
            delay = DELAY;
        }
        sleep(delay).await;
        delay = (delay * 2).min(LONGEST_DELAY);
    }
}
