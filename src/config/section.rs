//! Reads one table of the file, key by key, and gathers what is wrong with it. Knows no key by name.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use portico_actors::near;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::environment::{CREDENTIAL, Environment, resolve};
use super::fingerprint::Fingerprint;
use super::problem::{Lines, Problem};

/// One table of the file.
pub(super) struct Section<'a> {
    lines: &'a Lines,
    path: String,
    table: Option<&'a DeTable<'a>>,
    environment: Environment<'a>,
    known: BTreeSet<&'static str>,
    start: usize,
}

impl<'a> Section<'a> {
    pub(super) fn root(lines: &'a Lines, table: &'a DeTable<'a>, environment: Environment<'a>) -> Self {
        Self { lines, path: String::new(), table: Some(table), environment, known: BTreeSet::new(), start: 0 }
    }

    fn key(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) }
    }

    fn find(&mut self, name: &'static str) -> Option<&'a Spanned<DeValue<'a>>> {
        self.known.insert(name);
        self.table.and_then(|table| table.get(name))
    }

    /// Notes a problem with the key `name`.
    pub(super) fn problem(&self, name: &str, message: String, remedy: &str, problems: &mut Vec<Problem>) {
        let offset = self.table.and_then(|table| table.get(name)).map_or(self.start, |value| value.span().start);
        problems.push(Problem::new(self.lines.at(offset), &self.key(name), message, remedy));
    }

    fn wrong_type(&self, name: &str, expected: &str, problems: &mut Vec<Problem>) {
        self.problem(name, format!("this must be {expected}"), "change the value's type", problems);
    }

    /// A text, with `${NAME}` replaced from the environment.
    pub(super) fn string(&mut self, name: &'static str, problems: &mut Vec<Problem>) -> Option<String> {
        match self.find(name)?.get_ref() {
            DeValue::String(text) => Some(self.interpolate(name, text, problems)),
            _ => {
                self.wrong_type(name, "a text in quotes", problems);
                None
            }
        }
    }

    /// A text that has to be there.
    pub(super) fn required(&mut self, name: &'static str, remedy: &str, problems: &mut Vec<Problem>) -> Option<String> {
        if self.find(name).is_none() {
            self.problem(name, "this key is missing".to_owned(), remedy, problems);
            return None;
        }
        self.string(name, problems)
    }

    /// A list of texts. An empty one means none; what an absent one means, whoever asks decides.
    pub(super) fn strings(&mut self, name: &'static str, problems: &mut Vec<Problem>) -> Option<Vec<String>> {
        let DeValue::Array(items) = self.find(name)?.get_ref() else {
            self.wrong_type(name, "a list of texts", problems);
            return None;
        };
        let mut texts = Vec::new();
        for item in items {
            match item.get_ref() {
                DeValue::String(text) => texts.push(self.interpolate(name, text, problems)),
                _ => self.wrong_type(name, "a list of texts", problems),
            }
        }
        Some(texts)
    }

    /// A variable of the environment.
    pub(super) fn environment(&self, name: &str) -> Option<String> {
        (self.environment)(name)
    }

    /// A text, or a list of texts, as [`Section::strings`].
    pub(super) fn string_or_strings(&mut self, name: &'static str, problems: &mut Vec<Problem>) -> Option<Vec<String>> {
        match self.find(name).map(Spanned::get_ref) {
            Some(DeValue::String(_)) => self.string(name, problems).map(|text| vec![text]),
            _ => self.strings(name, problems),
        }
    }

    /// Tells what this table says from what it said before.
    pub(super) fn fingerprint(&self) -> Fingerprint {
        let line = self.lines.at(self.start);
        self.table.map_or(Fingerprint::default(), |table| Fingerprint::of(table, line, self.environment))
    }

    /// Whether the key `name` is there.
    pub(super) fn has(&mut self, name: &'static str) -> bool {
        self.find(name).is_some()
    }

    /// Some of some words, as [`Section::strings`].
    pub(super) fn words<T: Copy>(
        &mut self,
        name: &'static str,
        words: &[(&str, T)],
        problems: &mut Vec<Problem>,
    ) -> Option<Vec<T>> {
        let mut found = Vec::new();
        for given in self.strings(name, problems)? {
            if let Some((_, meaning)) = words.iter().find(|(word, _)| *word == given) {
                found.push(*meaning);
                continue;
            }
            let offered = near::nearest(&given, words.iter().map(|(word, _)| *word));
            let all = || words.iter().map(|(word, _)| *word).collect::<Vec<_>>().join(", ");
            let remedy = near::did_you_mean(&offered).unwrap_or_else(|| format!("known here: {}", all()));
            self.problem(name, format!("{given:?} is not a word it knows"), &remedy, problems);
        }
        Some(found)
    }

    /// A text, a number or a truth value, as JSON.
    pub(super) fn scalar(&mut self, name: &'static str, problems: &mut Vec<Problem>) -> Option<serde_json::Value> {
        let value = match self.find(name)?.get_ref() {
            DeValue::String(text) => Some(serde_json::Value::from(self.interpolate(name, text, problems))),
            DeValue::Boolean(value) => Some(serde_json::Value::from(*value)),
            DeValue::Integer(number) => {
                i64::from_str_radix(number.as_str(), number.radix()).ok().map(serde_json::Value::from)
            }
            DeValue::Float(number) => serde_json::from_str(number.as_str()).ok(),
            _ => None,
        };
        if value.is_none() {
            self.wrong_type(name, "a text, a number, true or false", problems);
        }
        value
    }

    /// A whole number within `range`.
    pub(super) fn integer(
        &mut self,
        name: &'static str,
        range: RangeInclusive<u64>,
        problems: &mut Vec<Problem>,
    ) -> Option<u64> {
        let value = self.find(name)?;
        let number = match value.get_ref() {
            DeValue::Integer(number) => u64::from_str_radix(number.as_str(), number.radix()).ok(),
            _ => None,
        };
        match number.filter(|number| range.contains(number)) {
            Some(number) => Some(number),
            None => {
                let (least, most) = (range.start(), range.end());
                self.problem(
                    name,
                    "this value is not allowed".to_owned(),
                    &format!("write a whole number from {least} to {most}"),
                    problems,
                );
                None
            }
        }
    }

    /// True or false.
    pub(super) fn boolean(&mut self, name: &'static str, problems: &mut Vec<Problem>) -> Option<bool> {
        if let DeValue::Boolean(value) = self.find(name)?.get_ref() {
            return Some(*value);
        }
        self.wrong_type(name, "true or false", problems);
        None
    }

    /// One of some words.
    pub(super) fn word<T: Copy>(
        &mut self,
        name: &'static str,
        words: &[(&str, T)],
        problems: &mut Vec<Problem>,
    ) -> Option<T> {
        let given = self.string(name, problems)?;
        let found = words.iter().find(|(word, _)| *word == given).map(|(_, meaning)| *meaning);
        if found.is_none() {
            let allowed: Vec<String> = words.iter().map(|(word, _)| format!("\"{word}\"")).collect();
            self.problem(
                name,
                format!("{given:?} is not a word it knows"),
                &format!("write {}", allowed.join(" or ")),
                problems,
            );
        }
        found
    }

    /// A table; absent means an empty one.
    pub(super) fn section(&mut self, name: &'static str, problems: &mut Vec<Problem>) -> Section<'a> {
        let value = self.find(name);
        let table = value.and_then(|value| match value.get_ref() {
            DeValue::Table(table) => Some(table),
            _ => None,
        });
        if value.is_some() && table.is_none() {
            self.wrong_type(name, &format!("a table: [{}]", self.key(name)), problems);
        }
        self.child(self.key(name), table, value.map_or(self.start, |value| value.span().start))
    }

    /// A table whose keys are names of the administrator's choice, and whose values are texts; absent and
    /// empty as [`Section::strings`].
    pub(super) fn texts(&mut self, name: &'static str, problems: &mut Vec<Problem>) -> Option<Vec<(String, String)>> {
        let DeValue::Table(table) = self.find(name)?.get_ref() else {
            self.wrong_type(name, "a table of texts", problems);
            return None;
        };
        let mut texts = Vec::new();
        for (key, value) in table {
            match value.get_ref() {
                DeValue::String(text) => {
                    texts.push((key.get_ref().to_string(), self.interpolate(name, text, problems)));
                }
                _ => self.wrong_type(name, "a table of texts", problems),
            }
        }
        Some(texts)
    }

    /// A list of tables, as [`Section::strings`].
    pub(super) fn sections(&mut self, name: &'static str, problems: &mut Vec<Problem>) -> Option<Vec<Section<'a>>> {
        let expected = format!("a list of tables: [[{}]]", self.key(name));
        let DeValue::Array(items) = self.find(name)?.get_ref() else {
            self.wrong_type(name, &expected, problems);
            return None;
        };
        let mut sections = Vec::new();
        for (index, item) in items.iter().enumerate() {
            match item.get_ref() {
                DeValue::Table(table) => {
                    sections.push(self.child(format!("{}[{index}]", self.key(name)), Some(table), item.span().start));
                }
                _ => self.wrong_type(name, &expected, problems),
            }
        }
        Some(sections)
    }

    fn child(&self, path: String, table: Option<&'a DeTable<'a>>, start: usize) -> Section<'a> {
        Section { lines: self.lines, path, table, environment: self.environment, known: BTreeSet::new(), start }
    }

    /// Notes every key that nobody asked for.
    pub(super) fn finish(&self, problems: &mut Vec<Problem>) {
        let Some(table) = self.table else { return };
        for (key, _) in table {
            let name: &str = key.get_ref();
            if !self.known.contains(name) {
                let offered = near::nearest(name, self.known.iter().copied());
                let remedy = near::did_you_mean(&offered).unwrap_or_else(|| {
                    format!("remove it; known here: {}", self.known.iter().copied().collect::<Vec<_>>().join(", "))
                });
                problems.push(Problem::new(
                    self.lines.at(key.span().start),
                    &self.key(name),
                    "there is no such key".to_owned(),
                    &remedy,
                ));
            }
        }
    }

    /// Replaces `${NAME}`; `$${` stands for a literal `${`.
    fn interpolate(&self, name: &'static str, text: &str, problems: &mut Vec<Problem>) -> String {
        let (resolved, missing) = resolve(text, self.environment);
        for missing in missing {
            let (message, remedy) = match missing {
                None => ("\"${\" is not closed".to_owned(), "write ${NAME}, or $${ for the characters"),
                Some(variable) => match variable.strip_prefix(CREDENTIAL) {
                    Some(credential) => (
                        format!("the service manager hands over no credential {credential:?}"),
                        "add LoadCredential= for it to the unit, or set CREDENTIALS_DIRECTORY",
                    ),
                    None => (
                        format!("the environment has no variable {variable}"),
                        "set it for the service, or write the value here",
                    ),
                },
            };
            self.problem(name, message, remedy, problems);
        }
        resolved
    }
}
