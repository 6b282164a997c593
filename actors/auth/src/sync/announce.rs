//! Tells the other processes on the store what has changed here.

use actix::{Handler, Message};
use uuid::Uuid;

use crate::actor::AuthActor;
use crate::store::Store;

/// Asks to tell the other processes that the catalogue of a connection has changed. Nobody waits for
/// it: a store that is away tells nobody.
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
