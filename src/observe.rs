//! What happened becomes lines of the log: one a call, one for each change of a connection.
//! Metrics and audit are further observers of the same events.

use portico_actors::event::{CallEnded, Event};

/// Writes `event` to the log. Values of parameters and secrets are in no event.
pub fn log_event(event: &Event) {
    match event {
        Event::CallEnded(call) => log_call(call),
        Event::ConnectionUp { name, product } => log::info!("connection {name} is up: {product}"),
        Event::ConnectionDown { name, cause, retry_in } => {
            log::warn!("connection {name} is down: {cause}; next attempt in {} ms", retry_in.as_millis());
        }
        Event::ConnectionDied { name, panicked, restart_in } => {
            let how = if *panicked { "panicked" } else { "ended" };
            match restart_in {
                Some(delay) => {
                    log::error!("actor of connection {name} {how}; a new one starts in {} ms", delay.as_millis());
                }
                None => log::error!("actor of connection {name} {how} too often; it is not started again"),
            }
        }
        Event::AuthDied { panicked, restart_in } => {
            let how = if *panicked { "panicked" } else { "ended" };
            log::error!("the actor that judges credentials {how}; a new one starts in {} ms", restart_in.as_millis());
        }
        Event::IssuerFailed { issuer, cause } => {
            log::warn!("the keys of {issuer} cannot be fetched: {cause}; those that are known stay in force");
        }
        Event::StoreFailed { cause } => {
            log::error!("the store cannot be read: {cause}; what is in memory stays in force");
        }
        Event::AuditFailed { cause, refuses: true } => {
            log::error!("the audit trail cannot be written: {cause}; calls are refused until it can");
        }
        Event::AuditFailed { cause, refuses: false } => {
            log::error!("the audit trail cannot be written: {cause}; calls go on, and their records are lost");
        }
        Event::AuditResumed { lost } => log::warn!("the audit trail is written again; {lost} records were lost"),
        Event::Reloaded { summary } => log::info!("reloaded; {summary}"),
        Event::ReloadRefused { problems } => {
            for problem in problems {
                log::warn!("the configuration was not taken over: {problem}");
            }
        }
        Event::Stopped => log::info!("stopped"),
    }
}

fn log_call(call: &CallEnded) {
    let connection = call.connection.as_deref().map(str::to_owned);
    let connection = connection.or_else(|| call.connection_id.map(|id| id.to_string()));
    let level = match (&call.cause, call.failure) {
        (Some(_), _) => log::Level::Error,
        _ => log::Level::Info,
    };
    log::log!(
        target: "portico::call",
        level,
        "request={} client={} who={} connection={} what={} class={} rows={} ms={} outcome={}{}",
        call.id,
        call.client.map_or_else(|| "-".to_owned(), |client| client.to_string()),
        word(&call.subject),
        word(connection.as_deref().unwrap_or_default()),
        word(&call.what),
        call.class.unwrap_or("-"),
        call.rows,
        call.took.as_millis(),
        call.failure.map_or("ok", portico_actors::error::Kind::word),
        call.cause.as_deref().map(|cause| format!(" cause={cause:?}")).unwrap_or_default(),
    );
}

/// A value as one word: what a client chose can neither end the line nor fake a member.
fn word(text: &str) -> String {
    let safe = |each: char| each.is_ascii_alphanumeric() || "@._-/+:".contains(each);
    match text {
        "" => "-".to_owned(),
        plain if plain.chars().all(safe) => plain.to_owned(),
        other => format!("{other:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_client_chose_stays_one_word() {
        assert_eq!(word("ann@example.org"), "ann@example.org");
        assert_eq!(word(""), "-");
        assert_eq!(word("a b\noutcome=ok"), "\"a b\\noutcome=ok\"");
    }
}
