//! The messages of one answer, kept for a while so that a client which lost its stream can take
//! it up again (MCP 2025-11-25, transports §Resumability). Knows no session and no call.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{Stream, stream};
use tokio::sync::watch;

use crate::mcp::model::ServerEvent;

/// Messages kept of one answer at most, the newest.
const MESSAGES: usize = 64;
/// Bytes kept of one answer at most, unless its last message alone is larger.
const BYTES: usize = 1024 * 1024;

/// The answer to one request, while it is made and for a while after.
#[derive(Debug)]
pub struct ReplayBuffer {
    /// The number that identifies it within its session.
    pub stream: u64,
    kept: watch::Sender<Buffered>,
    followers: watch::Sender<usize>,
}

#[derive(Debug, Default)]
struct Buffered {
    messages: VecDeque<Bytes>,
    /// The number of the first of them. Number 0 is the event that only has an id.
    first: u64,
    bytes: usize,
    ended: bool,
    /// How often the streams were closed.
    paused: u64,
}

impl ReplayBuffer {
    /// Begins a recording: the number `stream` names it within its session.
    pub fn begin(stream: u64) -> Arc<Self> {
        let kept = Buffered { messages: VecDeque::from([Bytes::new()]), ..Buffered::default() };
        Arc::new(Self { stream, kept: watch::Sender::new(kept), followers: watch::Sender::new(0) })
    }

    /// Reads an event's id: the answer's name and the place in it.
    pub fn read_id(id: &str) -> Option<(u64, u64)> {
        let (stream, number) = id.split_once('-')?;
        Some((stream.parse().ok()?, number.parse().ok()?))
    }

    /// Adds a message. The oldest are dropped if they do not fit any more.
    pub fn push(&self, message: impl Into<Bytes>) {
        let message = message.into();
        self.kept.send_modify(|kept| {
            kept.bytes += message.len();
            kept.messages.push_back(message);
            while kept.messages.len() > 1 && (kept.messages.len() > MESSAGES || kept.bytes > BYTES) {
                let gone = kept.messages.pop_front().unwrap_or_default();
                kept.bytes -= gone.len();
                kept.first += 1;
            }
        });
    }

    /// Closes the current streams; a client that reconnects continues.
    pub fn pause(&self) {
        self.kept.send_modify(|kept| kept.paused += 1);
    }

    /// Marks the end.
    pub fn end(&self) {
        self.kept.send_modify(|kept| kept.ended = true);
    }

    /// Whether nothing more comes.
    pub fn has_ended(&self) -> bool {
        self.kept.borrow().ended
    }

    /// Bytes of the messages kept.
    pub fn bytes(&self) -> usize {
        self.kept.borrow().bytes
    }

    /// Returns the messages after the one with the number `after`, or all of them, as they come, to the end of the
    /// answer.
    pub fn follow(self: &Arc<Self>, after: Option<u64>) -> impl Stream<Item = ServerEvent> + use<> {
        let follower = Follower::new(Arc::clone(self));
        let kept = self.kept.subscribe();
        let next = after.map_or(0, |after| after.saturating_add(1));
        // A stream that was opened by the first look is closed by a later pause, also by one that
        // came before anything was sent.
        let paused = if after.is_some() { kept.borrow().paused } else { 0 };
        stream::unfold((follower, kept, next), move |(follower, mut kept, next)| async move {
            loop {
                let (message, is_over) = {
                    let now = kept.borrow_and_update();
                    (now.message(next), now.ended || now.paused > paused)
                };
                if let Some((number, message)) = message {
                    let id = Some(format!("{}-{number}", follower.0.stream));
                    return Some((ServerEvent { id, message }, (follower, kept, number + 1)));
                }
                if is_over {
                    return None;
                }
                kept.changed().await.ok()?;
            }
        })
    }

    /// Whether the answer has ended and nothing of it comes after the message with the number `after`: a stream of
    /// that would be empty, and its client would ask for it again and again.
    pub fn is_read(&self, after: u64) -> bool {
        let kept = self.kept.borrow();
        kept.ended && kept.message(after.saturating_add(1)).is_none()
    }

