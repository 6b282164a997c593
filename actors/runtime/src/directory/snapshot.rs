//! The snapshot in which callers look up connections: rebuilt when a connection is added or removed. The state of
//! one connection is replaced in its own slot, however many there are.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use arc_swap::ArcSwap;
use uuid::Uuid;

use super::entry::ConnectionEntry;

/// Every connection.
#[derive(Default)]
pub(super) struct Snapshot {
    by_id: HashMap<Uuid, Arc<Published>>,
    /// By the name in lower case; while names are exchanged, two may have the same.
    by_name: BTreeMap<(Box<str>, Uuid), Arc<Published>>,
}

struct Published {
    id: Uuid,
    entry: ArcSwap<ConnectionEntry>,
}

impl Snapshot {
    pub(super) fn new(entries: impl Iterator<Item = ConnectionEntry>) -> Self {
        let mut snapshot = Self::default();
        for entry in entries {
            let (id, name) = (entry.id, entry.name.to_ascii_lowercase());
            let place = Arc::new(Published { id, entry: ArcSwap::from_pointee(entry) });
            snapshot.by_id.insert(id, Arc::clone(&place));
            snapshot.by_name.insert((name.into(), id), place);
        }
        snapshot
    }

    /// Exchanges one entry; false when it is new here, or under a new name.
    pub(super) fn put(&self, entry: ConnectionEntry) -> bool {
        let known = self.by_id.get(&entry.id).filter(|place| place.entry.load().name == entry.name);
        if let Some(place) = known {
            place.entry.store(Arc::new(entry));
        }
        known.is_some()
    }

    pub(super) fn get(&self, id: Uuid) -> Option<ConnectionEntry> {
        self.by_id.get(&id).map(|place| ConnectionEntry::clone(&place.entry.load()))
    }

    /// Returns the connection with this name, in any case.
    pub(super) fn named(&self, name: &str) -> Option<ConnectionEntry> {
        let name: Box<str> = name.to_ascii_lowercase().into();
        let mut same = self.by_name.range((name.clone(), Uuid::nil())..=(name, Uuid::max()));
        same.next().map(|(_, place)| ConnectionEntry::clone(&place.entry.load()))
    }

    /// Returns the connections for which `wanted` is true, ordered by name.
    pub(super) fn entries_of(&self, wanted: impl Fn(Uuid) -> bool) -> impl Iterator<Item = ConnectionEntry> {
        let wanted = self.by_name.values().filter(move |place| wanted(place.id));
        wanted.map(|place| ConnectionEntry::clone(&place.entry.load()))
    }
}
