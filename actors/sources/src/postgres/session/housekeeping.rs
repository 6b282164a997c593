//! One session beside the pool for the driver's own queries: if they used the pool, the pool could wait for itself
//! for ever.

use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard};

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use tokio::time::timeout;

use crate::Pooler;
use crate::postgres::connect::connector::Connector;
use crate::postgres::connect::protocol::driven_client::DrivenClient;
use crate::postgres::failure;
use crate::postgres::session::setup;
use portico_core::error::{Error, Result};
use portico_core::mutex::lock;

/// Bounds our own queries at the source.
const PATIENCE: &str =
    concat!("SET statement_timeout = '20s'; SET lock_timeout = '5s'; ", setup::without_jit!("false"));
/// Bounds our own queries where no session is ours for longer than a transaction.
const FOR_TRANSACTION: &str = concat!(
    "BEGIN READ ONLY; SET LOCAL statement_timeout = '20s'; SET LOCAL lock_timeout = '5s'; ",
    setup::settings!("SET LOCAL"),
    "; ",
    setup::without_jit!("true")
);

/// The housekeeping session, opened when first needed and again when it was lost.
pub(crate) struct Housekeeping {
    connector: Arc<Connector>,
    place: Mutex<Connection>,
}

/// An attempt to connect, which all callers await together.
type Attempt = Shared<BoxFuture<'static, Result<Arc<DrivenClient>, Arc<Error>>>>;

/// The state of the session.
#[derive(Default)]
enum Connection {
    #[default]
    Empty,
    Connecting(Attempt),
    Open(Arc<DrivenClient>),
}

/// The session for some questions. Behind a pooler they are one transaction, on a session of their
/// own; it ends when the last question is answered.
pub(crate) struct HousekeepingClient(Arc<DrivenClient>);

impl Housekeeping {
    /// Does not connect yet.
    pub(crate) fn new(connector: Arc<Connector>) -> Self {
        Self { connector, place: Mutex::default() }
    }

    /// Returns the session; several queries may run on it at once.
    pub(crate) async fn client(&self) -> Result<HousekeepingClient> {
        if self.is_pooled() {
            return connect(Arc::clone(&self.connector), FOR_TRANSACTION).await.map(HousekeepingClient);
        }
        let attempt = {
            let mut place = self.place();
            match &*place {
                Connection::Open(wire) if !wire.is_closed() => return Ok(HousekeepingClient(Arc::clone(wire))),
                Connection::Connecting(attempt) => attempt.clone(),
                Connection::Open(_) | Connection::Empty => {
                    // It continues if its callers stop waiting.
                    let connecting = tokio::spawn(connect(Arc::clone(&self.connector), PATIENCE));
                    let made = async move {
                        connecting.await.unwrap_or_else(|lost| Err(Error::internal(lost))).map_err(Arc::new)
                    };
                    let attempt = made.boxed().shared();
                    *place = Connection::Connecting(attempt.clone());
                    attempt
                }
            }
        };
        let made = attempt.clone().await;
        let mut place = self.place();
        // It may have been let go of meanwhile, or others were here first.
        if matches!(&*place, Connection::Connecting(current) if current.ptr_eq(&attempt)) {
            *place = made.as_ref().map_or(Connection::Empty, |wire| Connection::Open(Arc::clone(wire)));
        }
        drop(place);
        made.map(HousekeepingClient).map_err(|error| error.again())
    }

    fn place(&self) -> MutexGuard<'_, Connection> {
        lock(&self.place)
    }

    /// Returns true if each query needs a session of its own.
    fn is_pooled(&self) -> bool {
        self.connector.pooler == Pooler::Transaction
    }

    /// Lets go of the session, so that the next question opens a new one.
    pub(crate) fn forget(&self) {
        drop(std::mem::take(&mut *self.place()));
    }
}

async fn connect(connector: Arc<Connector>, greeting: &'static str) -> Result<Arc<DrivenClient>> {
    let wire = connector.connect().boxed().await?;
    let greeted = timeout(setup::GREETING_TIMEOUT, async {
        setup::set_up_session(&wire).await?;
        wire.batch_execute(greeting).await
    });
    match greeted.await {
        Ok(greeted) => greeted.map_err(|error| failure::connecting(&error))?,
        Err(_) => return Err(failure::unavailable("a fresh session did not answer in time")),
    }
    Ok(Arc::new(wire))
}

impl Deref for HousekeepingClient {
    type Target = DrivenClient;

    fn deref(&self) -> &DrivenClient {
        &self.0
    }
}

impl Drop for HousekeepingClient {
    fn drop(&mut self) {
        if self.0.pooled && !self.0.is_closed() {
            let wire = Arc::clone(&self.0);
            // Otherwise the pooler would close the server's session with ours.
            tokio::spawn(async move { timeout(setup::GREETING_TIMEOUT, wire.batch_execute("ROLLBACK")).await });
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::time::Duration;

    use tokio::net::TcpListener;

    use super::*;
    use crate::postgres::address::Address;

    /// Starts a server that accepts connections and sends nothing.
    async fn silent() -> (TcpListener, Arc<Housekeeping>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("postgres://app@{}/sales?sslmode=disable", listener.local_addr().unwrap());
        let connector = Connector::new(&Address::from(url), Duration::from_secs(3600)).unwrap();
        (listener, Arc::new(Housekeeping::new(Arc::new(connector))))
    }

    #[tokio::test]
    async fn who_lets_go_waits_for_nobody_that_connects() {
        let (listener, housekeeping) = silent().await;
        let asked: Vec<_> = (0..3)
            .map(|_| {
                let housekeeping = Arc::clone(&housekeeping);
                tokio::spawn(async move { housekeeping.client().await.map(drop) })
            })
            .collect();
        let (socket, _) = timeout(Duration::from_secs(10), listener.accept()).await.unwrap().unwrap();
        assert!(housekeeping.place.try_lock().is_ok(), "nothing is held while it connects");
        housekeeping.forget();
        assert!(matches!(*housekeeping.place(), Connection::Empty));
        // All callers wait for the same attempt, and get its error.
        drop(socket);
        for asked in asked {
            let error = timeout(Duration::from_secs(10), asked).await.unwrap().unwrap().unwrap_err();
            assert_eq!(error.kind, portico_core::error::Kind::Unavailable);
        }
        assert!(listener.accept().now_or_never().is_none(), "one attempt for all of them");
        assert!(matches!(*housekeeping.place(), Connection::Empty), "a late attempt takes nobody's place");
    }
}
