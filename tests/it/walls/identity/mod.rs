//! A caller under a role of its own cannot take on another one, and leaves nothing on the session for
//! the next caller: generated sequences of requests on a pool of one session.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use serde_json::json;
use tokio_postgres::Client;

use super::attack::{Answer, Channel, Random, cases, request, send};
use super::server::{Server, on_each_server, say, text};
use crate::support::app::awaited;
use crate::support::configuration::Configuration;
use crate::support::service::Service;

on_each_server! {
    nobody_leaves_its_role_or_anything_for_the_next
}

const IDENTITY: &str = r#"access = "read-write"
pool = 1
[connections.identity.principals]
"writer@example.com" = "north"
"reader@example.com" = "south"
"#;
/// What a request of an attack ends with: who it is, and what it must not read.
const ENDS: [&str; 4] = [
    "",
    "; SELECT 'portico_who=' || current_user || ' '",
    "; SELECT name FROM payroll",
    "; SELECT words, 'portico_who=' || current_user || ' ' FROM notes",
];
const PREFIXES: [&str; 5] = ["", "/* /* */ */ ", "/*/**/*/", "-- '\n", "/* ' \" $$ */"];
/// Away with what the attacks made.
const CLEAR: &str = "
DO $$ DECLARE what text; BEGIN
    FOR what IN SELECT format('DROP TABLE IF EXISTS %s CASCADE', oid::regclass) FROM pg_class
            WHERE relowner <> 10 AND relkind = 'r' AND relnamespace = 'public'::regnamespace
        UNION ALL SELECT format('DROP VIEW IF EXISTS %s CASCADE', oid::regclass) FROM pg_class
            WHERE relowner <> 10 AND relkind = 'v' AND relnamespace = 'public'::regnamespace
        UNION ALL SELECT format('DROP ROUTINE IF EXISTS %s CASCADE', oid::regprocedure) FROM pg_proc
            WHERE proowner <> 10 AND pronamespace = 'public'::regnamespace
    LOOP EXECUTE what; END LOOP;
    IF pg_has_role('north', 'south', 'MEMBER') THEN REVOKE south FROM north; END IF;
    ALTER ROLE north RESET ALL; ALTER ROLE gateway RESET ALL; ALTER DATABASE walls RESET ALL;
END $$;
DELETE FROM notes WHERE words NOT LIKE 'canary%';";

/// Requests of one caller, one after the other.
#[derive(Clone, Debug)]
struct Sequence(Vec<Request>);

#[derive(Clone, Debug)]
struct Request {
    prefix: &'static str,
    fragments: Vec<String>,
    end: &'static str,
    channel: Channel,
}

impl Request {
    fn text(&self) -> String {
        format!("{}{}{}", self.prefix, self.fragments.join("; "), self.end)
    }
}

impl Sequence {
    fn draw(random: &mut Random, fragments: &[String], number: usize) -> Self {
        // Each fragment comes first once, alone; then what the seed draws.
        let count = if number < fragments.len() { 1 } else { 1 + random.below(3) };
        let request = |random: &mut Random| {
            let several = if number < fragments.len() { 1 } else { 1 + random.below(3) };
            let drawn = (0..several).map(|_| random.choose(fragments).clone()).collect::<Vec<_>>();
            let fragments = if number < fragments.len() { vec![fragments[number].clone()] } else { drawn };
            let fragments =
                fragments.iter().enumerate().map(|(at, each)| spell(random, each, number * 10 + at)).collect();
            let channel = if random.once_in(4) { Channel::Batch } else { Channel::Query };
            Request {
                prefix: PREFIXES[random.below(PREFIXES.len())],
                fragments,
                end: ENDS[if number < 200 { number % 3 } else { random.below(4) }],
                channel,
            }
        };
        Self((0..count).map(|_| request(random)).collect())
    }

    /// The same with one thing less, for each thing.
    fn plainer(&self) -> Vec<Self> {
        let mut all = Vec::new();
        for at in 0..self.0.len() {
            if self.0.len() > 1 {
                let mut less = self.clone();
                less.0.remove(at);
                all.push(less);
            }
            for which in 0..self.0[at].fragments.len() {
                if self.0[at].fragments.len() > 1 {
                    let mut less = self.clone();
                    less.0[at].fragments.remove(which);
                    all.push(less);
                }
            }
            if !self.0[at].prefix.is_empty() {
                let mut less = self.clone();
                less.0[at].prefix = "";
                all.push(less);
            }
            if !self.0[at].end.is_empty() {
                let mut less = self.clone();
                less.0[at].end = "";
                all.push(less);
            }
        }
        all
    }
}

