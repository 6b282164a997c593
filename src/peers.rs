//! What the services on one store tell each other besides what the store holds: the catalogue of a
//! connection has changed. Whoever hears it asks its own source at once, and by that tells those who
//! listen to it; what is found so is not passed on, so that no word goes round for ever.

use std::sync::Arc;

use portico_actors::auth::{Auth, PeerMessage, PeerMessages};
use portico_actors::directory::Directory;
use portico_actors::event::{Event, Observer};
use tokio_util::sync::CancellationToken;

/// An observer of the connections that tells the others of what was found here, and passes each event
/// on to `observer`.
pub(crate) fn telling(auth: Auth, observer: Observer) -> Observer {
    Arc::new(move |event| {
        if let Event::CatalogueChanged { id, told: false, .. } = event {
            auth.on_catalog_changed(*id);
        }
        observer(event);
    })
}

/// Hears the others until the service goes down.
pub(crate) async fn follow(mut messages: PeerMessages, directory: Directory, closing: CancellationToken) {
    loop {
        let message = tokio::select! {
            () = closing.cancelled() => return,
            message = messages.next() => message,
        };
        match message {
            Some(PeerMessage::CatalogChanged(connection)) => directory.on_catalog_changed(connection),
            Some(PeerMessage::Lagged) => directory.on_any_catalog_changed(),
            None => return,
        }
    }
}
