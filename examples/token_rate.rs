//! What access tokens cost: how many known ones are judged a second, and how many `/oauth/token` issues.
//!
//! `cargo run --release --example token_rate`
#![allow(clippy::print_stdout, clippy::unwrap_used, clippy::cast_precision_loss, missing_docs)]

use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use actix::{Actor, Arbiter, Context, Handler, Message};
use futures_util::future::join_all;
use portico::app::App;
use portico::config::Config;
use portico_actors::auth::records::NewServiceAccount;
use portico_actors::auth::store::Store;
use portico_actors::auth::{Authenticate, ClientAuthentication, TokenRequest};
use portico_actors::error::Error;
use portico_actors::principal::{Credential, Endpoint, Principal, Rights, Scope};
use secrecy::ExposeSecret;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use uuid::Uuid;

const CONNECTION: Uuid = Uuid::from_u128(0x1111_1111_1111_4111_8111_1111_1111_1111);
const BATCHES: usize = 200;
const BATCH: usize = 1_000;
const CLIENTS: usize = 16;
const EACH: usize = 1_500;

fn main() {
    let folder = std::env::temp_dir().join(format!("portico-token-rate-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let text = format!(
        "[server]\nlisten = \"{address}\"\n[[connections]]\nid = \"{CONNECTION}\"\nname = \"shop\"\nurl = \"sqlite:x.db\"\n"
    );
    let config = Config::parse(&text, Path::new(&folder), &|_| None).unwrap();
    let new = NewServiceAccount { name: "rate".to_owned(), rights: Rights::only([CONNECTION], Scope::Read) };
    let (account, client_secret) = Store::open(&config.store.place).unwrap().create_service_account(new).unwrap();
    let client = ClientAuthentication { client_id: account.client_id, client_secret, from: None };
    actix::System::new().block_on(async move {
        let app = App::start(config, Arc::new(|_| ())).await.unwrap();
        judge(&app, client.clone()).await;
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let serving = actix::spawn(portico::run(app, listener, async { drop(stopped.await) }));
        issue(&address.to_string(), &client).await;
        drop(stop);
        serving.await.unwrap().unwrap();
    });
    std::fs::remove_dir_all(&folder).unwrap();
}

/// Answers at once: what is left is the mailbox's way there and back.
struct Nothing(Arc<Principal>);

impl Actor for Nothing {
    type Context = Context<Self>;
}

#[derive(Message)]
#[rtype(result = "Result<Arc<Principal>, Error>")]
struct Ask;

impl Handler<Ask> for Nothing {
    type Result = Result<Arc<Principal>, Error>;

    fn handle(&mut self, _: Ask, _: &mut Self::Context) -> Self::Result {
        Ok(Arc::clone(&self.0))
    }
}

/// Many at once, in turn with an actor that has nothing to do.
async fn judge(app: &App, client: ClientAuthentication) {
    let request = TokenRequest { client, scope: None, resource: None };
    let token = app.auth.send(request).await.unwrap().unwrap().token;
    let asked = Authenticate { credential: Credential::Bearer(token), endpoint: Endpoint::Api, from: None };
    let principal = app.auth.authenticate(asked.clone()).await.unwrap();
    let nothing = Nothing::start_in_arbiter(&Arbiter::new().handle(), |_| Nothing(principal));
    let (mut judged, mut idle) = (0.0, 0.0);
    for _ in 0..BATCHES {
        let start = Instant::now();
        for answer in join_all((0..BATCH).map(|_| app.auth.authenticate(asked.clone()))).await {
            answer.unwrap();
        }
        judged += start.elapsed().as_secs_f64();
        let start = Instant::now();
        for answer in join_all((0..BATCH).map(|_| nothing.send(Ask))).await {
            answer.unwrap().unwrap();
        }
        idle += start.elapsed().as_secs_f64();
    }
    let each = |seconds: f64| seconds * 1e6 / (BATCHES * BATCH) as f64;
    println!("a known token: {:.2} µs, {:.2} µs of it the mailbox's", each(judged), each(idle));
}

async fn issue(address: &str, client: &ClientAuthentication) {
    let body = format!(
        "grant_type=client_credentials&client_id={}&client_secret={}",
        client.client_id,
        client.client_secret.expose_secret()
    );
    let request = format!(
        "POST /oauth/token HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/x-www-form-urlencoded\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    );
    let start = Instant::now();
    join_all((0..CLIENTS).map(|_| ask(address, &request))).await;
    let rate = (CLIENTS * EACH) as f64 / start.elapsed().as_secs_f64();
    println!("/oauth/token: {rate:.0} a second from {CLIENTS} connections, client and server on this machine");
}

/// One connection that asks again and again. Every answer to the same request has the same length.
async fn ask(address: &str, request: &str) {
    let mut socket = TcpStream::connect(address).await.unwrap();
    socket.set_nodelay(true).unwrap();
    let mut buffer = vec![0; 8_192];
    for _ in 0..EACH {
        socket.write_all(request.as_bytes()).await.unwrap();
        let mut held = 0;
        loop {
            held += socket.read(&mut buffer[held..]).await.unwrap();
            let text = std::str::from_utf8(&buffer[..held]).unwrap();
            let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
            assert!(head.starts_with("HTTP/1.1 200"), "{head}");
            let length =
                head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
            if length == Some(body.len()) {
                break;
            }
        }
    }
}
