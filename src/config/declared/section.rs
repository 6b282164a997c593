//! Reads one table of the file according to its declared settings, and collects its problems. Knows no key by name.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;

use portico_actors::error::Error;
use portico_actors::near;
use serde::Deserialize;
use serde::de::IntoDeserializer;
use serde_json::Value;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::environment::{CREDENTIAL, Environment, resolve};
use super::problem::{Lines, Position, Problem};
use super::setting::{Kind, Setting, each};

/// The file, and its problems.
pub(crate) struct File<'a> {
    lines: Lines<'a>,
    /// Where relative paths start.
    base: &'a Path,
    environment: Environment<'a>,
    problems: RefCell<Vec<Problem>>,
    /// Keys without a value that could be judged any further.
    refused: RefCell<BTreeSet<String>>,
    /// A digest of what was read from a file for a key: it can change while the key does not.
    contents: RefCell<BTreeMap<String, u64>>,
}

impl<'a> File<'a> {
    pub(in crate::config) fn new(text: &'a str, base: &'a Path, environment: Environment<'a>) -> Self {
        let (problems, refused, contents) = (RefCell::default(), RefCell::default(), RefCell::default());
        Self { lines: Lines::new(text), base, environment, problems, refused, contents }
    }

    /// Returns the problems so far, in the order of the lines.
    pub(in crate::config) fn problems(&self) -> Vec<Problem> {
        let mut problems = self.problems.borrow().clone();
        problems.sort_by_key(|problem| (problem.line, problem.column));
        problems
    }

    fn note(&self, problem: Problem) {
        let mut problems = self.problems.borrow_mut();
        if !problems.contains(&problem) {
            problems.push(problem);
        }
    }
}

/// One table of the file.
#[derive(Clone)]
pub(crate) struct Section<'a> {
    file: &'a File<'a>,
    path: String,
    settings: &'static [Setting],
    table: Option<&'a DeTable<'a>>,
    start: usize,
}

impl<'a> Section<'a> {
    pub(in crate::config) fn root(
        file: &'a File<'a>,
        settings: &'static [Setting],
        table: Option<&'a DeTable<'a>>,
    ) -> Self {
        Self { file, path: String::new(), settings, table, start: 0 }
    }