    /// Completes when there was no follower for `grace`.
    pub async fn deserted(&self, grace: Duration) {
        let mut followers = self.followers.subscribe();
        loop {
            // The sender is a member of `self`: neither wait can fail.
            let _ = followers.wait_for(|count| *count == 0).await;
            if tokio::time::timeout(grace, followers.wait_for(|count| *count > 0)).await.is_err() {
                return;
            }
        }
    }
}

impl Buffered {
    /// The first message that is not before `next`, if there is one, with its number.
    fn message(&self, next: u64) -> Option<(u64, Bytes)> {
        let number = next.max(self.first);
        let index = usize::try_from(number - self.first).ok()?;
        self.messages.get(index).map(|message| (number, message.clone()))
    }
}

/// Counts as present while it lives.
struct Follower(Arc<ReplayBuffer>);

impl Follower {
    fn new(recording: Arc<ReplayBuffer>) -> Self {
        recording.followers.send_modify(|count| *count += 1);
        Self(recording)
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        self.0.followers.send_modify(|count| *count -= 1);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::{FutureExt, StreamExt};

    use super::*;

    async fn all(recording: &Arc<ReplayBuffer>, after: Option<u64>) -> Vec<(String, Bytes)> {
        recording.follow(after).map(|it| (it.id.unwrap(), it.message)).collect().await
    }

    #[actix::test]
    async fn only_what_comes_later_is_repeated() {
        let recording = ReplayBuffer::begin(7);
        recording.push("a");
        let mut following = Box::pin(recording.follow(None));
        assert_eq!(
            following.next().await.unwrap(),
            ServerEvent { id: Some("7-0".to_owned()), ..ServerEvent::default() }
        );
        assert_eq!(following.next().await.unwrap().id.as_deref(), Some("7-1"));
        assert!(following.next().now_or_never().is_none(), "the answer is not over");
        recording.push("b");
        recording.end();
        assert_eq!(following.next().await.unwrap().message, "b");
        assert!(following.next().await.is_none());
        assert_eq!(all(&recording, Some(1)).await, [("7-2".to_owned(), Bytes::from("b"))]);
        assert!(!recording.is_read(1) && recording.is_read(2) && recording.is_read(u64::MAX));
        assert_eq!(all(&recording, Some(2)).await, []);
        assert_eq!(all(&recording, Some(u64::MAX)).await, []);
    }

    #[actix::test]
    async fn the_oldest_is_forgotten_when_there_is_too_much() {
        let recording = ReplayBuffer::begin(1);
        for _ in 0..3 * MESSAGES {
            recording.push("x");
        }
        recording.push(vec![b'y'; 2 * BYTES]);
        recording.end();
        let left = all(&recording, Some(0)).await;
        assert_eq!(left.len(), 1, "a response that is too large by itself is kept alone");
        assert_eq!((left[0].0.as_str(), left[0].1.len()), ("1-193", 2 * BYTES));
        assert_eq!(recording.bytes(), 2 * BYTES);
    }

    #[actix::test]
    async fn an_answer_is_deserted_when_its_last_follower_is_gone() {
        let recording = ReplayBuffer::begin(1);
        let following = recording.follow(None);
        assert!(recording.deserted(Duration::ZERO).now_or_never().is_none());
        drop(following);
        recording.deserted(Duration::ZERO).await;
    }

    #[actix::test]
    async fn a_pause_closes_what_follows_and_nothing_is_lost() {
        let recording = ReplayBuffer::begin(7);
        let mut following = Box::pin(recording.follow(None));
        assert_eq!(following.next().await.unwrap().id.as_deref(), Some("7-0"));
        recording.push("a");
        recording.pause();
        assert_eq!(following.next().await.unwrap().message, "a", "what was told before the pause comes first");
        assert!(following.next().await.is_none());
        let mut back = Box::pin(recording.follow(Some(1)));
        assert!(back.next().now_or_never().is_none(), "the pause before closed a stream that came after");
        recording.push("b");
        assert_eq!(back.next().await.unwrap().message, "b");
    }

    #[test]
    fn ids_are_read_back() {
        assert_eq!(ReplayBuffer::read_id("7-12"), Some((7, 12)));
        for wrong in ["", "7", "7-", "-1", "7-x", "list-1", "7-1-1"] {
            assert_eq!(ReplayBuffer::read_id(wrong), None, "{wrong}");
        }
    }
}
