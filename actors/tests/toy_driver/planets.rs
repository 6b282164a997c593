//! A driver made only by the steps of `docs/extending.md`: three planets in memory. It reads no more SQL than the
//! names that the statement parser has found, and the value of `@name`.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use futures_util::{FutureExt, stream};
use portico_actors::call::{MetadataFilter, MetadataKind};
use portico_actors::error::{Error, Result};
use portico_actors::pattern::matches;
use portico_actors::reply::{Cell, Column, DataType, Part, Results};
use portico_actors::source::catalog::{Assembled, assembled};
use portico_actors::source::{
    Capabilities, ConnectOptions, Driver, Location, Login, Plan, Prepared, Profile, Settings, Source, Task, bindings,
};
use portico_actors::sql::{Class, Dialect};

const SCHEMA: &str = "sky";
const TABLE: &str = "planets";
const PLANETS: [(&str, i64); 3] = [("Mercury", 0), ("Earth", 1), ("Mars", 2)];

/// Planets.
pub(crate) static DRIVER: Driver = Driver {
    name: "planets",
    product: "Planets",
    system_name: "other_sql",
    example: "planets:inner",
    dialect: Dialect { name: "Planets", ..Dialect::POSTGRESQL },
    keys: &[],
    capabilities: Capabilities { roles: false, procedures: false, statement_comments: false, judges_schemas: false },
    recognizes: |url| url.starts_with("planets:"),
    locate: |ConnectOptions { url, .. }| Arc::new(System(url.trim_start_matches("planets:").to_owned())),
    is_system_schema: |_| false,
    explain: None,
    pushdown: None,
};

/// Which planets.
#[derive(Debug)]
struct System(String);

impl Location for System {
    fn driver(&self) -> &'static Driver {
        &DRIVER
    }

    fn check(&self) -> Result<()> {
        if self.0 == "inner" {
            Ok(())
        } else {
            Err(Error::invalid("`url` names no planets").hint("write planets:inner"))
        }
    }

    fn with_login(&self, _: Login) -> Arc<dyn Location> {
        Arc::new(Self(self.0.clone()))
    }

    fn open(&self, settings: Settings) -> Result<Arc<dyn Source>> {
        Ok(Arc::new(Planets(settings.name)))
    }
}

/// The planets of the connection with this name.
struct Planets(Arc<str>);

impl Source for Planets {
    fn ping(&self) -> BoxFuture<'static, Result<Profile>> {
        let default_schema = Some(SCHEMA.to_owned());
        async { Ok(Profile { product: "Planets 1".to_owned(), default_schema, ..Profile::default() }) }.boxed()
    }

    fn run(&self, plan: Plan) -> BoxFuture<'static, Result<Results>> {
        let answer = match plan.task {
            Task::Describe(metadata, narrow) => Ok(assembled(metadata, listed(&self.0, metadata, &narrow))),
            Task::Statement(prepared) => selected(&prepared),
            _ => Err(Error::invalid("planets answer one statement at a time")),
        };
        async { answer }.boxed()
    }

    fn close(&self) -> BoxFuture<'static, ()> {
        async {}.boxed()
    }
}

type Rows = Vec<Vec<Cell<'static>>>;

fn text(text: &str) -> Cell<'static> {
    Cell::Text(text.to_owned().into())
}

fn listed(catalog: &str, metadata: MetadataKind, narrow: &MetadataFilter) -> Rows {
    let shown = matches(narrow.schema.as_deref(), SCHEMA) && matches(narrow.table.as_deref(), TABLE);
    match metadata {
        MetadataKind::Tables if shown => {
            vec![vec![text(catalog), text(SCHEMA), text(TABLE), text("TABLE"), Cell::Null]]
        }
        _ => Vec::new(),
    }
}

fn selected(prepared: &Prepared) -> Result<Results> {
    let statement = &prepared.statement;
    if statement.class != Class::Select {
        return Err(Error::forbidden("planets cannot be changed").sqlstate("25006"));
    }
    if let Some(other) =
        statement.names.iter().find(|name| !name.called && name.parts.last().is_none_or(|it| it != TABLE))
    {
        return Err(Error::not_found(format!("there is no table \"{}\"", other.parts.join("."))).sqlstate("42P01"));
    }
    let places = bindings::all_places(&statement.placeholders, &prepared.values)?;
    let named = statement.placeholders.iter().position(|name| name == "name");
    let value = named.and_then(|placeholder| prepared.values.get(*places.get(placeholder)?));
    let wanted: Option<String> = value.and_then(|value| serde_json::from_str(value.value.get()).ok());
    let rows = PLANETS.into_iter().filter(|(name, _)| wanted.as_ref().is_none_or(|wanted| wanted == name));
    let rows = rows.map(|(name, moons)| vec![text(name), Cell::Integer(moons)]).collect();
    let columns = [Column::computed("name", DataType::Varchar), Column::computed("moons", DataType::BigInt)];
    let rows = Part::Rows(Box::new(Assembled(rows)));
    let parts = [Part::Columns(columns.into()), rows, Part::Done { affected: -1 }];
    Ok(Results::new(false, stream::iter(parts.map(Ok))))
}
