//! The answers kept for repeated requests, limited in size, number and time. Which requests these are is decided in
//! `mod`.

use std::collections::{HashMap, VecDeque};
use std::hash::RandomState;
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use actix_web::http::StatusCode;
use actix_web::http::header::HeaderValue;
use actix_web::web;
use bytes::Bytes;
use portico_actors::effects::Effects;
use portico_actors::mutex::lock;
use sha2::{Digest as _, Sha256};

/// Bytes of an answer that is kept.
pub(super) const LARGEST: usize = 1024 * 1024;
/// Bytes of all answers together.
const MOST_BYTES: usize = 64 * 1024 * 1024;
/// The maximal size in bytes of one caller's answers: further ones replace the caller's own.
const MOST_BYTES_PER_CALLER: usize = 8 * 1024 * 1024;
/// Answers of one caller.
const MOST_PER_CALLER: usize = 1_000;
/// Answers of all callers.
const MOST: usize = 16_000;
/// How long an answer is kept, unless newer ones need its place.
const KEPT_FOR: Duration = Duration::from_secs(24 * 60 * 60);

/// The caller, the place and the key, as digests: short, however long names and keys are. Equal keys of different
/// callers and places are independent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct IdempotencyKey {
    subject: [u8; 32],
    whole: [u8; 32],
}

impl IdempotencyKey {
    /// Of `word`, used by `subject` at `place`: a connection, or a workspace.
    pub(super) fn new(subject: &str, place: &str, word: &str) -> Self {
        let mut whole = Sha256::new();
        for piece in [subject, place, word] {
            // With its length in front, no piece can pass for the end of another.
            whole.update(piece.len().to_be_bytes());
            whole.update(piece);
        }
        Self { subject: Sha256::digest(subject).into(), whole: whole.finalize().into() }
    }
}

/// An answer as it is sent again.
#[derive(Clone, Debug)]
pub(super) struct StoredResponse {
    pub(super) status: StatusCode,
    pub(super) content_type: HeaderValue,
    pub(super) body: Bytes,
    /// How many rows it has.
    pub(super) rows: u64,
}

/// A request under a key, as digests.
#[derive(Clone, Copy, Debug)]
pub(super) struct KeyedRequest {
    /// What was sent.
    pub(super) sent: u64,
    /// What its answer depends on beside that.
    pub(super) standing: u64,
}

/// The result of looking up a key.
pub(super) enum KeyLookup {
    /// Unknown: the caller executes the request.
    Nothing(IdempotencyLock),
    /// It belongs to another request.
    Different,
    /// It belongs to this request, which would not get the same answer any more.
    Changed,
    /// The state of its request.
    Known(State),
}

/// The state of the request with a key.
#[derive(Clone)]
pub(super) enum State {
    /// It has not ended yet.
    Running,
    /// It has an answer.
    Kept(StoredResponse),
    /// Its answer was too large.
    NotKept,
    /// It failed, and what it did may stand.
    Failed,
}

struct Entry {
    request: KeyedRequest,
    state: State,
}

impl Entry {
    fn bytes(&self) -> usize {
        if let State::Kept(stored) = &self.state { stored.body.len() } else { 0 }
    }
}

/// Everything that is kept.
#[derive(Default)]
pub(in crate::http) struct IdempotencyStore {
    /// The hasher of bodies.
    pub(super) digests: RandomState,
    responses: Mutex<Responses>,
}

#[derive(Default)]
struct Responses {
    entries: HashMap<IdempotencyKey, Entry>,
    /// Ended ones, the oldest first.
    ended: VecDeque<(Instant, IdempotencyKey)>,
    bytes: usize,
    /// The number and size of each caller's answers.
    callers: HashMap<[u8; 32], Share>,
}

#[derive(Clone, Copy, Default)]
struct Share {
    answers: usize,
    bytes: usize,
}

impl Share {
    fn is_too_large(self) -> bool {
        self.answers > MOST_PER_CALLER || self.bytes > MOST_BYTES_PER_CALLER
    }
}

