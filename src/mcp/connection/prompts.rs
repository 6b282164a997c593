//! An administrator's prompts (MCP, server/prompts): lists them, and fills in their arguments. Completion of
//! arguments is in `completion`.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::config::{NamedValues, Prompt, PromptArgument};
use crate::mcp::context::Context;
use crate::mcp::envelope::{RpcError, invalid_params};
use crate::mcp::model::present;
use crate::mcp::target::TargetConnection;
use crate::tools::distinct;

/// The prompts of every connection of the target, each with its name at this address and its connection.
fn named<'a>(context: &Context<'a>) -> Vec<(Cow<'a, str>, &'a Prompt, &'a TargetConnection)> {
    let all = context.target.members().iter().flat_map(|member| {
        let prompts = member.settings.prompts.iter();
        prompts.map(move |prompt| (prompt, member))
    });
    let all: Vec<(&Prompt, &TargetConnection)> = all.collect();
    if context.target.members().len() == 1 {
        return all.into_iter().map(|(prompt, member)| (Cow::Borrowed(prompt.name.as_str()), prompt, member)).collect();
    }
    let things: Vec<(&str, &str)> =
        all.iter().map(|(prompt, member)| (member.entry.name.as_ref(), prompt.name.as_str())).collect();
    let names = distinct(&things, []).into_iter().map(Cow::Owned);
    names.zip(all).map(|(name, (prompt, member))| (name, prompt, member)).collect()
}

/// The prompts as they are listed.
pub(in crate::mcp) fn list(context: &Context<'_>) -> Vec<Value> {
    named(context).iter().map(|(name, prompt, _)| describe(name, prompt)).collect()
}

/// A prompt as it is listed.
fn describe(name: &str, prompt: &Prompt) -> Value {
    let argument = |argument: &PromptArgument| {
        present(json!({
            "name": argument.name,
            "required": argument.required,
            "description": argument.description,
        }))
    };
    let arguments: Vec<Value> = prompt.arguments.iter().map(argument).collect();
    present(json!({
        "name": name,
        "arguments": arguments,
        "title": prompt.title,
        "description": prompt.description,
    }))
}

/// The prompt of this name, and its connection.
pub(in crate::mcp) fn find<'a>(
    context: &Context<'a>,
    name: &str,
) -> Result<(&'a Prompt, &'a TargetConnection), RpcError> {
    let found = named(context).into_iter().find(|(known, ..)| known == name);
    let found = found.map(|(_, prompt, member)| (prompt, member));
    let here = if context.target.named().is_some() { "on this connection" } else { "here" };
    found.ok_or_else(|| invalid_params(format!("there is no prompt {name:?} {here}")))
}

/// The result of `prompts/get`.
pub(in crate::mcp) fn get(
    context: &Context<'_>,
    name: &str,
    given: &BTreeMap<String, String>,
) -> Result<String, RpcError> {
    let (prompt, _) = find(context, name)?;
    for argument in &prompt.arguments {
        if argument.required && !given.contains_key(&argument.name) {
            return Err(invalid_params(format!("arguments: the prompt {} needs {:?}", prompt.name, argument.name)));
        }
    }
    if let Some(unknown) = given.keys().find(|name| !prompt.arguments.iter().any(|argument| argument.name == **name)) {
        return Err(invalid_params(format!("arguments: the prompt {} has no {unknown:?}", prompt.name)));
    }
    let messages: Vec<Value> = prompt
        .messages
        .iter()
        .map(|message| {
            json!({"role": message.role.as_str(), "content": {"type": "text", "text": filled(&message.text, given)}})
        })
        .collect();
    Ok(present(json!({"messages": messages, "description": prompt.description})).to_string())
}

/// Fills in the arguments, whose content is not expanded again.
fn filled(text: &str, given: &BTreeMap<String, String>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{{") {
        out.push_str(before);
        let Some((name, behind)) = after.split_once("}}") else {
            out.push_str("{{");
            rest = after;
            continue;
        };
        out.push_str(given.get(name.trim()).map_or("", String::as_str));
        rest = behind;
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_filled_once() {
        let given = BTreeMap::from([("a".to_owned(), "{{b}}".to_owned()), ("b".to_owned(), "no".to_owned())]);
        assert_eq!(filled("x {{ a }} y {{c}}{{ z", &given), "x {{b}} y {{ z");
    }
}
