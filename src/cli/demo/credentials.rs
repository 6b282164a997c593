//! The demo's user, token and service account: made once, kept in `credentials.json`.

use std::path::Path;

use portico_actors::auth::records::{NewPat, NewServiceAccount, NewUser};
use portico_actors::auth::store::Store;
use portico_actors::error::Error;
use portico_actors::principal::{Rights, Scope};
use secrecy::ExposeSecret;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::cli::common::Failure;
use crate::cli::folders;
use crate::cli::manage::recording::recorded;
use crate::config::{Config, Connection};

const USER: &str = "demo@example.com";
const ACCOUNT: &str = "demo";

/// The data that a client needs to call the demo.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Credentials {
    pub(super) base_url: String,
    pub(super) mcp_url: String,
    pub(super) auth_url: String,
    pub(super) connection_id: Uuid,
    pub(super) connection_name: String,
    pub(super) user: String,
    pub(super) pat: String,
    pub(super) client_id: String,
    pub(super) client_secret: String,
}

/// Keeps the secrets of an earlier run while the store still knows them, and makes new ones otherwise. The URLs are
/// those of this run.
pub(super) fn keep_or_make(data_dir: &Path, config: &Config) -> Result<Credentials, Failure> {
    let path = data_dir.join("credentials.json");
    let connection = config.connection("shop").ok_or_else(|| Error::not_found("the demo has no connection"))?;
    let mut store = recorded(Store::open(&config.store.place)?, config);
    let earlier = std::fs::read(&path).ok().and_then(|text| serde_json::from_slice::<Credentials>(&text).ok());
    let known = |account: &str| -> Result<bool, Failure> {
        Ok(store.service_accounts()?.iter().any(|known| known.client_id == account)
            && store.pats(None)?.iter().any(|known| known.email == USER && known.revoked_at.is_none()))
    };
    let secrets = match earlier {
        Some(earlier) if known(&earlier.client_id)? => (earlier.pat, earlier.client_id, earlier.client_secret),
        _ => make(&mut store, connection)?,
    };
    let (base_url, (pat, client_id, client_secret)) = (config.server.public_url.clone(), secrets);
    let credentials = Credentials {
        mcp_url: format!("{base_url}/mcp/connections/{}", connection.id),
        auth_url: format!("{base_url}/oauth/token"),
        base_url,
        connection_id: connection.id,
        connection_name: connection.name.to_string(),
        user: USER.to_owned(),
        pat,
        client_id,
        client_secret,
    };
    let text = serde_json::to_string_pretty(&credentials).map_err(Error::internal)?;
    folders::write(&path, (text + "\n").as_bytes())
        .map_err(|error| Failure::io(format_args!("{} cannot be written", path.display()), error))?;
    Ok(credentials)
}

/// A token, and the id and the secret of a service account.
fn make(store: &mut Store, connection: &Connection) -> Result<(String, String, String), Failure> {
    if !store.users()?.iter().any(|user| user.email == USER) {
        store.add_user(NewUser { email: USER.to_owned(), rights: Rights::all(Scope::Admin) })?;
    }
    let (_, pat) = store.create_pat(USER, NewPat::default())?;
    let (account, secret) = if store.service_accounts()?.iter().any(|account| account.name == ACCOUNT) {
        store.rotate_service_account(ACCOUNT)?
    } else {
        let rights = Rights::only([connection.id], Scope::Write);
        store.create_service_account(NewServiceAccount { name: ACCOUNT.to_owned(), rights })?
    };
    Ok((pat.expose_secret().to_owned(), account.client_id, secret.expose_secret().to_owned()))
}
