//! How a change of who may do what comes to the audit trail. The store says what has changed; whoever
//! asked, and by which door, is added here. What a record looks like is not known.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use tokio::sync::oneshot;

use super::store::Change;
use crate::call::RequestId;
use crate::error::{Error, Kind, Result};

/// By which door a change was asked for, and by whom.
#[derive(Clone, Debug, Default)]
pub struct Door {
    /// Who was authenticated, if somebody was.
    pub principal: Option<String>,
    /// Where the request came from.
    pub address: Option<IpAddr>,
    /// What the client calls itself.
    pub agent: Option<String>,
    /// The request.
    pub request: Option<RequestId>,
    /// Its path.
    pub path: String,
}

/// Records changes.
pub trait Recorder: Send + Sync {
    /// Records a change that was made; completes when that is written.
    ///
    /// # Errors
    /// [`Kind::Unavailable`] when it could not be.
    fn record(&self, change: Change, door: Door) -> BoxFuture<'static, Result<()>>;

    /// Whether changes can be recorded now, as far as that is known.
    ///
    /// # Errors
    /// [`Kind::Unavailable`] when they cannot, and are not to be made.
    fn check(&self) -> Result<()> {
        Ok(())
    }
}

/// Where changes are recorded, if they are.
#[derive(Clone, Default)]
pub struct Recording(Option<Arc<dyn Recorder>>);

impl Recording {
    /// By `recorder`.
    pub fn by(recorder: Arc<dyn Recorder>) -> Self {
        Self(Some(recorder))
    }

    /// Refuses what could not be recorded, before it is done.
    ///
    /// # Errors
    /// As [`Recorder::check`].
    pub(crate) fn check(&self) -> Result<()> {
        self.0.as_ref().map_or(Ok(()), |recorder| recorder.check())
    }

    /// Records `changes`, in their order, also when nobody waits for that. Must be called on a thread of
    /// actix.
    pub(crate) fn record(&self, changes: Vec<Change>, door: &Door) -> Recorded {
        let recorder = self.0.as_ref().filter(|_| !changes.is_empty()).map(Arc::clone)?;
        let (door, (told, recorded)) = (door.clone(), oneshot::channel());
        actix::spawn(async move {
            let mut all = Ok(());
            for change in changes {
                let one = recorder.record(change, door.clone()).await;
                all = all.and(one);
            }
            // Nobody may wait any more.
            let _ = told.send(all);
        });
        Some(recorded)
    }
}

impl fmt::Debug for Recording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Recording(on)" } else { "Recording(off)" })
    }
}

/// What is waited for before a change is answered.
pub(crate) type Recorded = Option<oneshot::Receiver<Result<()>>>;

/// Waits until what was changed is recorded.
///
/// # Errors
/// It could not be.
pub(crate) async fn written(recorded: Recorded) -> Result<()> {
    match recorded {
        None => Ok(()),
        Some(recorded) => recorded.await.unwrap_or_else(|_| {
            Err(Error::new(Kind::Unavailable, "the change was made, but it could not be recorded"))
        }),
    }
}
