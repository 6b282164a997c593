//! Callers who sign in to the database as roles of their own: sessions are the role's, nothing leaves
//! it, and the next caller finds nothing of the last one.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use portico_actors::error::{Error, Kind};
use portico_actors::identity::Identity;
use portico_actors::source::postgres::Address;
use portico_actors::source::{Access, Plan};
use portico_actors::source::{Login, Password};
use secrecy::SecretString;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_postgres::Client;

use crate::support::app::{CONNECTION, Caller, TestApp, eventually, read};
use crate::support::cluster::Cluster;
use crate::support::configuration::{Configuration, configure, connection};
use crate::support::postgres::connect;
use crate::support::process::portico;
use crate::support::results::{Read, Subject, plan, read as read_results};

/// Runs any text, and says whose session it is then: a function that somebody was careless with.
const SETUP: &str = "
CREATE USER gateway PASSWORD 'of-gateway';
CREATE USER north PASSWORD 'of-north';
CREATE USER south PASSWORD 'of-south';
CREATE USER boss SUPERUSER PASSWORD 'of-boss';
CREATE USER deputy PASSWORD 'of-deputy' IN ROLE boss;
CREATE USER auditor BYPASSRLS PASSWORD 'of-auditor';
CREATE ROLE team;
GRANT team TO north;
CREATE TABLE notes (words text, owner text NOT NULL DEFAULT session_user);
ALTER TABLE notes ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON notes USING (owner = session_user);
GRANT ALL ON notes TO north, south, auditor;
GRANT CREATE ON SCHEMA public TO north, south;
CREATE FUNCTION run(words text) RETURNS text LANGUAGE plpgsql AS
    $$ BEGIN EXECUTE words; RETURN session_user; EXCEPTION WHEN OTHERS THEN RETURN 'refused: ' || SQLERRM; END $$;
CREATE PROCEDURE run_and_keep(words text) LANGUAGE plpgsql AS $$ BEGIN EXECUTE words; END $$;
CREATE FUNCTION prepared_here() RETURNS bigint LANGUAGE sql STABLE AS
    'SELECT count(*) FROM pg_prepared_statements WHERE from_sql';
CREATE FUNCTION whoami() RETURNS text LANGUAGE sql STABLE AS 'SELECT session_user::text';
";

/// A server where everybody but its administrator needs a password, and the roles' passwords.
struct Server {
    cluster: Cluster,
    admin: Client,
    folder: TempDir,
}

impl Server {
    async fn start() -> Self {
        let cluster = Cluster::new();
        cluster
            .write("pg_hba.conf", "local all all trust\nhost all postgres all trust\nhost all all all scram-sha-256\n");
        cluster.obey("start");
        let admin = connect(&cluster.url("postgres", "postgres")).await;
        admin.batch_execute(SETUP).await.unwrap();
        let folder = TempDir::new().unwrap();
        for role in ["north", "south", "boss", "deputy", "auditor"] {
            fs::write(folder.path().join(role), format!("of-{role}\n")).unwrap();
        }
        Self { cluster, admin, folder }
    }

    fn url(&self) -> String {
        format!("postgres://gateway:of-gateway@127.0.0.1:{}/postgres", self.cluster.port)
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("{role}")
    }

    fn subject(&self, password: Password, pool: usize, idle: Duration) -> Subject {
        let login = Login { password: Some(password), certificate: None, idle_timeout: idle };
        Subject::at(Address { login: Some(login), ..self.url().into() }, pool).unwrap()
    }

    /// The sessions that callers' roles have.
    async fn sessions(&self) -> Vec<String> {
        let question = "SELECT usename::text FROM pg_stat_activity WHERE usename IN \
            ('north', 'south', 'boss', 'deputy', 'auditor') ORDER BY 1";
        self.admin.query(question, &[]).await.unwrap().iter().map(|row| row.get(0)).collect()
    }
}

async fn run_as(subject: &Subject, role: &str, sql: &str, access: Access) -> Result<Read, Error> {
    let plan = Plan { identity: Some(Arc::new(Identity::of_role(role))), ..plan(sql, access) };
    read_results(subject.source.run(plan).await?).await
}

const WHO: &str = "SELECT session_user::text, current_user::text";

