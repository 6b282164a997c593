//! Opens sessions: selects the host, the encryption and the password, and checks that the session is suitable. Its
//! set-up afterwards is in `session/setup.rs`.

use std::sync::Arc;
use std::time::Duration;

use deadpool_postgres::ClientWrapper;
use rand::seq::SliceRandom;
use secrecy::{ExposeSecret, SecretString};
use tokio::net::lookup_host;
use tokio::time::timeout;
use tokio_postgres::Config;
use tokio_postgres::config::{SslMode, SslNegotiation};
use tokio_postgres::error::SqlState;
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::local_set;
use crate::postgres::address::Address;
use crate::postgres::connect::connect_error::Fault;
use crate::postgres::connect::conninfo::invalid::refusal;
use crate::postgres::connect::conninfo::options::{self, Host, Mode, Options, Target};
use crate::postgres::connect::conninfo::parameters::Parameters;
use crate::postgres::connect::conninfo::password::{KnownPasswords, Passwords};
use crate::postgres::connect::login;
use crate::postgres::connect::protocol::cancel::Canceller;
use crate::postgres::connect::protocol::driven_client::DrivenClient;
use crate::postgres::connect::protocol::lingering::{HeldPlace, LingeringSocket};
use crate::postgres::connect::protocol::messages::PinnedSettings;
use crate::postgres::connect::protocol::notices::{self, MessageListener};
use crate::postgres::connect::protocol::session_memory::{PendingReservations, SessionMemory};
use crate::postgres::connect::protocol::stream::{Below, Bounded, ServerAddress};
use crate::postgres::connect::protocol::tls::Connectors;
use crate::postgres::failure;
use crate::{Login, Password, Pooler, check_login_role, of_role};
use portico_core::budget::Budget;
use portico_core::error::{Error, Kind, Result};

/// Is asked of a session when not every one will do.
const SUITS: &str = "SELECT pg_catalog.pg_is_in_recovery(), \
    pg_catalog.current_setting('transaction_read_only') = 'on'";

/// Makes sessions at one address.
pub(crate) struct Connector {
    options: Options,
    passwords: Passwords,
    tls: Connectors,
    /// How callers sign in as roles of their own.
    login: Option<Login>,
    /// The role that it logs in as; `None` for the user of the address.
    role: Option<Arc<str>>,
    /// The pooler between the service and the source.
    pub(crate) pooler: Pooler,
    /// The memory budget for large rows of its sessions.
    budget: Budget,
}

impl Connector {
    /// Parses `address`; does not connect yet. Each attempt may take `connect_timeout`, unless the URL says
    /// otherwise.
    ///
    /// # Errors
    /// [`Kind::Invalid`] naming the parameter and the remedy, and no secret.
    pub(crate) fn new(address: &Address, connect_timeout: Duration) -> Result<Self> {
        let mut parameters = Parameters::of_url(address.url.expose_secret())?;
        parameters.add_service(&address.files.services)?;
        let mut options = Options::new(parameters, &address.files.base, connect_timeout, address.pooler)?;
        let passwords = match (options.password.take(), &address.password) {
            // As in libpq, the URL takes precedence over the environment.
            (None, Some(Password::Value(password))) => Passwords::Given(password.clone()),
            (Some(password), Some(Password::Value(_)) | None) => Passwords::Given(SecretString::from(password)),
            (Some(_), Some(_)) => {
                let remedy = "keep one of the two";
                return Err(refusal(
                    "url",
                    "a password is given here and in password_file or password_command",
                    remedy,
                ));
            }
            (None, Some(place)) => Passwords::Kept(place.clone(), tokio::sync::Mutex::new(None)),
            (None, None) => match options.passfile.take().or_else(|| address.files.passfile.clone()) {
                Some(path) => Passwords::Listed(path),
                None => Passwords::None,
            },
        };
        let tls = Connectors::new(Arc::clone(&options.tls))?;
        let (login, pooler) = (address.login.clone(), address.pooler);
        Ok(Self { options, passwords, tls, login, role: None, pooler, budget: Budget::default() })
    }

    /// Shares `budget` with other sessions' large rows.
    pub(crate) fn within(self, budget: &Budget) -> Self {
        Self { budget: budget.clone(), ..self }
    }

