//! `[[connections]]`: the address of a database, the access to it, and its offers.

use std::collections::HashSet;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use portico_actors::identity::Mapping;
use portico_actors::source::{Access, DeclaredProcedure, Exposure, Location, Pooler};
use portico_actors::sql::{Dialect, Naming};
use secrecy::SecretString;
use uuid::Uuid;

use super::defaults::{Defaults, Usage};
use super::identity::{self, IdentitySettings};
use super::offer::{self, Disabled, Exposed, Hidden};
use super::prompt::{Prompt, PromptSettings};
use super::statement::{self, ProcedureSettings, ToolSettings};
use crate::config::declared::fingerprint::Fingerprint;
use crate::config::declared::section::Section;
use crate::config::declared::setting::Literal::{Number, Switch, Text};
use crate::config::declared::setting::{
    SWITCH, TEXT, TEXTS, group, is_name, number, optional_table, table, tables, word, words,
};
use crate::config::declared::table::{Table, settings};
use crate::config::{connections::address, connections::prompt};
use crate::tools::{OwnTool, Switches};

settings! {
    /// One table for each connection.
    pub struct ConnectionSettings {
        /// Addresses the connection in URLs: any UUID, as `uuidgen` prints one. Never change it.
        id: Uuid = TEXT.example("\"6f0b1a52-8d0e-4c57-9d1b-6a7f3f0c2b11\"")
            .required("add a UUID, as `uuidgen` prints one")
            .checked(|text| Uuid::try_parse(text).is_ok(), "{} is not a UUID", "write one as `uuidgen` prints it"),
        /// The first part of `connection.schema.table`.
        name: Arc<str> = TEXT.example("\"sales\"")
            .required("add the name that stands in connection.schema.table")
            .checked(
                |text| is_name(text, "_-"),
                "{} cannot stand in a statement",
                "use letters, digits, _ and -, and begin with a letter",
            ),
        /// Where the database is, which must be said: `postgres://user:password@host:port/database` with libpq's
        /// parameters behind a question mark, as in `?sslmode=verify-full&sslrootcert=ca.pem` (docs/postgresql.md lists
        /// them), or `sqlite:path`.
        url: Option<SecretString> = TEXT.shown("\"postgres://app:${SALES_PASSWORD}@localhost:5432/sales\""),
        /// Where the password of a PostgreSQL user is when it is not in the URL: a file. It is read again when the
        /// source refuses what it said. Without it, the password file (`PGPASSFILE`, ~/.pgpass) is looked at.
        password_file: Option<PathBuf> = TEXT.example("\"/run/secrets/sales\""),
        /// The same as a program and its arguments (no shell) that prints it within 10 seconds.
        password_command: Option<Vec<SecretString>> = TEXTS
            .example("[\"/usr/local/bin/vault\", \"read\", \"-field=password\", \"database/creds/sales\"]"),
        /// What stands in front of PostgreSQL: "session" (nothing, or a pooler in session mode, and so when it is left
        /// out), or "transaction": PgBouncer and the like in transaction mode. docs/postgresql.md has the difference.
        pooler: Option<Pooler> = word::<Pooler>().shown("\"session\""),
        /// "read-only" (the database itself refuses every write), or "read-write".
        access: Access = word::<Access>().or(Text("read-only")),
        /// Sessions at the database at most, and so statements that run at once.
        pool: usize = number(1..=1000).or(Number(10)),
        /// Calls that may wait for a session; further ones are told at once to come back. Callers take turns,
        /// and when it is full, the one with the most calls in it makes room.
        queue: usize = number(0..=100_000).or(Number(100)),
        /// Seconds that a call may wait. Whoever would have to wait longer is told so at once, when the pace shows it.
        queue_timeout: Duration = number(1..=300).or(Number(10)),
        /// Seconds for an attempt to connect to one host; `connect_timeout` in the URL goes before it.
        connect_timeout: Duration = number(1..=300).or(Number(5)),
        /// Rows of a tool's result at most, as far as a call asks for them by `maxRows`. The SQL API streams without a cap.
        max_rows: u64 = number(1..=1_000_000).or(Number(1000)).live(),
        /// Bytes of a tool's result at most. The SQL API streams without a cap.
        max_bytes: usize = number(1024..=1 << 30).or(Number(1024 * 1024)).live(),
        /// Rows of a tool's result where the call does not say `maxRows`: what an agent reads with all that follows.
        tool_rows: u64 = number(1..=1_000_000).or(Number(200)).live(),
        /// Bytes of a tool's result where the call does not ask for more than `tool_rows`; about four are a token.
        tool_bytes: usize = number(1024..=1 << 30).or(Number(24_000)).live(),
        /// Tools made from procedures that `tools/list` tells of, the first by name; 0 is all. The others can be called
        /// all the same, and `?tools=source` lists all of them.
        max_source_tools: usize = number(0..=1_000_000).or(Number(20)).live(),
        /// The cost of its plan, in the database's own units, beyond which a tool's query is refused and told why. Off where
        /// it is left out. It is for PostgreSQL.
        explain_cost_limit: Option<u32> = number(1..=4_294_967_295).example("1000000"),
        /// Seconds between two looks at the source: a procedure that is new there becomes a tool by then, and
        /// what a statement of our own changes is seen at once.
        refresh_interval: Duration = number(1..=86_400).or(Number(30)),
        /// Whether statements carry the caller's trace (traceparent) as a comment, for PostgreSQL's own logs
        /// and views. Each traced statement is then a text of its own.
        trace_comments: bool = SWITCH.or(Switch(false)),
        /// What agents should know, in your own words; `get_instructions` shows it.
        instructions: Option<String> = TEXT
            .shown("\"Amounts are in euros. Table archive.orders holds everything before 2020.\""),
        /// Tokens of `get_instructions` at most, counted as four bytes each; your own words come on top. What does
        /// not fit is told by its name.
        instructions_tokens: usize = number(500..=100_000).or(Number(2000)).live(),
        /// Whether `get_instructions` tells the rows of small lookup tables: at most 20 rows of at most four short
        /// columns, of tables that a foreign key refers to, whose rows no policy chooses, and that the caller may
        /// read.
        lookup_rows: bool = SWITCH.or(Switch(true)).live(),
    }
    tables {
        /// As in `[defaults]`, and before it.
        defaults = group::<Defaults>(),
        disabled = table::<Disabled>().live(),
        exposed = table::<Exposed>(),
        hidden = table::<Hidden>(),
        identity = optional_table::<IdentitySettings>(),
        tools = tables::<ToolSettings>().live(),
        prompts = tables::<PromptSettings>().live(),
        procedures = tables::<ProcedureSettings>(),
    }
}

