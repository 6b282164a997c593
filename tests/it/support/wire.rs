//! What a driver says to a PostgreSQL server, heard on its way there.

use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Forwards to a server, and keeps what each session says to it. For sessions without TLS.
#[derive(Clone)]
pub(crate) struct Listener {
    port: u16,
    sessions: Arc<Mutex<Vec<Vec<u8>>>>,
}

impl Listener {
    /// Stands in front of the server that `url` names.
    pub(crate) async fn start(url: &str) -> Self {
        let target = url.split_once('@').unwrap().1.split_once('/').unwrap().0.to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let sessions: Arc<Mutex<Vec<Vec<u8>>>> = Arc::default();
        let heard = Arc::clone(&sessions);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let number = {
                    let mut sessions = heard.lock().unwrap();
                    sessions.push(Vec::new());
                    sessions.len() - 1
                };
                let (server, heard) = (TcpStream::connect(&target).await.unwrap(), Arc::clone(&heard));
                let ((mut from_client, mut to_client), (mut from_server, mut to_server)) =
                    (client.into_split(), server.into_split());
                tokio::spawn(async move { tokio::io::copy(&mut from_server, &mut to_client).await });
                tokio::spawn(async move {
                    // The first message of a session has no tag.
                    let length = from_client.read_u32().await?;
                    to_server.write_u32(length).await?;
                    let mut greeting = (&mut from_client).take(u64::from(length) - 4);
                    tokio::io::copy(&mut greeting, &mut to_server).await?;
                    let mut octets = [0; 4096];
                    while let count @ 1.. = from_client.read(&mut octets).await? {
                        heard.lock().unwrap()[number].extend_from_slice(&octets[..count]);
                        to_server.write_all(&octets[..count]).await?;
                    }
                    std::io::Result::Ok(())
                });
            }
        });
        Self { port, sessions }
    }

    /// The same database by way of this.
    pub(crate) fn url(&self, url: &str) -> String {
        let (before, after) = url.split_once('@').unwrap();
        let (_, database) = after.split_once('/').unwrap();
        format!("{before}@127.0.0.1:{}/{database}", self.port)
    }

    /// What the first `sessions` said since this was last asked: the messages' tags, and the texts of simple queries.
    pub(crate) fn said(&self, sessions: usize) -> (String, String) {
        self.sessions.lock().unwrap().iter_mut().take(sessions).map(read).unzip()
    }

    /// How often `word` was said, as far as it is kept.
    pub(crate) fn count(&self, word: &str) -> usize {
        let sessions = self.sessions.lock().unwrap();
        sessions.iter().map(|said| String::from_utf8_lossy(said).matches(word).count()).sum()
    }
}

/// Takes the whole messages out of `said`.
fn read(said: &mut Vec<u8>) -> (String, String) {
    let (mut tags, mut queries, mut rest) = (String::new(), String::new(), said.as_slice());
    while let [tag, a, b, c, d, ..] = *rest {
        let length = usize::try_from(u32::from_be_bytes([a, b, c, d])).unwrap();
        let Some(message) = rest.get(5..=length) else { break };
        tags.push(char::from(tag));
        if tag == b'Q' {
            queries.push_str(&String::from_utf8_lossy(message));
        }
        rest = &rest[1 + length..];
    }
    *said = rest.to_vec();
    (tags, queries)
}
