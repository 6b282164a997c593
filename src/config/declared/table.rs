//! The tables of the file as structs: `settings!` declares one with its settings, and reads it.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use secrecy::SecretString;
use serde_json::Value;
use uuid::Uuid;

use super::section::{File, Section};
use super::setting::{Declared, NamedValues};

/// A struct that a table is read into.
pub(crate) trait Table: Declared + Sized {
    /// Reads it, and refuses undeclared keys.
    fn read(section: &Section<'_>) -> Self;

    /// Returns the values of an absent table.
    fn absent() -> Self {
        let file = File::new("", Path::new(""), &|_| None);
        Self::read(&Section::root(&file, Self::SETTINGS, None))
    }
}

/// Declares a table: a struct with a member for each setting, whose declaration follows `=`.
///
/// Members under `tables` are tables that are read by code of their own: their values depend on the rest of the
/// file.
macro_rules! settings {
    (
        $(#[doc = $about:literal])*
        $(#[derive($($Derived:ident),+)])?
        $vis:vis struct $Name:ident {
            $($(#[doc = $doc:literal])* $field:ident: $Type:ty = $setting:expr,)*
        }
        $(tables { $($(#[doc = $more:literal])* $table:ident = $tables:expr,)* })?
    ) => {
        $(#[doc = $about])*
        #[derive(Clone, Debug $(, $($Derived),+)?)]
        $vis struct $Name {
            $($(#[doc = $doc])* $vis $field: $Type,)*
        }

        impl $crate::config::declared::setting::Declared for $Name {
            const ABOUT: &'static str = concat!($($about, "\n"),*);
            const SETTINGS: &'static [$crate::config::declared::setting::Setting] = &[
                $($setting.named(stringify!($field), concat!($($doc, "\n"),*)),)*
                $($($tables.named(stringify!($table), concat!($($more, "\n"),*)),)*)?
            ];
        }

        impl $crate::config::declared::table::Table for $Name {
            fn read(section: &$crate::config::declared::section::Section<'_>) -> Self {
                section.refuse_unknown();
                Self { $($field: $crate::config::declared::table::ReadSetting::take(
                    section,
                    const { $setting.named(stringify!($field), "").name },
                ),)* }
            }
        }

        impl $crate::config::declared::table::ReadSetting for $Name {
            fn take(section: &$crate::config::declared::section::Section<'_>, name: &str) -> Self {
                $crate::config::declared::table::Table::read(&section.table(name))
            }
        }

        impl Default for $Name {
            /// Returns the values of an absent table.
            fn default() -> Self {
                $crate::config::declared::table::Table::absent()
            }
        }
    };
}
pub(crate) use settings;

/// A member of a table's struct: read from the key `name` of a section.
pub(crate) trait ReadSetting {
    fn take(section: &Section<'_>, name: &str) -> Self;
}

impl<T: FromJson> ReadSetting for T {
    fn take(section: &Section<'_>, name: &str) -> Self {
        T::from_json(section.json(name))
    }
}

/// Converts a valid value of a setting. Without one (the key is missing or was refused, which was reported then) a
/// stand-in is made.
pub(crate) trait FromJson {
    fn from_json(value: Option<Value>) -> Self;
}

macro_rules! from_json {
    ($($Type:ty: $value:ident => $read:expr;)+) => {
        $(impl FromJson for $Type {
            fn from_json(value: Option<Value>) -> Self {
                value.and_then(|$value| $read).unwrap_or_default()
            }
        })+
    };
}

from_json! {
    bool: value => value.as_bool();
    u32: value => value.as_u64()?.try_into().ok();
    u64: value => value.as_u64();
    usize: value => value.as_u64()?.try_into().ok();
    Duration: value => value.as_u64().map(Self::from_secs);
    String: value => serde_json::from_value(value).ok();
    Arc<str>: value => value.as_str().map(Self::from);
    SecretString: value => value.as_str().map(Self::from);
    PathBuf: value => value.as_str().map(Self::from);
    Uuid: value => value.as_str()?.parse().ok();
    Vec<String>: value => match value {
        Value::String(text) => Some(vec![text]),
        value => serde_json::from_value(value).ok(),
    };
    Vec<SecretString>: value => Some(Vec::<String>::from_json(Some(value)).into_iter().map(Into::into).collect());
    HashMap<String, String>: value => serde_json::from_value(value).ok();
    Value: value => Some(value);
}

impl<T: FromJson> FromJson for Option<T> {
    fn from_json(value: Option<Value>) -> Self {
        value.map(|value| T::from_json(Some(value)))
    }
}

impl<T: NamedValues> FromJson for T {
    fn from_json(value: Option<Value>) -> Self {
        let text = String::from_json(value);
        T::WORDS.iter().find(|(word, _)| *word == text).unwrap_or(&T::WORDS[0]).1.clone()
    }
}

impl<T: NamedValues> FromJson for Vec<T> {
    fn from_json(value: Option<Value>) -> Self {
        Vec::<String>::from_json(value).into_iter().map(|text| T::from_json(Some(text.into()))).collect()
    }
}

#[cfg(test)]
mod tests {
    use toml::de::DeTable;

    use super::*;
    use crate::config::declared::fingerprint::Keys;
    use crate::config::declared::setting::Literal::Number;
    use crate::config::declared::setting::{TEXT, TEXTS, number, table};

    settings! {
        /// A section of the file.
        #[derive(PartialEq)]
        struct Kitchen {
            /// Seconds until the soup is cold.
            patience: Duration = number(1..=60).or(Number(5)).live(),
            /// Who may eat.
            guests: Option<Vec<String>> = TEXTS.checked(|text| !text.is_empty(), "{} is nobody", "name somebody"),
            /// Where the cook is from.
            cook: String = TEXT.required("name the cook"),
        }
    }

    settings! {
        struct Root {}
        tables { kitchen = table::<Kitchen>(), }
    }

    fn read(text: &str) -> (Kitchen, Vec<String>, Keys) {
        let parsed = DeTable::parse(text).unwrap();
        let environment = |name: &str| (name == "GUEST").then(|| "ann".to_owned());
        let file = File::new(text, Path::new(""), &environment);
        let root = Section::root(&file, Root::SETTINGS, Some(parsed.get_ref()));
        let kitchen = Kitchen::read(&root.table("kitchen"));
        let problems = file.problems().iter().map(ToString::to_string).collect();
        (kitchen, problems, Keys::new(&root))
    }

    #[test]
    fn one_declaration_is_read_checked_and_compared() {
        let (kitchen, problems, before) = read("[kitchen]\ncook = \"bo\"\nguests = [\"${GUEST}\"]");
        let guests = Some(vec!["ann".to_owned()]);
        assert_eq!(
            kitchen,
            Kitchen { patience: Duration::from_secs(5), guests: guests.clone(), cook: "bo".to_owned() }
        );
        assert!(problems.is_empty(), "{problems:?}");
        let (_, _, written_out) = read("[kitchen]\npatience = 5\ncook = \"bo\"\nguests = [\"ann\"]");
        assert_eq!(written_out.changed_names(&before), Vec::<String>::new(), "a default that is written out is none");
        let (kitchen, _, after) = read("[kitchen]\npatience = 7\ncook = \"di\"\nguests = [\"ann\"]");
        assert_eq!((kitchen.patience.as_secs(), kitchen.guests), (7, guests));
        let refused: Vec<String> = after.refused(&before).into_iter().map(|problem| problem.key).collect();
        assert_eq!(refused, ["kitchen.cook"], "what is live may change, and what a text stands for counts");
        let (_, problems, _) = read("[kitchen]\npatience = 0\nguests = [\"\", 5]\ncok = 1");
        assert_eq!(
            problems,
            [
                "line 1: kitchen.cook: this key is missing; name the cook",
                "line 2: kitchen.patience: this value is not allowed; write a whole number from 1 to 60",
                "line 3: kitchen.guests: this must be a list of texts; change the value's type",
                "line 3: kitchen.guests: \"\" is nobody; name somebody",
                "line 4: kitchen.cok: there is no such key; did you mean cook?",
            ]
        );
        assert_eq!(Kitchen::default().patience.as_secs(), 5);
    }
}
