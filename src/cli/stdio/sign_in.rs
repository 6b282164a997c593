//! Access by signing in with a browser: asked for once, kept in the user's configuration folder for this user alone,
//! and renewed. Several programs at one server share it, and one at a time renews it.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use async_trait::async_trait;
use base16ct::lower::encode_string;
use portico_actors::auth::clock::Clock;
use portico_actors::error::{Error, Kind, Result};
use rustix::fs::{FlockOperation, flock};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use tokio::sync::Mutex;
use tokio::time::{sleep, timeout};

use super::callback::Callback;
use crate::cli::folders;
use crate::stdio::TokenProvider;
use crate::stdio::oauth::{Authorization, Tokens, Ungranted};

/// How long before its end a token is renewed.
const EARLY: i64 = 60;
/// How long a person may take.
const PATIENCE: Duration = Duration::from_mins(10);
/// How often it is looked whether another program has done.
const PACE: Duration = Duration::from_millis(200);

/// What is saved between two runs.
#[derive(Clone, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct SavedSignIn {
    /// The resource, for people who read the file.
    resource: String,
    issuer: String,
    client_id: String,
    access_token: String,
    #[serde(default)]
    refresh_token: Option<String>,
    /// Seconds since 1970-01-01T00:00:00Z.
    #[serde(default)]
    expires_at: Option<i64>,
}

/// Access to one MCP endpoint, obtained by signing in.
pub(super) struct SignIn {
    url: String,
    client: Option<String>,
    file: PathBuf,
    /// Held while a person is asked, or access is renewed.
    kept: Mutex<Option<SavedSignIn>>,
}

impl SignIn {
    /// Makes access to the endpoint `url`, as the client `client` if one was registered by hand. Saved in `folder`.
    pub(super) fn new(url: &str, client: Option<String>, folder: &Path) -> Self {
        let endpoint = url.split('?').next().unwrap_or(url).to_owned();
        let name = encode_string(&Sha256::digest(&endpoint)[..16]);
        Self { url: endpoint, client, file: folder.join(format!("{name}.json")), kept: Mutex::default() }
    }

    /// Obtains access in place of `refused`: what another process has saved meanwhile, or by the refresh token, or
    /// by signing in.
    async fn get(&self, kept: &mut Option<SavedSignIn>, refused: Option<&str>) -> Result<SecretString> {
        let _alone = self.lock().await?;
        if let Some(other) = self.read().filter(|other| other.is_good() && Some(other.access_token.as_str()) != refused)
        {
            let token = other.access_token.clone();
            *kept = Some(other);
            return Ok(token.into());
        }
        let before = self.read().or_else(|| kept.clone());
        let authorization = Authorization::discover(&self.url).await?;
        let before = before.filter(|before| before.issuer == authorization.issuer());
        let renewed = match before.as_ref().and_then(|before| Some((before, before.refresh_token.as_ref()?))) {
            Some((before, refresh)) => match authorization.refresh(&before.client_id, refresh).await {
                // If the server returns no new refresh token, the old one stays valid.
                Ok(tokens) => {
                    let refresh_token = tokens.refresh_token.clone().or_else(|| Some(refresh.clone()));
                    Some((before.client_id.clone(), Tokens { refresh_token, ..tokens }))
                }
                Err(Ungranted::Ended(_)) => None,
                Err(Ungranted::Failed(error)) => return Err(error),
            },
            None => None,
        };
        let (client_id, tokens) = match renewed {
            Some(renewed) => renewed,
            None => self.ask(&authorization).await?,
        };
        let now = self.save(SavedSignIn::new(&self.url, &authorization, client_id, tokens))?;
        let token = now.access_token.clone();
        *kept = Some(now);
        Ok(token.into())
    }

