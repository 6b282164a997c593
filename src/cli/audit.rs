//! `portico audit tail|search`, and the records of what the other commands change.

use std::collections::VecDeque;
use std::fmt::Display;
use std::ops::ControlFlow;
use std::path::Path;
use std::process::exit;
use std::time::{Duration, SystemTime};

use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use portico_actors::auth::store::Store;
use portico_actors::error::{Error, Kind};
use serde_json::Value;

use super::common::{Common, Failure, existing_store, read_config};
use super::output::is_read;
use crate::audit::AuditEvent;
use crate::audit::reading::{self, Follower, Wanted};
use crate::config::Config;

/// How often a trail that is followed is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// Records of the store that are read at once.
const AT_ONCE: u32 = 1_000;
/// Characters of a statement on a line for people.
const SHOWN: usize = 80;

#[derive(Debug, Subcommand)]
pub(super) enum Audit {
    /// Show the newest records.
    Tail {
        /// So many.
        #[arg(short = 'n', long, default_value_t = 20)]
        lines: usize,
        /// Go on with those that come.
        #[arg(short, long)]
        follow: bool,
        #[command(flatten)]
        filter: Filter,
    },
    /// Find records, the oldest first.
    Search {
        #[command(flatten)]
        filter: Filter,
        /// So many at most.
        #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
        limit: Option<u64>,
    },
}

/// Which records; every filter that is given must fit.
#[derive(Args, Debug)]
pub(super) struct Filter {
    /// Since then: 90m, 12h, 7d or 2w ago, or a day or a moment in UTC.
    #[arg(long, value_parser = parse_moment)]
    since: Option<String>,
    /// Before then.
    #[arg(long, value_parser = parse_moment)]
    until: Option<String>,
    /// The caller: an e-mail address, a client id, or a service account's name.
    #[arg(long)]
    principal: Option<String>,
    /// The connection's name.
    #[arg(long)]
    connection: Option<String>,
    /// Who somebody claimed to be who was not let in.
    #[arg(long)]
    claimed: Option<String>,
    /// What was changed, as "user add".
    #[arg(long)]
    action: Option<String>,
    /// Where it came from: an address, or the host of a command.
    #[arg(long)]
    address: Option<String>,
    /// ok, failed for all but ok, or one of the words of outcome.
    #[arg(long, value_parser = outcomes())]
    outcome: Option<String>,
    /// What happened.
    #[arg(long, value_parser = PossibleValuesParser::new(AuditEvent::WORDS))]
    event: Option<String>,
    /// The request's id.
    #[arg(long)]
    request: Option<String>,
    /// The tool's name.
    #[arg(long)]
    tool: Option<String>,
}

/// Every outcome that a record can have.
fn outcomes() -> PossibleValuesParser {
    PossibleValuesParser::new(["ok", "failed", "refused"].into_iter().chain(Kind::ALL.map(Kind::word)))
}

fn parse_moment(text: &str) -> Result<String, String> {
    reading::read_moment(text, SystemTime::now())
}

impl From<Filter> for Wanted {
    fn from(filter: Filter) -> Self {
        let Filter { since, until, principal, claimed, action, address, connection, outcome, event, request, tool } =
            filter;
        Self { since, until, principal, claimed, action, address, connection, outcome, event, request, tool }
    }
}

pub(super) fn run(command: Audit, common: &Common) -> Result<(), Failure> {
    let config = read_config(common)?;
    match (command, &config.audit.file) {
        (Audit::Search { filter, limit }, Some(file)) => {
            let (wanted, mut left) = (filter.into(), limit.unwrap_or(u64::MAX));
            let mut take = |record| {
                left -= 1;
                print(&record, common);
                left > 0
            };
            for file in reading::files(file, config.audit.keep) {
                if !reading::each(&file, &wanted, &mut take).map_err(unreadable(&file))? {
                    break;
                }
            }
            Ok(())
        }
        (Audit::Tail { lines, follow, filter }, Some(file)) => {
            let wanted = filter.into();
            // Before the newest are read: what comes meanwhile is shown twice rather than never.
            let follower = follow.then(|| Follower::behind(file)).transpose().map_err(unreadable(file))?;
            let newest = reading::last(file, config.audit.keep, &wanted, lines).map_err(unreadable(file))?;
            for record in &newest {
                print(record, common);
            }
            let Some(mut follower) = follower else { return Ok(()) };
            loop {
                match follower.next_record().map_err(unreadable(file))? {
                    Some(record) if wanted.has(&record) => print(&record, common),
                    Some(_) => {}
                    None => pause(),
                }
            }
        }
        (command, None) if config.audit.store => from_store(command, &config, common),
        _ => Err(Error::invalid("there is no audit trail")
            .hint("add file or store under [audit] to the configuration")
            .into()),
    }
}

