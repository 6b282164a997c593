//! One record of the audit trail. `docs/audit.md` describes each member; a member that does not apply is left out.

use std::cell::RefCell;
use std::net::IpAddr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use portico_actors::auth::clock::Timestamp;
use portico_actors::auth::recording::AuditContext;
use portico_actors::auth::store::{Change, NewRecord};
use portico_actors::error::{Error, Kind};
use portico_actors::event::CallEnded;
use serde::Serialize;
use serde_json::Value;
use uuid::Uuid;

use super::statement::StatementRecord;
use crate::redaction::redact_json;

/// The kind of event that is recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum AuditEvent {
    /// A request of a caller.
    #[default]
    Call,
    /// An access token was asked for.
    Token,
    /// A change of rights.
    Change,
    /// The service has begun.
    Start,
    /// The service has ended.
    Stop,
    /// Refusals that came too fast to be recorded one by one.
    Suppressed,
    /// Records that could not be written.
    Lost,
}

/// Characters of a name that is claimed, and of a reason, at most.
const LONGEST_TEXT: usize = 300;

impl AuditEvent {
    /// Every word, as records and filters write them.
    pub const WORDS: [&str; 7] = ["call", "token", "change", "start", "stop", "suppressed", "lost"];
}

/// One record.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs)] // the names are documented in docs/audit.md
pub struct Record {
    pub time: String,
    pub event: AuditEvent,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub principal: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claimed: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credential: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<IpAddr>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connection: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connection_id: Option<Uuid>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    #[serde(flatten)]
    pub statement: Option<StatementRecord>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub replayed: bool,
    pub outcome: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Why a change is recorded once more.
const UNCONFIRMED: &str = "the change was not made, or it is not known whether it was";

/// Returns why a caller was refused, if the reason is the caller: credential, rights, limits. The source's messages
/// are left out, since they may repeat values.
pub fn reason(error: &Error) -> Option<String> {
    let told = match error.kind {
        Kind::Unauthenticated => error.cause().unwrap_or(&error.message),
        // A credential that could not be checked: this text is ours, and repeats no values.
        Kind::Unavailable if error.is_judged() && error.get_sqlstate().is_none() => {
            error.cause().unwrap_or(&error.message)
        }
        Kind::Forbidden | Kind::Busy if error.get_sqlstate().is_none() => &error.message,
        _ => return None,
    };
    Some(shortened(told))
}

/// A text of a stranger's, cut where it is long.
pub fn shortened(text: &str) -> String {
    text.chars().take(LONGEST_TEXT).collect()
}

impl Record {
    /// A record of now.
    pub fn new(event: AuditEvent, outcome: &str) -> Self {
        Self { event, ..Self::default() }.ended(outcome)
    }

    /// Completes the record of a request with its outcome.
    #[must_use]
    pub fn ended(self, outcome: &str) -> Self {
        Self { time: moment(SystemTime::now()), outcome: outcome.to_owned(), ..self }
    }

    /// Completes the record with a call that has ended.
    pub fn end_call(&mut self, call: &CallEnded) {
        self.time = moment(SystemTime::now());
        call.failure.map_or("ok", Kind::as_str).clone_into(&mut self.outcome);
        self.request_id = Some(call.id.to_string());
        self.principal.clone_from(&call.subject);
        if !call.subject.is_empty() {
            // The claimed identity no longer matters once the caller is known.
            self.claimed = None;
        }
        self.connection = call.connection.as_deref().map(str::to_owned);
        self.connection_id = call.connection_id;
        self.workspace = call.workspace.as_deref().map(str::to_owned);
        self.tool = Some(&call.what).filter(|what| **what != self.path).cloned();
        self.class = call.class;
        self.rows = Some(call.rows);
        self.bytes = self.bytes.or(Some(0));
        self.ms = Some(u64::try_from(call.took.as_millis()).unwrap_or(u64::MAX));
    }

    /// Makes the record of a change of rights by that request.
    pub fn from_change(change: &Change, audit_context: &AuditContext) -> Self {
        debug_assert!(Change::ACTIONS.contains(&change.action), "list the action {:?} among them all", change.action);
        Self {
            request_id: audit_context.request.as_ref().map(ToString::to_string),
            principal: audit_context.principal.clone().unwrap_or_default(),
            address: audit_context.address,
            agent: audit_context.agent.clone(),
            path: audit_context.path.clone(),
            action: Some(change.action.to_owned()),
            object: Some(change.object.clone()),
            before: change.before.clone(),
            after: change.after.clone(),
            ..Self::new(AuditEvent::Change, "ok")
        }
    }

