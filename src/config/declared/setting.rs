//! How a setting is declared: once, with its words, what it may be, what it is when it is left out, and what a reload
//! makes of it. The file is read, checked and compared by it, and `config.toml` and the guide's tables are written by it.

use std::ops::RangeInclusive;

use serde_json::Value;

/// One key of a table.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// The key.
    pub name: &'static str,
    /// What it means, in lines.
    pub about: &'static str,
    /// What it may be.
    pub kind: Kind,
    /// What it is when it is left out.
    pub default: Option<Literal>,
    /// A value for `config.toml`, in TOML, where there is no default.
    pub example: &'static str,
    /// Whether `config.toml` sets it, and does not only show it in a comment.
    pub shown: bool,
    /// What to do when it is left out and must not be.
    pub required: Option<&'static str>,
    /// What each of its texts must be.
    pub check: Option<Check>,
    /// What becomes of it at a reload.
    pub reload: Reload,
}

/// What a setting may be.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// True or false.
    Switch,
    /// A whole number from the first to the last.
    Number(u64, u64),
    /// A text.
    Text,
    /// True, false, or one of these words.
    SwitchOrWord(fn() -> Vec<&'static str>),
    /// One of these words.
    Word(fn() -> Vec<&'static str>),
    /// A list of texts.
    Texts,
    /// A text, or a list of texts.
    TextOrTexts,
    /// Some of these words.
    Words(fn() -> Vec<&'static str>),
    /// A table of texts, whose keys are names of the administrator's choice.
    Pairs,
    /// A text, a number, true or false.
    Scalar,
    /// A table; absent means an empty one.
    Table(&'static [Setting]),
    /// A table that need not be there.
    OptionalTable(&'static [Setting]),
    /// A list of tables.
    Tables(&'static [Setting]),
    /// Settings of the same table that are declared together.
    Group(&'static [Setting]),
}

/// What a setting is when it is left out.
#[derive(Clone, Copy, Debug)]
pub enum Literal {
    /// True or false.
    Switch(bool),
    /// A number.
    Number(u64),
    /// A text.
    Text(&'static str),
    /// A list of texts.
    Texts(&'static [&'static str]),
}

/// What a text must be, and what is told where it is not; `{}` stands for the text.
#[derive(Clone, Copy, Debug)]
pub struct Check {
    pub(in crate::config) fits: fn(&str) -> bool,
    pub(in crate::config) message: &'static str,
    pub(in crate::config) remedy: &'static str,
}

/// What becomes of a changed setting at a reload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reload {
    /// It takes a restart: of the service or, in `[[connections]]`, of what runs the connection.
    Restart,
    /// It is in force for the next request.
    Live,
    /// It is in force at once, but to add or to remove it takes a restart.
    Renewed,
}

/// What is declared of a table.
pub(crate) trait Declared {
    /// What the table is for, in lines.
    const ABOUT: &'static str;
    /// Its settings.
    const SETTINGS: &'static [Setting];
}

/// The words that stand for values.
pub(crate) trait NamedValues: Clone + PartialEq + 'static {
    /// Each word with what it stands for.
    const WORDS: &'static [(&'static str, Self)];

    /// The words alone.
    fn names() -> Vec<&'static str> {
        Self::WORDS.iter().map(|(word, _)| *word).collect()
    }

    /// The word that stands for it.
    fn as_str(&self) -> &'static str {
        Self::WORDS.iter().find(|(_, value)| value == self).map_or("", |(word, _)| word)
    }
}

/// Declares what words stand for.
macro_rules! words {
    ($($Type:ty { $($word:expr => $value:expr),+ $(,)? })+) => {
        $(impl $crate::config::declared::setting::NamedValues for $Type {
            const WORDS: &'static [(&'static str, Self)] = &[$(($word, $value)),+];
        })+
    };
}
pub(crate) use words;

impl Setting {
    const fn new(kind: Kind) -> Self {
        let (name, about, example) = ("", "", "");
        let (default, required, check, shown) = (None, None, None, false);
        Self { name, about, kind, default, example, shown, required, check, reload: Reload::Restart }
    }

    /// With the name and the comment of the struct's member, unless it has its own.
    pub(crate) const fn named(self, name: &'static str, about: &'static str) -> Self {
        let name = if self.name.is_empty() { name } else { self.name };
        Self { name, about: if about.is_empty() { self.about } else { about }, ..self }
    }