    /// How callers sign in as roles of their own, where they do.
    pub(crate) fn login(&self) -> Option<&Login> {
        self.login.as_ref()
    }

    /// Returns the address for sessions of a caller's own role. The address's own password is not offered
    /// in the role's name; its certificate is, unless roles have their own.
    ///
    /// # Errors
    /// [`Kind::Forbidden`] when no file or program may be asked with the role's name.
    pub(crate) fn for_role(&self, role: &Arc<str>) -> Result<Self> {
        check_login_role(role).map_err(|why| login::refused(role, why))?;
        let mut options = self.options.clone();
        options.template.user(&**role);
        let mut passwords = Passwords::None;
        if let Some(login) = &self.login {
            if let Some(place) = &login.password {
                passwords = Passwords::Kept(place.of_role(role), tokio::sync::Mutex::new(None));
            }
            if let Some((certificate, key)) = &login.certificate {
                let client = Some((of_role(certificate, role), of_role(key, role)));
                options.tls = Arc::new(options::Tls { client, ..options.tls.as_ref().clone() });
            }
        }
        let tls = Connectors::unread(Arc::clone(&options.tls));
        let (role, budget) = (Some(Arc::clone(role)), self.budget.clone());
        Ok(Self { options, passwords, tls, login: None, role, pooler: self.pooler, budget })
    }

    /// The database that sessions lead to.
    pub(crate) fn database(&self) -> &str {
        self.options.template.get_dbname().unwrap_or_default()
    }

    /// How long each attempt may take.
    fn patience(&self) -> Duration {
        self.options.template.get_connect_timeout().copied().unwrap_or(Duration::MAX)
    }

    /// Whether the address asks for sessions that can write.
    pub(crate) fn wants_writer(&self) -> bool {
        matches!(self.options.target, Target::ReadWrite | Target::Primary)
    }

    /// Opens a suitable session at the first host that has one.
    ///
    /// # Errors
    /// [`Kind::Unavailable`]; the cause contains each host's error.
    pub(crate) async fn connect(&self) -> Result<DrivenClient> {
        let tls = match (self.tls.current().await, &self.role) {
            // The configuration is right, and a role's file is not.
            (Err(error), Some(_)) => return Err(failure::unavailable(error.message)),
            (tls, _) => tls?,
        };
        let known = self.passwords.read(None).await?;
        match self.first_that_will_do(&known, &tls).await {
            Err(Failure { refused: Some(password), .. }) if self.passwords.may_change() => {
                let known = self.passwords.read(Some(&password)).await?;
                self.first_that_will_do(&known, &tls).await
            }
            made => made,
        }
        .map_err(|failure| match (known, &self.role) {
            (_, Some(role)) if is_of_us(failure.code.as_ref()) => {
                login::refused(role, "cannot sign in to the database")
                    .because(failure.error(None).cause().unwrap_or_default())
            }
            (KnownPasswords::None(Some(why)), _) => failure.error(Some(why)),
            _ => failure.error(None),
        })
    }

    async fn first_that_will_do(
        &self,
        known: &KnownPasswords,
        tls: &MakeRustlsConnect,
    ) -> Result<DrivenClient, Failure> {
        let mut hosts: Vec<&Host> = self.options.hosts.iter().collect();
        if self.options.shuffled {
            hosts.shuffle(&mut rand::rng());
        }
        let passes: &[Target] = match self.options.target {
            Target::PreferStandby => &[Target::Standby, Target::Any],
            _ => &[self.options.target],
        };
        let mut failure = Failure::default();
        for target in passes {
            for host in &hosts {
                let password = known.find(host, self.database(), self.options.template.get_user().unwrap_or_default());
                let addresses = match self.addresses(host).await {
                    Ok(addresses) => addresses,
                    Err(why) => {
                        failure.add(host, &why);
                        failure.fault.get_or_insert(Fault::Name);
                        continue;
                    }
                };
                for address in addresses {
                    match self.attempt(host, &address, password.as_ref(), *target, tls).await {
                        Ok(wire) => return Ok(wire),
                        Err(refusal) => {
                            failure.add(host, &refusal.why);
                            failure.fault = Some(refusal.fault);
                            failure.code = refusal.code;
                            // As in libpq: a user refused by one host would be refused by all.
                            if is_of_us(failure.code.as_ref()) {
                                failure.refused = password;
                                return Err(failure);
                            }
                        }
                    }
                }
            }
        }
        Err(failure)
    }