    /// Where relative paths start.
    pub(in crate::config) fn base(&self) -> &'a Path {
        self.file.base
    }

    /// A variable of the environment.
    pub(in crate::config) fn environment(&self, name: &str) -> Option<String> {
        (self.file.environment)(name)
    }

    /// Whether something is wrong with one of these keys.
    pub(in crate::config) fn is_blamed(&self, names: &[&str]) -> bool {
        self.file.problems.borrow().iter().any(|problem| names.iter().any(|name| problem.key == self.key(name)))
    }

    /// The line where the table begins.
    pub(in crate::config) fn line(&self) -> usize {
        self.file.lines.at(self.start).line
    }

    /// Returns the declared settings of the table.
    pub(in crate::config) fn settings(&self) -> Vec<&'static Setting> {
        each(self.settings)
    }

    fn setting(&self, name: &str) -> Option<&'static Setting> {
        self.settings().into_iter().find(|setting| setting.name == name)
    }

    fn key(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) }
    }

    fn find(&self, name: &str) -> Option<&'a Spanned<DeValue<'a>>> {
        self.table.and_then(|table| table.get(name))
    }

    /// Whether the key `name` is there.
    pub(in crate::config) fn has(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    /// Adds a problem with the key `name`, unless its value was refused already.
    pub(in crate::config) fn problem(&self, name: &str, message: impl Into<String>, remedy: &str) {
        let key = self.key(name);
        if !self.file.refused.borrow().contains(&key) {
            let offset = self.find(name).map_or(self.start, |value| value.span().start);
            self.file.note(Problem::new(self.file.lines.at(offset), &key, message.into(), remedy));
        }
    }

    /// Notes that another table of the same list has its name.
    pub(in crate::config) fn taken(&self, what: &str, name: &str) {
        self.problem("name", format!("another {what} is named {name:?}"), "give it another name");
    }

    /// Adds an error as a problem with the key `name`; `remedy` is for an error without a hint.
    pub(in crate::config) fn error(&self, name: &str, error: Error, remedy: &str) {
        let hint = error.get_hint().unwrap_or(remedy).to_owned();
        self.problem(name, error.message, &hint);
    }

    /// The text of the file at `path`, which the key `name` names.
    pub(in crate::config) fn read_file(&self, name: &str, path: &Path, remedy: &str) -> Option<String> {
        let read = std::fs::read_to_string(self.file.base.join(path));
        if let Ok(content) = &read {
            let mut hasher = DefaultHasher::new();
            content.hash(&mut hasher);
            self.file.contents.borrow_mut().insert(self.key(name), hasher.finish());
        }
        read.map_err(|error| self.problem(name, format!("{} cannot be read: {error}", path.display()), remedy)).ok()
    }

    /// Notes a problem that is on no line of the file.
    pub(in crate::config) fn elsewhere(&self, key: &str, message: String, remedy: &str) {
        self.file.note(Problem::new(Position::default(), key, message, remedy));
    }

    fn refuse(&self, name: &str, message: impl Into<String>, remedy: &str) {
        self.problem(name, message, remedy);
        self.file.refused.borrow_mut().insert(self.key(name));
    }

    fn wrong_type(&self, name: &str, expected: &str) {
        self.problem(name, format!("this must be {expected}"), "change the value's type");
    }

    /// Returns the value of the key `name` if it is valid for its setting, or else the setting's default.
    pub(in crate::config) fn json(&self, name: &str) -> Option<Value> {
        let setting = self.setting(name)?;
        let Some(value) = self.find(name) else {
            if let Some(remedy) = setting.required.filter(|_| self.table.is_some()) {
                self.refuse(name, "this key is missing", remedy);
            }
            return setting.default.map(Value::from);
        };
        let judged = self.judged(setting, self.interpolated(name, json(value)));
        if judged.is_none() {
            self.file.refused.borrow_mut().insert(self.key(name));
        }
        judged.or_else(|| setting.default.map(Value::from))
    }

    /// Returns the valid part of a value for its setting.
    fn judged(&self, setting: &Setting, mut value: Value) -> Option<Value> {
        let name = setting.name;
        let expected = match setting.kind {
            Kind::Switch => (!value.is_boolean()).then_some("true or false"),
            Kind::SwitchOrWord(_) => {
                (!value.is_boolean() && !value.is_string()).then_some("true, false or a text in quotes")
            }
            Kind::Text | Kind::Word(_) => (!value.is_string()).then_some("a text in quotes"),
            Kind::TextOrTexts if value.is_string() => None,
            Kind::TextOrTexts => (!value.is_array()).then_some("a text in quotes, or a list of them"),
            Kind::Texts | Kind::Words(_) => (!value.is_array()).then_some("a list of texts"),
            Kind::Pairs => (!value.is_object()).then_some("a table of texts"),
            Kind::Scalar => {
                let is_one = value.is_string() || value.is_boolean() || value.is_number();
                (!is_one).then_some("a text, a number, true or false")
            }
            _ => None,
        };
        if let Some(expected) = expected {
            self.wrong_type(name, expected);
            return None;
        }
        if let Kind::Number(least, most) = setting.kind
            && !value.as_u64().is_some_and(|number| (least..=most).contains(&number))
        {
            let remedy = format!("write a whole number from {least} to {most}");
            self.problem(name, "this value is not allowed", &remedy);
            return None;
        }
        match &mut value {
            Value::String(text) => self.fits(setting, text).then_some(value),
            Value::Array(items) => {
                if items.iter().any(|item| !item.is_string()) {
                    self.wrong_type(name, "a list of texts");
                }
                items.retain(|item| item.as_str().is_some_and(|text| self.fits(setting, text)));
                Some(value)
            }
            Value::Object(members) => {
                if members.values().any(|member| !member.is_string()) {
                    self.wrong_type(name, "a table of texts");
                }
                members.retain(|_, member| member.is_string());
                Some(value)
            }
            _ => Some(value),
        }
    }

    /// Returns true if a text is valid for its setting; adds a problem otherwise.
    fn fits(&self, setting: &Setting, text: &str) -> bool {
        let unknown = |remedy: &str| {
            self.problem(setting.name, format!("{text:?} is not a known word"), remedy);
            false
        };
        match setting.kind {
            Kind::Word(words) if !words().contains(&text) => {
                let allowed: Vec<String> = words().iter().map(|word| format!("\"{word}\"")).collect();
                unknown(&format!("write {}", allowed.join(" or ")))
            }
            Kind::SwitchOrWord(words) if !words().contains(&text) => {
                let allowed: Vec<String> = words().iter().map(|word| format!(" or \"{word}\"")).collect();
                unknown(&format!("write true, false{}", allowed.concat()))
            }
            Kind::Words(words) if !words().contains(&text) => {
                unknown(&near::suggestion_or_list(text, "known here: ", &words()))
            }
            _ => {
                if let Some(check) = setting.check.filter(|check| !(check.fits)(text)) {
                    let message = check.message.replace("{}", &format!("{text:?}"));
                    self.problem(setting.name, message, check.remedy);
                }
                true
            }
        }
    }

    /// A table; absent means an empty one. Settings that are declared together are of this table.
    pub(in crate::config) fn table(&self, name: &str) -> Section<'a> {
        if self.settings.iter().any(|setting| setting.name == name && matches!(setting.kind, Kind::Group(_))) {
            return self.clone();
        }
        let value = self.find(name);
        let table = value.and_then(|value| match value.get_ref() {
            DeValue::Table(table) => Some(table),
            _ => None,
        });
        if value.is_some() && table.is_none() {
            self.wrong_type(name, &format!("a table: [{}]", self.key(name)));
        }
        self.child(name, self.key(name), table, value.map_or(self.start, |value| value.span().start))
    }

    /// A table, where it is there.
    pub(in crate::config) fn optional_table(&self, name: &str) -> Option<Section<'a>> {
        self.has(name).then(|| self.table(name))
    }

    /// A list of tables. An absent one is as an empty one.
    pub(in crate::config) fn tables(&self, name: &str) -> Vec<Section<'a>> {
        let expected = format!("a list of tables: [[{}]]", self.key(name));
        let items = match self.find(name).map(Spanned::get_ref) {
            Some(DeValue::Array(items)) => items.iter().enumerate(),
            Some(_) => {
                self.wrong_type(name, &expected);
                return Vec::new();
            }
            None => return Vec::new(),
        };
        let section = |(index, item): (usize, &'a Spanned<DeValue<'a>>)| match item.get_ref() {
            DeValue::Table(table) => {
                Some(self.child(name, format!("{}[{index}]", self.key(name)), Some(table), item.span().start))
            }
            _ => {
                self.wrong_type(name, &expected);
                None
            }
        };
        items.filter_map(section).collect()
    }

    fn child(&self, name: &str, path: String, table: Option<&'a DeTable<'a>>, start: usize) -> Section<'a> {
        let settings = self.setting(name).map_or(&[][..], Setting::settings);
        Section { file: self.file, path, settings, table, start }
    }

    /// Notes every key that is not declared.
    pub(crate) fn refuse_unknown(&self) {
        let known: BTreeSet<&str> = self.settings().iter().map(|setting| setting.name).collect();
        for (key, _) in self.table.into_iter().flatten() {
            let name: &str = key.get_ref();
            if !known.contains(name) {
                let names: Vec<&str> = known.iter().copied().collect();
                let remedy = near::suggestion_or_list(name, "remove it; known here: ", &names);
                let position = self.file.lines.at(key.span().start);
                self.file.note(Problem::new(position, &self.key(name), "there is no such key".to_owned(), &remedy));
            }
        }
    }

    /// Returns a digest of the value of the key `name`, and its position; nothing for a key that is left out, or
    /// written out with its default. Variables are resolved first, and files that were read for it count: a secret can
    /// change while the file does not.
    pub(in crate::config) fn digest(&self, name: &str) -> Option<(u64, Position)> {
        let (value, setting) = (self.find(name)?, self.setting(name)?);
        let resolved = texts(json(value), &|text| resolve(text, self.file.environment).0);
        if setting.default.is_some_and(|default| Value::from(default) == resolved) {
            return None;
        }
        let mut hasher = DefaultHasher::new();
        resolved.hash(&mut hasher);
        let (contents, key) = (self.file.contents.borrow(), self.key(name));
        let below =
            |known: &str| known.strip_prefix(&key).is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric()));
        contents.iter().filter(|(known, _)| below(known)).for_each(|content| content.hash(&mut hasher));
        Some((hasher.finish(), self.file.lines.at(value.span().start)))
    }

    /// Replaces `${NAME}` in each text; `$${` stands for a literal `${`.
    fn interpolated(&self, name: &str, value: Value) -> Value {
        texts(value, &|text| {
            let (resolved, missing) = resolve(text, self.file.environment);
            for missing in missing {
                let (message, remedy) = match missing.map(|variable| (variable, variable.strip_prefix(CREDENTIAL))) {
                    None => ("\"${\" is not closed".to_owned(), "write ${NAME}, or $${ for the characters"),
                    Some((_, Some(credential))) => (
                        format!("the service manager hands over no credential {credential:?}"),
                        "add LoadCredential= for it to the unit, or set CREDENTIALS_DIRECTORY",
                    ),
                    Some((variable, None)) => (
                        format!("the environment has no variable {variable}"),
                        "set it for the service, or write the value here",
                    ),
                };
                self.problem(name, message, remedy);
            }
            resolved
        })
    }
}

/// A value without the places where its parts stand.
fn json(value: &Spanned<DeValue<'_>>) -> Value {
    // A value that JSON cannot represent is not valid for any setting.
    Value::deserialize(value.clone().into_deserializer()).unwrap_or_default()
}

/// `value` with each of its texts replaced.
fn texts(value: Value, replace: &dyn Fn(&str) -> String) -> Value {
    match value {
        Value::String(text) => replace(&text).into(),
        Value::Array(items) => items.into_iter().map(|item| texts(item, replace)).collect(),
        Value::Object(members) => members.into_iter().map(|(name, member)| (name, texts(member, replace))).collect(),
        other => other,
    }
}
