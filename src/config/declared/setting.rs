//! How a setting is declared: once, with its description, its type, its default, and the effect of a reload. The
//! file is read, checked and compared by it, and `config.toml` and the guide's tables are generated from it.

use std::ops::RangeInclusive;

use serde_json::Value;

/// One key of a table.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// The key.
    pub name: &'static str,
    /// Its description, in lines.
    pub about: &'static str,
    /// Its type.
    pub kind: Kind,
    /// Its default.
    pub default: Option<Literal>,
    /// A value for `config.toml`, in TOML, if there is no default.
    pub example: &'static str,
    /// Whether `config.toml` sets it, and does not only show it in a comment.
    pub shown: bool,
    /// The remedy if it is missing and required.
    pub required: Option<&'static str>,
    /// The check of each of its texts.
    pub check: Option<Check>,
    /// The effect of a reload.
    pub reload: Reload,
}

/// The type of a setting.
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
    /// A table of texts, whose keys are names chosen by the administrator.
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

/// The default of a setting.
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

/// The check of a text, and its message; `{}` stands for the text.
#[derive(Clone, Copy, Debug)]
pub struct Check {
    pub(in crate::config) fits: fn(&str) -> bool,
    pub(in crate::config) message: &'static str,
    pub(in crate::config) remedy: &'static str,
}

/// The effect of a reload on a changed setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reload {
    /// Takes a restart: of the service or, in `[[connections]]`, of the connection.
    Restart,
    /// It is in force for the next request.
    Live,
    /// It is in force at once, but to add or to remove it takes a restart.
    Renewed,
}

/// The declaration of a table.
pub(crate) trait Declared {
    /// Its description, in lines.
    const ABOUT: &'static str;
    /// Its settings.
    const SETTINGS: &'static [Setting];
}

/// The words that stand for values.
pub(crate) trait NamedValues: Clone + PartialEq + 'static {
    /// Each word with its value.
    const WORDS: &'static [(&'static str, Self)];

    /// The words alone.
    fn names() -> Vec<&'static str> {
        Self::WORDS.iter().map(|(word, _)| *word).collect()
    }

    /// Returns the word for the value.
    fn as_str(&self) -> &'static str {
        Self::WORDS.iter().find(|(_, value)| value == self).map_or("", |(word, _)| word)
    }
}

/// Declares the words of values.
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

    /// Accepts only texts that fit; `{}` in the message stands for one that does not.
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

    /// Returns the settings of a table, and those that are declared together.
    pub fn settings(&self) -> &'static [Setting] {
        match self.kind {
            Kind::Table(settings) | Kind::OptionalTable(settings) | Kind::Tables(settings) | Kind::Group(settings) => {
                settings
            }
            _ => &[],
        }
    }
}

/// Returns each of the settings of a table, including those of its groups.
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