    /// Where a host is: at its socket in the file system, or at the addresses of its name.
    async fn addresses(&self, host: &Host) -> Result<Vec<ServerAddress>, String> {
        if let Some(folder) = host.socket() {
            return Ok(vec![ServerAddress::Socket(folder.join(format!(".s.PGSQL.{}", host.port)))]);
        }
        if let Some(address) = host.address {
            return Ok(vec![ServerAddress::Network((address, host.port).into())]);
        }
        let found = timeout(self.patience(), lookup_host((host.name.as_str(), host.port)));
        let found = found.await.map_err(|_| "its name could not be looked up in time".to_owned())?;
        let mut addresses: Vec<_> = found.map_err(|error| error.to_string())?.collect();
        addresses.dedup();
        if self.options.shuffled {
            addresses.shuffle(&mut rand::rng());
        }
        Ok(addresses.into_iter().map(ServerAddress::Network).collect())
    }

    /// One attempt at one address, under each protection that the mode allows.
    async fn attempt(
        &self,
        host: &Host,
        place: &ServerAddress,
        password: Option<&SecretString>,
        target: Target,
        tls: &MakeRustlsConnect,
    ) -> Result<DrivenClient, Refusal> {
        let modes: &[SslMode] = match self.options.tls.mode {
            // TLS is never used on a Unix socket, whatever the mode (§34.19.3).
            _ if host.socket().is_some() => &[SslMode::Disable],
            Mode::Disable => &[SslMode::Disable],
            Mode::Allow => &[SslMode::Disable, SslMode::Require],
            Mode::Prefer => &[SslMode::Prefer, SslMode::Disable],
            Mode::Require | Mode::VerifyCa | Mode::VerifyFull => &[SslMode::Require],
        };
        let mut refusal: Option<Refusal> = None;
        for mode in modes {
            let config = self.config(host, place, password, *mode);
            let session = self.session(&config, (place.clone(), &host.name), target, tls);
            let attempt = timeout(self.patience(), session);
            let error = match attempt.await {
                Ok(Ok(wire)) => return Ok(wire),
                Ok(Err(refused)) => refused,
                Err(_) => Refusal::new(Fault::Silent, "it did not answer in time"),
            };
            // `pg_hba.conf` may refuse with TLS what it allows without, and the reverse.
            let another = error.in_handshake || error.code == Some(SqlState::INVALID_AUTHORIZATION_SPECIFICATION);
            refusal.get_or_insert(error);
            if !another {
                break;
            }
        }
        Err(refusal.unwrap_or_else(|| Refusal::new(Fault::Other, "bug: no TLS mode was tried")))
    }

    fn config(&self, host: &Host, place: &ServerAddress, password: Option<&SecretString>, mode: SslMode) -> Config {
        let mut config = self.options.template.clone();
        config.port(host.port).ssl_mode(mode);
        match host.socket() {
            Some(folder) => config.host_path(folder),
            None => config.host(&host.name),
        };
        if let ServerAddress::Network(address) = place {
            config.hostaddr(address.ip());
        }
        if let Some(password) = password {
            config.password(password.expose_secret());
        }
        config
    }

