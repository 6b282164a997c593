//! `[[connections.prompts]]`: what people may ask of a model about this connection, in the administrator's words,
//! with arguments in double braces. They are answered in `mcp`.

use portico_actors::near;

use crate::config::declared::section::Section;
use crate::config::declared::setting::Literal::{Switch, Text};
use crate::config::declared::setting::{SWITCH, TEXT, TEXTS, tables, word, words};
use crate::config::declared::table::{Table, settings};

settings! {
    /// Prompts that people may choose in their client; {{name}} stands for an argument.
    pub(in crate::config) struct PromptSettings {
        /// Its name among the connection's prompts.
        name: String = TEXT.required("add the prompt's name").example("\"explain_table\""),
        /// Its name for people.
        title: Option<String> = TEXT.example("\"Explain a table\""),
        /// What it is for.
        description: Option<String> = TEXT.example("\"What a table holds and how it is used.\""),
        /// What is said.
        text: Option<String> = TEXT
            .example("\"Read the definition of {{table}} and look at some rows. Then explain it to a new colleague.\""),
    }
    tables {
        arguments = tables::<PromptArgument>(),
        messages = tables::<PromptMessage>(),
    }
}

settings! {
    /// What whoever asks may give.
    #[derive(PartialEq)]
    pub struct PromptArgument {
        /// The name that stands in braces.
        name: String = TEXT.required("add the argument's name").example("\"table\""),
        /// What to give.
        description: Option<String> = TEXT.example("\"The table's name\""),
        /// Whether it must be given.
        required: bool = SWITCH.or(Switch(false)),
        /// Names that are offered while it is typed: "schemas", "tables" or "procedures".
        completes: Option<Completes> = word::<Completes>().example("\"tables\""),
        /// Or these values.
        values: Option<Vec<String>> = TEXTS.example("[\"a\", \"b\"]"),
    }
}

settings! {
    /// Instead of `text`, several messages.
    #[derive(PartialEq)]
    pub struct PromptMessage {
        /// Who says it: "user" or "assistant".
        role: Role = word::<Role>().or(Text("user")),
        /// What is said.
        text: String = TEXT.required("add what is said").example("\"What is in {{table}}?\""),
    }
}

/// A prompt (MCP, server/prompts).
#[derive(Clone, Debug, PartialEq)]
pub struct Prompt {
    /// Its name among the connection's prompts.
    pub name: String,
    /// Its name for people.
    pub title: Option<String>,
    /// What it is for.
    pub description: Option<String>,
    /// What whoever asks has to give.
    pub arguments: Vec<PromptArgument>,
    /// What is said, in order; `{{name}}` stands for an argument.
    pub messages: Vec<PromptMessage>,
}

/// Whose names are offered for an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completes {
    /// The names of schemas.
    Schemas,
    /// The names of tables and views.
    Tables,
    /// The names of procedures.
    Procedures,
}

/// Who says a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Whoever asks.
    User,
    /// The model.
    Assistant,
}

words! {
    Role { "user" => Self::User, "assistant" => Self::Assistant }
    Completes {
        "schemas" => Self::Schemas,
        "tables" => Self::Tables,
        "procedures" => Self::Procedures,
    }
}

/// Reads every prompt of a connection.
pub(in crate::config) fn read_all(connection: &Section<'_>) -> Vec<Prompt> {
    let mut prompts: Vec<Prompt> = Vec::new();
    for section in connection.tables("prompts") {
        let prompt = read(&section);
        if prompts.iter().any(|other| other.name == prompt.name) {
            section.taken("prompt", &prompt.name);
        }
        prompts.push(prompt);
    }
    prompts
}

fn read(section: &Section<'_>) -> Prompt {
    let PromptSettings { name, title, description, text } = PromptSettings::read(section);
    let arguments = arguments(section);
    let mut messages: Vec<PromptMessage> = section.tables("messages").iter().map(PromptMessage::read).collect();
    match (text, messages.is_empty()) {
        (Some(text), true) => messages.push(PromptMessage { role: Role::User, text }),
        (Some(_), false) => section.problem("text", "there are messages too", "keep one of the two"),
        (None, true) => {
            let remedy = "add text, or [[connections.prompts.messages]] with role and text";
            section.problem("text", "a prompt must say something", remedy);
        }
        (None, false) => {}
    }
    for name in messages.iter().flat_map(|message| placeholders(&message.text)) {
        if !arguments.iter().any(|argument| argument.name == name) {
            let offered = near::nearest(name, arguments.iter().map(|argument| argument.name.as_str()));
            let remedy = near::did_you_mean(&offered)
                .unwrap_or_else(|| format!("add a [[connections.prompts.arguments]] table named {name:?}"));
            section.problem("text", format!("{{{{{name}}}}} is not an argument of this prompt"), &remedy);
        }
    }
    Prompt { name, title, description, arguments, messages }
}

fn arguments(section: &Section<'_>) -> Vec<PromptArgument> {
    let mut arguments: Vec<PromptArgument> = Vec::new();
    for section in section.tables("arguments") {
        let argument = PromptArgument::read(&section);
        if argument.completes.is_some() && argument.values.is_some() {
            section.problem("values", "this argument already completes names", "keep one of the two");
        }
        if arguments.iter().any(|other| other.name == argument.name) {
            section.taken("argument", &argument.name);
        }
        arguments.push(argument);
    }
    arguments
}

/// The names in double braces.
fn placeholders(text: &str) -> impl Iterator<Item = &str> {
    text.split("{{").skip(1).filter_map(|rest| rest.split_once("}}").map(|(name, _)| name.trim()))
}
