//! Messages between the services on one store: the catalogue of a connection has changed. A receiver reads its own
//! source at once, and so notifies its listeners; a change found like this is not sent again, so that messages do
//! not circulate.

use std::sync::Arc;

use portico_actors::auth::{Auth, PeerMessage, PeerMessages};
use portico_actors::directory::Directory;
use portico_actors::event::{Event, Observer};
use tokio_util::sync::CancellationToken;

/// Returns an observer that notifies the other services of catalogue changes found here, and passes each event on
/// to `observer`.
pub(crate) fn telling(auth: Auth, observer: Observer) -> Observer {
    Arc::new(move |event| {
        if let Event::CatalogueChanged { id, told: false, .. } = event {
            auth.on_catalog_changed(*id);
        }
        observer(event);
    })
}

/// Handles messages of the others until the service stops.
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
