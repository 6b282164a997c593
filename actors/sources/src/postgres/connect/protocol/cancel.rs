//! Asks the source to cancel the statement of a session, and waits until the request was received. The wire library
//! closes the socket as soon as the request is sent; a pooler that has not forwarded it by then drops it, or worse.
//! `libpq` waits for the other end to close first, and so does this module.

use std::io;

use tokio_postgres::CancelToken;
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres_rustls::MakeRustlsConnect;

use super::stream::{Below, Bounded, ServerAddress, Socket};

/// Cancels the statement that runs on a session, also after the session was dropped.
pub(crate) struct Canceller {
    pub(crate) token: CancelToken,
    pub(crate) place: ServerAddress,
    /// The name in the server's certificate.
    pub(crate) name: String,
    pub(crate) tls: MakeRustlsConnect,
}

impl Canceller {
    /// Asks the source to cancel; whether it does, it does not say.
    pub(crate) async fn cancel(&self) -> io::Result<()> {
        let stream = Bounded::patient(self.place.connect().await?);
        let tls =
            MakeTlsConnect::<Socket>::make_tls_connect(&mut self.tls.clone(), &self.name).map_err(io::Error::other)?;
        self.token.clone().cancel_query_raw(stream, Below(tls)).await.map_err(io::Error::other)
    }
}
