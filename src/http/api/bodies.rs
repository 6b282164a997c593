//! The bodies of the SQL API. One declaration gives each member its name, how it is read, and its
//! schema in `/openapi.json`; what a body asks for is decided in `sql.rs`.

use std::borrow::Cow;
use std::time::Duration;

use portico_actors::call::{Argument, Limits};
use portico_actors::error::{Error, Result};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use crate::fields::Fields;
use crate::tools::TIMEOUT_SECONDS;

/// Scripts of Node with axios, such as those that read Bullhorn by `/query`, send the connection's name so, beside a
/// statement whose names say it already. It means what `defaultCatalog` means.
const CONNECTION: &str = "connection";

/// The connection of names that do not say it, from `defaultCatalog` or from [`CONNECTION`].
fn default_catalog(fields: &mut Fields, name: &'static str) -> Result<Option<String>> {
    let default = fields.string(name)?;
    let connection =
        fields.take_silently(CONNECTION).and_then(|value| serde_json::from_str::<String>(value.get()).ok());
    match (default, connection) {
        (Some(default), Some(connection)) if !default.eq_ignore_ascii_case(&connection) => Err(Error::invalid(
            format!("connection: {connection} is another connection than {name}, which is {default}"),
        )
        .hint("give one of the two")),
        (default, connection) => Ok(default.or(connection)),
    }
}

/// A body that is a JSON object.
macro_rules! body {
    ($(#[$body:meta])* $name:ident { $($(#[$about:meta])* $member:ident as $word:tt: $kind:ty = $read:path,)+ }) => {
        #[derive(JsonSchema)]
        $(#[$body])*
        pub(in crate::http) struct $name {
            $($(#[$about])* #[schemars(rename = $word)] pub(in crate::http) $member: $kind,)+
        }

        impl $name {
            /// Reads all of its members.
            ///
            /// # Errors
            /// The name of the first member that is missing, wrong, unknown or given twice, and the remedy.
            pub(in crate::http) fn read(mut fields: Fields) -> Result<Self> {
                let body = Self { $($member: $read(&mut fields, $word)?,)+ };
                fields.finish("the body")?;
                Ok(body)
            }
        }
    };
}

body! {
    /// Statements, in one transaction on one connection.
    #[schemars(rename = "Query")]
    Script {
        /// The statements, separated by `;`. A name has one, two or three parts: `connection.schema.table`;
        /// `@name` stands for a value of `parameters`.
        query as "query": String = Fields::required,
        /// The connection of names that do not say it.
        default_catalog as "defaultCatalog": Option<String> = default_catalog,
        /// The schema that is searched first for names that do not say it.
        default_schema as "defaultSchema": Option<String> = Fields::schema,
        /// The values of the placeholders.
        #[schemars(with = "Option<Values>")]
        parameters as "parameters": Vec<Argument> = Fields::arguments,
        /// Tells the columns without a run.
        schema_only as "schemaOnly": Option<bool> = Fields::boolean,
        /// Runs all of it, answers as if it were kept, and undoes it. What a transaction does not hold is not
        /// undone: sequences go on.
        dry_run as "dryRun": Option<bool> = Fields::boolean,
        #[schemars(with = "Option<Rows>")]
        max_rows as "maxRows": Option<u64> = rows,
        #[schemars(with = "Option<Seconds>")]
        timeout as "timeout": Option<u64> = seconds,
    }
}

body! {
    /// One statement and many sets of values, in one transaction on one connection.
    Batch {
        /// The statement.
        query as "query": String = Fields::required,
        /// The connection of names that do not say it.
        default_catalog as "defaultCatalog": Option<String> = default_catalog,
        /// The schema that is searched first for names that do not say it.
        default_schema as "defaultSchema": Option<String> = Fields::schema,
        #[schemars(with = "Sets")]
        parameters as "parameters": Vec<Vec<Argument>> = Fields::argument_sets,
        /// Tells the columns without a run.
        schema_only as "schemaOnly": Option<bool> = Fields::boolean,
        /// Runs all of it, answers as if it were kept, and undoes it. What a transaction does not hold is not
        /// undone: sequences go on.
        dry_run as "dryRun": Option<bool> = Fields::boolean,
        #[schemars(with = "Option<Rows>")]
        max_rows as "maxRows": Option<u64> = rows,
        #[schemars(with = "Option<Seconds>")]
        timeout as "timeout": Option<u64> = seconds,
    }
}

body! {
    /// A call of a function or procedure.
    Exec {
        /// Its name, of one, two or three parts: `connection.schema.procedure`.
        procedure as "procedure": String = Fields::required,
        /// The connection of a name that does not say it.
        default_catalog as "defaultCatalog": Option<String> = default_catalog,
        /// The schema that is searched first for a name that does not say it.
        default_schema as "defaultSchema": Option<String> = Fields::schema,
        /// The arguments.
        #[schemars(with = "Option<Values>")]
        parameters as "parameters": Vec<Argument> = Fields::arguments,
        /// Runs all of it, answers as if it were kept, and undoes it. What a transaction does not hold is not
        /// undone: sequences go on.
        dry_run as "dryRun": Option<bool> = Fields::boolean,
        #[schemars(with = "Option<Rows>")]
        max_rows as "maxRows": Option<u64> = rows,
        #[schemars(with = "Option<Seconds>")]
        timeout as "timeout": Option<u64> = seconds,
    }
}

fn rows(fields: &mut Fields, name: &'static str) -> Result<Option<u64>> {
    fields.integer(name, 1..=u64::MAX)
}

fn seconds(fields: &mut Fields, name: &'static str) -> Result<Option<u64>> {
    fields.integer(name, TIMEOUT_SECONDS)
}

/// The time that a body gives, or the usual one, and the rows that it wants at most.
pub(in crate::http) fn limits(timeout: Option<u64>, rows: Option<u64>) -> Limits {
    Limits { timeout: timeout.map_or(Limits::DEFAULT_TIMEOUT, Duration::from_secs), rows }
}

/// Values by name or by position.
struct Values;

impl JsonSchema for Values {
    fn schema_name() -> Cow<'static, str> {
        "Values".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Values by name, with or without @, or by position",
            "type": ["object", "array"],
            "additionalProperties": generator.subschema_for::<JsonParameter>(),
            "items": generator.subschema_for::<JsonParameter>(),
        })
    }
}

/// What a value may be wrapped in.
struct JsonParameter;

impl JsonSchema for JsonParameter {
    fn schema_name() -> Cow<'static, str> {
        "Value".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A bare JSON value, or an object of `value` with `dataType` and `direction`. It \
                means what the same literal would mean: numbers and truth values have types of their own; for strings \
                and null the place decides, and `dataType`, a code of the table of types, where that has no type",
            "examples": [7, "2026-01-31", {"dataType": 8, "value": 7}],
        })
    }
}

