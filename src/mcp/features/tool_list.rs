//! Lists of tools, as text. Most callers of a connection are shown the same tools, and are shown
//! them far more often than they change; and a change has every listener look again. So the lists
//! that were written last are kept.

use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher, Hash, Hasher};
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, Weak};

use lru::LruCache;
use portico_actors::mutex::lock;
use portico_actors::source::{Access, Profile};
use serde_json::Value;

use crate::config::Connection;
use crate::tools::{Filter, Offer};

/// Lists that are kept at most. One of a small connection is about 20 KiB.
const KEPT: NonZeroUsize = NonZeroUsize::new(128).unwrap();

/// A tool as it is listed.
#[derive(Debug, Hash)]
pub(in crate::mcp) struct ListedTool {
    pub(in crate::mcp) name: String,
    pub(in crate::mcp) json: String,
}

/// A list of tools.
#[derive(Debug)]
pub struct ToolList {
    pub(in crate::mcp) tools: Vec<ListedTool>,
    pub(in crate::mcp) digest: u64,
}

impl FromIterator<Value> for ToolList {
    /// From objects as `tools/list` shows them, in their order.
    fn from_iter<T: IntoIterator<Item = Value>>(tools: T) -> Self {
        let list = |tool: Value| ListedTool {
            name: tool["name"].as_str().unwrap_or_default().to_owned(),
            json: tool.to_string(),
        };
        let tools: Vec<ListedTool> = tools.into_iter().map(list).collect();
        Self { digest: digest(&tools), tools }
    }
}

/// Returns a digest of a list.
pub(in crate::mcp) fn digest(listed: &impl Hash) -> u64 {
    BuildHasherDefault::<DefaultHasher>::default().hash_one(listed)
}

/// The lists that were written last.
#[derive(Debug)]
pub(in crate::mcp) struct ToolListCache(Mutex<LruCache<ToolListKey, Arc<ToolList>>>);

impl Default for ToolListCache {
    fn default() -> Self {
        Self(Mutex::new(LruCache::new(KEPT)))
    }
}

impl ToolListCache {
    /// The list of `key`, which `write` writes where it is not kept.
    pub(in crate::mcp) fn get(&self, key: ToolListKey, write: impl FnOnce() -> ToolList) -> Arc<ToolList> {
        if let Some(kept) = lock(&self.0).get(&key) {
            return Arc::clone(kept);
        }
        // Not under the lock: writing the same text twice does no harm.
        let written = Arc::new(write());
        lock(&self.0).put(key, Arc::clone(&written));
        written
    }
}

/// Everything that a list depends on. A reload makes new settings and a changed source a new
/// profile, so that a list of old ones is found no more.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(in crate::mcp) struct ToolListKey {
    /// Of each connection, in their order.
    offers: Vec<OfferKey>,
    filter: Filter,
    /// Whether it includes output schemas.
    with_schemas: bool,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct OfferKey {
    settings: Same<Connection>,
    profile: Option<Same<Profile>>,
    connection: String,
    access: Access,
    may_write: bool,
    role: Option<String>,
}

impl ToolListKey {
    /// Makes the key of the tools of `offers` that pass `filter`, each offer with its settings.
    pub(in crate::mcp) fn new<'a>(
        offers: impl Iterator<Item = (&'a Arc<Connection>, &'a Offer<'a>)>,
        filter: &Filter,
        with_schemas: bool,
    ) -> Self {
        Self {
            offers: offers.map(|(settings, offer)| OfferKey::new(settings, offer)).collect(),
            filter: filter.clone(),
            with_schemas,
        }
    }
}

impl OfferKey {
    fn new(settings: &Arc<Connection>, offer: &Offer<'_>) -> Self {
        // Each member is named, so that a new one must be considered here.
        let Offer { connection, access, profile, by: _, role, switches: _, own: _, bounds: _, .. } = *offer;
        let Offer { instructions_tokens: _, lookup_rows: _, .. } = *offer;
        Self {
            settings: Same(Arc::downgrade(settings)),
            profile: profile.map(|profile| Same(Arc::downgrade(profile))),
            connection: connection.to_owned(),
            access,
            may_write: offer.may_write(),
            role: role.map(str::to_owned),
        }
    }
}

/// Compares by address through a [`Weak`], so that the address cannot be reused.
#[derive(Debug)]
struct Same<T>(Weak<T>);

impl<T> PartialEq for Same<T> {
    fn eq(&self, other: &Self) -> bool {
        Weak::ptr_eq(&self.0, &other.0)
    }
}

impl<T> Eq for Same<T> {}

impl<T> Hash for Same<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.as_ptr().hash(state);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn key(profile: &Arc<Profile>, role: Option<&str>) -> ToolListKey {
        let offer = OfferKey {
            settings: Same(Weak::new()),
            profile: Some(Same(Arc::downgrade(profile))),
            connection: "sales".to_owned(),
            access: Access::ReadOnly,
            may_write: false,
            role: role.map(str::to_owned),
        };
        ToolListKey { offers: vec![offer], filter: Filter::default(), with_schemas: true }
    }

    #[test]
    fn a_list_is_written_once_for_whom_it_is_the_same() {
        let listings = ToolListCache::default();
        let write = |name: &str| [json!({"name": name})].into_iter().collect::<ToolList>();
        let (profile, other) = (Arc::new(Profile::default()), Arc::new(Profile::default()));
        let first = listings.get(key(&profile, None), || write("one"));
        assert_eq!((first.tools[0].name.as_str(), first.tools[0].json.as_str()), ("one", "{\"name\":\"one\"}"));
        assert!(Arc::ptr_eq(&first, &listings.get(key(&profile, None), || write("two"))));
        // An equal profile is not the same one: the source was read again.
        for another in [key(&other, None), key(&profile, Some("clerk"))] {
            let second = listings.get(another, || write("two"));
            assert_eq!(second.tools[0].name, "two");
            assert_ne!(second.digest, first.digest);
        }
    }
}