    /// The record behind that of a change which did not come to be.
    #[must_use]
    pub fn taken_back(self) -> Self {
        let outcome = Kind::Unavailable.as_str().to_owned();
        Self { outcome, reason: Some(UNCONFIRMED.to_owned()), ..self }
    }

    /// So many that were not recorded one by one.
    pub fn counted(event: AuditEvent, count: u64) -> Self {
        Self { count: Some(count), ..Self::new(event, "ok") }
    }

    /// Whether a stranger could bring about as many of these as they like.
    pub fn is_cheap(&self) -> bool {
        // A change without a request was made by the service itself.
        let of_service = self.event == AuditEvent::Change && self.request_id.is_none();
        let is_request = matches!(self.event, AuditEvent::Call | AuditEvent::Token | AuditEvent::Change);
        is_request
            && !of_service
            && (self.principal.is_empty() || (self.outcome != "ok" && self.event == AuditEvent::Token))
    }

    /// Returns the record as a line of JSON, without its end and with possible secrets redacted.
    pub fn line(&self) -> String {
        redact_json(serde_json::to_string(self).unwrap_or_default())
    }

    /// The record as the store keeps it.
    pub fn for_store(&self) -> NewRecord {
        NewRecord { time: self.time.clone(), record: self.line() }
    }
}

thread_local! {
    /// The last second that a record of this thread was of, as text: many are of the same.
    static SECOND: RefCell<(Timestamp, String)> = const { RefCell::new((Timestamp::from_seconds(i64::MIN), String::new())) };
}

/// Formats a time in RFC 3339, in UTC with milliseconds, such as `2026-11-21T09:30:00.123Z`: sorts by time.
pub fn moment(time: SystemTime) -> String {
    let milliseconds = time.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO).subsec_millis();
    let second = Timestamp::from(time);
    SECOND.with_borrow_mut(|(known, text)| {
        if *known != second {
            (*known, *text) = (second, second.to_string().trim_end_matches('Z').to_owned());
        }
        format!("{text}.{milliseconds:03}Z")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_has_milliseconds() {
        assert_eq!(moment(UNIX_EPOCH + Duration::from_millis(1_007)), "1970-01-01T00:00:01.007Z");
    }

    #[test]
    fn every_member_is_documented() {
        let some = || Some(String::new());
        let value = || Some(Value::Null);
        let statement = StatementRecord {
            statement: some(),
            digest: some(),
            parameters: value(),
            sent: Some(crate::federation::SentStatements::default()),
            dry_run: true,
        };
        // Each member is named, so that a new one does not compile without being added here.
        let record = Record {
            time: String::new(),
            event: AuditEvent::Call,
            request_id: some(),
            principal: "p".to_owned(),
            claimed: some(),
            credential: some(),
            client: some(),
            account: some(),
            address: Some(IpAddr::from([127, 0, 0, 1])),
            host: some(),
            agent: some(),
            connection: some(),
            connection_id: Some(Uuid::nil()),
            workspace: some(),
            role: some(),
            path: "/".to_owned(),
            tool: some(),
            statement: Some(statement),
            class: Some("select"),
            calls: vec![Value::Null],
            action: some(),
            object: value(),
            before: value(),
            after: value(),
            rows: Some(0),
            bytes: Some(0),
            ms: Some(0),
            count: Some(0),
            replayed: true,
            outcome: String::new(),
            code: some(),
            reason: some(),
        };
        let text = include_str!("../../docs/audit.md");
        let table = text.split_once("| Member | Meaning |").unwrap().1;
        let cells =
            table.lines().skip(1).take_while(|line| line.starts_with('|')).filter_map(|row| row.split('|').nth(1));
        let documented: Vec<&str> = cells.flat_map(|cell| cell.split('`').skip(1).step_by(2)).collect();
        let written: Value = serde_json::from_str(&record.line()).unwrap();
        let members: Vec<&String> = written.as_object().unwrap().keys().collect();
        assert!(members.len() >= 33, "{members:?}");
        for member in members {
            assert!(documented.contains(&member.as_str()), "docs/audit.md lacks {member}");
        }
    }

    #[test]
    fn what_does_not_apply_is_left_out() {
        let record = Record { time: "t".to_owned(), ..Record::counted(AuditEvent::Suppressed, 3) };
        assert_eq!(record.line(), r#"{"time":"t","event":"suppressed","count":3,"outcome":"ok"}"#);
    }
}
