//! Features of the client that only some tools use while they run: they report their own progress, ask the client
//! for input, or close their stream for a while.

use std::sync::atomic::Ordering;
use std::time::Duration;

use portico_actors::error::{Error, Kind, Result};
use serde_json::{Value, json};

use super::tasks::TaskPromotion;
use crate::mcp::envelope;
use crate::mcp::request_context::{OutboundMessage, RequestContext};

impl RequestContext {
    /// Sends the progress of the request, if the client asked for it. After the first time, no other progress is
    /// sent for it.
    pub async fn send_progress(&self, progress: f64, total: f64, message: &str) {
        let (Some(token), Some(outbound)) = (&self.token, &self.sink.outbound) else { return };
        self.reports_progress.store(true, Ordering::Relaxed);
        let (token, message) = (token.as_json(), Value::from(message));
        let notification = envelope::notification(
            "notifications/progress",
            format_args!(
                "{{\"progressToken\":{token},\"progress\":{progress},\"total\":{total},\"message\":{message}}}"
            ),
        );
        let _ = outbound.send(OutboundMessage::Message(notification)).await;
    }

    /// Asks the client and waits for its answer: through the request's task, if it has become one,
    /// or on the request's own stream, which the 2025 revisions allow within a session.
    ///
    /// # Errors
    /// [`Kind::Invalid`] where the client cannot be asked or answers with an error, and
    /// [`Kind::TimedOut`] where it does not answer within `patience`.
    pub async fn ask(&self, capability: &str, method: &str, params: Value, patience: Duration) -> Result<Value> {
        if !self.client_can(capability) {
            return Err(Error::invalid(format!("the client has not declared the capability {capability}")));
        }
        if let TaskPromotion::Begun(task) = self.promotion() {
            return task.ask(method, params, patience).await;
        }
        let (Some(outbound), Some(session)) = (&self.sink.outbound, &self.sink.session) else {
            return Err(Error::invalid("the client can only be asked on a stream within a session, or by a task"));
        };
        let (id, answer) = session.ask();
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string();
        outbound
            .send(OutboundMessage::Message(request.into_bytes()))
            .await
            .map_err(|_| Error::new(Kind::Abandoned, "nobody listens"))?;
        match tokio::time::timeout(patience, answer).await {
            Ok(Ok(Ok(result))) => Ok(result),
            Ok(Ok(Err(error))) => {
                let words = error["message"].as_str().unwrap_or("no reason given").to_owned();
                Err(Error::invalid(format!("the client refused {method}: {words}")))
            }
            Ok(Err(_)) => Err(Error::new(Kind::Abandoned, "the session is over")),
            Err(_) => Err(Error::new(Kind::TimedOut, format!("the client did not answer {method}"))),
        }
    }

    /// Closes the request's stream while the request continues; the client resumes it (MCP 2025-11-25, transports
    /// §Sending Messages). Returns whether the stream can be closed.
    pub async fn pause(&self) -> bool {
        let (Some(outbound), Some(session)) = (&self.sink.outbound, &self.sink.session) else { return false };
        session.resumes() && outbound.send(OutboundMessage::Pause).await.is_ok()
    }
}
