//! `portico audit tail|search`, and the records of what the other commands change.

mod records;

use std::fmt::Display;
use std::process::exit;
use std::time::{Duration, SystemTime};

use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use portico_actors::auth::store::Change;
use portico_actors::calendar;
use portico_actors::error::{Error, Kind};
use portico_actors::name::is_invisible;
use serde_json::Value;

use self::records::Records;
use crate::audit::AuditEvent;
use crate::audit::record::moment;
use crate::cli::common::{Common, Failure, existing_store, parse_duration, read_config};
use crate::cli::output::is_read;

/// How often a trail that is followed is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// Characters of a statement on a line for people.
const SHOWN: usize = 80;

#[derive(Debug, Subcommand)]
pub(super) enum Audit {
    /// Show the newest records.
    Tail {
        /// How many records to show.
        #[arg(short = 'n', long, default_value_t = 20)]
        lines: usize,
        /// Keep showing new records as they come.
        #[arg(short, long)]
        follow: bool,
        #[command(flatten)]
        filter: Filter,
    },
    /// Find records, the oldest first.
    Search {
        #[command(flatten)]
        filter: Filter,
        /// How many records to show at most.
        #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
        limit: Option<u64>,
    },
}

/// Which records; every filter that is given must fit.
#[derive(Args, Debug, Default)]
pub(super) struct Filter {
    /// Since then: 90m, 12h, 7d or 2w ago, or a day or a moment in UTC.
    #[arg(long, value_parser = |text: &str| parse_moment(text, SystemTime::now()))]
    since: Option<String>,
    /// Before then.
    #[arg(long, value_parser = |text: &str| parse_moment(text, SystemTime::now()))]
    until: Option<String>,
    /// The caller: an e-mail address, a client id, or a service account's name.
    #[arg(long)]
    principal: Option<String>,
    /// The connection's name.
    #[arg(long)]
    connection: Option<String>,
    /// The name claimed by a caller who was not let in.
    #[arg(long)]
    claimed: Option<String>,
    /// What was changed.
    #[arg(long, ignore_case = true, value_parser = PossibleValuesParser::new(Change::ACTIONS))]
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
    PossibleValuesParser::new(["ok", "failed", "refused"].into_iter().chain(Kind::ALL.map(Kind::as_str)))
}

/// Parses a time as people write it: `90m`, `12h`, `7d` or `2w` ago, or a prefix of RFC 3339 in UTC, such as
/// `2026-11-21` or `2026-11-21T09:30`.
fn parse_moment(text: &str, now: SystemTime) -> Result<String, String> {
    let wrong = || "write 90m, 12h, 7d or 2w, or a day or a moment in UTC, as 2026-11-21T09:30".to_owned();
    let shape = b"dddd-dd-ddTdd:dd:dd.dddZ";
    let fits = |(byte, shape): (u8, &u8)| if *shape == b'd' { byte.is_ascii_digit() } else { byte == *shape };
    if text.len() >= 10 {
        let text = text.replace(' ', "T");
        if !is_moment(&text) {
            return Err(wrong());
        }
        let whole = text.len() <= shape.len() && text.bytes().zip(shape).all(fits);
        // Seconds may come without a fraction, and with a Z behind them.
        let bare = text.strip_suffix('Z').filter(|bare| bare.len() == 19 && bare.bytes().zip(shape).all(fits));
        return bare.map(str::to_owned).or_else(|| whole.then_some(text.clone())).ok_or_else(wrong);
    }
    parse_duration(text).and_then(|ago| now.checked_sub(ago)).map(moment).ok_or_else(wrong)
}

/// Returns true if the day, and the hour, minute and second as far as they are given, exist.
fn is_moment(text: &str) -> bool {
    let number = |at: usize, length: usize| text.get(at..at + length).map_or(Some(0), |it| it.parse::<i64>().ok());
    let [Some(year), Some(month), Some(day)] = [number(0, 4), number(5, 2), number(8, 2)] else { return false };
    let is_day = calendar::date(calendar::days(year, month, day)) == (year, month, day);
    let is_within = |(at, most): (usize, i64)| number(at, 2).is_none_or(|number| number <= most);
    is_day && [(11, 23), (14, 59), (17, 60)].into_iter().all(is_within)
}

impl Filter {
    /// Refuses a time that ends before it begins.
    fn check(&self) -> Result<(), Error> {
        match (&self.since, &self.until) {
            (Some(since), Some(until)) if since >= until => {
                Err(Error::invalid(format!("--since: {since} is not before --until, {until}"))
                    .hint("90m, 12h and 7d are so long ago: give the longer one to --since"))
            }
            _ => Ok(()),
        }
    }

