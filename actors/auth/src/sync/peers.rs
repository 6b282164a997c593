//! Messages between the processes on one store: that the catalogue of a connection has changed. A message reaches
//! the current subscribers, and is not stored. A subscriber that was too slow or disconnected receives
//! [`PeerMessage::Lagged`].

use std::fmt;

use tokio::sync::broadcast;
use uuid::Uuid;

/// Messages that wait for one subscriber at most; a slower one receives [`PeerMessage::Lagged`] instead.
const WAITING: usize = 256;

/// A message of another process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeerMessage {
    /// The catalogue of this connection has changed.
    CatalogChanged(Uuid),
    /// Messages may have been lost: the catalogue of any connection may have changed.
    Lagged,
}

/// The other processes on the store.
#[derive(Clone)]
pub(crate) struct Peers {
    /// Identifies our own messages.
    own: Uuid,
    messages: broadcast::Sender<PeerMessage>,
}

impl Default for Peers {
    fn default() -> Self {
        Self { own: Uuid::new_v4(), messages: broadcast::Sender::new(WAITING) }
    }
}

impl Peers {
    /// Everything that is heard from now on.
    pub(crate) fn listen(&self) -> PeerMessages {
        PeerMessages(self.messages.subscribe())
    }

    /// Handles the payload of a notification; one that no peer has sent is ignored.
    pub(crate) fn on_notification(&self, payload: &str) {
        let Some((by, connection)) = payload.split_once(' ') else { return };
        if let (Ok(by), Ok(connection)) = (Uuid::try_parse(by), Uuid::try_parse(connection))
            && by != self.own
        {
            self.pass(PeerMessage::CatalogChanged(connection));
        }
    }

    /// Reports that notifications may have been missed.
    pub(crate) fn on_gap(&self) {
        self.pass(PeerMessage::Lagged);
    }

    fn pass(&self, message: PeerMessage) {
        // Without subscribers the message is dropped.
        let _ = self.messages.send(message);
    }

    pub(crate) fn payload(&self, connection: Uuid) -> String {
        format!("{} {connection}", self.own)
    }
}

/// A subscription to the messages of other processes.
pub struct PeerMessages(broadcast::Receiver<PeerMessage>);

impl fmt::Debug for PeerMessages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PeerMessages")
    }
}

impl PeerMessages {
    /// Returns the next message; `None` if no more can come. Dropping the future loses nothing.
    pub async fn next(&mut self) -> Option<PeerMessage> {
        match self.0.recv().await {
            Ok(message) => Some(message),
            Err(broadcast::error::RecvError::Lagged(_)) => Some(PeerMessage::Lagged),
            Err(broadcast::error::RecvError::Closed) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[actix::test]
    async fn only_the_words_of_others_are_heard_and_none_is_lost_in_silence() {
        let (here, there) = (Peers::default(), Peers::default());
        let connection = Uuid::from_u128(7);
        let mut messages = here.listen();
        here.on_notification(&here.payload(connection));
        for wrong in ["", "portico", "a b", &format!("{connection}"), &format!("{connection} x")] {
            here.on_notification(wrong);
        }
        here.on_notification(&there.payload(connection));
        assert_eq!(messages.next().await, Some(PeerMessage::CatalogChanged(connection)));
        here.on_gap();
        assert_eq!(messages.next().await, Some(PeerMessage::Lagged));
        for _ in 0..=WAITING {
            here.on_notification(&there.payload(connection));
        }
        assert_eq!(messages.next().await, Some(PeerMessage::Lagged), "it was too slow");
        drop(here);
        let mut rest = 0;
        while messages.next().await.is_some() {
            rest += 1;
        }
        assert_eq!(rest, WAITING);
    }
}