    /// With another key than the name of the struct's member.
    pub(crate) const fn key(self, name: &'static str) -> Self {
        Self { name, ..self }
    }

    /// With a default.
    pub(crate) const fn or(self, default: Literal) -> Self {
        Self { default: Some(default), shown: true, ..self }
    }

    /// With a value for a comment in `config.toml`.
    pub(crate) const fn example(self, example: &'static str) -> Self {
        Self { example, ..self }
    }

    /// Set to this value in `config.toml`.
    pub(crate) const fn shown(self, example: &'static str) -> Self {
        Self { example, shown: true, ..self }
    }

    /// Refused when it is left out.
    pub(crate) const fn required(self, remedy: &'static str) -> Self {
        Self { required: Some(remedy), shown: true, ..self }
    }

    /// With texts that fit alone; `{}` in the message stands for one that does not.
    pub(crate) const fn checked(self, fits: fn(&str) -> bool, message: &'static str, remedy: &'static str) -> Self {
        Self { check: Some(Check { fits, message, remedy }), ..self }
    }

    /// In force after a reload.
    pub(crate) const fn live(self) -> Self {
        Self { reload: Reload::Live, ..self }
    }

    /// In force after a reload, if it was there before.
    pub(crate) const fn renewed(self) -> Self {
        Self { reload: Reload::Renewed, ..self }
    }

    /// The settings of a table, and those that are declared together.
    pub fn settings(&self) -> &'static [Setting] {
        match self.kind {
            Kind::Table(settings) | Kind::OptionalTable(settings) | Kind::Tables(settings) | Kind::Group(settings) => {
                settings
            }
            _ => &[],
        }
    }
}

/// Each of the settings of a table, those of its groups among them.
pub(in crate::config) fn each(settings: &'static [Setting]) -> Vec<&'static Setting> {
    let grouped = |setting: &'static Setting| match setting.kind {
        Kind::Group(settings) => each(settings),
        _ => vec![setting],
    };
    settings.iter().flat_map(grouped).collect()
}

pub(crate) const SWITCH: Setting = Setting::new(Kind::Switch);
pub(crate) const fn number(range: RangeInclusive<u64>) -> Setting {
    Setting::new(Kind::Number(*range.start(), *range.end()))
}

pub(crate) const TEXT: Setting = Setting::new(Kind::Text);
pub(crate) const TEXTS: Setting = Setting::new(Kind::Texts);
pub(crate) const TEXT_OR_TEXTS: Setting = Setting::new(Kind::TextOrTexts);
pub(crate) const fn word<T: NamedValues>() -> Setting {
    Setting::new(Kind::Word(T::names))
}

pub(crate) const fn switch_or_word(words: fn() -> Vec<&'static str>) -> Setting {
    Setting::new(Kind::SwitchOrWord(words))
}

pub(crate) const fn some_words<T: NamedValues>() -> Setting {
    Setting::new(Kind::Words(T::names))
}

pub(crate) const PAIRS: Setting = Setting::new(Kind::Pairs);
pub(crate) const SCALAR: Setting = Setting::new(Kind::Scalar);
pub(crate) const fn table<T: Declared>() -> Setting {
    Setting { about: T::ABOUT, ..Setting::new(Kind::Table(T::SETTINGS)) }
}

pub(crate) const fn optional_table<T: Declared>() -> Setting {
    Setting { about: T::ABOUT, ..Setting::new(Kind::OptionalTable(T::SETTINGS)) }
}

pub(crate) const fn tables<T: Declared>() -> Setting {
    Setting { about: T::ABOUT, ..Setting::new(Kind::Tables(T::SETTINGS)) }
}

pub(crate) const fn group<T: Declared>() -> Setting {
    Setting { about: T::ABOUT, ..Setting::new(Kind::Group(T::SETTINGS)) }
}

impl From<Literal> for Value {
    fn from(literal: Literal) -> Self {
        match literal {
            Literal::Switch(value) => value.into(),
            Literal::Number(value) => value.into(),
            Literal::Text(value) => value.into(),
            Literal::Texts(value) => value.into(),
        }
    }
}

/// Whether `text` begins with a letter or `_`, and has letters, digits and these signs alone.
pub(crate) fn is_name(text: &str, signs: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && text.chars().all(|each| each.is_ascii_alphanumeric() || signs.contains(each))
}
