//! Notifies the other processes on the store of changes made here.

use actix::{Handler, Message};
use uuid::Uuid;

use crate::actor::AuthActor;
use crate::store::Store;

/// Asks to notify the other processes that the catalogue of a connection has changed. There is no reply: if the
/// store is unavailable, the notification is lost.
#[derive(Clone, Copy, Debug, Message)]
#[rtype(result = "()")]
pub(crate) struct AnnounceCatalog(pub(crate) Uuid);

impl Handler<AnnounceCatalog> for AuthActor {
    type Result = ();

    fn handle(&mut self, AnnounceCatalog(connection): AnnounceCatalog, _: &mut Self::Context) {
        let payload = self.settings.peers.payload(connection);
        drop(self.watch.work(Box::new(move |store: &mut Store| store.notify_catalog_changed(&payload).map(Ok))));
    }
}
