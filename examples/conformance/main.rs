//! A service for the public MCP conformance suite: one address offers the tools, resources and prompts that it asks for.
//!
//! Transport, identity and everything else are Portico's own.
//!
//! `cargo run --example conformance -- FOLDER`: listens on a free port of loopback, keeps its files
//! in FOLDER, and prints where it is and a client's credentials as JSON.

#![allow(clippy::print_stdout)]

mod fixture;

use std::error::Error;
use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::Arc;

use portico::app::App;
use portico::config::Config;
use portico_actors::auth::records::NewServiceAccount;
use portico_actors::auth::store::Store;
use portico_actors::principal::{Rights, Scope};
use secrecy::ExposeSecret;
use serde_json::json;
use uuid::{Uuid, uuid};

const CONNECTION: Uuid = uuid!("c0f0a9ce-0000-4000-8000-00000000c0de");

#[actix::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(std::env::args().nth(1).ok_or("give a folder")?);
    std::fs::create_dir_all(&folder)?;
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let url = format!("http://localhost:{}", listener.local_addr()?.port());
    portico::sample::create(&folder.join("shop.db")).map_err(|error| format!("{error:?}"))?;
    let text = format!(
        "[server]\npublic_url = \"{url}\"\n[[connections]]\nid = \"{CONNECTION}\"\nname = \"fixture\"\nurl = \"sqlite:shop.db\"\n"
    );
    let config = Config::parse(&text, &folder, &|_| None)?;
    let mut store = Store::open(&config.store.place).map_err(|error| error.message)?;
    let account =
        NewServiceAccount { name: "conformance".to_owned(), rights: Rights::only([CONNECTION], Scope::Write) };
    let (account, secret) = store.create_service_account(account).map_err(|error| error.message)?;
    let app = App::start_offering(config, Arc::new(|_| {}), Arc::new(fixture::Fixture::default()));
    let app = app.await.map_err(|error| error.message)?;
    println!(
        "{}",
        json!({
            "baseUrl": url,
            "mcpUrl": app.mcp_url(CONNECTION),
            "authUrl": format!("{url}/oauth/token"),
            "clientId": account.client_id,
            "clientSecret": secret.expose_secret(),
        })
    );
    portico::run(app, listener, std::future::pending()).await?;
    Ok(())
}
