//! An administrator's own tools: a named, described statement with typed parameters, on any
//! source. Where they are written down is not known here.

use portico_actors::call::{AllowedStatements, Argument, Op, Sql};
use portico_actors::error::{Error, Result};
use portico_actors::source::Parameter;
use portico_actors::sql::Class;
use serde_json::Value;
use serde_json::value::RawValue;

use super::kind::Operation;
use super::parameters;
use super::schema::tool;
use crate::fields::Fields;

/// A statement as a tool.
#[derive(Clone, Debug, PartialEq)]
pub struct OwnTool {
    /// Its name among the connection's tools.
    pub name: String,
    /// Its name for people.
    pub title: String,
    /// Its description for models.
    pub description: String,
    /// One statement, with `@name` for each parameter.
    pub sql: String,
    /// The caller's parameters.
    pub parameters: Vec<Parameter>,
    /// The class of the statement.
    pub class: Class,
}

impl OwnTool {
    /// Whether it is there to change data.
    pub fn writes(&self) -> bool {
        !self.class.reads_only()
    }

    /// By its statement's class.
    pub fn operation(&self) -> Operation {
        match self.class {
            Class::Select => Operation::ExecuteSelect,
            Class::Insert => Operation::ExecuteInsert,
            Class::Update => Operation::ExecuteUpdate,
            Class::Call => Operation::ExecuteProcedure,
            _ => Operation::ExecuteSql,
        }
    }

    /// The object that `tools/list` shows.
    pub(super) fn describe(&self) -> Value {
        let (writes, input) = (self.writes(), parameters::input_schema(&self.parameters));
        tool(&self.name, &self.title, &self.description, input, writes, writes && self.class != Class::Insert)
    }

    /// Returns the statement with the caller's values; absent ones have their default, or NULL.
    pub(super) fn call(&self, fields: Fields) -> Result<Op> {
        let mut arguments = parameters::arguments(&self.parameters, fields)?;
        for parameter in &self.parameters {
            if arguments.iter().any(|argument| argument.name == parameter.name) {
                continue;
            }
            let value = parameter.default.clone().unwrap_or_else(|| "null".to_owned());
            arguments.push(Argument {
                name: parameter.name.clone(),
                value: RawValue::from_string(value).map_err(Error::internal)?,
                data_type: Some(i32::from(parameter.data_type.code())),
            });
        }
        // The database enforces that a query only reads: it is announced as read-only.
        let verb = if self.writes() { AllowedStatements::Any } else { AllowedStatements::Select };
        let sql = Sql { text: self.sql.clone(), parameters: arguments, by_administrator: true, ..Sql::default() };
        Ok(Op::Execute(verb, sql))
    }
}