    async fn session(
        &self,
        config: &Config,
        (place, name): (ServerAddress, &str),
        target: Target,
        tls: &MakeRustlsConnect,
    ) -> Result<DrivenClient, Refusal> {
        let in_file_system = matches!(place, ServerAddress::Socket(_));
        let unreached = |error: std::io::Error| {
            let why = format!("error connecting to server: {error}");
            Refusal::new(Fault::of_socket(&error, in_file_system), &why)
        };
        let socket = place.connect_with(config).await.map_err(unreached)?;
        let pin = Arc::<PinnedSettings>::default();
        // Whether TLS is asked for: the answer is one octet.
        let asks =
            config.get_ssl_mode() != SslMode::Disable && config.get_ssl_negotiation() == SslNegotiation::Postgres;
        let lent = Arc::<PendingReservations>::default();
        let lending = SessionMemory { budget: self.budget.clone(), lent: Arc::clone(&lent) };
        let held = Arc::<HeldPlace>::default();
        let socket = LingeringSocket::new(socket, Arc::clone(&held));
        let stream = Bounded::new(socket, Arc::clone(&pin), lending, usize::from(asks));
        let below = MakeTlsConnect::<LingeringSocket>::make_tls_connect(&mut tls.clone(), name);
        let below = Below(below.map_err(|error| Refusal::new(Fault::Tls, &error.to_string()))?);
        let connected = config.connect_raw(stream, below).await;
        let (client, connection) = connected.map_err(|error| Refusal::from_error(&error))?;
        let messages = Arc::<MessageListener>::default();
        // The task ends with the client or with the connection, whichever ends first.
        let driver = local_set::spawn(notices::drive(connection, Arc::clone(&messages)));
        let pooled = self.pooler == Pooler::Transaction;
        let canceller =
            Arc::new(Canceller { token: client.cancel_token(), place, name: name.to_owned(), tls: tls.clone() });
        let client = ClientWrapper::new(client, driver);
        let wire = DrivenClient { client, messages, canceller, pin, lent, held, pooled };
        if target == Target::Any {
            return Ok(wire);
        }
        let told = |error: tokio_postgres::Error| Refusal::from_error(&error);
        let row = wire.query_typed_one(SUITS, &[]).await.map_err(told)?;
        let (standby, read_only): (bool, bool) = (row.try_get(0).map_err(told)?, row.try_get(1).map_err(told)?);
        let unsuited = match target {
            Target::ReadWrite if standby || read_only => "it does not allow writes",
            Target::ReadOnly if !standby && !read_only => "it allows writes",
            Target::Primary if standby => "it is a standby",
            Target::Standby if !standby => "it is a primary",
            _ => return Ok(wire),
        };
        Err(Refusal::new(Fault::Unsuited, unsuited))
    }
}

/// Why one attempt failed.
struct Refusal {
    why: String,
    fault: Fault,
    code: Option<SqlState>,
    /// Whether TLS could not be agreed upon.
    in_handshake: bool,
}

impl Refusal {
    fn new(fault: Fault, why: &str) -> Self {
        Self { why: why.to_owned(), fault, code: None, in_handshake: false }
    }

    /// Makes a failure of the source's or the wire library's error.
    fn from_error(error: &tokio_postgres::Error) -> Self {
        // The wire library distinguishes its errors only by these words.
        let in_handshake = error.to_string().contains("TLS handshake");
        let (why, code) = (failure::chain(error), error.code().cloned());
        Self { fault: Fault::from_code(code.as_ref(), &why), why, code, in_handshake }
    }
}

/// Returns true if the user or the password was refused.
fn is_of_us(code: Option<&SqlState>) -> bool {
    code.is_some_and(|code| code.code().starts_with("28"))
}

/// Why no host had a session that will do.
#[derive(Default)]
struct Failure {
    said: Vec<String>,
    /// The kind of fault of the last host.
    fault: Option<Fault>,
    /// The SQLSTATE of the last host.
    code: Option<SqlState>,
    /// The password that was refused.
    refused: Option<SecretString>,
}

impl Failure {
    fn add(&mut self, host: &Host, why: &str) {
        let said = format!("{}:{}: {why}", host.name, host.port);
        if !self.said.contains(&said) {
            self.said.push(said);
        }
    }

    fn error(self, more: Option<&str>) -> Error {
        let said: Vec<&str> = self.said.iter().map(String::as_str).chain(more).collect();
        let fault = self.fault.unwrap_or(Fault::Other);
        let error = Error::new(Kind::Unavailable, fault.message()).because(said.join("; "));
        let error = error.with(fault.remedy(), Error::hint);
        match self.code {
            // The source is there, and will have room again.
            Some(code) if code == SqlState::TOO_MANY_CONNECTIONS => {
                error.sqlstate(failure::TOO_MANY).retry_after(Duration::from_secs(1))
            }
            _ => error,
        }
    }
}
