//! What is hidden stays hidden: generated spellings of references to it, at every position of the
//! grammar, through every way in. Neither its content nor its names come back in an answer, an error
//! or a line of the log, no statement that refers to it runs, and it is as it was afterwards.

mod existence;
mod spelling;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use futures_util::StreamExt;
use serde_json::json;
use tokio_postgres::Client;

use self::existence::what_is_hidden_is_told_like_what_does_not_exist;
use self::spelling::{Case, Look, Position, Sent, Target, positions};
use super::attack::{Answer, CHANNELS, Channel, Random, call, cases, request, send};
use super::server::{Server, on_each_server, say, text};
use crate::support::configuration::Configuration;
use crate::support::service::Service;

on_each_server! {
    nothing_tells_or_changes_what_is_hidden
    nothing_tells_or_changes_what_is_hidden_where_names_stand_in
    what_is_hidden_is_told_like_what_does_not_exist
}

const POSITIONS: [&str; 2] = ["hiding/positions.sql", "hiding/positions_utility.sql"];
const EXPOSURE: &str = r#"access = "read-write"
pool = 6
[connections.hidden]
schemas = ["vault_zq7"]
tables = ["canary%"]
procedures = ["canary%"]
"#;
/// A workspace of everything that the connection has, by names of its own and by the schemas'.
const WORKSPACE: &str = r#"
[[workspaces]]
name = "open"
assets = [
    { table = "shop.public.%" },
    { table = "shop.public.%", folder = "public" },
    { table = "shop.vault_zq7.%", folder = "vault" },
]
"#;
/// What is sent before the canaries are looked at again.
const ROUND: usize = 96;

/// Relations that are hidden. The first has everything that a table can have.
const RELATIONS: [(&str, &str); 12] = [
    ("public", "canary_ledger_zq7"),
    ("public", "canary_toasted_zq7"),
    ("public", "Canary_Mixed_Zq7"),
    ("public", "canary_schlüssel_zq7"),
    ("public", "canary_long_zq7_34567890123456789012345678901234567890123456789"),
    ("public", "canary_löng_zq7_3456789012345678901234567890123456789012345678"),
    ("vault_zq7", "canary_inner_zq7"),
    ("public", "canary_parted_zq7"),
    ("public", "canary_parted_zq7_one"),
    ("public", "canary_child_zq7"),
    ("public", "canary_view_zq7"),
    ("public", "canary_matview_zq7"),
];

/// Everything about the canaries that an attack could change, as one text.
const STATE: &str = "
SELECT md5(concat_ws('|',
    (SELECT string_agg(c::text, ',' ORDER BY oid) FROM pg_class c WHERE relname ~* 'zq7'),
    (SELECT string_agg(concat_ws(' ', attrelid, attname, atttypid, attnotnull, atthasdef, attisdropped, attacl), ','
        ORDER BY attrelid, attnum) FROM pg_attribute WHERE attrelid IN (SELECT oid FROM pg_class WHERE relname ~* 'zq7')),
    (SELECT string_agg(c::text, ',' ORDER BY oid) FROM pg_constraint c WHERE conname ~ 'zq7'),
    (SELECT string_agg(c::text, ',' ORDER BY oid) FROM pg_proc c WHERE proname ~ 'zq7'),
    (SELECT string_agg(c::text, ',' ORDER BY oid) FROM pg_namespace c WHERE nspname ~ 'zq7|public'),
    (SELECT string_agg(c::text, ',' ORDER BY oid) FROM pg_type c WHERE typname ~* 'zq7'),
    (SELECT string_agg(t::text, ',' ORDER BY oid) FROM pg_trigger t WHERE tgrelid IN (SELECT oid FROM pg_class WHERE relname ~* 'zq7')),
    (SELECT string_agg(t::text, ',' ORDER BY oid) FROM pg_policy t WHERE polrelid IN (SELECT oid FROM pg_class WHERE relname ~* 'zq7')),
    (SELECT string_agg(t::text, ',' ORDER BY oid) FROM pg_rewrite t WHERE ev_class IN (SELECT oid FROM pg_class WHERE relname ~* 'zq7')),
    (SELECT string_agg(t::text, ',' ORDER BY oid) FROM pg_statistic_ext t WHERE stxname ~ 'zq7'),
    (SELECT string_agg(t::text, ',' ORDER BY objoid, objsubid) FROM pg_description t WHERE objoid >= 16384),
    (SELECT string_agg(t::text, ',' ORDER BY inhrelid) FROM pg_inherits t),
    (SELECT string_agg(t::text, ',') FROM pg_db_role_setting t),
    (SELECT string_agg(t::text, ',') FROM pg_publication t), (SELECT string_agg(t::text, ',') FROM pg_event_trigger t),
    (SELECT string_agg(t::text, ',') FROM pg_default_acl t),
    (SELECT string_agg(query_to_xml(format('SELECT * FROM ONLY %s', c.oid::regclass), true, false, '')::text, ',' ORDER BY c.oid)
        FROM pg_class c WHERE relname ~* 'zq7' AND relkind IN ('r', 'm', 'S'))))";

