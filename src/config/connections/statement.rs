//! `[[connections.procedures]]` and `[[connections.tools]]`: an administrator's statements with typed parameters,
//! parsed and checked when the configuration is read.

use portico_actors::near;
use portico_actors::reply::DataType;
use portico_actors::source::{DeclaredProcedure, Direction, Parameter, Procedure};
use portico_actors::sql::{self, Class, Dialect, Naming, Statement};
use serde_json::Value;

use crate::config::declared::section::Section;
use crate::config::declared::setting::Literal::{Switch, Text};
use crate::config::declared::setting::{NamedValues, SCALAR, SWITCH, TEXT, is_name, tables, word, words};
use crate::config::declared::table::{Table, settings};
use crate::tools::{self, OwnTool};

/// The longest name of a tool that every client takes.
const NAME_LENGTH: usize = 64;

settings! {
    /// Procedures of a source that has none of its own (SQLite): one statement each.
    pub(in crate::config) struct ProcedureSettings {
        /// Its name.
        name: String = TEXT.required("add the procedure's name").example("\"customer_orders\""),
        /// What it does, for agents and people.
        description: Option<String> = TEXT.required("say for agents and people what it does")
            .example("\"The orders of one customer, the newest first.\""),
        /// The statement, with @name for each parameter.
        sql: String = TEXT.required("add the statement, with @name for each parameter")
            .example("\"SELECT * FROM orders WHERE customer_id = @customer_id ORDER BY ordered_at DESC\""),
        /// Whether it only reads. It is held to it.
        read_only: bool = SWITCH.or(Switch(false)),
    }
    tables {
        parameters = tables::<ParameterSettings>(),
    }
}

settings! {
    /// Your own tools: one statement each, on any source. The statement's class decides whether the tool
    /// only reads, and a query is then held to it by the database itself. It may read what is hidden.
    pub(in crate::config) struct ToolSettings {
        /// Its name, as tools/list shows it.
        name: String = TEXT.required("add the tool's name, as tools/list shows it").example("\"revenue_by_month\"")
            .checked(is_tool_name, "{} cannot be the name of a tool", "use up to 64 letters, digits, _, - and ."),
        /// Its name for people.
        title: Option<String> = TEXT.example("\"Revenue by month\""),
        /// What it does and when to use it, for agents.
        description: String = TEXT.required("say for agents what it does and when to use it")
            .example("\"Paid revenue of each month since a day, in euros. Use it for questions about sales over time.\""),
        /// The statement, with @name for each parameter.
        sql: String = TEXT.required("add the statement, with @name for each parameter")
            .example("\"SELECT sum(total) AS revenue FROM invoices WHERE paid_at >= @since\""),
        /// false for a query that calls a function which writes.
        read_only: Option<bool> = SWITCH.example("true"),
    }
    tables {
        parameters = tables::<ParameterSettings>(),
    }
}

settings! {
    /// What stands behind @ in the statement.
    pub(in crate::config) struct ParameterSettings {
        /// Its name.
        name: String = TEXT.required("add the parameter's name").example("\"since\"").checked(
            |text| is_name(text, "_"),
            "{} cannot stand behind @ in a statement",
            "use letters, digits and _, and begin with a letter",
        ),
        /// text integer number decimal boolean date timestamp uuid binary
        data_type: DataType = word::<DataType>().key("type").or(Text("text")),
        /// What to give.
        description: Option<String> = TEXT.example("\"The first day to count\""),
        /// Whether it may be left out; it is NULL then.
        optional: bool = SWITCH.or(Switch(false)),
        /// The value that it has when it is left out.
        default: Option<Value> = SCALAR.example("\"2020-01-01\""),
    }
}

words! {
    DataType {
        "text" => Self::Varchar,
        "integer" => Self::BigInt,
        "number" => Self::Double,
        "decimal" => Self::Decimal,
        "boolean" => Self::Boolean,
        "date" => Self::Date,
        "timestamp" => Self::Timestamp,
        "uuid" => Self::Uuid,
        "binary" => Self::Binary,
    }
}

fn is_tool_name(text: &str) -> bool {
    let plain = |each: char| each.is_ascii_alphanumeric() || "_-.".contains(each);
    !text.is_empty() && text.len() <= NAME_LENGTH && text.chars().all(plain)
}

/// Reads `[[connections.procedures]]`.
pub(in crate::config) fn procedures(
    connection: &Section<'_>,
    dialect: Dialect,
    naming: Naming<'_>,
) -> Vec<DeclaredProcedure> {
    let mut declared: Vec<DeclaredProcedure> = Vec::new();
    for section in connection.tables("procedures") {
        let ProcedureSettings { name, description, sql, read_only } = ProcedureSettings::read(&section);
        if declared.iter().any(|other| other.procedure.name.eq_ignore_ascii_case(&name)) {
            section.taken("procedure", &name);
        }
        let parameters = parameters(&section);
        understood(&section, "procedure", &sql, dialect, naming, &parameters);
        let procedure = Procedure {
            schema: "main".to_owned(),
            name,
            remarks: description,
            reads_only: read_only,
            parameters,
            roles: None,
        };
        declared.push(DeclaredProcedure { procedure, sql });
    }
    declared
}

