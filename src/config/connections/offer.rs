//! `[connections.disabled]`, `[connections.exposed]` and `[connections.hidden]`: what a connection does not offer,
//! and what of its source is exposed to callers.

use portico_actors::near;
use portico_actors::source::{DeclaredProcedure, Exposure, Names};

use crate::config::declared::section::Section;
use crate::config::declared::setting::Literal::Texts;
use crate::config::declared::setting::{NamedValues, Setting, TEXTS, some_words};
use crate::config::declared::table::{Table, settings};
use crate::tools::{self, OPERATIONS, Operation, OwnTool, Switches, TYPES, Type};

settings! {
    /// What callers may not use. A tool that is switched off is like one that never was.
    pub(in crate::config) struct Disabled {
        /// "universal" (made for every connection), "sql" (runs statements), "source" (made from procedures).
        types: Vec<Type> = some_words::<Type>().or(Texts(&[])),
        /// The words of the twelve operations: `get_catalogs` … `execute_update`.
        operations: Vec<Operation> = some_words::<Operation>().or(Texts(&[])),
        /// Single tools, by the name that tools/list shows.
        tools: Vec<String> = TEXTS.or(Texts(&[])),
    }
}

settings! {
    /// What exists for callers: names, or patterns in which % stands for anything, in any case (_ is itself).
    /// A table or procedure may be written as schema.name. A list that is left out shows everything, an
    /// empty one nothing. portico check tells what each entry matches.
    pub(in crate::config) struct Exposed {
        /// Schemas.
        schemas: Option<Vec<String>> = patterns().shown("[\"%\"]"),
        /// Tables and views.
        tables: Option<Vec<String>> = patterns().shown("[\"%\"]"),
        /// Procedures and functions.
        procedures: Option<Vec<String>> = patterns().shown("[\"%\"]"),
    }
}

settings! {
    /// What does not exist for callers although it is exposed. It is in no listing, hint, resource or
    /// tool, and a statement that names it is told that there is no such table. What exposed views and
    /// functions read on their own is not looked at: their owner wrote them.
    /// Where something is hidden, callers cannot read the database's own catalogue either. On PostgreSQL the
    /// server is asked what it understood of a statement, and what is not on the list of harmless functions is
    /// refused (`query_to_xml`, `ts_stat`, dblink, `set_config` …), and so are DO, statements that define code
    /// (CREATE FUNCTION, TRIGGER, RULE …), CASCADE, and whatever works on a whole schema. On SQLite the engine itself
    /// is the wall: what is hidden is not there for a caller's statement, however it is spelt; PRAGMA, CREATE TRIGGER,
    /// CREATE VIRTUAL TABLE, dbstat, ALTER TABLE of a virtual table, and ANALYZE or REINDEX of everything are refused,
    /// and so is EXPLAIN of what uses hidden tables; a table or view can only be given a name that callers would see.
    ///
    /// Which wall it is: on SQLite the engine's own authorizer; on PostgreSQL first the grants of the user of `url`
    /// (`portico grants NAME` prints them, `portico check` says what it can reach beyond), and the check of each
    /// statement second.
    pub(in crate::config) struct Hidden {
        /// Schemas.
        schemas: Vec<String> = patterns().or(Texts(&[])),
        /// Tables and views. Tables behind a virtual one (FTS5, R*Tree) share what is said of it, unless they are
        /// hidden by their own names.
        tables: Vec<String> = patterns().or(Texts(&[])),
        /// Procedures and functions.
        procedures: Vec<String> = patterns().or(Texts(&[])),
    }
}

impl NamedValues for Type {
    const WORDS: &'static [(&'static str, Self)] = &TYPES;
}

impl NamedValues for Operation {
    const WORDS: &'static [(&'static str, Self)] = &OPERATIONS;
}

const fn patterns() -> Setting {
    let remedy = "write a name, or a LIKE pattern such as \"order%\"";
    TEXTS.checked(|text| !text.is_empty(), "an empty text is not a name", remedy)
}

/// `[connections.disabled]`. `procedures` are all that the source has, where that is known.
pub(in crate::config) fn disabled(
    connection: &Section<'_>,
    own: &[OwnTool],
    procedures: Option<&[DeclaredProcedure]>,
) -> Switches {
    let section = connection.table("disabled");
    let Disabled { types, operations, tools } = Disabled::read(&section);
    if let Some(procedures) = procedures {
        let mut known: Vec<&str> = tools::fixed_names().collect();
        known.extend(own.iter().map(|tool| tool.name.as_str()));
        known.extend(procedures.iter().map(|declared| declared.procedure.name.as_str()));
        for tool in tools.iter().filter(|tool| !known.contains(&tool.as_str())) {
            let offered = near::suggestion(tool, known.iter().copied());
            let remedy = offered.unwrap_or_else(|| "write the name that tools/list shows".to_owned());
            section.problem("tools", format!("this connection has no tool {tool:?}"), &remedy);
        }
    }
    Switches { types, operations, tools }
}

/// `[connections.exposed]` and `[connections.hidden]`.
pub(in crate::config) fn exposure(connection: &Section<'_>) -> Exposure {
    let exposed = Exposed::read(&connection.table("exposed"));
    let hidden = Hidden::read(&connection.table("hidden"));
    // An empty list shows nothing: only an absent list shows everything.
    Exposure {
        schemas: Names { shown: exposed.schemas, hidden: hidden.schemas },
        tables: Names { shown: exposed.tables, hidden: hidden.tables },
        procedures: Names { shown: exposed.procedures, hidden: hidden.procedures },
        within: None,
    }
}