#[tokio::test]
async fn a_session_is_the_role_s_and_superusers_have_none() {
    let server = Server::start().await;
    let hour = Duration::from_secs(3600);
    let subject = server.subject(Password::File(server.file()), 2, hour);
    subject.source.ping().await.unwrap();
    for role in ["north", "south", "auditor", "north"] {
        let shown = format!("{role:?}");
        assert_eq!(run_as(&subject, role, WHO, Access::ReadOnly).await.unwrap().rows, [[shown.clone(), shown]]);
    }
    assert_eq!(server.sessions().await.len(), 2, "the pool is that of all roles together");
    for role in ["boss", "deputy"] {
        let refused = run_as(&subject, role, WHO, Access::ReadOnly).await.unwrap_err();
        assert_eq!(refused.kind, Kind::Forbidden, "{role}: {refused:?}");
        assert!(refused.message.contains("superuser") && refused.get_hint().is_some(), "{refused:?}");
    }
    // What it cannot sign in with is not told, and a password that was replaced is read again.
    server.admin.batch_execute("ALTER USER south PASSWORD 'another'").await.unwrap();
    let cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename IN ('north', 'south', 'auditor')";
    server.admin.batch_execute(cut).await.unwrap();
    let refused = run_as(&subject, "south", WHO, Access::ReadOnly).await.unwrap_err();
    assert_eq!(refused.kind, Kind::Forbidden, "{refused:?}");
    assert!(refused.message.contains("cannot sign in") && !format!("{refused:?}").contains("of-south"), "{refused:?}");
    fs::write(server.folder.path().join("south"), "another").unwrap();
    run_as(&subject, "south", WHO, Access::ReadOnly).await.unwrap();
    let absent = run_as(&subject, "nobody", WHO, Access::ReadOnly).await.unwrap_err();
    assert_eq!(absent.kind, Kind::Unavailable, "{absent:?}");
    assert!(absent.cause().is_some_and(|cause| cause.starts_with("password_file cannot be read")), "{absent:?}");
    // The URL's own password is nobody else's.
    fs::write(server.folder.path().join("north"), "of-gateway").unwrap();
    let other = server.subject(Password::File(server.file()), 1, hour);
    assert_eq!(run_as(&other, "north", WHO, Access::ReadOnly).await.unwrap_err().kind, Kind::Forbidden);
}

#[tokio::test]
async fn a_role_s_name_opens_no_other_file_and_is_no_option() {
    let server = Server::start().await;
    let calls = server.folder.path().join("calls");
    let secret = server.folder.path().join("secret");
    fs::write(&secret, "of-north").unwrap();
    fs::create_dir(server.folder.path().join("roles")).unwrap();
    let script = format!("echo \"$1\" >> {}; printf %s \"of-$1\"", calls.display());
    let words = ["sh", "-c", &script, "sh", "{role}"].map(|word| SecretString::from(word.to_owned())).to_vec();
    let places = [Password::Command(words), Password::File(server.folder.path().join("roles/{role}"))];
    for place in places {
        let subject = server.subject(place, 2, Duration::from_secs(60));
        for role in ["../secret", "/etc/passwd", "a/b", "..", "a..b", "-c", "--help", "a\nb", "\u{7}"] {
            let refused = run_as(&subject, role, WHO, Access::ReadOnly).await.unwrap_err();
            assert_eq!(refused.kind, Kind::Forbidden, "{role:?}: {refused:?}");
            assert!(refused.cause().is_none(), "nothing was touched: {refused:?}");
        }
    }
    assert!(!calls.exists(), "no program was run");
    let words = ["sh", "-c", &script, "sh", "{role}"].map(|word| SecretString::from(word.to_owned())).to_vec();
    let subject = server.subject(Password::Command(words), 2, Duration::from_secs(60));
    for _ in 0..3 {
        run_as(&subject, "north", WHO, Access::ReadOnly).await.unwrap();
    }
    assert_eq!(fs::read_to_string(&calls).unwrap(), "north\n", "once, and by its name alone");
}

#[tokio::test]
async fn roles_let_go_of_what_nobody_uses() {
    let server = Server::start().await;
    let subject = server.subject(Password::File(server.file()), 3, Duration::from_secs(1));
    for role in ["north", "south", "auditor"] {
        run_as(&subject, role, WHO, Access::ReadOnly).await.unwrap();
    }
    eventually("the end of the idle sessions", async || server.sessions().await.is_empty()).await;
    assert_eq!(subject.source.pool().unwrap().open, 0);
    run_as(&subject, "north", WHO, Access::ReadOnly).await.unwrap();
    assert_eq!(subject.source.pool().unwrap().open, 1);
}

/// Whose a session could be that has left its role.
const OTHERS: [&str; 6] = ["north", "south", "gateway", "boss", "deputy", "postgres"];