/// Reads `[[connections.tools]]`. No name may be taken already.
pub(in crate::config) fn tools(
    connection: &Section<'_>,
    dialect: Dialect,
    naming: Naming<'_>,
    procedures: &[DeclaredProcedure],
) -> Vec<OwnTool> {
    let mut tools: Vec<OwnTool> = Vec::new();
    for section in connection.tables("tools") {
        let Some(tool) = tool(&section, dialect, naming) else { continue };
        let name = tool.name.as_str();
        let taken = tools::fixed_names().any(|fixed| fixed == name)
            || tools.iter().any(|other| other.name == name)
            || procedures.iter().any(|declared| declared.procedure.name == name);
        if taken {
            section.taken("tool of this connection", name);
        }
        tools.push(tool);
    }
    tools
}

fn tool(section: &Section<'_>, dialect: Dialect, naming: Naming<'_>) -> Option<OwnTool> {
    let ToolSettings { name, title, description, sql, read_only } = ToolSettings::read(section);
    let parameters = parameters(section);
    let statement = understood(section, "tool", &sql, dialect, naming, &parameters)?;
    for parameter in parameters.iter().filter(|parameter| !statement.placeholders.contains(&parameter.name)) {
        let message = format!("the statement does not use @{}", parameter.name);
        section.problem("sql", message, "use it, or remove the parameter");
    }
    let mut class = statement.class;
    match (read_only, class.reads_only()) {
        (Some(true), false) => section.problem(
            "read_only",
            format!("its statement is of class {} and does not only read", class.as_str()),
            "remove this key, or change the statement",
        ),
        // A query that calls a function which writes: the administrator says so.
        (Some(false), true) => class = Class::Other,
        _ => {}
    }
    let title = title.unwrap_or_else(|| titled(&name));
    Some(OwnTool { name, title, description, sql, parameters, class })
}

/// A statement that may be a tool or a procedure, which `kind` says.
fn understood(
    section: &Section<'_>,
    kind: &str,
    text: &str,
    dialect: Dialect,
    naming: Naming<'_>,
    parameters: &[Parameter],
) -> Option<Statement> {
    let declared = parameters.iter().map(|parameter| parameter.name.clone()).collect();
    let mut statements = match sql::statements_with(text, dialect, naming, &declared) {
        Ok(statements) => statements,
        Err(error) => {
            section.error("sql", error, "write one statement of the source's own SQL");
            return None;
        }
    };
    let statement = statements.pop()?;
    if !statements.is_empty() {
        let message = format!("this text holds {} statements", statements.len() + 1);
        section.problem("sql", message, &format!("write one statement; each {kind} runs one"));
    }
    if matches!(statement.class, Class::Transaction | Class::Session) {
        section.problem(
            "sql",
            format!("a statement of class {} cannot be a {kind}", statement.class.as_str()),
            "write a statement that reads or changes data; each call is a transaction of its own",
        );
    }
    for placeholder in &statement.placeholders {
        if !parameters.iter().any(|parameter| parameter.name == *placeholder) {
            let offered = near::nearest(placeholder, parameters.iter().map(|parameter| parameter.name.as_str()));
            let remedy = near::did_you_mean(&offered)
                .unwrap_or_else(|| format!("add a [[connections.{kind}s.parameters]] table named {placeholder:?}"));
            section.problem("sql", format!("@{placeholder} is not a parameter of this {kind}"), &remedy);
        }
    }
    Some(statement)
}

/// `orders_by_day` for people: `Orders by day`.
fn titled(name: &str) -> String {
    let words = name.replace(['_', '-', '.'], " ");
    let mut letters = words.chars();
    match letters.next() {
        Some(first) => first.to_uppercase().chain(letters).collect(),
        None => words,
    }
}

fn parameters(section: &Section<'_>) -> Vec<Parameter> {
    let mut parameters: Vec<Parameter> = Vec::new();
    for section in section.tables("parameters") {
        let settings = ParameterSettings::read(&section);
        let (name, data_type) = (settings.name, settings.data_type);
        if let Some(default) = settings.default.as_ref().filter(|default| !fits(data_type, default)) {
            let word = data_type.as_str();
            section.problem("default", format!("{default} is not of type {word}"), "write a value of its type");
        }
        if parameters.iter().any(|other| other.name == name) {
            section.taken("parameter", &name);
        }
        parameters.push(Parameter {
            name,
            direction: Direction::In,
            data_type,
            type_name: data_type.name().to_lowercase(),
            optional: settings.optional || settings.default.is_some(),
            remarks: settings.description,
            default: settings.default.map(|value| value.to_string()),
            labels: Vec::new(),
        });
    }
    // One without a name, which was reported, is not looked for in the statement.
    parameters.retain(|parameter| !parameter.name.is_empty());
    parameters
}

fn fits(data_type: DataType, value: &Value) -> bool {
    match data_type {
        DataType::BigInt => value.is_i64() || value.is_u64(),
        DataType::Double => value.is_number(),
        DataType::Decimal => value.is_number() || value.is_string(),
        DataType::Boolean => value.is_boolean(),
        _ => value.is_string(),
    }
}
