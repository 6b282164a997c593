//! What the processes on one store tell each other beside what the store holds: that the catalogue of
//! a connection has changed. A word is heard by whoever listens at that moment, and kept nowhere; who
//! could not listen for a while is told that words may have been lost.

use std::fmt;

use tokio::sync::broadcast;
use uuid::Uuid;

/// Words that wait for one listener at most; one that is behind hears [`Word::Lost`] instead.
const WAITING: usize = 256;

/// What another process says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// The catalogue of this connection has changed.
    Catalogue(Uuid),
    /// Words may have been lost: the catalogue of any connection may have changed.
    Lost,
}

/// The other processes on the store.
#[derive(Clone)]
pub(crate) struct Peers {
    /// Tells our own words from those of others.
    own: Uuid,
    words: broadcast::Sender<Word>,
}

impl Default for Peers {
    fn default() -> Self {
        Self { own: Uuid::new_v4(), words: broadcast::Sender::new(WAITING) }
    }
}

impl Peers {
    /// Everything that is heard from now on.
    pub(crate) fn listen(&self) -> Words {
        Words(self.words.subscribe())
    }

    /// Takes what came with a notification; what is none of a peer's says nothing.
    pub(crate) fn heard(&self, payload: &str) {
        let Some((by, connection)) = payload.split_once(' ') else { return };
        if let (Ok(by), Ok(connection)) = (Uuid::try_parse(by), Uuid::try_parse(connection))
            && by != self.own
        {
            self.pass(Word::Catalogue(connection));
        }
    }

    /// Nobody listened for a while.
    pub(crate) fn lost(&self) {
        self.pass(Word::Lost);
    }

    fn pass(&self, word: Word) {
        // Where nobody listens, nobody is to be told.
        let _ = self.words.send(word);
    }

    pub(crate) fn payload(&self, connection: Uuid) -> String {
        format!("{} {connection}", self.own)
    }
}

/// The words of other processes, as they come.
pub struct Words(broadcast::Receiver<Word>);

impl fmt::Debug for Words {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Words")
    }
}

impl Words {
    /// The next one; `None` when no more can come. Dropping it loses nothing.
    pub async fn next(&mut self) -> Option<Word> {
        match self.0.recv().await {
            Ok(word) => Some(word),
            Err(broadcast::error::RecvError::Lagged(_)) => Some(Word::Lost),
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
        let mut words = here.listen();
        here.heard(&here.payload(connection));
        for wrong in ["", "portico", "a b", &format!("{connection}"), &format!("{connection} x")] {
            here.heard(wrong);
        }
        here.heard(&there.payload(connection));
        assert_eq!(words.next().await, Some(Word::Catalogue(connection)));
        here.lost();
        assert_eq!(words.next().await, Some(Word::Lost));
        for _ in 0..=WAITING {
            here.heard(&there.payload(connection));
        }
        assert_eq!(words.next().await, Some(Word::Lost), "it was too slow");
        drop(here);
        let mut rest = 0;
        while words.next().await.is_some() {
            rest += 1;
        }
        assert_eq!(rest, WAITING);
    }
}