    /// Asks the person in front of this machine. Registers anew unless the client was registered by hand: a server may
    /// have forgotten the one before, and would tell only the person.
    async fn ask(&self, authorization: &Authorization) -> Result<(String, Tokens)> {
        let callback = Callback::open().await?;
        let client = match &self.client {
            Some(client) => client.clone(),
            None => authorization.register(&callback.address).await?,
        };
        let question = authorization.question(&client, &callback.address)?;
        open(&question.address);
        let answer = timeout(PATIENCE, callback.answer(&question.state, authorization.issuer()));
        let code = answer.await.map_err(|_| {
            Error::unauthenticated("the sign-in was not completed").hint("send the request again to be asked once more")
        })??;
        let tokens = authorization.redeem(&question, &code).await.map_err(Ungranted::error)?;
        Ok((client, tokens))
    }

    fn read(&self) -> Option<SavedSignIn> {
        serde_json::from_slice(&std::fs::read(&self.file).ok()?).ok()
    }

    /// Saves it for this user alone.
    fn save(&self, kept: SavedSignIn) -> Result<SavedSignIn> {
        let text = serde_json::to_vec_pretty(&kept).map_err(std::io::Error::from);
        let written = text.and_then(|text| folders::write(&self.file, &text));
        let failed = |error: std::io::Error| {
            let message = format!("{} cannot be written: {error}", self.file.display());
            Error::new(Kind::Unavailable, message)
                .hint("without it every start would ask again; make its folder writable")
        };
        written.map(|()| kept).map_err(failed)
    }

    /// Waits until no other program is at it.
    async fn lock(&self) -> Result<File> {
        let path = self.file.with_extension("lock");
        let opened = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&path);
        let file = opened
            .map_err(|error| Error::new(Kind::Unavailable, format!("{} cannot be written: {error}", path.display())))?;
        while flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            sleep(PACE).await;
        }
        Ok(file)
    }
}

impl SavedSignIn {
    fn new(url: &str, from: &Authorization, client_id: String, tokens: Tokens) -> Self {
        let expires_in = tokens.expires_in.and_then(|seconds| i64::try_from(seconds).ok());
        Self {
            resource: url.to_owned(),
            issuer: from.issuer().to_owned(),
            client_id,
            access_token: tokens.access_token,
            refresh_token: tokens.refresh_token,
            expires_at: expires_in.map(|seconds| now().saturating_add(seconds)),
        }
    }

    fn is_good(&self) -> bool {
        self.expires_at.is_none_or(|end| end - EARLY > now())
    }
}

fn now() -> i64 {
    Clock::system().now().time().seconds()
}

#[async_trait(?Send)]
impl TokenProvider for SignIn {
    async fn token(&self) -> Result<SecretString> {
        let mut kept = self.kept.lock().await;
        if let Some(good) = kept.as_ref().filter(|kept| kept.is_good()) {
            return Ok(good.access_token.clone().into());
        }
        self.get(&mut kept, None).await
    }

    async fn renewed(&self, refused: &SecretString) -> Result<Option<SecretString>> {
        let mut kept = self.kept.lock().await;
        let refused = refused.expose_secret();
        if let Some(other) = kept.as_ref().filter(|kept| kept.access_token != refused && kept.is_good()) {
            return Ok(Some(other.access_token.clone().into()));
        }
        self.get(&mut kept, Some(refused)).await.map(Some)
    }
}

/// Opens the browser at `address`, and prints the address for users without one.
fn open(address: &str) {
    eprintln!("portico: sign in with your browser: {address}");
    let chosen = std::env::var("BROWSER").ok().filter(|browser| !browser.is_empty());
    let usual = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let mut command = Command::new(chosen.as_deref().unwrap_or(usual));
    // Standard output is the protocol's.
    let begun = command.arg(address).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    match begun {
        // The thread waits for it, so that no zombie is left.
        Ok(mut browser) => drop(std::thread::spawn(move || browser.wait())),
        Err(error) => log::info!("no browser could be opened: {error}"),
    }
}