/// Ways to leave a role, or to leave something for the next caller.
const STEPS: [&str; 24] = [
    "RESET ROLE",
    "SET ROLE south",
    "SET ROLE team",
    "SET ROLE gateway",
    "SET ROLE none",
    "SET LOCAL ROLE team",
    "RESET SESSION AUTHORIZATION",
    "SET SESSION AUTHORIZATION south",
    "SET SESSION AUTHORIZATION DEFAULT",
    "SELECT set_config('role', 'team', false)",
    "SELECT set_config('role', 'gateway', false)",
    "SELECT set_config('session_authorization', 'gateway', false)",
    "UPDATE pg_settings SET setting = 'team' WHERE name = 'role'",
    "DO $x$ BEGIN PERFORM set_config('role', 'team', false); END $x$",
    "SELECT set_config('request.jwt.claims', '{\"sub\":\"boss\"}', false)",
    "SET work_mem = '77MB'",
    "SET search_path = elsewhere",
    "SELECT set_config('standard_conforming_strings', 'off', false)",
    "SET client_encoding = LATIN1",
    "CREATE TEMP TABLE left_over (a int)",
    "PREPARE left_over AS SELECT 1",
    "LISTEN left_over",
    "SELECT pg_advisory_lock(7)",
    "DISCARD ALL",
];

/// What a caller finds on its session.
const FOUND: &str = "SELECT session_user::text, current_user::text, \
    current_setting('request.jwt.claims')::json ->> 'role', current_setting('work_mem'), \
    current_setting('search_path'), current_setting('client_encoding'), \
    current_setting('standard_conforming_strings'), \
    (SELECT count(*) FROM pg_class WHERE relname = 'left_over'), \
    prepared_here(), \
    (SELECT count(*) FROM pg_listening_channels()), \
    (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory')";

async fn send(app: &TestApp, by: &Caller, path: &str, body: Value) -> (u16, Value) {
    let request = app.http.post(format!("{}{path}", app.url));
    read(request.basic_auth(&by.name, Some(&by.secret)).json(&body).send().await.unwrap()).await
}

async fn found(app: &TestApp, by: &Caller) -> Value {
    let (status, document) = send(app, by, "/api/query", json!({"query": FOUND})).await;
    assert_eq!(status, 200, "{document}");
    document["results"][0]["rows"][0].clone()
}

fn tables(server: &Server, pool: usize, more: &str) -> String {
    let identity = format!(
        "access = \"read-write\"\npool = {pool}\n[connections.identity]\nmode = \"login\"\npassword_file = \"{}\"\n\
         [connections.identity.principals]\n\"writer@example.com\" = \"north\"\n\"reader@example.com\" = \"south\"\n{more}",
        server.file().display()
    );
    connection(CONNECTION, "shop", &server.url(), &identity)
}

