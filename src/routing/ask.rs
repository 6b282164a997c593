//! Asks the connection that a statement or a call of a procedure addresses.

use std::sync::Arc;

use portico_actors::call::{Limits, Notices, Op, Origin};
use portico_actors::directory::{ConnectionEntry, Directory};
use portico_actors::effects::Effects;
use portico_actors::error::Result;
use portico_actors::principal::Principal;
use portico_actors::reply::Reply;

use super::address::Addressing;
use crate::federation::{Federation, OverConnections, SentStatements};

/// The caller and the limits of calls to connections.
pub(crate) struct AskOptions {
    pub(crate) by: Arc<Principal>,
    pub(crate) origin: Origin,
    pub(crate) limits: Limits,
    /// Receives the source's notices beside its answer.
    pub(crate) notices: Option<Notices>,
    /// Notes what may stand at the source, whatever the answer is.
    pub(crate) effects: Effects,
}

/// Runs a statement over all of `entries`, which `addressing` has found; `sent` records what is sent to each.
///
/// # Errors
/// The engine's, or a connection's own.
pub(crate) async fn ask_several(
    federation: &Federation,
    directory: &Directory,
    entries: &[ConnectionEntry],
    addressing: &Addressing,
    op: Op,
    asking: AskOptions,
    sent: SentStatements,
) -> Result<Reply> {
    let AskOptions { by, origin, limits, .. } = asking;
    let default_catalog = addressing.default.as_deref();
    let reached = by.rights.clone();
    let over = OverConnections { entries, workspace: None, default_catalog, op, by, reached, origin, limits, sent };
    federation.run(directory, over).await
}

/// Runs statements or a procedure at `entry`; `addressing` has selected it, if they address a connection.
///
/// # Errors
/// The connection's own.
pub(crate) fn ask<'a>(
    directory: &'a Directory,
    entry: &'a ConnectionEntry,
    addressing: Option<&Addressing>,
    mut op: Op,
    asking: AskOptions,
) -> impl Future<Output = Result<Reply>> + use<'a> {
    // The default schema belongs to the default connection, and not to another one.
    let default = addressing.and_then(|addressing| addressing.default.as_deref());
    if default.is_some_and(|catalog| !entry.name.eq_ignore_ascii_case(catalog)) {
        op.forget_default_schema();
    }
    let AskOptions { by, origin, limits, notices, effects } = asking;
    directory.ask_and_note(entry, origin, by, op, limits, (notices, effects))
}
