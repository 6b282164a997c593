//! What the services on one store tell each other besides what the store holds: the catalogue of a
//! connection has changed. Whoever hears it asks its own source at once, and by that tells those who
//! listen to it; what is found so is not passed on, so that no word goes round for ever.

use std::sync::Arc;

use portico_actors::auth::{Auth, Word, Words};
use portico_actors::directory::Directory;
use portico_actors::event::{Event, Observer};
use tokio_util::sync::CancellationToken;

/// An observer of the connections that tells the others of what was found here, and passes each event
/// on to `observer`.
pub(crate) fn telling(auth: Auth, observer: Observer) -> Observer {
    Arc::new(move |event| {
        if let Event::CatalogueChanged { id, told: false, .. } = event {
            auth.tell_peers(*id);
        }
        observer(event);
    })
}

/// Hears the others until the service goes down.
pub(crate) async fn follow(mut words: Words, directory: Directory, closing: CancellationToken) {
    loop {
        let word = tokio::select! {
            () = closing.cancelled() => return,
            word = words.next() => word,
        };
        match word {
            Some(Word::Catalogue(connection)) => directory.told(connection),
            Some(Word::Lost) => directory.told_of_any(),
            None => return,
        }
    }
}
