//! A read-only connection, and a scope that only reads, change nothing: every routine of the server
//! is called, and every statement of the grammar is sent, against the state before and after.

mod functions;
mod state;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use futures_util::StreamExt;
use serde_json::json;

use self::state::{State, Watch, difference};
use super::attack::{Answer, Channel, Random, request, send};
use super::server::{Server, on_each_server, say, text};
use crate::support::configuration::Configuration;
use crate::support::service::Service;

on_each_server! {
    no_function_acts_where_only_reading_is_allowed
    no_statement_acts_where_only_reading_is_allowed
}

const ROUND: usize = 96;

/// What can stand in front of a statement and change how it is read.
const PREFIXES: [&str; 7] = ["", "/* /* */ */ ", "/*/**/*/", "-- '\n", " \t\u{c}", "/* ' $$ \" */ /**/", ";"];

/// Who sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Door {
    /// A writer, on a connection that is only read.
    Connection,
    /// The same by a tool.
    Tool,
    /// Somebody who may only read, on a connection that may be written.
    Scope,
}

#[derive(Clone, Debug)]
struct Case {
    name: String,
    text: String,
    door: Door,
    /// It acts, whatever the state shows.
    acts: bool,
}

struct Failure {
    case: Case,
    why: String,
    answer: String,
}

struct Attack {
    service: Service,
    watch: Watch,
    dblink: String,
    before: State,
    _server: Server,
}

impl Attack {
    async fn start(programs: &Path) -> Self {
        let server = Server::start(programs).await;
        let mut watch = Watch::start(&server).await;
        let service = Configuration::new().connection("shop", &server.url, "access = \"read-only\"\npool = 6");
        let service = service.connection("wide", &server.url, "access = \"read-write\"\npool = 6").serve().await;
        let dblink = format!("host=127.0.0.1 port={} dbname=walls user=postgres", server.cluster.port);
        let before = watch.accept().await;
        Self { service, watch, dblink, before, _server: server }
    }

    /// Sends a case, and once more where it ran: what was admitted before goes another way.
    async fn send(&self, case: &Case) -> Answer {
        let answer = self.send_once(case).await;
        if !answer.passed() {
            return answer;
        }
        let again = self.send_once(case).await;
        assert!(again.passed() || case.acts, "{} ran once, and then: {}", case.text, again.beginning());
        again
    }

    async fn send_once(&self, case: &Case) -> Answer {
        let text = case.text.replace("{p}", &self.watch.victim.to_string());
        let (by, channel, catalog) = match case.door {
            Door::Connection => (&self.service.writer, Channel::Query, Some("shop")),
            Door::Tool => (&self.service.writer, Channel::ExecuteSql, None),
            Door::Scope => (&self.service.reader, Channel::Query, Some("wide")),
        };
        let more: Vec<_> = catalog.map(|catalog| ("defaultCatalog", json!(catalog))).into_iter().collect();
        send(request(&self.service, by, channel, &text, &json!({}), &more)).await
    }

    /// Sends a round; the state afterwards says whether each has to be looked at alone. Counts those
    /// that ran.
    async fn round(&mut self, round: &[Case], failures: &mut Vec<Failure>) -> usize {
        let attack: &Self = self;
        let sent = futures_util::stream::iter(round).map(|case| async move { (case, attack.send(case).await) });
        let answers: Vec<(&Case, Answer)> = sent.buffer_unordered(6).collect().await;
        let ran = answers.iter().filter(|(_, answer)| answer.passed()).count();
        for (case, answer) in &answers {
            if case.acts && answer.passed() {
                failures.push(Failure { case: (*case).clone(), why: "ran".to_owned(), answer: answer.beginning() });
            }
        }
        let after = self.watch.state().await;
        if difference(&self.before, &after).is_none() {
            return ran;
        }
        self.before = self.watch.accept().await;
        for case in round {
            let answer = self.send(case).await;
            let after = self.watch.state().await;
            if let Some(changed) = difference(&self.before, &after) {
                let why = format!("changed {changed}");
                failures.push(Failure { case: case.clone(), why, answer: answer.beginning() });
                self.before = self.watch.accept().await;
            }
        }
        ran
    }

    async fn all(&mut self, cases: &[Case], what: &str) -> usize {
        let (mut failures, mut ran) = (Vec::new(), 0);
        for round in cases.chunks(ROUND) {
            ran += self.round(round, &mut failures).await;
        }
        say(&format!("{what}: {} sent, {ran} ran", cases.len()));
        if failures.is_empty() {
            return ran;
        }
        let mut counts: BTreeMap<(String, String), usize> = BTreeMap::new();
        for failure in &failures {
            *counts.entry((failure.case.name.clone(), failure.why.clone())).or_default() += 1;
        }
        let mut told = String::new();
        for ((name, why), count) in &counts {
            writeln!(told, "{count:5}  {why:28}  {name}").unwrap();
        }
        let least = failures.iter().min_by_key(|failure| failure.case.text.len()).unwrap();
        let Failure { case, why, answer } = least;
        writeln!(told, "the shortest: {why} by {:?}: {}\n    {answer}", case.door, case.text).unwrap();
        panic!("{what}: {} of {} came through:\n{told}", failures.len(), cases.len());
    }
}

async fn no_function_acts_where_only_reading_is_allowed(programs: &Path) {
    let mut attack = Attack::start(programs).await;
    let calls = functions::calls(attack.watch.admin(), &attack.dblink).await;
    let mut cases = Vec::new();
    for call in &calls {
        cases.push(Case { name: call.name.clone(), text: call.text.clone(), door: Door::Connection, acts: false });
        if call.volatile {
            cases.push(Case { name: call.name.clone(), text: call.text.clone(), door: Door::Scope, acts: false });
        }
    }
    assert!(cases.len() > 2500, "only {} calls", cases.len());
    let ran = attack.all(&cases, "functions").await;
    assert!(ran > 1000, "a wall that lets nothing pass shows nothing: {ran} of {} ran", cases.len());
}

async fn no_statement_acts_where_only_reading_is_allowed(programs: &Path) {
    let mut attack = Attack::start(programs).await;
    let mut random = Random::seeded("read-only");
    let list = |name: &str| -> Vec<String> {
        let lines = text(name);
        lines.lines().filter(|line| !line.starts_with("--") && !line.is_empty()).map(str::to_owned).collect()
    };
    for reading in list("read_only/reading.sql") {
        for door in [Door::Connection, Door::Tool, Door::Scope] {
            let case = Case { name: reading.clone(), text: reading.clone(), door, acts: false };
            let answer = attack.send(&case).await;
            assert!(answer.passed(), "{reading} by {door:?}: {}", answer.text);
        }
    }
    let mut cases = Vec::new();
    for acting in list("read_only/acting.sql") {
        for (nth, prefix) in PREFIXES.iter().enumerate() {
            let door = [Door::Connection, Door::Scope, Door::Tool][(nth + random.below(3)) % 3];
            let number = cases.len().to_string();
            let written = acting.replace("{k}", &number).replace("{d}", &attack.dblink);
            let mut folded = written.clone();
            if random.once_in(2) && !written.contains(['\'', '"', '{', '$']) {
                folded = written
                    .chars()
                    .map(|each| if random.once_in(2) { each.to_ascii_lowercase() } else { each })
                    .collect();
            }
            cases.push(Case { name: acting.clone(), text: format!("{prefix}{folded}"), door, acts: true });
        }
    }
    attack.all(&cases, "statements").await;
}
