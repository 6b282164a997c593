//! The bodies of the SQL API. One declaration gives each member its name, how it is read, and its
//! schema in `/openapi.json`; what a body asks for is decided in `sql.rs`.

use std::borrow::Cow;
use std::time::Duration;

use portico_actors::call::{Argument, Limits};
use portico_actors::error::Result;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use crate::fields::Fields;
use crate::tools::TIMEOUT_SECONDS;

/// A body that is a JSON object.
pub(in crate::http) trait Body: Sized {
    /// Reads all of its members.
    ///
    /// # Errors
    /// The name of the first member that is missing, wrong, unknown or given twice, and the remedy.
    fn read(fields: Fields) -> Result<Self>;
}

/// Members that published clients send and that no service of this kind reads, each with its sender.
const SENT_FOR_NOTHING: [(&str, &str); 1] =
    // Beside a statement whose names say it already.
    [("connection", "scripts of Node with axios, such as those that read Bullhorn by /query")];

/// A type of members.
trait Member: Sized {
    fn read(fields: &mut Fields, name: &'static str) -> Result<Self>;
}

macro_rules! body {
    ($(#[$body:meta])* $name:ident { $($(#[$about:meta])* $member:ident as $word:tt: $kind:ty,)+ }) => {
        #[derive(JsonSchema)]
        $(#[$body])*
        pub(in crate::http) struct $name {
            $($(#[$about])* #[schemars(rename = $word)] pub(in crate::http) $member: $kind,)+
        }

        impl Body for $name {
            fn read(mut fields: Fields) -> Result<Self> {
                let body = Self { $($member: <$kind as Member>::read(&mut fields, $word)?,)+ };
                for (member, _) in SENT_FOR_NOTHING {
                    drop(fields.take(member));
                }
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
        query as "query": String,
        /// The connection of names that do not say it.
        default_catalog as "defaultCatalog": Option<String>,
        /// The schema that is searched first for names that do not say it.
        default_schema as "defaultSchema": Option<String>,
        /// The values of the placeholders.
        parameters as "parameters": Option<Values>,
        /// Tells the columns without a run.
        schema_only as "schemaOnly": Option<bool>,
        /// Runs all of it, answers as if it were kept, and undoes it. What a transaction does not hold is not
        /// undone: sequences go on.
        dry_run as "dryRun": Option<bool>,
        max_rows as "maxRows": Option<Rows>,
        timeout as "timeout": Option<Seconds>,
    }
}

body! {
    /// One statement and many sets of values, in one transaction on one connection.
    Batch {
        /// The statement.
        query as "query": String,
        /// The connection of names that do not say it.
        default_catalog as "defaultCatalog": Option<String>,
        /// The schema that is searched first for names that do not say it.
        default_schema as "defaultSchema": Option<String>,
        parameters as "parameters": Sets,
        /// Tells the columns without a run.
        schema_only as "schemaOnly": Option<bool>,
        /// Runs all of it, answers as if it were kept, and undoes it. What a transaction does not hold is not
        /// undone: sequences go on.
        dry_run as "dryRun": Option<bool>,
        max_rows as "maxRows": Option<Rows>,
        timeout as "timeout": Option<Seconds>,
    }
}

body! {
    /// A call of a function or procedure.
    Exec {
        /// Its name, of one, two or three parts: `connection.schema.procedure`.
        procedure as "procedure": String,
        /// The connection of a name that does not say it.
        default_catalog as "defaultCatalog": Option<String>,
        /// The schema that is searched first for a name that does not say it.
        default_schema as "defaultSchema": Option<String>,
        /// The arguments.
        parameters as "parameters": Option<Values>,
        /// Runs all of it, answers as if it were kept, and undoes it. What a transaction does not hold is not
        /// undone: sequences go on.
        dry_run as "dryRun": Option<bool>,
        max_rows as "maxRows": Option<Rows>,
        timeout as "timeout": Option<Seconds>,
    }
}

impl Member for String {
    fn read(fields: &mut Fields, name: &'static str) -> Result<Self> {
        fields.required(name)
    }
}

impl Member for Option<String> {
    fn read(fields: &mut Fields, name: &'static str) -> Result<Self> {
        fields.string(name)
    }
}

impl Member for Option<bool> {
    fn read(fields: &mut Fields, name: &'static str) -> Result<Self> {
        fields.boolean(name)
    }
}

/// Values by name or by position.
#[derive(Default)]
pub(in crate::http) struct Values(pub(in crate::http) Vec<Argument>);

impl Member for Option<Values> {
    fn read(fields: &mut Fields, name: &'static str) -> Result<Self> {
        fields.arguments(name).map(|arguments| Some(Values(arguments)))
    }
}

impl JsonSchema for Values {
    fn schema_name() -> Cow<'static, str> {
        "Values".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Values by name, with or without @, or by position",
            "type": ["object", "array"],
            "additionalProperties": generator.subschema_for::<Given>(),
            "items": generator.subschema_for::<Given>(),
        })
    }
}

/// What a value may be wrapped in.
struct Given;

impl JsonSchema for Given {
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

/// One set of values for each run.
pub(in crate::http) struct Sets(pub(in crate::http) Vec<Vec<Argument>>);

impl Member for Sets {
    fn read(fields: &mut Fields, name: &'static str) -> Result<Self> {
        fields.argument_sets(name).map(Self)
    }
}

impl JsonSchema for Sets {
    fn schema_name() -> Cow<'static, str> {
        "Sets".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "The values of the placeholders, once for each run",
            "type": "array",
            "minItems": 1,
            "items": generator.subschema_for::<Values>(),
        })
    }
}

/// How long a statement may take at the source.
pub(in crate::http) struct Seconds(u64);

impl Seconds {
    /// The time that a body gives, or the usual one, and the rows that it wants at most.
    pub(in crate::http) fn limit(given: Option<Self>, rows: Option<Rows>) -> Limits {
        let timeout = given.map_or(Limits::DEFAULT_TIMEOUT, |Self(seconds)| Duration::from_secs(seconds));
        Limits { timeout, rows: rows.map(|Rows(most)| most) }
    }
}

impl Member for Option<Seconds> {
    fn read(fields: &mut Fields, name: &'static str) -> Result<Self> {
        Ok(fields.integer(name, TIMEOUT_SECONDS)?.map(Seconds))
    }
}

impl JsonSchema for Seconds {
    fn schema_name() -> Cow<'static, str> {
        "Seconds".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Seconds that a statement may take at the source, where it is cancelled then",
            "type": "integer",
            "minimum": TIMEOUT_SECONDS.start(),
            "maximum": TIMEOUT_SECONDS.end(),
            "default": Limits::DEFAULT_TIMEOUT.as_secs(),
        })
    }
}

/// How many rows of each result are wanted at most.
pub(in crate::http) struct Rows(u64);

impl Member for Option<Rows> {
    fn read(fields: &mut Fields, name: &'static str) -> Result<Self> {
        Ok(fields.integer(name, 1..=u64::MAX)?.map(Rows))
    }
}

impl JsonSchema for Rows {
    fn schema_name() -> Cow<'static, str> {
        "Rows".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Rows of each result at most; further ones are left out, as with JDBC's setMaxRows",
            "type": "integer",
            "minimum": 1,
        })
    }
}

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
        for (member, _) in SENT_FOR_NOTHING {
            assert!(Script::read(read(&format!(r#"{{"query": "a", "{member}": "x"}}"#))).is_ok(), "{member}");
        }
        let Err(error) = Script::read(read(r#"{"query": "a", "dryrun": true}"#)) else { panic!("it would commit") };
        assert_eq!(
            (error.message.as_str(), error.get_hint()),
            ("the body has no member \"dryrun\"", Some("did you mean dryRun?"))
        );
    }
}
