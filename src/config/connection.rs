//! `[[connections]]`: where a database is, what may be done there, and what it offers.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use portico_actors::directory::{self, Start};
use portico_actors::identity::Mapping;
use portico_actors::source::{Access, Declared, Exposure, Location};
use portico_actors::sql::{Dialect, Naming};
use uuid::Uuid;

use super::defaults::{self, Defaults};
use super::fingerprint::Fingerprint;
use super::problem::Problem;
use super::prompt::{self, Prompt};
use super::section::Section;
use super::{address, identity, statement, switches};
use crate::tools::{OwnTool, Switches};

/// One connection.
#[derive(Clone, Debug)]
pub struct Connection {
    /// Addresses it in URLs.
    pub id: Uuid,
    /// The first part of `connection.schema.table`.
    pub name: Arc<str>,
    /// Where its database is.
    pub location: Arc<dyn Location>,
    /// Whether it may write at all.
    pub access: Access,
    /// Sessions at the source, and so calls that run at once.
    pub pool: usize,
    /// How many of these calls may be one principal's; absent: all but one, and at least one.
    pub pool_per_principal: Option<usize>,
    /// Calls that may wait for a session.
    pub queue: usize,
    /// How long a call may wait for a session.
    pub queue_timeout: Duration,
    /// How long a reader may take nothing of an answer whose statement still runs.
    pub reader_timeout: Duration,
    /// How long a connection attempt may take.
    pub connect_timeout: Duration,
    /// Rows of a tool's result at most.
    pub max_rows: u64,
    /// Bytes of a tool's result at most.
    pub max_bytes: usize,
    /// How often the source is looked at, and its profile read anew.
    pub refresh: Duration,
    /// Whether statements carry the caller's trace to the source, as a comment.
    pub trace_comments: bool,
    /// The administrator's own words for agents.
    pub instructions: Option<String>,
    /// Procedures declared here, for sources without their own.
    pub procedures: Arc<[Declared]>,
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
    /// When it is started.
    pub start: Start,
    /// How long nobody uses it until it lets go of its sessions; absent means never.
    pub idle_timeout: Option<Duration>,
    /// Tells what has changed when the file is read again.
    pub fingerprint: Fingerprint,
}

impl Connection {
    /// Sessions at the source, unless configured.
    pub const DEFAULT_POOL: usize = 10;
    /// Calls that may wait, unless configured.
    pub const DEFAULT_QUEUE: usize = 100;
    /// Seconds for a connection attempt, unless configured.
    pub const DEFAULT_CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
    /// Rows of a tool's result, unless configured.
    pub const DEFAULT_MAX_ROWS: u64 = 1_000;
    /// Bytes of a tool's result, unless configured.
    pub const DEFAULT_MAX_BYTES: usize = 1024 * 1024;
}

/// Reads every connection of the file. Relative paths start at the first folder, those of databases at the second.
pub(super) fn read_all(
    root: &mut Section<'_>,
    folders: (&Path, &Path),
    defaults: Defaults,
    problems: &mut Vec<Problem>,
) -> Vec<Arc<Connection>> {
    let sections = root.sections("connections", problems).unwrap_or_default();
    if sections.is_empty() {
        root.problem(
            "connections",
            "there is no connection".to_owned(),
            "add a [[connections]] table with id, name and url",
            problems,
        );
    }
    let mut connections = Vec::with_capacity(sections.len());
    let (mut ids, mut names) = (HashSet::new(), HashSet::new());
    for mut section in sections {
        let connection = read(&mut section, folders, defaults, problems);
        section.finish(problems);
        let Some(connection) = connection else { continue };
        if !ids.insert(connection.id) {
            section.problem("id", "another connection has this id".to_owned(), "give it a UUID of its own", problems);
        }
        if !names.insert(connection.name.to_ascii_lowercase()) {
            section.problem("name", "another connection has this name".to_owned(), "give it another name", problems);
        }
        connections.push(Arc::new(connection));
    }
    connections
}