impl IdempotencyStore {
    /// Looks up `key` for a request.
    pub(super) fn find(memory: &web::Data<Self>, key: IdempotencyKey, request: KeyedRequest) -> KeyLookup {
        let mut responses = memory.responses();
        responses.forget_old(Instant::now());
        match responses.entries.get(&key) {
            Some(entry) if entry.request.sent != request.sent => KeyLookup::Different,
            Some(entry) if entry.request.standing != request.standing => KeyLookup::Changed,
            Some(entry) => KeyLookup::Known(entry.state.clone()),
            None => {
                responses.entries.insert(key, Entry { request, state: State::Running });
                KeyLookup::Nothing(IdempotencyLock {
                    memory: memory.clone(),
                    key: Some(key),
                    effects: Effects::noted(),
                })
            }
        }
    }

    fn responses(&self) -> MutexGuard<'_, Responses> {
        lock(&self.responses)
    }
}

impl Responses {
    fn end(&mut self, key: IdempotencyKey, state: State, now: Instant) {
        let Some(entry) = self.entries.get_mut(&key) else { return };
        entry.state = state;
        let bytes = entry.bytes();
        let share = self.callers.entry(key.subject).or_default();
        share.answers += 1;
        share.bytes += bytes;
        self.bytes += bytes;
        self.ended.push_back((now, key));
        while self.callers.get(&key.subject).is_some_and(|share| share.is_too_large()) {
            self.forget_oldest_of(key.subject);
        }
        self.forget_old(now);
    }

    fn forget_old(&mut self, now: Instant) {
        while let Some((since, _)) = self.ended.front()
            && now.duration_since(*since) >= KEPT_FOR
        {
            self.forget(0);
        }
        while self.bytes > MOST_BYTES || self.ended.len() > MOST {
            // The caller with the most answers makes room.
            let too_many = self.ended.len() > MOST;
            let most = self.callers.iter().max_by_key(|(_, own)| if too_many { own.answers } else { own.bytes });
            let Some(subject) = most.map(|(subject, _)| *subject) else { return };
            self.forget_oldest_of(subject);
        }
    }

    fn forget_oldest_of(&mut self, subject: [u8; 32]) {
        match self.ended.iter().position(|(_, key)| key.subject == subject) {
            Some(oldest) => self.forget(oldest),
            None => {
                self.callers.remove(&subject);
            }
        }
    }

    fn forget(&mut self, place: usize) {
        let Some((_, key)) = self.ended.remove(place) else { return };
        let bytes = self.entries.remove(&key).map_or(0, |entry| entry.bytes());
        self.bytes -= bytes;
        if let Some(share) = self.callers.get_mut(&key.subject) {
            share.bytes -= bytes;
            share.answers -= 1;
            if share.answers == 0 {
                self.callers.remove(&key.subject);
            }
        }
    }
}

/// The right to carry out a request. Dropped, it leaves the key as if it had never been used, unless something that the
/// request did may stand.
pub(super) struct IdempotencyLock {
    memory: web::Data<IdempotencyStore>,
    key: Option<IdempotencyKey>,
    effects: Effects,
}

impl IdempotencyLock {
    /// Keeps the answer for repeated requests.
    pub(super) fn complete(mut self, stored: StoredResponse) {
        self.end(State::Kept(stored));
    }

    /// Returns where it is to be noted what of the request may stand.
    pub(super) fn effects(&self) -> Effects {
        self.effects.clone()
    }

    /// Keeps only that there was an answer.
    pub(super) fn too_large(mut self) {
        self.end(State::NotKept);
    }

    fn end(&mut self, state: State) {
        if let Some(key) = self.key.take() {
            self.memory.responses().end(key, state, Instant::now());
        }
    }
}

