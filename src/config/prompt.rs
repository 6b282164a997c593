//! `[[connections.prompts]]`: what people may ask of a model about this connection, in the
//! administrator's words, with arguments in double braces. How they are answered is in `mcp`.

use portico_actors::near;

use super::problem::Problem;
use super::section::Section;

/// A prompt (MCP, server/prompts).
#[derive(Clone, Debug, PartialEq, Eq)]
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

/// One argument of a prompt. Its value is text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromptArgument {
    /// Its name.
    pub name: String,
    /// What to give.
    pub description: Option<String>,
    /// Whether it must be given.
    pub required: bool,
    /// What may be offered while it is typed.
    pub completes: Option<Completes>,
}

/// Where the values come from that are offered for an argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Completes {
    /// The names of schemas.
    Schemas,
    /// The names of tables and views.
    Tables,
    /// The names of procedures.
    Procedures,
    /// These.
    Values(Vec<String>),
}

/// One message of a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromptMessage {
    /// Who says it.
    pub role: Role,
    /// What is said.
    pub text: String,
}

/// Who says a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Whoever asks.
    User,
    /// The model.
    Assistant,
}

impl Role {
    /// The word of the protocol.
    pub const fn word(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
        }
    }
}

/// Reads every prompt of a connection.
pub(super) fn read_all(connection: &mut Section<'_>, problems: &mut Vec<Problem>) -> Vec<Prompt> {
    let mut prompts: Vec<Prompt> = Vec::new();
    for mut section in connection.sections("prompts", problems).unwrap_or_default() {
        let prompt = read(&mut section, problems);
        section.finish(problems);
        let Some(prompt) = prompt else { continue };
        if prompts.iter().any(|other| other.name == prompt.name) {
            let message = format!("another prompt is named {:?}", prompt.name);
            section.problem("name", message, "give it another name", problems);
        }
        prompts.push(prompt);
    }
    prompts
}

fn read(section: &mut Section<'_>, problems: &mut Vec<Problem>) -> Option<Prompt> {
    let name = section.required("name", "add the prompt's name", problems);
    let title = section.string("title", problems);
    let description = section.string("description", problems);
    let arguments = arguments(section, problems);
    let text = section.string("text", problems);
    let mut messages: Vec<PromptMessage> = Vec::new();
    for mut message in section.sections("messages", problems).unwrap_or_default() {
        let words = [("user", Role::User), ("assistant", Role::Assistant)];
        let role = message.word("role", &words, problems).unwrap_or(Role::User);
        let text = message.required("text", "add what is said", problems);
        message.finish(problems);
        messages.extend(text.map(|text| PromptMessage { role, text }));
    }
    match (text, messages.is_empty()) {
        (Some(text), true) => messages.push(PromptMessage { role: Role::User, text }),
        (Some(_), false) => {
            section.problem("text", "there are messages too".to_owned(), "keep one of both", problems);
        }
        (None, true) => section.problem(
            "text",
            "a prompt says something".to_owned(),
            "add text, or [[connections.prompts.messages]] with role and text",
            problems,
        ),
        (None, false) => {}
    }
    for name in messages.iter().flat_map(|message| placeholders(&message.text)) {
        if !arguments.iter().any(|argument| argument.name == name) {
            let offered = near::nearest(name, arguments.iter().map(|argument| argument.name.as_str()));
            let remedy = near::did_you_mean(&offered)
                .unwrap_or_else(|| format!("add a [[connections.prompts.arguments]] table named {name:?}"));
            section.problem("text", format!("{{{{{name}}}}} is no argument of this prompt"), &remedy, problems);
        }
    }
    Some(Prompt { name: name?, title, description, arguments, messages })
}

fn arguments(section: &mut Section<'_>, problems: &mut Vec<Problem>) -> Vec<PromptArgument> {
    let mut arguments: Vec<PromptArgument> = Vec::new();
    for mut section in section.sections("arguments", problems).unwrap_or_default() {
        let name = section.required("name", "add the argument's name", problems);
        let description = section.string("description", problems);
        let required = section.boolean("required", problems).unwrap_or(false);
        let words = [("schemas", 0), ("tables", 1), ("procedures", 2)];
        let completes = section.word("completes", &words, problems).map(|word| match word {
            0 => Completes::Schemas,
            1 => Completes::Tables,
            _ => Completes::Procedures,
        });
        let values = section.strings("values", problems);
        if completes.is_some() && values.is_some() {
            section.problem("values", "it completes names already".to_owned(), "keep one of both", problems);
        }
        section.finish(problems);
        let Some(name) = name else { continue };
        if arguments.iter().any(|other| other.name == name) {
            let message = format!("another argument is named {name:?}");
            section.problem("name", message, "give it another name", problems);
        }
        let completes = completes.or(values.map(Completes::Values));
        arguments.push(PromptArgument { name, description, required, completes });
    }
    arguments
}

/// The names in double braces.
fn placeholders(text: &str) -> impl Iterator<Item = &str> {
    text.split("{{").skip(1).filter_map(|rest| rest.split_once("}}").map(|(name, _)| name.trim()))
}