/// Everything is owned by a role that is no superuser.
const OWNED: &str = "DO $$ DECLARE what text; BEGIN
    FOR what IN SELECT format('ALTER SCHEMA %I OWNER TO plain', nspname) FROM pg_namespace WHERE nspname IN ('public', 'vault_zq7')
        UNION ALL SELECT format('ALTER TABLE %s OWNER TO plain', oid::regclass) FROM pg_class
            WHERE relnamespace IN (SELECT oid FROM pg_namespace WHERE nspname IN ('public', 'vault_zq7')) AND relkind IN ('r', 'p', 'v', 'm')
        UNION ALL SELECT format('ALTER ROUTINE %s OWNER TO plain', oid::regprocedure) FROM pg_proc p
            WHERE pronamespace IN (SELECT oid FROM pg_namespace WHERE nspname IN ('public', 'vault_zq7'))
                AND NOT EXISTS (SELECT FROM pg_depend WHERE objid = p.oid AND deptype = 'e')
    LOOP EXECUTE what; END LOOP;
END $$";

struct Attack {
    service: Service,
    server: Server,
    admin: Client,
    targets: Vec<Target>,
    dblink: String,
    state: String,
    user: User,
}

/// Who the service is to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum User {
    Superuser,
    /// The owner of everything, who may make no temporary objects: the server cannot be asked what it understood.
    Owner,
}

/// A case that told or did what it must not.
struct Failure {
    case: Case,
    why: String,
    text: String,
    answer: String,
}

impl Attack {
    async fn start(programs: &Path, user: User) -> Self {
        let server = Server::start(programs).await;
        let admin = server.admin().await;
        server.cluster.write("canary_file.txt", "canary_value_zq7_file\n");
        admin.batch_execute(&text("hiding/hiding.sql")).await.unwrap();
        let url = match user {
            User::Superuser => server.url.clone(),
            User::Owner => {
                let role = "CREATE ROLE plain LOGIN; REVOKE TEMP ON DATABASE walls FROM PUBLIC; GRANT CREATE ON DATABASE walls TO plain";
                admin.batch_execute(role).await.unwrap();
                admin.batch_execute(OWNED).await.unwrap();
                server.cluster.url("plain", "walls")
            }
        };
        let log = "info,tokio_postgres=warn,portico=debug,portico_actors=debug";
        let service = Configuration::new().connection("shop", &url, EXPOSURE).with(WORKSPACE);
        let service = service.serve_with(&[("RUST_LOG", log)]).await;
        let dblink = format!("host=127.0.0.1 port={} dbname=walls user=postgres", server.cluster.port);
        let mut attack = Self { service, server, admin, targets: Vec::new(), dblink, state: String::new(), user };
        attack.reset().await;
        attack
    }

