//! A source that is opened when it is first pinged: an unused connection holds nothing but its settings.

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::sync::{OnceCell, Semaphore};

use crate::{Plan, Pool, Profile, Source};
use portico_core::error::{Error, Kind, Result};
use portico_core::finding::Finding;
use portico_core::reply::Results;

/// Makes a source anew. It connects nowhere, but it may read files.
pub type OpenSource = Arc<dyn Fn() -> Result<Arc<dyn Source>> + Send + Sync>;

/// A source that may not have been made yet.
pub struct LazySource {
    open: OpenSource,
    opened: Arc<OnceCell<Arc<dyn Source>>>,
    /// How many may be made at once, each on a thread for blocking work.
    turns: Arc<Semaphore>,
}

impl LazySource {
    /// Makes a source that is not opened yet.
    pub fn new(open: OpenSource, turns: Arc<Semaphore>) -> Self {
        Self { open, opened: Arc::default(), turns }
    }
}

impl Source for LazySource {
    fn ping(&self) -> BoxFuture<'static, Result<Profile>> {
        let (open, opened, turns) = (Arc::clone(&self.open), Arc::clone(&self.opened), Arc::clone(&self.turns));
        async move {
            let made = opened.get_or_try_init(|| async move {
                let _turn = turns.acquire().await.map_err(Error::internal)?;
                let made = tokio::task::spawn_blocking(move || open()).await.map_err(Error::internal)?;
                // A file that the configuration names may have changed since that was found right.
                made.map_err(|error| {
                    Error::new(Kind::Unavailable, "the connection cannot be opened as it is configured")
                        .because(error.message)
                })
            });
            made.await?.ping().await
        }
        .boxed()
    }

    fn run(&self, plan: Plan) -> BoxFuture<'static, Result<Results>> {
        match self.opened.get() {
            Some(source) => source.run(plan),
            None => async { Err(Error::internal("bug: a call came before the source was opened")) }.boxed(),
        }
    }

    fn excess_privileges(&self) -> BoxFuture<'static, Result<Vec<Finding>>> {
        match self.opened.get() {
            Some(source) => source.excess_privileges(),
            None => async { Ok(Vec::new()) }.boxed(),
        }
    }

    fn close(&self) -> BoxFuture<'static, ()> {
        match self.opened.get() {
            Some(source) => source.close(),
            None => async {}.boxed(),
        }
    }

    fn pool(&self) -> Option<Pool> {
        self.opened.get()?.pool()
    }
}