/// One of the notations of what a fragment leaves open.
fn spell(random: &mut Random, fragment: &str, number: usize) -> String {
    let set = random.choose(&[
        "set_config",
        "pg_catalog.set_config",
        "\"set_config\"",
        "SET_CONFIG",
        "U&\"set\\005fconfig\"",
        "pg_catalog . \"set_config\"",
        "set_config/**/",
        "u&\"!0073et_config\" UESCAPE '!'",
    ]);
    let role = random.choose(&[
        "'south'",
        "'sou' || 'th'",
        "E'\\x73outh'",
        "$$south$$",
        "U&'\\0073outh'",
        "(SELECT 'south')",
        "lower('SOUTH')",
    ]);
    let settings = random.choose(&[
        "pg_settings",
        "pg_catalog.pg_settings",
        "\"pg_settings\"",
        "PG_SETTINGS",
        "U&\"pg\\005fsettings\"",
        "pg_catalog /**/ . pg_settings",
        "walls.pg_catalog.pg_settings",
    ]);
    let written = fragment.replace("{set}", set).replace("{role}", role).replace("{settings}", settings);
    let local = if random.once_in(2) { "true" } else { "false" };
    written.replace("{local}", local).replace("{c}", &format!("spare_{number}"))
}

struct Attack {
    service: Service,
    admin: Client,
    /// What the second caller's session is when nobody was there before.
    fresh: String,
    _server: Server,
}

impl Attack {
    async fn start(programs: &Path) -> Self {
        let server = Server::start(programs).await;
        let admin = server.admin().await;
        admin.batch_execute(&text("identity/setup.sql")).await.unwrap();
        let url = server.cluster.url("gateway", "walls");
        let service = Configuration::new().connection("shop", &url, IDENTITY).serve().await;
        let mut attack = Self { service, admin, fresh: String::new(), _server: server };
        attack.fresh = attack.next().await.text;
        assert!(attack.fresh.contains("south | gateway"), "{}", attack.fresh);
        attack
    }

    /// What the next caller finds, once there is a session for it.
    async fn next(&self) -> Answer {
        awaited("a session for the next caller", async || {
            Some(self.probe().await).filter(|answer| answer.status != 503)
        })
        .await
    }

    async fn probe(&self) -> Answer {
        let probe = "SELECT probe(), (SELECT string_agg(id::text, ',') FROM orders), '\\'";
        send(request(&self.service, &self.service.reader, Channel::Query, probe, &json!({}), &[])).await
    }

    /// What a sequence brought about that it must not, if anything.
    async fn tried(&self, sequence: &Sequence) -> Option<(String, String)> {
        let mut found = None;
        for each in &sequence.0 {
            let answer =
                send(request(&self.service, &self.service.writer, each.channel, &each.text(), &json!({}), &[])).await;
            if answer.text.contains("canary_value_zq7") {
                found = found.or(Some(("read what is another role's".to_owned(), answer.beginning())));
            }
            let mut who = answer.text.match_indices("portico_who=").map(|(at, word)| &answer.text[at + word.len()..]);
            // The statement's own text may be told again in an error.
            if who.any(|who| !who.starts_with("north ") && !who.starts_with('\'')) {
                found = found.or(Some(("was somebody else".to_owned(), answer.beginning())));
            }
        }
        let next = self.next().await.text;
        if next != self.fresh {
            found = found.or(Some(("left something for the next".to_owned(), next)));
        }
        if found.is_some() {
            // The next sequence begins on a session of its own.
            let away = "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE usename = 'gateway'";
            self.admin.batch_execute(away).await.unwrap();
            self.next().await;
        }
        self.admin.batch_execute(CLEAR).await.unwrap();
        found
    }
}

async fn nobody_leaves_its_role_or_anything_for_the_next(programs: &Path) {
    let attack = Attack::start(programs).await;
    let mut random = Random::seeded("identity");
    let list = text("identity/fragments.sql");
    let fragments: Vec<String> = list.lines().filter(|line| !line.starts_with("--")).map(str::to_owned).collect();
    let mut failures = Vec::new();
    let count = cases(150);
    for number in 0..count {
        let sequence = Sequence::draw(&mut random, &fragments, number);
        if let Some((why, answer)) = attack.tried(&sequence).await {
            failures.push((sequence, why, answer));
        }
    }
    if failures.is_empty() {
        say(&format!("{count} sequences on a session of many callers, none came through"));
        return;
    }
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for (_, why, _) in &failures {
        *counts.entry(why).or_default() += 1;
    }
    let mut told = String::new();
    writeln!(told, "{counts:?}").unwrap();
    let size = |sequence: &Sequence| sequence.0.iter().map(|each| each.text().len()).sum::<usize>();
    failures.sort_by_key(|(sequence, ..)| size(sequence));
    for (sequence, why, _) in failures.iter().filter(|(sequence, ..)| sequence.0.len() == 1).take(60) {
        writeln!(told, "    {why}: {}", sequence.0[0].text()).unwrap();
    }
    let (mut least, mut why, mut answer) = failures[0].clone();
    'again: loop {
        for plainer in least.plainer() {
            if let Some((now, answered)) = attack.tried(&plainer).await {
                (least, why, answer) = (plainer, now, answered);
                continue 'again;
            }
        }
        break;
    }
    let requests: Vec<String> = least.0.iter().map(Request::text).collect();
    panic!(
        "{} of {count} sequences came through: {told}the shortest: {why}: {requests:#?}\n    {answer}",
        failures.len()
    );
}