#[actix_web::test]
async fn no_statement_leaves_its_role_and_nothing_is_left_for_the_next_caller() {
    let server = Server::start().await;
    let app = Configuration::new().with(&tables(&server, 1, "")).start().await;
    let (north, south) = (&app.writer, &app.reader);
    let fresh = [found(&app, north).await, found(&app, south).await];
    for (row, role) in fresh.iter().zip(["north", "south"]) {
        assert_eq!([&row[0], &row[1], &row[2]], [role, role, role], "{row}");
    }
    // Each caller has the role, whatever the way.
    let who = json!({"query": "SELECT session_user::text, current_user::text"});
    let batch = json!({"query": "SELECT session_user::text, @a::int", "parameters": [{"@a": {"value": 1}}]});
    for (path, body) in [("/api/query", who), ("/api/batch", batch), ("/api/exec", json!({"procedure": "whoami"}))] {
        for (by, role) in [(north, "north"), (south, "south")] {
            let (status, document) = send(&app, by, path, body.clone()).await;
            assert_eq!((status, &document["results"][0]["rows"][0][0]), (200, &json!(role)), "{path}: {document}");
        }
    }
    let (_, told) = app.mcp(north, "tools/call", json!({"name": "whoami", "arguments": {}})).await;
    assert_eq!(told["result"]["structuredContent"]["rows"], json!([["north"]]), "{told}");

    // In sequences, with a seed that is told: by themselves, through a function that runs them, and
    // through a procedure that keeps what they do.
    let seed = std::env::var("PORTICO_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(20_261_122_u64);
    let mut state = seed;
    let mut dice = move |sides: usize| {
        // Marsaglia's xorshift.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % sides as u64).unwrap()
    };
    for round in 0..60 {
        let (by, next, number) = if dice(2) == 0 { (north, south, 1) } else { (south, north, 0) };
        let mut played = Vec::new();
        for _ in 0..=dice(3) {
            let step = STEPS[dice(STEPS.len())];
            let quoted = step.replace('\'', "''");
            let (path, body) = match dice(4) {
                0 => ("/api/query", json!({"query": step})),
                1 => ("/api/query", json!({"query": format!("SELECT run('{quoted}')")})),
                2 => ("/api/query", json!({"query": format!("SELECT run('{quoted}'); SELECT session_user::text")})),
                _ => ("/api/exec", json!({"procedure": "run_and_keep", "parameters": {"@words": {"value": step}}})),
            };
            let (status, answer) = send(&app, by, path, body.clone()).await;
            let own = if number == 1 { "north" } else { "south" };
            let mut sessions = Vec::new();
            for result in answer["results"].as_array().into_iter().flatten() {
                let text = result["rows"][0][0].as_str().unwrap_or(own);
                sessions.push(text.to_owned());
            }
            let left = sessions.iter().find(|text| *text != own && OTHERS.contains(&text.as_str()));
            played.push(format!("{path} {body} -> {status}"));
            assert!(left.is_none(), "PORTICO_SEED={seed}, round {round}: {played:#?}: {answer}");
        }
        assert_eq!(
            found(&app, next).await,
            fresh[number],
            "PORTICO_SEED={seed}, round {round}, the next caller: {played:#?}"
        );
        assert_eq!(
            found(&app, by).await,
            fresh[1 - number],
            "PORTICO_SEED={seed}, round {round}, the same caller: {played:#?}"
        );
    }
}

#[actix_web::test]
async fn each_named_role_is_tried_by_check_and_doctor() {
    let server = Server::start().await;
    let folder = TempDir::new().unwrap();
    let check = |folder: &Path, command: &str, tables: &str| {
        configure(folder, None, "", tables);
        let output = portico(folder, &[command]);
        (output.status.success(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let (ok, said) = check(folder.path(), "check", &tables(&server, 2, ""));
    assert!(ok, "{said}");
    for command in ["check", "doctor"] {
        let (ok, said) = check(folder.path(), command, &tables(&server, 2, "\"chief\" = \"boss\"\n"));
        assert!(!ok && said.contains("\"boss\"") && said.contains("superuser"), "{command}: {said}");
    }
    fs::write(server.folder.path().join("south"), "wrong").unwrap();
    let (ok, said) = check(folder.path(), "check", &tables(&server, 2, ""));
    assert!(!ok && said.contains("\"south\"") && said.contains("password authentication failed"), "{said}");
}

#[test]
fn what_login_needs_is_checked_with_the_file() {
    let problems = |lines: &str| {
        let text = format!(
            "[[connections]]\nid = \"{CONNECTION}\"\nname = \"shop\"\nurl = \"postgres://a@b/c\"\n\
             [connections.identity]\n{lines}\nclaim = \"role\"\n"
        );
        match portico::config::Config::parse(&text, Path::new("/base"), &|_| None) {
            Ok(config) => Err(config),
            Err(problems) => Ok(problems.0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")),
        }
    };
    for (lines, part) in [
        ("mode = \"sign-in\"", "\"login\" or \"set-role\""),
        ("password_file = \"roles/{role}\"", "mode = \"login\""),
        ("mode = \"set-role\"\nsslcert = \"{role}.crt\"\nsslkey = \"{role}.key\"", "mode = \"login\""),
        ("mode = \"login\"\npassword_file = \"roles/all\"", "{role}"),
        ("mode = \"login\"\npassword_command = [\"vault\", \"read\"]", "{role}"),
        ("mode = \"login\"\npassword_file = \"{role}\"\npassword_command = [\"x\", \"{role}\"]", "keep one of the two"),
        ("mode = \"login\"\nsslcert = \"{role}.crt\"", "sslkey"),
        ("mode = \"login\"\nsslcert = \"{role}.crt\"\nsslkey = \"all.key\"", "{role}"),
        ("mode = \"login\"\nprincipals = { ann = \"../ann\" }", "with /"),
        ("mode = \"login\"\nprincipals = { ann = \"-ann\" }", "begins with -"),
        ("mode = \"login\"\nidle_timeout = 0", "whole number"),
    ] {
        let told = problems(lines).unwrap_or_else(|_| panic!("{lines}: nothing is wrong with it"));
        assert!(told.contains(part), "{lines}: {told}");
    }
    let config = problems("mode = \"login\"\npassword_file = \"roles/{role}\"").unwrap_err();
    let location: &dyn std::any::Any = config.connections[0].location.as_ref();
    let address: &Address = location.downcast_ref().expect("PostgreSQL");
    let login = address.login.as_ref().expect("sessions are the callers' own");
    assert!(matches!(&login.password, Some(Password::File(path)) if path == Path::new("/base/roles/{role}")));
    let config = problems("principals = { ann = \"-ann\" }").unwrap_err();
    let location: &dyn std::any::Any = config.connections[0].location.as_ref();
    let address: &Address = location.downcast_ref().expect("PostgreSQL");
    assert!(address.login.is_none(), "what is left out is set-role");
}
