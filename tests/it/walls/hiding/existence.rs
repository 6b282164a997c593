//! What is hidden is told as what does not exist: each statement is sent twice, with the names of what is
//! hidden and with names of the same lengths that nothing bears, and the answers are the same but for these.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use futures_util::StreamExt;
use serde_json::{Value, json};

use super::spelling::{Case, Look, Position, absent, positions};
use super::{Attack, POSITIONS, RELATIONS, User};
use crate::support::app::eventually;
use crate::walls::attack::{Answer, Channel, Random, call, cases, request, send};
use crate::walls::server::{say, text};

/// What tells only by its words whether a name is taken.
const MORE_POSITIONS: [&str; 2] = ["hiding/positions_names.sql", "hiding/positions_values.sql"];

/// What differs, and why that is so, is told in `SECURITY.md`.
#[derive(Debug)]
struct Difference {
    text: String,
    hidden: String,
    missing: String,
}

impl Case {
    /// Whether its columns are asked for, and it does not run.
    fn is_described(&self) -> bool {
        self.channel == Channel::Query && !self.position.text.starts_with('!') && self.number % 4 == 1
    }
}

impl Attack {
    /// Sent without staying: what would be made with a name that is free is not there afterwards.
    async fn answered(&self, case: &Case) -> (String, Answer) {
        let sent = case.write(&self.targets, &self.dblink);
        let how = if case.is_described() { "schemaOnly" } else { "dryRun" };
        let mut more = vec![(how, json!(true))];
        more.extend(sent.default_schema.map(|schema| ("defaultSchema", json!(schema))));
        let send_by = if sent.calls { call } else { request };
        let built = send_by(&self.service, &self.service.writer, case.channel, &sent.text, &sent.values, &more);
        (sent.text, send(built).await)
    }

    async fn difference(&self, case: &Case) -> Option<Difference> {
        let mut tries = 0;
        let (text, hidden, missing) = loop {
            let (text, hidden) = self.answered(case).await;
            let (_, missing) = self.answered(&Case { absent: true, ..case.clone() }).await;
            // A machine that is busy tells nothing of names.
            tries += 1;
            if tries == 10 || !(is_busy(&hidden.text) || is_busy(&missing.text)) {
                break (text, hidden, missing);
            }
            let service = &self.service;
            let probe = || request(service, &service.writer, Channel::Query, "SELECT 1", &json!({}), &[]);
            eventually("the source to be there", async || send(probe()).await.status == 200).await;
        };
        let differs = if missing.passed() && !case.is_described() {
            // It takes the name of what is hidden, or would pass it over.
            !hidden.passed() && !told(&hidden.text).contains("is not available on this connection")
        } else {
            told(&hidden.text) != told(&missing.text)
        };
        // Known, and in SECURITY.md: of a hidden default schema it is said first, before a definition is read.
        let is_schema_first =
            hidden.text.contains("3F000") && missing.text.contains("without U& escapes on this connection");
        (differs && !is_schema_first).then(|| Difference {
            text,
            hidden: hidden.beginning(),
            missing: missing.beginning(),
        })
    }
}

/// Whether the time was up, no session was free, or the source gave no sign of life in time: by the code of an
/// answer of the SQL API, by the words of one to an agent, which has no code.
fn is_busy(answer: &str) -> bool {
    let codes = ["\"code\":1500", "\"code\":1600", "\"code\":1700"];
    let words =
        ["SQLSTATE: 57014", "is busy: ", "every session of this connection is in use", "the source is unavailable"];
    codes.iter().chain(&words).any(|it| answer.contains(it))
}

/// What an answer tells, with the names that do not exist in the place of the hidden ones, and without its hint:
/// that comes of the list of what is shown, and only if that is read in time.
fn told(answer: &str) -> String {
    let lower = absent(&answer.to_lowercase());
    let Ok(mut body) = serde_json::from_str::<Value>(&lower) else { return lower };
    let mut error = body["error"].take();
    if let Some(error) = error.as_object_mut() {
        error.remove("requestid");
        error.remove("hint");
    }
    if !error.is_null() {
        return error.to_string();
    }
    let mut result = body["result"].take();
    for text in result["content"].as_array_mut().into_iter().flatten().filter_map(|part| part.get_mut("text")) {
        if let Some((before, _)) = text.as_str().and_then(|words| words.split_once("\nhint: ")) {
            *text = before.into();
        }
    }
    result.to_string()
}

pub(super) async fn what_is_hidden_is_told_like_what_does_not_exist(programs: &Path) {
    let mut attack = Attack::start(programs, User::Superuser).await;
    let mut random = Random::seeded("existence");
    let positions: Vec<Position> =
        POSITIONS.iter().chain(&MORE_POSITIONS).flat_map(|list| positions(&text(list))).collect();
    // What is named by a number alone, or from another database, has no name that could be another one.
    let named = |position: &&Position| !["{o}", "{d}"].iter().any(|key| position.text.contains(key));
    let mut all: Vec<Case> = Vec::new();
    for position in positions.iter().filter(named) {
        let case = Case {
            position: position.clone(),
            target: 0,
            look: Look::default(),
            channel: Channel::Query,
            number: all.len(),
            absent: false,
        };
        all.push(case);
    }
    let positions: Vec<Position> = positions.iter().filter(named).cloned().collect();
    for number in all.len()..cases(400) {
        let mut case = Case::draw(&mut random, &positions, RELATIONS.len(), number);
        // What a batch finds only when it runs is told with the number of its set, and without a hint.
        if case.channel == Channel::Batch {
            case.channel = Channel::Query;
        }
        all.push(case);
    }
    let mut found: BTreeMap<String, Vec<Difference>> = BTreeMap::new();
    for round in all.chunks(super::ROUND) {
        let tried = futures_util::stream::iter(round)
            .map(|case| async { (case.position.text.clone(), attack.difference(case).await) })
            .buffer_unordered(6);
        let tried: Vec<(String, Option<Difference>)> = tried.collect().await;
        for (position, difference) in tried {
            if let Some(difference) = difference {
                found.entry(position).or_default().push(difference);
            }
        }
        if attack.state().await != attack.state {
            attack.reset().await;
        }
    }
    if found.is_empty() {
        say(&format!("{} statements, each told the same of what is hidden and of what does not exist", all.len()));
        return;
    }
    let mut lines = String::new();
    for (position, differences) in &found {
        let least = differences.iter().min_by_key(|difference| difference.text.len());
        let Some(least) = least else { continue };
        writeln!(
            lines,
            "{:4} {position}\n     {}\n     hidden:  {}\n     missing: {}",
            differences.len(),
            least.text,
            least.hidden,
            least.missing
        )
        .unwrap();
    }
    panic!("what is hidden is told otherwise at {} positions:\n{lines}", found.len());
}
