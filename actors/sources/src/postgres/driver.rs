//! The driver for PostgreSQL, as the seam asks for it.

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use crate::connect_options::Login;
use crate::driver::{Capabilities, Driver, Location, Settings, Source};
use crate::exposure::grants::{GrantRequest, GrantScript};
use crate::postgres::address::Address;
use crate::postgres::connect::connector::Connector;
use crate::postgres::explain::EXPLAIN;
use crate::postgres::grants::apply;
use crate::postgres::pushdown::PUSHDOWN;
use crate::postgres::source::Postgres;
use portico_core::error::{Error, Result};
use portico_core::finding::Finding;
use portico_sql::Dialect;

/// PostgreSQL.
pub static DRIVER: Driver = Driver {
    name: "postgres",
    product: "PostgreSQL",
    system_name: "postgresql",
    example: "postgres://user:password@host:5432/database",
    dialect: Dialect::POSTGRESQL,
    keys: &["password_file", "password_command", "pooler", "explain_cost_limit"],
    capabilities: Capabilities { roles: true, procedures: true, statement_comments: true, judges_schemas: true },
    recognizes: |url| url.starts_with("postgres://") || url.starts_with("postgresql://"),
    locate: |endpoint| Arc::new(Address::from(endpoint)),
    is_system_schema: |schema| {
        schema.eq_ignore_ascii_case("information_schema") || schema.to_ascii_lowercase().starts_with("pg_")
    },
    explain: Some(&EXPLAIN),
    pushdown: Some(&PUSHDOWN),
};

impl Location for Address {
    fn driver(&self) -> &'static Driver {
        &DRIVER
    }

    fn check(&self) -> Result<()> {
        Connector::new(self, Duration::from_secs(1)).map(drop)
    }

    fn with_login(&self, login: Login) -> Arc<dyn Location> {
        Arc::new(Self { login: Some(login), ..self.clone() })
    }

    fn open(&self, settings: Settings) -> Result<Arc<dyn Source>> {
        Ok(Arc::new(Postgres::open(settings, self)?))
    }

    fn grants<'a>(&'a self, settings: &'a Settings, wanted: &'a GrantRequest) -> BoxFuture<'a, Result<GrantScript>> {
        apply::grants(settings, self, wanted).boxed()
    }

    fn apply_grants<'a>(
        &'a self,
        settings: &'a Settings,
        administrator: &'a dyn Location,
        wanted: &'a GrantRequest,
        show: &'a mut (dyn FnMut(&GrantScript) + Send),
        record: &'a mut (dyn FnMut(&GrantScript) -> Result<()> + Send),
    ) -> BoxFuture<'a, Result<Vec<Finding>>> {
        async move {
            let administrator: &dyn Any = administrator;
            let Some(administrator) = administrator.downcast_ref::<Self>() else {
                return Err(Error::invalid("--apply: this is not the address of a PostgreSQL database")
                    .hint("write postgres://user@host:5432/database"));
            };
            apply::apply(settings, self, administrator, wanted, show, record).await
        }
        .boxed()
    }
}
