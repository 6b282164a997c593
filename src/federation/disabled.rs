//! Replaces the engine in a build without it.

use portico_actors::directory::Directory;
use portico_actors::error::{Error, Result};
use portico_actors::reply::Reply;

use super::statement::OverConnections;
use crate::config::Federation as FederationSettings;

/// Returns the functions of such statements: none.
pub(crate) fn functions() -> String {
    String::new()
}

/// Refuses statements over several connections.
#[derive(Debug)]
pub struct Federation;

impl Federation {
    /// Takes the settings, and ignores them.
    pub fn new(_: FederationSettings) -> Self {
        Self
    }

    /// Refuses the statement.
    ///
    /// # Errors
    /// Always.
    #[expect(clippy::unused_async, reason = "as the engine's")]
    pub(crate) async fn run(&self, _: &Directory, over: OverConnections<'_>) -> Result<Reply> {
        let whose = over.workspace.map(|it| format!(", and the workspace {} is over several", it.name));
        let message = format!(
            "query: this build of Portico runs no statements over several connections{}",
            whose.unwrap_or_default()
        );
        Err(Error::invalid(message)
            .hint("send one request for each connection; an administrator can build it with the feature federation"))
    }
}