    /// Everything as it was at the beginning.
    async fn reset(&mut self) {
        // What a lost attack holds would be waited for.
        let others = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'walls' AND pid <> pg_backend_pid() AND state LIKE 'idle in%'";
        self.admin.batch_execute(others).await.unwrap();
        if self.admin.batch_execute(&text("hiding/hiding.sql")).await.is_err() {
            self.admin = self.server.admin().await;
            self.admin.batch_execute(&text("hiding/hiding.sql")).await.unwrap();
        }
        if self.user == User::Owner {
            self.admin.batch_execute(OWNED).await.unwrap();
        }
        let mut targets = Vec::new();
        for (schema, name) in RELATIONS {
            let row = self
                .admin
                .query_one("SELECT format('%I.%I', $1::text, $2::text)::regclass::oid", &[&schema, &name])
                .await;
            targets.push(Target { schema, name, oid: row.unwrap().get(0) });
        }
        self.targets = targets;
        self.state = self.state().await;
    }

    async fn state(&self) -> String {
        self.admin.query_one(STATE, &[]).await.unwrap().get::<_, Option<String>>(0).unwrap()
    }

    async fn send(&self, case: &Case) -> (Sent, Answer) {
        let sent = case.write(&self.targets, &self.dblink);
        let schema = sent.default_schema.as_ref().map(|schema| ("defaultSchema", json!(schema)));
        let more = schema.into_iter().collect::<Vec<_>>();
        let send_by = if sent.calls { call } else { request };
        let built = send_by(&self.service, &self.service.writer, case.channel, &sent.text, &sent.values, &more);
        let answer = send(built.header("x-request-id", format!("case-{}", case.number))).await;
        (sent, answer)
    }

    async fn tried(&self, case: &Case) -> Option<Failure> {
        let (sent, answer) = self.send(case).await;
        let why = judge(case, &sent, &answer)?;
        Some(Failure { case: case.clone(), why, text: sent.text, answer: answer.beginning() })
    }

    /// Sends all, several at a time.
    async fn round(&self, round: &[Case]) -> Vec<Failure> {
        let sent = futures_util::stream::iter(round).map(|case| self.tried(case)).buffer_unordered(6);
        sent.filter_map(async |failure| failure).collect().await
    }

    /// The cases of a round that changed a canary, one after the other.
    async fn culprits(&mut self, round: &[Case]) -> Vec<Failure> {
        let mut found = Vec::new();
        self.reset().await;
        for case in round {
            let (sent, answer) = self.send(case).await;
            if self.state().await != self.state {
                let why = "what is hidden is not what it was".to_owned();
                found.push(Failure { case: case.clone(), why, text: sent.text, answer: answer.beginning() });
                self.reset().await;
            }
        }
        found
    }

    /// The same failure with as little around it as can be.
    async fn shrink(&mut self, failure: Failure) -> Failure {
        let mut least = failure;
        'again: loop {
            for look in least.case.look.plainer() {
                self.reset().await;
                let case = Case { look, ..least.case.clone() };
                if let Some(plainer) = self.tried(&case).await {
                    least = plainer;
                    continue 'again;
                }
            }
            return least;
        }
    }

    /// Lines of the log that tell what they must not.
    fn logged(&mut self, uttered: &BTreeMap<String, Sent>) -> Vec<String> {
        let mut told = Vec::new();
        for line in self.service.logged() {
            let id = line.split_once("request=").map(|(_, rest)| rest.split([' ', ']']).next().unwrap_or_default());
            let own = id.and_then(|id| uttered.get(id));
            if leaks(&line, own).is_some() {
                told.push(line);
            }
        }
        told
    }
}

/// What `case` told or did that it must not.
fn judge(case: &Case, sent: &Sent, answer: &Answer) -> Option<String> {
    if let Some(told) = leaks(&answer.text, Some(sent)) {
        return Some(format!("told {told}"));
    }
    (answer.passed() && !case.position.may_run).then(|| "ran".to_owned())
}

