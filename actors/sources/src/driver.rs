//! The seam between a connection and its database: what a driver is, where a connection leads, and the source that
//! comes of it.

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
    /// What people call the product, such as `PostgreSQL`.
    pub product: &'static str,
    /// Its `db.system.name` in OpenTelemetry.
    pub system_name: &'static str,
    /// How its URLs are written.
    pub example: &'static str,
    /// The SQL that it speaks.
    pub dialect: Dialect,
    /// The keys of a connection's configuration that not every driver knows.
    pub keys: &'static [&'static str],
    /// What it can do.
    pub capabilities: Capabilities,
    /// Whether a URL is one of its own.
    pub recognizes: fn(&str) -> bool,
    /// Where a connection leads. Nothing is judged yet: [`Location::check`] does that.
    pub locate: fn(ConnectOptions<'_>) -> Arc<dyn Location>,
    /// Whether a schema is the engine's own, which is in no listing where something is hidden.
    pub is_system_schema: fn(&str) -> bool,
    /// How its engine is asked what a statement costs; absent where it cannot be.
    pub explain: Option<&'static Explain>,
    /// What it does of a statement over several connections; absent where all of that is left to the engine.
    pub pushdown: Option<&'static Pushdown>,
}

/// What a driver can do.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts, each true or not")]
pub struct Capabilities {
    /// Callers can have roles of their own at the source.
    pub roles: bool,
    /// The source has procedures of its own; others have those that the administrator declares.
    pub procedures: bool,
    /// The source keeps the comments of statements, so that a trace can be found there.
    pub statement_comments: bool,
    /// The driver itself judges the default schema of a statement where something is hidden.
    pub judges_schemas: bool,
}

/// Where a connection leads, as its driver understands it.
pub trait Location: Any + Debug + Send + Sync {
    /// Whose it is.
    fn driver(&self) -> &'static Driver;

    /// Whether it can be honoured, as far as that can be told without connecting.
    ///
    /// # Errors
    /// [`Kind::Invalid`](portico_core::error::Kind::Invalid) naming the parameter and the remedy.
    fn check(&self) -> Result<()> {
        Ok(())
    }

    /// The same place, where callers sign in as roles of their own.
    fn with_login(&self, login: Login) -> Arc<dyn Location>;

    /// The database's file, where it is one.
    fn file(&self) -> Option<&Path> {
        None
    }

    /// The source that is there. Nothing is connected yet: [`Source::ping`] does that.
    ///
    /// # Errors
    /// [`Kind::Invalid`](portico_core::error::Kind::Invalid) when it cannot be honoured.
    fn open(&self, settings: Settings) -> Result<Arc<dyn Source>>;

    /// The statements that give a role of the source the rights that `settings` expose, as `wanted` asks for.
    /// Nothing is changed.
    ///
    /// # Errors
    /// [`Kind::Invalid`](portico_core::error::Kind::Invalid) where the source knows no grants, or not for that role.
    fn grants<'a>(&'a self, settings: &'a Settings, _wanted: &'a GrantRequest) -> BoxFuture<'a, Result<GrantScript>> {
        Box::pin(async { Err(self.without_grants(settings)) })
    }

    /// Runs them as `administrator`, in one transaction, after `show` was handed them; `record` is before they take
    /// effect. Tells what the role can do beyond what is exposed all the same.
    ///
    /// # Errors
    /// As [`Location::grants`], what `record` says, and what the source said of a statement: then nothing was changed.
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

    /// What is said where the source knows no grants.
    fn without_grants(&self, settings: &Settings) -> Error {
        let product = self.driver().product;
        Error::invalid(format!(
            "connection {} is a {product} database, for which Portico writes no grants",
            settings.name
        ))
    }
}

/// What a driver is opened with.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The connection's name: the catalogue of everything in it.
    pub name: Arc<str>,
    /// Whether the connection may write at all.
    pub access: Access,
    /// Sessions at most.
    pub pool: usize,
    /// How long a connection attempt may take.
    pub connect_timeout: Duration,
    /// Procedures that the administrator declared, for sources that have none of their own.
    pub declared: Arc<[DeclaredProcedure]>,
    /// Whether callers have roles of their own at the source: what any of them may see is then
    /// known of, whatever the connection's own user may see.
    pub has_roles: bool,
    /// What exists for callers. The driver refuses every use of what does not.
    pub exposure: Arc<Exposure>,
    /// What large rows share, with those of other connections.
    pub budget: Budget,
}

/// A database, reached through a driver of its own.
///
/// The futures are `Send` and own what they need: they run on the connection's thread, the
/// streams inside their answers on the HTTP worker that reads them.
pub trait Source: Send + Sync + 'static {
    /// Connects if need be, asks for a sign of life, and reads what callers may want to know
    /// without a question of their own.
    ///
    /// # Errors
    /// [`Kind::Unavailable`](portico_core::error::Kind::Unavailable) when the database is away or
    /// refuses us; the inner cause says why.
    fn ping(&self) -> BoxFuture<'static, Result<Profile>>;

    /// Answers as soon as the first columns are known, or fails with what the source said.
    ///
    /// Whatever is dropped before its end, this future or the results, is cancelled at the source.
    fn run(&self, plan: Plan) -> BoxFuture<'static, Result<Results>>;

    /// Compares what the connection's own user can do at the source with what the connection exposes: what is
    /// weaker than it looks. A source without users of its own has nothing to tell.
    fn excess_privileges(&self) -> BoxFuture<'static, Result<Vec<Finding>>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    /// Lets go of every session; what still runs is cancelled.
    fn close(&self) -> BoxFuture<'static, ()>;

    /// The sessions that are open now, for gauges; `None` where there are none to count.
    fn pool(&self) -> Option<Pool> {
        None
    }
}

/// The sessions of a source at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pool {
    /// Sessions that are open.
    pub open: usize,
    /// Of these, the ones that nobody uses.
    pub idle: usize,
    /// Sessions that may be open at most.
    pub most: usize,
}
