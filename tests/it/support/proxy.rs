//! A proxy in front of a database that a test can break, in each of the ways in which networks do.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// What the proxy does with what passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// Forwards.
    Whole,
    /// Takes no connection.
    Broken,
    /// Keeps every connection open, also new ones, and lets nothing through.
    Hole,
    /// Forwards a little at a time.
    Slow,
    /// Forwards what the database says so much later, as a long way does.
    Late(Duration),
}

/// Forwards to a database while it is whole.
pub(crate) struct ChaosProxy {
    port: u16,
    mode: watch::Sender<Mode>,
    /// Every change cuts the connections that are open.
    cut: watch::Sender<u64>,
    /// Octets towards the client after which all connections are cut.
    budget: Arc<AtomicU64>,
}

impl ChaosProxy {
    /// Begins to forward to the host and port in `url`.
    pub(crate) async fn start(url: &str, whole: bool) -> Self {
        let target = url.split_once('@').unwrap().1.split_once('/').unwrap().0.to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (mode, _) = watch::channel(if whole { Mode::Whole } else { Mode::Broken });
        let (cut, _) = watch::channel(0);
        let budget = Arc::new(AtomicU64::new(u64::MAX));
        let proxy = Self { port, mode: mode.clone(), cut: cut.clone(), budget: Arc::clone(&budget) };
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                // Refused at once: the socket is closed before a byte is sent.
                if *mode.borrow() == Mode::Broken {
                    continue;
                }
                let (target, mode, cut, budget) = (target.clone(), mode.clone(), cut.clone(), Arc::clone(&budget));
                let mut cuts = cut.subscribe();
                tokio::spawn(async move {
                    // A database that restarts refuses for a while.
                    let Ok(server) = TcpStream::connect(target).await else { return };
                    let ((from_client, to_client), (from_server, to_server)) =
                        (client.into_split(), server.into_split());
                    tokio::select! {
                        () = forward(from_client, to_server, mode.subscribe(), None) => {}
                        () = forward(from_server, to_client, mode.subscribe(), Some(&budget)) => {
                            if budget.load(Ordering::SeqCst) == 0 {
                                mode.send_replace(Mode::Broken);
                                cut.send_modify(|count| *count += 1);
                            }
                        }
                        _ = cuts.changed() => {}
                    }
                });
            }
        });
        proxy
    }

    /// The same database behind the proxy.
    pub(crate) fn url(&self, url: &str) -> String {
        let (user, rest) = url.split_once('@').unwrap();
        format!("{user}@127.0.0.1:{}/{}", self.port, rest.split_once('/').unwrap().1)
    }

    /// Cuts every connection and takes no more.
    pub(crate) fn break_up(&self) {
        self.mode.send_replace(Mode::Broken);
        self.cut.send_modify(|count| *count += 1);
    }

    /// Breaks up once so many octets more have come from the database.
    pub(crate) fn break_after(&self, octets: u64) {
        self.budget.store(octets, Ordering::SeqCst);
    }

    /// Lets nothing through any more, and says nothing of it.
    pub(crate) fn swallow(&self) {
        self.mode.send_replace(Mode::Hole);
    }

    /// Forwards a little at a time.
    pub(crate) fn slow_down(&self) {
        self.mode.send_replace(Mode::Slow);
    }

    /// Forwards what the database says so much later.
    pub(crate) fn delay(&self, delay: Duration) {
        self.mode.send_replace(Mode::Late(delay));
    }

    /// Forwards again; what was swallowed stays lost, with the connections that it was meant for.
    pub(crate) fn restore(&self) {
        self.budget.store(u64::MAX, Ordering::SeqCst);
        if self.mode.send_replace(Mode::Whole) == Mode::Hole {
            self.cut.send_modify(|count| *count += 1);
        }
    }
}

/// Forwards one direction until it ends or the budget is used up.
async fn forward(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    mut mode: watch::Receiver<Mode>,
    budget: Option<&AtomicU64>,
) {
    let mut octets = vec![0; 16 * 1024];
    loop {
        let now = *mode.borrow_and_update();
        let most = if now == Mode::Slow { 512 } else { octets.len() };
        let Ok(count @ 1..) = from.read(&mut octets[..most]).await else { break };
        if mode.wait_for(|mode| *mode != Mode::Hole).await.is_err() {
            break;
        }
        if now == Mode::Slow {
            tokio::task::yield_now().await;
        }
        let mut allowed = count;
        let late = *mode.borrow();
        if let (Some(_), Mode::Late(delay)) = (budget, late) {
            tokio::time::sleep(delay).await;
        }
        if let Some(budget) = budget {
            let before = budget
                .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| {
                    Some(if left == u64::MAX { left } else { left.saturating_sub(count as u64) })
                })
                .unwrap();
            allowed = count.min(usize::try_from(before).unwrap_or(usize::MAX));
        }
        if to.write_all(&octets[..allowed]).await.is_err() || allowed < count {
            break;
        }
    }
    let _ = to.shutdown().await;
}