/// The values of the placeholders, once for each run
#[derive(JsonSchema)]
#[expect(dead_code, reason = "it is described and never made")]
struct Sets(#[schemars(length(min = 1))] Vec<Values>);

/// Seconds that a statement may take at the source, where it is cancelled then
#[derive(JsonSchema)]
#[schemars(extend(
    "type" = "integer",
    "minimum" = TIMEOUT_SECONDS.start(),
    "maximum" = TIMEOUT_SECONDS.end(),
    "default" = Limits::DEFAULT_TIMEOUT.as_secs(),
))]
struct Seconds;

/// Rows of each result at most; further ones are left out, as with JDBC's setMaxRows
#[derive(JsonSchema)]
#[schemars(extend("type" = "integer", "minimum" = 1))]
struct Rows;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_published_clients_send_is_taken() {
        let read = |text: &str| Fields::parse(text, "the body").unwrap();
        // cdata-connect-ai 1.2.0, of Python.
        assert!(Script::read(read(r#"{"query": "a", "parameters": {"@n": {"dataType": 8, "value": 1}}}"#)).is_ok());
        assert!(Batch::read(read(r#"{"query": "a", "parameters": [{"n": {"dataType": 8, "value": 1}}]}"#)).is_ok());
        assert!(Exec::read(read(r#"{"procedure": "p", "parameters": {"@1": {"dataType": 5, "value": "x"}}}"#)).is_ok());
        let default = |text: &str| Script::read(read(text)).map(|body| body.default_catalog);
        assert_eq!(default(r#"{"query": "a", "connection": "x"}"#).unwrap().as_deref(), Some("x"));
        assert_eq!(
            default(r#"{"query": "a", "connection": "X", "defaultCatalog": "x"}"#).unwrap().as_deref(),
            Some("x")
        );
        assert!(default(r#"{"query": "a", "connection": "y", "defaultCatalog": "x"}"#).is_err());
        let error = default(r#"{"query": "a", "conection": "y"}"#).unwrap_err();
        assert!(!error.get_hint().unwrap().contains("connection"), "{error:?}");
        let Err(error) = Script::read(read(r#"{"query": "a", "dryrun": true}"#)) else { panic!("it would commit") };
        assert_eq!(
            (error.message.as_str(), error.get_hint()),
            ("the body has no member \"dryrun\"", Some("did you mean dryRun?"))
        );
    }
}