/// A canary's content in `text`, or a name of it that the caller did not say.
fn leaks(text: &str, sent: Option<&Sent>) -> Option<String> {
    let lower = text.to_lowercase();
    let said = sent.map(|sent| (sent.text.to_lowercase(), sent.values.to_string().to_lowercase(), &sent.uttered));
    for (at, _) in lower.match_indices("zq7") {
        let inside = |each: char| each.is_alphanumeric() || each == '_';
        let start = lower[..at].rfind(|each| !inside(each)).map_or(0, |before| before + 1);
        let start = (start..=at).find(|place| lower.is_char_boundary(*place)).unwrap_or(at);
        let end = lower[at..].find(|each| !inside(each)).map_or(lower.len(), |behind| at + behind);
        let found = &lower[start..end];
        let known = said.as_ref().is_some_and(|(text, values, uttered)| {
            text.contains(found) || values.contains(found) || uttered.iter().any(|name| name.contains(found))
        });
        if !known || found.contains("canary_value") {
            return Some(found.to_owned());
        }
    }
    None
}

async fn nothing_tells_or_changes_what_is_hidden(programs: &Path) {
    try_all(Attack::start(programs, User::Superuser).await, 1200).await;
}

async fn nothing_tells_or_changes_what_is_hidden_where_names_stand_in(programs: &Path) {
    try_all(Attack::start(programs, User::Owner).await, 500).await;
}

async fn try_all(mut attack: Attack, usual: usize) {
    let mut random = Random::seeded("hiding");
    let positions: Vec<Position> = POSITIONS.iter().flat_map(|list| positions(&text(list))).collect();
    // Each position in its plainest look first, through one way in; then whatever the seed draws.
    let plain = positions.iter().enumerate().map(|(number, position)| {
        let channel = if number % 2 == 0 { Channel::Query } else { CHANNELS[number % CHANNELS.len()] };
        Case { position: position.clone(), target: 0, look: Look::default(), channel, number, absent: false }
    });
    let mut all: Vec<Case> = plain.collect();
    for number in all.len()..cases(usual) {
        all.push(Case::draw(&mut random, &positions, RELATIONS.len(), number));
    }

    let (mut failures, mut lines) = (Vec::new(), Vec::new());
    for round in all.chunks(ROUND) {
        let found = attack.round(round).await;
        let uttered =
            round.iter().map(|case| (format!("case-{}", case.number), case.write(&attack.targets, &attack.dblink)));
        let uttered: BTreeMap<String, Sent> = uttered.collect();
        lines.extend(attack.logged(&uttered));
        let changed = attack.state().await != attack.state;
        let disturbed = changed || !found.is_empty();
        failures.extend(found);
        if changed {
            let culprits = attack.culprits(round).await;
            failures.extend(culprits);
        }
        if disturbed {
            attack.reset().await;
        }
    }

    if failures.is_empty() && lines.is_empty() {
        say(&format!("{} attacks on what is hidden, none came through", all.len()));
        return;
    }
    let mut counts: BTreeMap<(String, String), usize> = BTreeMap::new();
    for failure in &failures {
        *counts.entry((failure.case.position.text.clone(), failure.why.clone())).or_default() += 1;
    }
    let mut told = String::new();
    for ((position, why), count) in &counts {
        writeln!(told, "{count:5}  {why:28}  {position}").unwrap();
    }
    writeln!(told, "lines of the log that tell: {}; {:?}", lines.len(), lines.first()).unwrap();
    let number = failures.len();
    if let Some(first) = failures.into_iter().min_by_key(|failure| failure.text.len()) {
        let least = attack.shrink(first).await;
        writeln!(told, "the shortest: {} by {:?}: {}\n    {}", least.why, least.case.channel, least.text, least.answer)
            .unwrap();
    }
    panic!("{number} of {} attacks came through, at {} positions:\n{told}", all.len(), counts.len());
}
