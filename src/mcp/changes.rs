//! Notices that a list which a caller was shown has changed. Who is told, and how, is the
//! subscription's matter.

use std::time::Duration;

use portico_actors::connection::State;
use portico_actors::directory::{Directory, Entry};
use tokio::sync::watch;
use uuid::Uuid;

/// The shortest wait for a connection whose actor died to be there again; it doubles.
const LOOK_AGAIN_MIN: Duration = Duration::from_millis(250);
/// The longest.
const LOOK_AGAIN_MAX: Duration = Duration::from_secs(15);

/// A list that a client may keep and has to be told about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum List {
    /// `tools/list`.
    Tools,
    /// `resources/list`, and what its resources hold.
    Resources,
    /// `prompts/list`.
    Prompts,
}

impl List {
    /// All of them, in the order of their [`Digests`].
    pub const ALL: [Self; 3] = [Self::Tools, Self::Resources, Self::Prompts];

    /// The member of `subscriptions/listen` that asks for it.
    pub const fn subscription(self) -> &'static str {
        match self {
            Self::Tools => "toolsListChanged",
            Self::Resources => "resourcesListChanged",
            Self::Prompts => "promptsListChanged",
        }
    }

    /// The notification that tells of its change.
    pub const fn notification(self) -> &'static str {
        match self {
            Self::Tools => "notifications/tools/list_changed",
            Self::Resources => "notifications/resources/list_changed",
            Self::Prompts => "notifications/prompts/list_changed",
        }
    }
}

/// The digest of a list that nobody can read now: it is no change, and what is read next is
/// compared with what was told before.
pub const UNKNOWN: u64 = 0;

/// What each of [`List::ALL`] holds for one caller, as one number each.
pub type Digests = [u64; List::ALL.len()];

/// Watches one connection for one caller. It holds no queue: changes that nobody asked for in
/// time are one change.
pub struct Changes {
    directory: Directory,
    id: Uuid,
    state: watch::Receiver<State>,
    /// Changes with the configuration.
    revised: watch::Receiver<u64>,
    look: Box<dyn Fn(&Entry) -> Digests>,
    told: Digests,
}

impl Changes {
    /// Begins with what `look` sees now.
    pub fn new(directory: Directory, entry: &Entry, look: Box<dyn Fn(&Entry) -> Digests>) -> Self {
        let mut state = entry.watch();
        state.mark_unchanged();
        let revised = directory.revised();
        Self { directory, id: entry.id, state, revised, told: look(entry), look }
    }

    /// What was told last, or seen at first.
    pub fn told(&self) -> Digests {
        self.told
    }

    /// Takes `told` for what the client knows: the next change is one against that.
    pub fn resume(&mut self, told: Digests) {
        self.told = told;
        self.state.mark_changed();
    }

    /// Completes with the lists that have changed, never none; with `None` when there is no such
    /// connection any more. Dropping it loses nothing.
    pub async fn next(&mut self) -> Option<Vec<List>> {
        loop {
            tokio::select! {
                changed = self.state.changed() => if changed.is_err() {
                    self.find_again().await?;
                },
                // The directory is our own: it goes on announcing.
                _ = self.revised.changed() => self.state = self.directory.get(self.id)?.watch(),
            }
            let entry = self.directory.get(self.id)?;
            let mut seen = (self.look)(&entry);
            for (seen, told) in seen.iter_mut().zip(self.told) {
                if *seen == UNKNOWN {
                    *seen = told;
                }
            }
            let changed: Vec<List> = List::ALL
                .into_iter()
                .zip(seen.iter().zip(self.told))
                .filter(|(_, (seen, told))| **seen != *told)
                .map(|(list, _)| list)
                .collect();
            self.told = seen;
            if !changed.is_empty() {
                return Some(changed);
            }
        }
    }

    /// The actor is gone and its state with it: waits for the one that replaces it. `None` when
    /// there will be none.
    async fn find_again(&mut self) -> Option<()> {
        let mut wait = LOOK_AGAIN_MIN;
        loop {
            let state = self.directory.get(self.id)?.watch();
            if state.has_changed().is_ok() {
                self.state = state;
                return Some(());
            }
            tokio::time::sleep(wait).await;
            wait = (wait * 2).min(LOOK_AGAIN_MAX);
        }
    }
}