impl Drop for IdempotencyLock {
    fn drop(&mut self) {
        if self.effects.may_stand() {
            self.end(State::Failed);
        }
        if let Some(key) = self.key.take() {
            self.memory.responses().entries.remove(&key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(subject: &str, key: usize) -> IdempotencyKey {
        IdempotencyKey::new(subject, "", &key.to_string())
    }

    fn request(sent: u64) -> KeyedRequest {
        KeyedRequest { sent, standing: 1 }
    }

    fn keep(memory: &web::Data<IdempotencyStore>, key: IdempotencyKey, size: usize) {
        let KeyLookup::Nothing(claim) = IdempotencyStore::find(memory, key, request(1)) else {
            panic!("the key was used before")
        };
        let body = Bytes::from(vec![0; size]);
        let content_type = HeaderValue::from_static("application/json");
        claim.complete(StoredResponse {
            status: actix_web::HttpResponse::Ok().finish().status(),
            content_type,
            body,
            rows: 0,
        });
    }

    #[test]
    fn a_key_is_its_callers_alone_and_as_small_as_any() {
        let key = IdempotencyKey::new("ann", "shop", "1");
        for other in [("bob", "shop", "1"), ("ann", "crm", "1"), ("ann", "shop", "2"), ("annshop", "", "1")] {
            assert_ne!(key, IdempotencyKey::new(other.0, other.1, other.2), "{other:?}");
        }
        assert_eq!(size_of::<IdempotencyKey>(), 64);
    }

    #[test]
    fn memory_is_bounded_for_each_caller_and_for_all() {
        let memory = web::Data::new(IdempotencyStore::default());
        keep(&memory, key("other", 0), 1);
        for number in 0..MOST_PER_CALLER + 10 {
            keep(&memory, key("busy", number), 1);
        }
        assert_eq!(memory.responses().ended.len(), MOST_PER_CALLER + 1);
        assert!(
            matches!(IdempotencyStore::find(&memory, key("other", 0), request(1)), KeyLookup::Known(State::Kept(_))),
            "pushed out by another caller"
        );
        assert!(matches!(IdempotencyStore::find(&memory, key("busy", 9), request(1)), KeyLookup::Nothing(_)));
        assert!(matches!(
            IdempotencyStore::find(&memory, key("busy", 10), request(1)),
            KeyLookup::Known(State::Kept(_))
        ));
        for number in 0..100 {
            keep(&memory, key("large", number), LARGEST);
        }
        assert!(
            matches!(IdempotencyStore::find(&memory, key("other", 0), request(1)), KeyLookup::Known(State::Kept(_))),
            "pushed out by large answers"
        );
        assert!(matches!(
            IdempotencyStore::find(&memory, key("large", 99), request(1)),
            KeyLookup::Known(State::Kept(_))
        ));
        // Together they fill it, and the callers with the most make room.
        for caller in 0..20 {
            (0..8).for_each(|number| keep(&memory, key(&format!("caller {caller}"), number), LARGEST));
        }
        assert!(
            matches!(IdempotencyStore::find(&memory, key("other", 0), request(1)), KeyLookup::Known(State::Kept(_))),
            "pushed out by many others"
        );
        let responses = memory.responses();
        assert!(responses.bytes <= MOST_BYTES && responses.bytes > MOST_BYTES - 2 * LARGEST, "{}", responses.bytes);
        assert_eq!(responses.entries.len(), responses.ended.len());
        assert_eq!(responses.callers.values().map(|share| share.answers).sum::<usize>(), responses.ended.len());
        assert_eq!(responses.callers.values().map(|share| share.bytes).sum::<usize>(), responses.bytes);
    }

    #[test]
    fn a_key_is_free_again_only_where_nothing_stands() {
        let memory = web::Data::new(IdempotencyStore::default());
        let begin = || {
            let KeyLookup::Nothing(claim) = IdempotencyStore::find(&memory, key("a", 1), request(1)) else {
                panic!("the key is not free")
            };
            claim
        };
        drop(begin());
        let claim = begin();
        claim.effects().commits();
        claim.effects().undone();
        drop(claim);
        let claim = begin();
        claim.effects().commits();
        drop(claim);
        let again = IdempotencyStore::find(&memory, key("a", 1), request(1));
        assert!(matches!(again, KeyLookup::Known(State::Failed)));
        let responses = memory.responses();
        assert_eq!((responses.entries.len(), responses.ended.len()), (1, 1));
    }

    #[test]
    fn answers_are_forgotten_in_time() {
        let memory = web::Data::new(IdempotencyStore::default());
        keep(&memory, key("a", 1), 10);
        assert!(matches!(IdempotencyStore::find(&memory, key("a", 1), request(2)), KeyLookup::Different));
        let elsewhere = KeyedRequest { standing: 2, ..request(1) };
        assert!(matches!(IdempotencyStore::find(&memory, key("a", 1), elsewhere), KeyLookup::Changed));
        assert!(matches!(IdempotencyStore::find(&memory, key("b", 1), request(2)), KeyLookup::Nothing(_)));
        let mut responses = memory.responses();
        responses.forget_old(Instant::now());
        assert_eq!(responses.entries.len(), 1);
        responses.forget_old(Instant::now() + KEPT_FOR);
        assert_eq!((responses.entries.len(), responses.bytes), (0, 0));
    }
}
