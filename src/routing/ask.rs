//! Asks the connection that a statement or a call of a procedure addresses.

use std::sync::Arc;

use portico_actors::call::{Limits, Notices, Op, Origin};
use portico_actors::directory::{ConnectionEntry, Directory};
use portico_actors::error::Result;
use portico_actors::principal::Principal;
use portico_actors::reply::Reply;

use super::address::Addressing;
use crate::federation::{Federation, OverConnections, SentStatements};

/// For whom and for what connections are asked, whichever they are.
pub(crate) struct AskOptions {
    pub(crate) by: Arc<Principal>,
    pub(crate) origin: Origin,
    pub(crate) limits: Limits,
    /// Hears what a source says beside its answer.
    pub(crate) notices: Option<Notices>,
}

/// Asks all of `entries`, which `addressing` has found, for a statement; `sent` takes note of what is sent to each.
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

/// Asks `entry` to run statements or a procedure; where these say whom they address, `addressing` has chosen it.
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
    // It belongs to the default connection; another one is not told of it.
    let default = addressing.and_then(|addressing| addressing.default.as_deref());
    if default.is_some_and(|catalog| !entry.name.eq_ignore_ascii_case(catalog)) {
        op.forget_default_schema();
    }
    let AskOptions { by, origin, limits, notices } = asking;
    directory.ask_with_notices(entry, origin, by, op, limits, notices)
}