fn read(
    section: &mut Section<'_>,
    (base, directory): (&Path, &Path),
    defaults: Defaults,
    problems: &mut Vec<Problem>,
) -> Option<Connection> {
    let id = section.required("id", "add a UUID, as `uuidgen` prints one", problems).and_then(|id| {
        let parsed = Uuid::try_parse(&id).ok();
        if parsed.is_none() {
            section.problem("id", format!("{id:?} is no UUID"), "write one as `uuidgen` prints it", problems);
        }
        parsed
    });
    let name = section.required("name", "add the name that stands in connection.schema.table", problems);
    if let Some(name) = &name {
        let first = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
        if !first || !name.chars().all(|each| each.is_ascii_alphanumeric() || each == '_' || each == '-') {
            section.problem(
                "name",
                format!("{name:?} cannot stand in a statement"),
                "use letters, digits, _ and -, and begin with a letter",
                problems,
            );
        }
    }
    let location = address::location(section, base, directory, problems);
    let driver = location.as_ref().map(|location| location.driver());
    let words = [("read-only", Access::ReadOnly), ("read-write", Access::ReadWrite)];
    let access = section.word("access", &words, problems).unwrap_or(Access::ReadOnly);
    let count = |number: Option<u64>, default: usize| number.and_then(|n| usize::try_from(n).ok()).unwrap_or(default);
    let pool = count(section.integer("pool", 1..=1000, problems), Connection::DEFAULT_POOL);
    let queue = count(section.integer("queue", 0..=100_000, problems), Connection::DEFAULT_QUEUE);
    let queue_timeout = section
        .integer("queue_timeout", 1..=300, problems)
        .map_or(directory::Connection::DEFAULT_QUEUE_TIMEOUT, Duration::from_secs);
    let connect_timeout = section
        .integer("connect_timeout", 1..=300, problems)
        .map_or(Connection::DEFAULT_CONNECT_TIMEOUT, Duration::from_secs);
    let max_rows = section.integer("max_rows", 1..=1_000_000, problems).unwrap_or(Connection::DEFAULT_MAX_ROWS);
    let max_bytes = count(section.integer("max_bytes", 1024..=1 << 30, problems), Connection::DEFAULT_MAX_BYTES);
    let instructions = section.string("instructions", problems);
    let trace_comments = section.boolean("trace_comments", problems).unwrap_or(false);
    if let Some(driver) = driver.filter(|driver| trace_comments && !driver.capabilities.statement_comments) {
        section.problem(
            "trace_comments",
            format!("{} keeps no statements to look at", driver.product),
            "remove this key; the log has the trace's id",
            problems,
        );
    }
    let procedures: Arc<[Declared]> = statement::procedures(section, problems).into();
    if let Some(driver) = driver.filter(|driver| !procedures.is_empty() && driver.capabilities.procedures) {
        section.problem(
            "procedures",
            format!("{} has procedures of its own", driver.product),
            "create a function there instead, and remove this table",
            problems,
        );
    }
    let refresh = section
        .integer("refresh_interval", 1..=86_400, problems)
        .map_or(directory::Connection::DEFAULT_REFRESH, Duration::from_secs);
    let presence = defaults::presence(section, defaults, problems);
    let shares = defaults::shares(section, defaults, problems);
    let dialect = driver.map_or(Dialect::POSTGRESQL, |driver| driver.dialect);
    let naming = Naming { connection: name.as_deref().unwrap_or_default(), others: &[] };
    let tools = statement::tools(section, dialect, naming, &procedures, problems);
    // A source with procedures of its own has tools that are not known here.
    let known = driver.filter(|driver| !driver.capabilities.procedures).map(|_| procedures.as_ref());
    let switches = switches::disabled(section, &tools, known, problems);
    let exposure = switches::exposure(section, problems);
    let prompts = prompt::read_all(section, problems);
    let (identity, login) = identity::read(section, driver, base, problems).unzip();
    let location = match (location, login.flatten()) {
        (Some(location), Some(login)) => Some(location.with_login(login)),
        (location, _) => location,
    };
    Some(Connection {
        id: id?,
        name: name?.into(),
        location: location?,
        access,
        pool,
        queue,
        pool_per_principal: shares.pool_per_principal,
        queue_timeout,
        reader_timeout: shares.reader_timeout,
        connect_timeout,
        max_rows,
        max_bytes,
        refresh,
        trace_comments,
        instructions,
        procedures,
        tools: tools.into(),
        switches,
        exposure,
        prompts: prompts.into(),
        identity: identity.map(Arc::new),
        start: presence.start,
        idle_timeout: presence.idle_timeout,
        fingerprint: section.fingerprint().and((presence, shares)),
    })
}
