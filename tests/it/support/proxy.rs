//! A proxy in front of a database that a test can break.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// Forwards to a database while it is whole.
pub(crate) struct ChaosProxy {
    port: u16,
    whole: Arc<AtomicBool>,
    /// Every change cuts the connections that are open.
    cut: watch::Sender<u64>,
}

impl ChaosProxy {
    /// Begins to forward to the host and port in `url`.
    pub(crate) async fn start(url: &str, whole: bool) -> Self {
        let target = url.split_once('@').unwrap().1.split_once('/').unwrap().0.to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let whole = Arc::new(AtomicBool::new(whole));
        let (cut, mut cuts) = watch::channel(0);
        let is_whole = Arc::clone(&whole);
        tokio::spawn(async move {
            while let Ok((mut client, _)) = listener.accept().await {
                cuts.mark_unchanged();
                // Refused at once: the socket is closed before a byte is sent.
                if !is_whole.load(Ordering::SeqCst) {
                    continue;
                }
                let (target, mut cut) = (target.clone(), cuts.clone());
                tokio::spawn(async move {
                    let mut server = TcpStream::connect(target).await.unwrap();
                    tokio::select! {
                        _ = copy_bidirectional(&mut client, &mut server) => {}
                        _ = cut.changed() => {}
                    }
                });
            }
        });
        Self { port, whole, cut }
    }

    /// The same database behind the proxy.
    pub(crate) fn url(&self, url: &str) -> String {
        let (user, rest) = url.split_once('@').unwrap();
        format!("{user}@127.0.0.1:{}/{}", self.port, rest.split_once('/').unwrap().1)
    }

    /// Cuts every connection and takes no more.
    pub(crate) fn break_up(&self) {
        self.whole.store(false, Ordering::SeqCst);
        self.cut.send_modify(|count| *count += 1);
    }

    pub(crate) fn restore(&self) {
        self.whole.store(true, Ordering::SeqCst);
    }
}