words! {
    Access { "read-only" => Self::ReadOnly, "read-write" => Self::ReadWrite }
    Pooler { "session" => Self::Session, "transaction" => Self::Transaction }
}

/// One connection: its settings, and what they stand for.
#[derive(Clone, Debug)]
pub struct Connection {
    /// What its table says.
    pub settings: ConnectionSettings,
    /// What its table and `[defaults]` say of its use.
    pub usage: Usage,
    /// Where its database is.
    pub location: Arc<dyn Location>,
    /// Procedures declared here, for sources without their own.
    pub procedures: Arc<[DeclaredProcedure]>,
    /// The administrator's own tools.
    pub tools: Arc<[OwnTool]>,
    /// What is switched off.
    pub switches: Switches,
    /// What of the source exists for callers.
    pub exposure: Exposure,
    /// The administrator's prompts.
    pub prompts: Arc<[Prompt]>,
    /// Which role of the database each caller has; absent: all share the user of the URL.
    pub identity: Option<Arc<Mapping>>,
    /// Tells what has changed when the file is read again.
    pub fingerprint: Fingerprint,
}

impl Deref for Connection {
    type Target = ConnectionSettings;

    fn deref(&self) -> &ConnectionSettings {
        &self.settings
    }
}

/// Reads every connection of the file. Relative paths of databases start at `directory`.
pub(in crate::config) fn read_all(root: &Section<'_>, directory: &Path, defaults: Defaults) -> Vec<Arc<Connection>> {
    let sections = root.tables("connections");
    if sections.is_empty() {
        root.problem("connections", "there is no connection", "add a [[connections]] table with id, name and url");
    }
    let mut connections = Vec::with_capacity(sections.len());
    let (mut ids, mut names) = (HashSet::new(), HashSet::new());
    for section in sections {
        let Some(connection) = read(&section, directory, defaults) else { continue };
        if !ids.insert(connection.id) {
            section.problem("id", "another connection has this id", "give it a UUID of its own");
        }
        if !names.insert(connection.name.to_ascii_lowercase()) {
            section.problem("name", "another connection has this name", "give it another name");
        }
        connections.push(Arc::new(connection));
    }
    connections
}

fn read(section: &Section<'_>, directory: &Path, defaults: Defaults) -> Option<Connection> {
    let settings = ConnectionSettings::read(section);
    let usage = Defaults::read(section).before(defaults);
    let location = address::location(section, &settings, directory);
    let driver = location.as_ref().map(|location| location.driver());
    if let Some(driver) = driver.filter(|driver| settings.trace_comments && !driver.capabilities.statement_comments) {
        let message = format!("{} keeps no statements to look at", driver.product);
        section.problem("trace_comments", message, "remove this key; the log has the trace's id");
    }
    let dialect = driver.map_or(Dialect::POSTGRESQL, |driver| driver.dialect);
    let naming = Naming { connection: &settings.name, others: &[] };
    let procedures: Arc<[DeclaredProcedure]> = statement::procedures(section, dialect, naming).into();
    if let Some(driver) = driver.filter(|driver| !procedures.is_empty() && driver.capabilities.procedures) {
        let message = format!("{} has procedures of its own", driver.product);
        section.problem("procedures", message, "create a function there instead, and remove this table");
    }
    let tools = statement::tools(section, dialect, naming, &procedures);
    // A source with procedures of its own has tools that are not known here.
    let known = driver.filter(|driver| !driver.capabilities.procedures).map(|_| procedures.as_ref());
    let switches = offer::disabled(section, &tools, known);
    let (identity, login) = identity::read(section, driver).unzip();
    let location = match (location, login.flatten()) {
        (Some(location), Some(login)) => Some(location.with_login(login)),
        (location, _) => location,
    };
    let (exposure, prompts) = (offer::exposure(section), prompt::read_all(section).into());
    Some(Connection {
        location: location?,
        procedures,
        tools: tools.into(),
        switches,
        exposure,
        prompts,
        identity: identity.map(Arc::new),
        fingerprint: Fingerprint::new(section, usage),
        usage,
        settings,
    })
}
