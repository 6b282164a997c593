//! `[[connections.procedures]]` and `[[connections.tools]]`: an administrator's statements with
//! typed parameters, understood and checked before anybody calls them.

use portico_actors::near;
use portico_actors::reply::DataType;
use portico_actors::source::{Declared, Direction, Parameter, Procedure};
use portico_actors::sql::{self, Class, Dialect, Naming};

use super::problem::Problem;
use super::section::Section;
use crate::tools::{self, OwnTool};

/// Types that a declared parameter may have.
const PARAMETER_TYPES: [(&str, DataType); 9] = [
    ("text", DataType::Varchar),
    ("integer", DataType::BigInt),
    ("number", DataType::Double),
    ("decimal", DataType::Decimal),
    ("boolean", DataType::Boolean),
    ("date", DataType::Date),
    ("timestamp", DataType::Timestamp),
    ("uuid", DataType::Uuid),
    ("binary", DataType::Binary),
];

/// The longest name of a tool that every client takes.
const NAME_LENGTH: usize = 64;

/// Reads `[[connections.procedures]]`.
pub(super) fn procedures(connection: &mut Section<'_>, problems: &mut Vec<Problem>) -> Vec<Declared> {
    let mut declared: Vec<Declared> = Vec::new();
    for mut section in connection.sections("procedures", problems).unwrap_or_default() {
        let procedure = procedure(&mut section, problems);
        section.finish(problems);
        let Some(procedure) = procedure else { continue };
        let name = &procedure.procedure.name;
        if declared.iter().any(|other| other.procedure.name.eq_ignore_ascii_case(name)) {
            let message = format!("another procedure is named {name:?}");
            section.problem("name", message, "give it another name", problems);
        }
        declared.push(procedure);
    }
    declared
}

fn procedure(section: &mut Section<'_>, problems: &mut Vec<Problem>) -> Option<Declared> {
    let name = section.required("name", "add the procedure's name", problems);
    let remarks = section.required("description", "say for agents and people what it does", problems);
    let sql = section.required("sql", "add the statement, with @name for each parameter", problems);
    let reads_only = section.boolean("read_only", problems).unwrap_or(false);
    let parameters = parameters(section, problems);
    let procedure = Procedure { schema: "main".to_owned(), name: name?, remarks, reads_only, parameters, roles: None };
    Some(Declared { procedure, sql: sql? })
}

/// Reads `[[connections.tools]]`. No name may be taken already.
pub(super) fn tools(
    connection: &mut Section<'_>,
    dialect: Dialect,
    naming: Naming<'_>,
    procedures: &[Declared],
    problems: &mut Vec<Problem>,
) -> Vec<OwnTool> {
    let mut tools: Vec<OwnTool> = Vec::new();
    for mut section in connection.sections("tools", problems).unwrap_or_default() {
        let tool = tool(&mut section, dialect, naming, problems);
        section.finish(problems);
        let Some(tool) = tool else { continue };
        let name = tool.name.as_str();
        let taken = tools::fixed_names().any(|fixed| fixed == name)
            || tools.iter().any(|other| other.name == name)
            || procedures.iter().any(|declared| declared.procedure.name == name);
        if taken {
            let message = format!("another tool of this connection is named {name:?}");
            section.problem("name", message, "give it another name", problems);
        }
        tools.push(tool);
    }
    tools
}

fn tool(
    section: &mut Section<'_>,
    dialect: Dialect,
    naming: Naming<'_>,
    problems: &mut Vec<Problem>,
) -> Option<OwnTool> {
    let name = section.required("name", "add the tool's name, as tools/list shows it", problems);
    if let Some(name) = &name {
        let plain = |each: char| each.is_ascii_alphanumeric() || "_-.".contains(each);
        if name.is_empty() || name.len() > NAME_LENGTH || !name.chars().all(plain) {
            let remedy = format!("use up to {NAME_LENGTH} letters, digits, _, - and .");
            section.problem("name", format!("{name:?} is no tool's name"), &remedy, problems);
        }
    }
    let title = section.string("title", problems);
    let description = section.required("description", "say for agents what it does and when to use it", problems);
    let sql = section.required("sql", "add the statement, with @name for each parameter", problems);
    let read_only = section.boolean("read_only", problems);
    let parameters = parameters(section, problems);
    let sql = sql?;
    let mut class = understood(section, &sql, dialect, naming, &parameters, problems)?;
    match (read_only, class.reads_only()) {
        (Some(true), false) => section.problem(
            "read_only",
            format!("its statement is of class {} and does not only read", class.as_str()),
            "remove this key, or change the statement",
            problems,
        ),
        // A query that calls a function which writes: the administrator says so.
        (Some(false), true) => class = Class::Other,
        _ => {}
    }
    let name = name?;
    let title = title.unwrap_or_else(|| titled(&name));
    Some(OwnTool { name, title, description: description?, sql, parameters, class })
}

