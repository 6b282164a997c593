//! One session beside the pool, for what the driver itself wants to know: a pool that waited for
//! itself would wait for ever.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::timeout;
use tokio_postgres::{Client, Config};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::{failure, session};
use crate::error::Result;

/// Bounds every question of ours at the source.
const PATIENCE: &str = "SET statement_timeout = '20s'; SET lock_timeout = '5s'";

/// The housekeeping session, opened when first needed and again when it was lost.
pub(super) struct Housekeeping {
    config: Config,
    tls: MakeRustlsConnect,
    connect_timeout: Duration,
    client: Mutex<Option<Arc<Client>>>,
}

impl Housekeeping {
    /// Nothing is connected yet.
    pub(super) fn new(config: Config, tls: MakeRustlsConnect, connect_timeout: Duration) -> Self {
        Self { config, tls, connect_timeout, client: Mutex::new(None) }
    }

    /// The session; several questions may be under way on it at once.
    pub(super) async fn client(&self) -> Result<Arc<Client>> {
        let mut place = self.client.lock().await;
        if let Some(client) = place.as_ref().filter(|client| !client.is_closed()) {
            return Ok(Arc::clone(client));
        }
        *place = None;
        let client = timeout(self.connect_timeout, self.connect())
            .await
            .map_err(|_| failure::unavailable("the connection attempt took too long"))?
            .map_err(|error| failure::connecting(&error))?;
        let client = Arc::new(client);
        *place = Some(Arc::clone(&client));
        Ok(client)
    }

    /// Lets go of the session, so that the next question opens a new one.
    pub(super) async fn forget(&self) {
        *self.client.lock().await = None;
    }

    async fn connect(&self) -> Result<Client, tokio_postgres::Error> {
        let (client, connection) = self.config.connect(self.tls.clone()).await?;
        // The task ends with the client or with the connection, whichever goes first.
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                log::debug!("the housekeeping session ended: {error}");
            }
        });
        session::introduce(&client).await?;
        client.batch_execute(PATIENCE).await?;
        Ok(client)
    }
}
