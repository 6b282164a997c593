//! What the source says beside a statement's result (`RAISE NOTICE`, warnings): each session's
//! connection is driven here, and its notices go to whoever uses the session.

use std::collections::HashMap;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use deadpool_postgres::Connect;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::task::JoinHandle;
use tokio_postgres::error::{DbError, Severity as Said, SqlState};
use tokio_postgres::{AsyncMessage, Client, Config};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::call::{Notice, Notices, Severity};

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Who hears the notices of one session now.
#[derive(Default)]
pub(super) struct Hearer(Mutex<Option<Notices>>);

impl Hearer {
    /// From now on, `notices` hears; or nobody.
    pub(super) fn set(&self, notices: Option<Notices>) {
        *lock(&self.0) = notices;
    }

    fn tell(&self, said: &DbError) {
        // Of our own ROLLBACK behind a statement that has ended its transaction.
        if *said.code() == SqlState::NO_ACTIVE_SQL_TRANSACTION {
            return;
        }
        let Some(notices) = lock(&self.0).clone() else { return };
        let severity = match said.parsed_severity() {
            Some(Said::Debug) => Severity::Debug,
            Some(Said::Info | Said::Log) => Severity::Info,
            Some(Said::Notice) | None => Severity::Notice,
            Some(Said::Warning | Said::Error | Said::Fatal | Said::Panic) => Severity::Warning,
        };
        notices.hear(Notice {
            severity,
            message: said.message().to_owned(),
            sqlstate: said.code().code().to_owned(),
            hint: said.hint().map(str::to_owned),
        });
    }
}

/// Hearers of the sessions that are open, by the sessions' processes at the source.
#[derive(Clone, Default)]
pub(super) struct Hearers(Arc<Mutex<HashMap<i32, Weak<Hearer>>>>);

impl Hearers {
    /// The hearer of the session with this process.
    pub(super) fn find(&self, process: i32) -> Option<Arc<Hearer>> {
        lock(&self.0).get(&process)?.upgrade()
    }

    fn add(&self, process: i32, hearer: Weak<Hearer>) {
        let mut hearers = lock(&self.0);
        hearers.retain(|_, hearer| hearer.strong_count() > 0);
        hearers.insert(process, hearer);
    }
}

/// Opens a session and drives its connection.
pub(super) struct Driving {
    pub(super) tls: MakeRustlsConnect,
    pub(super) hearers: Hearers,
}

impl Connect for Driving {
    fn connect(&self, config: &Config) -> BoxFuture<'_, Result<(Client, JoinHandle<()>), tokio_postgres::Error>> {
        let config = config.clone();
        async move {
            let (client, mut connection) = config.connect(self.tls.clone()).await?;
            let hearer = Arc::new(Hearer::default());
            let known = Arc::downgrade(&hearer);
            let driving = tokio::spawn(async move {
                loop {
                    match poll_fn(|cx| connection.poll_message(cx)).await {
                        Some(Ok(AsyncMessage::Notice(said))) => hearer.tell(&said),
                        Some(Ok(_)) => {}
                        // Whoever uses the session is told by its own request.
                        Some(Err(_)) | None => break,
                    }
                }
            });
            let row = client.query_typed_one("SELECT pg_catalog.pg_backend_pid()", &[]).await?;
            self.hearers.add(row.try_get(0)?, known);
            Ok((client, driving))
        }
        .boxed()
    }
}