/// The class of a statement that may be a tool.
fn understood(
    section: &Section<'_>,
    text: &str,
    dialect: Dialect,
    naming: Naming<'_>,
    parameters: &[Parameter],
    problems: &mut Vec<Problem>,
) -> Option<Class> {
    let declared = parameters.iter().map(|parameter| parameter.name.clone()).collect();
    let mut statements = match sql::statements_with(text, dialect, naming, &declared) {
        Ok(statements) => statements,
        Err(error) => {
            let remedy = error.get_hint().unwrap_or("write one statement of the source's own SQL").to_owned();
            section.problem("sql", error.message, &remedy, problems);
            return None;
        }
    };
    let statement = statements.pop()?;
    if !statements.is_empty() {
        let message = format!("this text holds {} statements", statements.len() + 1);
        section.problem("sql", message, "write one statement; each tool runs one", problems);
    }
    if matches!(statement.class, Class::Transaction | Class::Session) {
        section.problem(
            "sql",
            format!("a statement of class {} cannot be a tool", statement.class.as_str()),
            "write a statement that reads or changes data; each call is a transaction of its own",
            problems,
        );
    }
    for placeholder in &statement.placeholders {
        if !parameters.iter().any(|parameter| parameter.name == *placeholder) {
            let offered = near::nearest(placeholder, parameters.iter().map(|parameter| parameter.name.as_str()));
            let remedy = near::did_you_mean(&offered)
                .unwrap_or_else(|| format!("add a [[connections.tools.parameters]] table named {placeholder:?}"));
            section.problem("sql", format!("@{placeholder} is no parameter of this tool"), &remedy, problems);
        }
    }
    for parameter in parameters.iter().filter(|parameter| !statement.placeholders.contains(&parameter.name)) {
        let message = format!("the statement does not use @{}", parameter.name);
        section.problem("sql", message, "use it, or remove the parameter", problems);
    }
    Some(statement.class)
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

fn parameters(section: &mut Section<'_>, problems: &mut Vec<Problem>) -> Vec<Parameter> {
    let mut parameters: Vec<Parameter> = Vec::new();
    for mut section in section.sections("parameters", problems).unwrap_or_default() {
        let name = section.required("name", "add the parameter's name", problems);
        let data_type = section.word("type", &PARAMETER_TYPES, problems).unwrap_or(DataType::Varchar);
        let remarks = section.string("description", problems);
        let optional = section.boolean("optional", problems).unwrap_or(false);
        let default = section.scalar("default", problems);
        if let Some(default) = &default
            && !fits(data_type, default)
        {
            let word = PARAMETER_TYPES.iter().find(|(_, known)| *known == data_type).map_or("text", |(word, _)| word);
            section.problem("default", format!("{default} is no {word}"), "write a value of its type", problems);
        }
        section.finish(problems);
        let Some(name) = name else { continue };
        if !is_placeholder(&name) {
            let message = format!("{name:?} cannot stand behind @ in a statement");
            section.problem("name", message, "use letters, digits and _, and begin with a letter", problems);
        }
        if parameters.iter().any(|other| other.name == name) {
            let message = format!("another parameter is named {name:?}");
            section.problem("name", message, "give it another name", problems);
        }
        parameters.push(Parameter {
            name,
            direction: Direction::In,
            data_type,
            type_name: data_type.name().to_lowercase(),
            optional: optional || default.is_some(),
            remarks,
            default: default.map(|value| value.to_string()),
        });
    }
    parameters
}

fn is_placeholder(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name.chars().all(|each| each.is_ascii_alphanumeric() || each == '_')
}

fn fits(data_type: DataType, value: &serde_json::Value) -> bool {
    match data_type {
        DataType::BigInt => value.is_i64() || value.is_u64(),
        DataType::Double => value.is_number(),
        DataType::Decimal => value.is_number() || value.is_string(),
        DataType::Boolean => value.is_boolean(),
        _ => value.is_string(),
    }
}
