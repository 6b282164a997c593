//! The input of the engine, and the statements that it sent.

use std::sync::{Arc, Mutex};

use portico_actors::call::{Limits, Op, Origin};
use portico_actors::directory::ConnectionEntry;
use portico_actors::mutex::lock;
use portico_actors::principal::{Principal, Rights};
use portico_actors::workspace::Workspace;

/// A statement over several connections, and its caller.
#[cfg_attr(not(feature = "federation"), expect(dead_code, reason = "it is refused unread"))]
pub(crate) struct OverConnections<'a> {
    /// The connections that it names.
    pub(crate) entries: &'a [ConnectionEntry],
    /// The workspace that all its names are of.
    pub(crate) workspace: Option<Arc<Workspace>>,
    /// The connection of names without one.
    pub(crate) default_catalog: Option<&'a str>,
    pub(crate) op: Op,
    pub(crate) by: Arc<Principal>,
    /// The caller's rights without the workspace.
    pub(crate) reached: Rights,
    pub(crate) origin: Origin,
    pub(crate) limits: Limits,
    /// Records what is sent.
    pub(crate) sent: SentStatements,
}

/// The statements sent, each with its connection, in order.
#[derive(Clone, Debug, Default)]
pub struct SentStatements(Arc<Mutex<Vec<(String, String)>>>);

impl PartialEq for SentStatements {
    fn eq(&self, other: &Self) -> bool {
        self.list() == other.list()
    }
}

impl SentStatements {
    /// Returns each connection's name with the statement it was sent.
    pub fn list(&self) -> Vec<(String, String)> {
        lock(&self.0).clone()
    }

    /// Notes one more.
    pub(crate) fn add(&self, connection: &str, statement: &str) {
        let mut sent = lock(&self.0);
        sent.push((connection.to_owned(), statement.to_owned()));
    }
}