/// Until the next look at a trail that is followed.
#[allow(clippy::disallowed_methods)] // a command has a process of its own, and no async worker in it
fn pause() {
    std::thread::sleep(LOOK_EVERY);
}

/// The same where the records are in the store alone.
fn from_store(command: Audit, config: &Config, common: &Common) -> Result<(), Failure> {
    let store = existing_store(config)?;
    match command {
        Audit::Search { filter, limit } => {
            let (wanted, mut left) = (filter.into(), limit.unwrap_or(u64::MAX));
            read(&store, 0, &wanted, &mut |record| {
                print(&record, common);
                left -= 1;
                if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            })?;
        }
        Audit::Tail { lines, follow, filter } => {
            let (wanted, mut newest) = (filter.into(), VecDeque::new());
            let mut seen = read(&store, 0, &wanted, &mut |record| {
                newest.push_back(record);
                if newest.len() > lines {
                    newest.pop_front();
                }
                ControlFlow::Continue(())
            })?;
            for record in &newest {
                print(record, common);
            }
            if !follow {
                return Ok(());
            }
            loop {
                pause();
                seen = read(&store, seen, &wanted, &mut |record| {
                    print(&record, common);
                    ControlFlow::Continue(())
                })?;
            }
        }
    }
    Ok(())
}

/// Hands each wanted record behind the number `after` to `take`; the number of the last one read.
fn read(
    store: &Store,
    mut after: i64,
    wanted: &Wanted,
    take: &mut dyn FnMut(Value) -> ControlFlow<()>,
) -> Result<i64, Failure> {
    loop {
        let records = store.audit_after(after, AT_ONCE)?;
        let Some((last, _)) = records.last() else { return Ok(after) };
        after = *last;
        for (_, text) in &records {
            let record = reading::parse(text).filter(|record| wanted.has(record));
            if record.is_some_and(|record| take(record).is_break()) {
                return Ok(after);
            }
        }
    }
}

fn unreadable(path: &Path) -> impl Fn(std::io::Error) -> Failure {
    move |error| Failure::Io(format!("{} cannot be read", path.display()), error)
}

fn print(record: &Value, common: &Common) {
    if common.json {
        tell(record);
        return;
    }
    let text = |name: &str| record[name].as_str().filter(|text| !text.is_empty());
    let claimed = text("claimed").map(|name| format!("({name})"));
    let who = text("account").or_else(|| text("principal")).or(claimed.as_deref()).unwrap_or("-");
    let what = text("action").or_else(|| text("tool")).or_else(|| text("path")).unwrap_or("-");
    let mut line = format!(
        "{}  {:<10}  {:<15}  {who}",
        text("time").unwrap_or("-"),
        text("event").unwrap_or("-"),
        text("outcome").unwrap_or("-")
    );
    for more in [text("connection"), Some(what)].into_iter().flatten() {
        line.push_str(&format!("  {more}"));
    }
    for (name, unit) in [("rows", "rows"), ("ms", "ms"), ("count", "times")] {
        if let Some(number) = record[name].as_u64() {
            line.push_str(&format!("  {number} {unit}"));
        }
    }
    if let Some(statement) = text("statement") {
        let words = statement.split_whitespace().collect::<Vec<_>>().join(" ");
        line.push_str("  ");
        line.extend(words.chars().take(SHOWN));
    }
    // What a client chose cannot move the cursor.
    tell(line.replace(char::is_control, "?"));
}

/// Prints a line of a list that may have no end, unless nobody reads on.
fn tell(line: impl Display) {
    if !is_read(line) {
        exit(0);
    }
}
