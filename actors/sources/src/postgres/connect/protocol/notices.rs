//! Receives what the source sends beside a result (`RAISE NOTICE`, warnings): each session's connection is driven
//! here, and its notices go to the session's current user.

use std::future::poll_fn;
use std::sync::{Arc, Mutex, OnceLock};

use tokio::io::{AsyncRead, AsyncWrite};
use tokio_postgres::error::{DbError, Severity as Said, SqlState};
use tokio_postgres::{AsyncMessage, Connection};

use portico_core::call::{Notice, Notices, Severity};
use portico_core::error::bounded;
use portico_core::mutex::lock;

/// Receives the source's notices and notifications.
#[derive(Default)]
pub(crate) struct MessageListener {
    /// The notices of the session now.
    notices: Mutex<Option<Notices>>,
    /// Called with the channel and the payload of each notification (`NOTIFY`).
    notified: OnceLock<Box<dyn Fn(&str, &str) + Send + Sync>>,
}

impl MessageListener {
    /// Sets who receives notices from now on; `None` drops them.
    pub(crate) fn set(&self, notices: Option<Notices>) {
        *lock(&self.notices) = notices;
    }

    /// Calls `hear` with channel and payload of each notification from now on. Only the first call has an effect.
    pub(crate) fn on_notification(&self, hear: impl Fn(&str, &str) + Send + Sync + 'static) {
        let _ = self.notified.set(Box::new(hear));
    }

    fn notify(&self, said: &DbError) {
        // Caused by our own ROLLBACK after a statement that has ended its transaction.
        if *said.code() == SqlState::NO_ACTIVE_SQL_TRANSACTION {
            return;
        }
        let Some(notices) = lock(&self.notices).clone() else { return };
        let severity = match said.parsed_severity() {
            Some(Said::Debug) => Severity::Debug,
            Some(Said::Info | Said::Log) => Severity::Info,
            Some(Said::Notice) | None => Severity::Notice,
            Some(Said::Warning | Said::Error | Said::Fatal | Said::Panic) => Severity::Warning,
        };
        notices.hear(Notice {
            severity,
            message: bounded(said.message().to_owned()),
            sqlstate: said.code().code().to_owned(),
            hint: said.hint().map(|hint| bounded(hint.to_owned())),
        });
    }
}

/// Drives `connection` until either end closes; `messages` receives the notices.
pub(crate) async fn drive<S, T>(mut connection: Connection<S, T>, messages: Arc<MessageListener>)
where
    S: AsyncRead + AsyncWrite + Unpin,
    T: AsyncRead + AsyncWrite + Unpin,
{
    loop {
        match poll_fn(|cx| connection.poll_message(cx)).await {
            Some(Ok(AsyncMessage::Notice(said))) => messages.notify(&said),
            Some(Ok(AsyncMessage::Notification(said))) => {
                if let Some(hear) = messages.notified.get() {
                    hear(said.channel(), said.payload());
                }
            }
            Some(Ok(_)) => {}
            // The user of the session gets the error from its own request.
            Some(Err(error)) => return log::debug!("a session ended: {error}"),
            None => return,
        }
    }
}
