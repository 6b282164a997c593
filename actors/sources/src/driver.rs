//! The interface between a connection and its database: the driver, the location of the database, and the source
//! that is opened there.

use std::any::Any;
use std::fmt::Debug;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;

use crate::connect_options::{ConnectOptions, Login};
use crate::exposure::grants::{GrantRequest, GrantScript};
use crate::exposure::names::Exposure;
use crate::plan::{Access, Plan};
use crate::profile::{DeclaredProcedure, Profile};
use crate::statements::explain::Explain;
use crate::statements::pushdown::Pushdown;
use portico_core::budget::Budget;
use portico_core::error::{Error, Result};
use portico_core::finding::Finding;
use portico_core::reply::Results;
use portico_sql::Dialect;

/// A kind of database: all that the rest of the house knows of it.
#[derive(Debug)]
pub struct Driver {
    /// One word for listings, such as `postgres`.
    pub name: &'static str,
    /// The product's name, such as `PostgreSQL`.
    pub product: &'static str,
    /// Its `db.system.name` in OpenTelemetry.
    pub system_name: &'static str,
    /// How its URLs are written.
    pub example: &'static str,
    /// The SQL that it speaks.
    pub dialect: Dialect,
    /// The keys of a connection's configuration that not every driver knows.
    pub keys: &'static [&'static str],
    /// The features of the driver.
    pub capabilities: Capabilities,
    /// Returns true if a URL is for this driver.
    pub recognizes: fn(&str) -> bool,
    /// Makes the location of a connection. Nothing is validated yet: [`Location::check`] does that.
    pub locate: fn(ConnectOptions<'_>) -> Arc<dyn Location>,
    /// Whether a schema is the engine's own, which is in no listing where something is hidden.
    pub is_system_schema: fn(&str) -> bool,
    /// How to ask the database for the cost of a statement; absent if that is not possible.
    pub explain: Option<&'static Explain>,
    /// Which parts of a statement over several connections are pushed down; absent if the engine does all of it.
    pub pushdown: Option<&'static Pushdown>,
}

/// The features of a driver.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts, each true or not")]
pub struct Capabilities {
    /// Callers can have roles of their own at the source.
    pub roles: bool,
    /// Whether the source has procedures of its own; other sources have those that the administrator declares.
    pub procedures: bool,
    /// The source keeps the comments of statements, so that a trace can be found there.
    pub statement_comments: bool,
    /// The driver itself judges the default schema of a statement where something is hidden.
    pub judges_schemas: bool,
}

/// Where a connection leads, as its driver understands it.
pub trait Location: Any + Debug + Send + Sync {
    /// Returns the driver of the location.
    fn driver(&self) -> &'static Driver;

    /// Validates the location, as far as possible without connecting.
    ///
    /// # Errors
    /// [`Kind::Invalid`](portico_core::error::Kind::Invalid) naming the parameter and the remedy.
    fn check(&self) -> Result<()> {
        Ok(())
    }

    /// Returns the location for callers who sign in as roles of their own.
    fn with_login(&self, login: Login) -> Arc<dyn Location>;

    /// The database's file, where it is one.
    fn file(&self) -> Option<&Path> {
        None
    }

    /// Opens the source at this location. It does not connect yet: [`Source::ping`] does.
    ///
    /// # Errors
    /// [`Kind::Invalid`](portico_core::error::Kind::Invalid) if the location is not valid.
    fn open(&self, settings: Settings) -> Result<Arc<dyn Source>>;

    /// Returns the statements that grant a role of the source the privileges for what `settings` expose, as
    /// `wanted` asks for. Nothing is changed.
    ///
    /// # Errors
    /// [`Kind::Invalid`](portico_core::error::Kind::Invalid) if the source has no GRANT, or not for that role.
    fn grants<'a>(&'a self, settings: &'a Settings, _wanted: &'a GrantRequest) -> BoxFuture<'a, Result<GrantScript>> {
        Box::pin(async { Err(self.without_grants(settings)) })
    }

    /// Runs the statements as `administrator`, in one transaction. `show` receives them first; `record` runs before
    /// they take effect. Returns what the role can still do beyond what is exposed.
    ///
    /// # Errors
    /// As [`Location::grants`], an error of `record`, and an error of the source: then nothing was changed.
    fn apply_grants<'a>(
        &'a self,
        settings: &'a Settings,
        _administrator: &'a dyn Location,
        _wanted: &'a GrantRequest,
        _show: &'a mut (dyn FnMut(&GrantScript) + Send),
        _record: &'a mut (dyn FnMut(&GrantScript) -> Result<()> + Send),
    ) -> BoxFuture<'a, Result<Vec<Finding>>> {
        Box::pin(async { Err(self.without_grants(settings)) })
    }

    /// Returns the error for a source without GRANT.
    fn without_grants(&self, settings: &Settings) -> Error {
        let product = self.driver().product;
        Error::invalid(format!(
            "connection {} is a {product} database, for which Portico writes no grants",
            settings.name
        ))
    }
}

/// The settings that a driver opens a source with.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The connection's name: the catalogue of everything in it.
    pub name: Arc<str>,
    /// Whether the connection may write.
    pub access: Access,
    /// Sessions at most.
    pub pool: usize,
    /// How long a connection attempt may take.
    pub connect_timeout: Duration,
    /// Procedures that the administrator declared, for sources that have no procedures.
    pub declared: Arc<[DeclaredProcedure]>,
    /// Whether callers have roles of their own at the source: the catalogue then includes what any of them may see,
    /// whatever the connection's own user may see.
    pub has_roles: bool,
    /// What is exposed to callers. The driver refuses every use of anything else.
    pub exposure: Arc<Exposure>,
    /// The memory budget of large rows, shared with other connections.
    pub budget: Budget,
}

/// A database, reached through its driver.
///
/// The futures are `Send` and own what they need: they run on the connection's thread, and the streams in their
/// answers run on the HTTP worker that reads them.
pub trait Source: Send + Sync + 'static {
    /// Connects if necessary, checks that the database answers, and reads what callers may need without a query of
    /// their own.
    ///
    /// # Errors
    /// [`Kind::Unavailable`](portico_core::error::Kind::Unavailable) if the database cannot be reached or refuses
    /// the connection; the inner cause says why.
    fn ping(&self) -> BoxFuture<'static, Result<Profile>>;

    /// Completes as soon as the first columns are known, or fails with the source's error.
    ///
    /// If this future or the results are dropped before their end, the statement is cancelled at the source.
    fn run(&self, plan: Plan) -> BoxFuture<'static, Result<Results>>;

    /// Compares the privileges of the connection's own user with what the connection exposes, and returns what is
    /// less protected than it appears. A source without users returns nothing.
    fn excess_privileges(&self) -> BoxFuture<'static, Result<Vec<Finding>>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    /// Closes all sessions; running statements are cancelled.
    fn close(&self) -> BoxFuture<'static, ()>;

    /// Returns the number of open sessions, for gauges; `None` if there is no pool.
    fn pool(&self) -> Option<Pool> {
        None
    }
}

/// The sessions of a source at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pool {
    /// Sessions that are open.
    pub open: usize,
    /// The number of idle ones among them.
    pub idle: usize,
    /// Sessions that may be open at most.
    pub most: usize,
}