    /// Whether `record` is asked for.
    fn has(&self, record: &Value) -> bool {
        let text = |name: &str| record[name].as_str().unwrap_or_default();
        let same = |asked: &Option<String>, names: &[&str]| {
            asked.as_ref().is_none_or(|asked| names.iter().any(|name| text(name).eq_ignore_ascii_case(asked)))
        };
        let outcome = match self.outcome.as_deref() {
            Some("failed") => text("outcome") != "ok",
            _ => same(&self.outcome, &["outcome"]),
        };
        outcome
            && self.since.as_deref().is_none_or(|since| text("time") >= since)
            && self.until.as_deref().is_none_or(|until| text("time") < until)
            && same(&self.principal, &["principal", "account", "client"])
            && same(&self.claimed, &["claimed"])
            && same(&self.action, &["action"])
            && same(&self.address, &["address", "host"])
            && same(&self.connection, &["connection", "connectionId"])
            && same(&self.event, &["event"])
            && same(&self.request, &["requestId"])
            && same(&self.tool, &["tool"])
    }
}

pub(super) fn run(command: Audit, common: &Common) -> Result<(), Failure> {
    let config = read_config(common)?;
    let (file, keep) = (config.audit.file.as_deref(), config.audit.keep);
    let older = file.map(|file| records::older(file, keep)).unwrap_or_default();
    let begin = |older| -> Result<Records, Failure> {
        match file {
            Some(file) => Ok(records::from_files(file, older)),
            None if config.audit.store => Ok(records::from_store(existing_store(&config)?)),
            None => Err(Error::invalid("there is no audit trail")
                .hint("add file or store under [audit] to the configuration")
                .into()),
        }
    };
    match command {
        Audit::Search { filter, limit } => {
            filter.check()?;
            let most = limit.unwrap_or(u64::MAX);
            let (mut records, mut left) = (begin(older)?, most);
            while left > 0
                && let Some(record) = records()?
            {
                if filter.has(&record) {
                    print(&record, common);
                    left -= 1;
                }
            }
            if left == most && !common.json {
                eprintln!("portico: no record matches");
            }
        }
        Audit::Tail { lines, follow, filter } => {
            let mut records = begin(Vec::new())?;
            let mut newest = records::last(&mut records, |record| filter.has(record), lines)?;
            for file in older.iter().rev() {
                // No more of the older ones is read than is shown.
                let Some(missing @ 1..) = lines.checked_sub(newest.len()) else { break };
                let before =
                    records::last(&mut records::from_files(file, Vec::new()), |record| filter.has(record), missing)?;
                before.into_iter().rev().for_each(|record| newest.push_front(record));
            }
            for record in &newest {
                print(record, common);
            }
            if !follow {
                return Ok(());
            }
            loop {
                match records()? {
                    Some(record) if filter.has(&record) => print(&record, common),
                    Some(_) => {}
                    None => pause(),
                }
            }
        }
    }
    Ok(())
}

/// Until the next look at a trail that is followed.
#[allow(clippy::disallowed_methods)] // a command has a process of its own, and no async worker in it
fn pause() {
    std::thread::sleep(LOOK_EVERY);
}

fn print(record: &Value, common: &Common) {
    if common.json {
        print_line(record);
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
    // A client's text must not move the cursor, change the direction of writing, or be invisible.
    print_line(line.replace(is_invisible, "?"));
}

/// Prints a line of an endless list, unless standard output is closed.
fn print_line(line: impl Display) {
    if !is_read(line) {
        exit(0);
    }
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use serde_json::json;

    use super::*;

    #[test]
    fn moments_are_read_as_people_write_them() {
        let now = UNIX_EPOCH + Duration::from_secs(86_400);
        let read = |text| parse_moment(text, now);
        assert_eq!(read("2h").unwrap(), "1970-01-01T22:00:00.000Z");
        for text in ["2026-11-21", "2026-11-21T09:30", "2026-11-21T09:30:15.120Z"] {
            assert_eq!(read(text).unwrap(), text);
        }
        assert_eq!(read("2026-11-21 09:30:15Z").unwrap(), "2026-11-21T09:30:15");
        for wrong in [
            "",
            "x",
            "5",
            "-1d",
            "2026-1-1-1-1",
            "2026-11-21Tx",
            "3y",
            "99999999999d",
            "5é",
            "2026-13-45",
            "2026-02-30",
            "2025-02-29T01",
            "2026-11-21T24:00",
            "2026-11-21T23:60",
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn records_are_found_by_what_they_say() {
        let record = json!({"time": "2026-11-21T09:30:00.000Z", "principal": "c1", "account": "Reporting",
            "connection": "shop", "outcome": "forbidden", "event": "call"});
        let has = |wanted: Filter| wanted.has(&record);
        let some = |text: &str| Some(text.to_owned());
        assert!(has(Filter { principal: some("reporting"), outcome: some("failed"), ..Filter::default() }));
        assert!(has(Filter { since: some("2026-11-21"), until: some("2026-11-22"), ..Filter::default() }));
        assert!(!has(Filter { since: some("2026-11-21T09:30:00.001Z"), ..Filter::default() }));
        assert!(!has(Filter { until: some("2026-11-21"), ..Filter::default() }));
        assert!(!has(Filter { connection: some("other"), ..Filter::default() }));
    }
}
