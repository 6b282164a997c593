//! Statements over several connections whose sources, callers or bounds fail them.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use actix_web::rt::task::spawn_blocking;
use futures_util::future::join_all;
use reqwest::Response;
use serde_json::{Value, json};
use tokio_postgres::Client;

use super::another_postgres;
use crate::support::app::{TestApp, eventually, read, within};
use crate::support::cluster::Cluster;
use crate::support::configuration::Configuration;
use crate::support::fixture;
use crate::support::postgres::connect;
use crate::support::proxy::ChaosProxy;
use crate::walls::server::say;

/// Rows of `wide`, of about half a kilobyte each.
const WIDE: &str = "CREATE TABLE wide (id int PRIMARY KEY, other int, filler text);
    INSERT INTO wide SELECT i, i % 100, repeat(md5(i::text), 16) FROM generate_series(1, 40000) i; ANALYZE wide";
/// Sends every row of both sides, one after the other.
const ALL: &str = "SELECT id, filler FROM shop.public.wide UNION ALL SELECT id, filler FROM crm.public.wide";
/// Joins each row with its like in the other database.
const JOINED: &str =
    "SELECT w.id, w.filler, o.filler AS again FROM shop.public.wide w JOIN crm.public.wide o ON o.id = w.id";
/// Compares each row with each, and takes minutes for it.
const MANY: &str = "SELECT count(*) AS n FROM shop.public.wide w JOIN crm.public.wide o \
                    ON length(repeat('x', o.other + w.other)) % 2 = 0";
/// Sleeps in both databases; a view hides it from whoever judges statements.
const NAP: &str = "CREATE VIEW nap AS SELECT 1 AS id, pg_sleep(600)::text AS nap";

/// Two databases, each behind a proxy, and a service before both.
struct Pair {
    app: TestApp,
    /// The proxies of `shop` and `crm`.
    proxies: [ChaosProxy; 2],
    /// Sessions beside the service's.
    admins: [Client; 2],
}

impl Pair {
    /// With these tables in both, these keys of each connection, and these tables of the configuration.
    async fn start(tables: &str, keys: &str, configured: &str) -> Self {
        Self::with_second(another_postgres().await, tables, keys, configured).await
    }

    /// The same with the second database at `crm`.
    async fn with_second(crm: String, tables: &str, keys: &str, configured: &str) -> Self {
        let shop = fixture::postgres().await;
        let admins = [connect(&shop).await, connect(&crm).await];
        for admin in &admins {
            admin.batch_execute(tables).await.unwrap();
        }
        let proxies = [ChaosProxy::start(&shop, true).await, ChaosProxy::start(&crm, true).await];
        let configuration = Configuration::new().connection("shop", &proxies[0].url(&shop), keys);
        let configuration = configuration.connection("crm", &proxies[1].url(&crm), keys).with(configured);
        let app = configuration.with("[audit]\nfile = \"audit.jsonl\"").start().await;
        Self { app, proxies, admins }
    }

    /// The answer to a statement, which is being sent.
    async fn begin(&self, query: &str) -> Response {
        within("an answer", self.app.post("/api/query").json(&json!({"query": query})).send()).await.unwrap()
    }

    /// Waits until neither database runs anything for the service.
    async fn until_idle(&self) {
        for admin in &self.admins {
            let question = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state <> 'idle' \
                            AND pid <> pg_backend_pid() AND backend_type = 'client backend'";
            eventually("idle sources", async || admin.query_one(question, &[]).await.unwrap().get::<_, i64>(0) == 0)
                .await;
        }
    }

    /// Waits until nothing is left in the folder of what did not fit.
    async fn until_clear(&self) {
        until_empty(&self.app.config.with_file_name("portico.spill")).await;
    }
}

/// Waits until the folders in `folder` have nothing in them.
async fn until_empty(folder: &Path) {
    let left =
        || std::fs::read_dir(folder).unwrap().flatten().flat_map(|entry| std::fs::read_dir(entry.path()).unwrap());
    eventually("an empty folder", async || left().count() == 0).await;
}

/// The whole of an answer of which `told` has come so far.
async fn rest(mut told: Vec<u8>, mut running: Response) -> Value {
    while let Some(more) = within("the rest", running.chunk()).await.unwrap() {
        told.extend_from_slice(&more);
    }
    serde_json::from_slice(&told).unwrap()
}

/// What failed, of a whole answer or of its only result.
fn error(answer: &Value) -> &Value {
    if answer["error"].is_object() { &answer["error"] } else { &answer["results"][0]["error"] }
}

/// That it is told with the name of this connection, and of no other.
fn names(answer: &Value, connection: &str) {
    let message = error(answer)["message"].as_str().unwrap_or_else(|| panic!("{answer}"));
    let other = if connection == "shop" { "crm" } else { "shop" };
    assert!(message.contains(connection) && !message.contains(other), "{message}");
}

#[actix_web::test]
async fn a_source_that_goes_away_fails_the_statement_by_its_name() {
    let pair = Pair::start(WIDE, "", "").await;
    for (place, name) in ["shop", "crm"].into_iter().enumerate() {
        // Between the first row and the last.
        pair.proxies[place].break_after(2_000_000);
        let (status, answer) = pair.app.query(json!({"query": ALL})).await;
        assert_eq!(error(&answer)["code"], 1700, "{status}: {}", error(&answer));
        names(&answer, name);
        pair.until_idle().await;
        // Before it begins.
        for query in [ALL, JOINED] {
            let (status, answer) = pair.app.query(json!({"query": query})).await;
            assert_eq!((status, &error(&answer)["code"]), (503, &json!(1700)), "{answer}");
            names(&answer, name);
        }
        pair.until_idle().await;
        pair.proxies[place].restore();
        eventually("both sources", async || {
            pair.app.query(json!({"query": format!("{JOINED} WHERE w.id = 7")})).await.0 == 200
        })
        .await;
    }
}

#[actix_web::test]
async fn nothing_runs_on_behind_the_end_of_a_statement() {
    let pair = Pair::start(&format!("{WIDE}; {NAP}"), "", "").await;
    let asleep = async |admin: &Client| {
        let question =
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'";
        admin.query_one(question, &[]).await.unwrap().get::<_, i64>(0) > 0
    };
    let naps = "SELECT n.nap, m.nap AS other FROM shop.public.nap n JOIN crm.public.nap m ON m.id = n.id";
    // The clock.
    let (status, answer) = pair.app.query(json!({"query": naps, "timeout": 1})).await;
    assert_eq!((status, &error(&answer)["sqlState"]), (408, &json!("57014")), "{answer}");
    pair.until_idle().await;
    // The caller leaves: before the first row, and between two.
    let naps = pair.app.post("/api/query").json(&json!({"query": naps}));
    let running = actix_web::rt::spawn(naps.send());
    eventually("a sleeper", async || asleep(&pair.admins[0]).await || asleep(&pair.admins[1]).await).await;
    running.abort();
    pair.until_idle().await;
    let mut answer = pair.begin(ALL).await;
    within("the first rows", answer.chunk()).await.unwrap();
    drop(answer);
    pair.until_idle().await;
    // A join that makes more rows than anybody waits for.
    let (status, answer) = pair.app.query(json!({"query": MANY, "timeout": 2})).await;
    assert_eq!((status, &error(&answer)["sqlState"]), (408, &json!("57014")), "{answer}");
    pair.until_idle().await;
}

/// Also where every source is done, and the engine alone still works.
#[actix_web::test]
async fn a_statement_ends_with_the_credential_that_it_runs_under() {
    let pair = Pair::start(WIDE, "", "").await;
    let reader = &pair.app.reader;
    let request = pair.app.http.post(format!("{}/api/query", pair.app.url));
    let request = request.basic_auth(&reader.name, Some(&reader.secret)).json(&json!({"query": MANY, "timeout": 300}));
    let running = actix_web::rt::spawn(request.send());
    for admin in &pair.admins {
        // The server counts it some seconds after its end.
        let scans = "SELECT coalesce(sum(seq_scan), 0)::bigint FROM pg_stat_user_tables WHERE relname = 'wide'";
        eventually("its rows", async || admin.query_one(scans, &[]).await.unwrap().get::<_, i64>(0) > 1).await;
    }
    pair.app.store().revoke_pat(&reader.secret).unwrap();
    pair.app.look().await;
    let (status, answer) = read(within("the end", running).await.unwrap().unwrap()).await;
    assert_eq!((status, &error(&answer)["code"]), (401, &json!(1100)), "{answer}");
}

#[actix_web::test]
async fn places_are_not_waited_for_by_who_holds_one() {
    let tables =
        "CREATE TABLE t (id int PRIMARY KEY, n int); INSERT INTO t SELECT i, i % 10 FROM generate_series(1, 3000) i";
    // There is memory for more statements than are asked: none waits for it.
    let pair =
        Pair::start(tables, "pool = 1\nqueue = 200\nqueue_timeout = 100", "[federation]\nmemory = 34359738368").await;
    let statements = [
        ("SELECT count(*) AS n FROM shop.public.t a JOIN crm.public.t b ON b.id = a.id", 3000),
        ("SELECT count(*) AS n FROM crm.public.t a JOIN shop.public.t b ON b.id = a.id", 3000),
        // Several leaves on one connection.
        (
            "SELECT count(*) AS n FROM shop.public.t a JOIN crm.public.t b ON b.id = a.id JOIN shop.public.t c ON c.id = b.id",
            3000,
        ),
        (
            "SELECT count(*) AS n FROM (SELECT id FROM shop.public.t UNION ALL SELECT id FROM crm.public.t \
             UNION ALL SELECT n FROM shop.public.t) AS x",
            9000,
        ),
        (
            "SELECT count(*) AS n FROM (SELECT * FROM ((SELECT id FROM shop.public.t ORDER BY id LIMIT 2500) UNION ALL \
             (SELECT id FROM shop.public.t ORDER BY id DESC LIMIT 2500) UNION ALL \
             (SELECT id FROM crm.public.t ORDER BY id LIMIT 2500)) AS x ORDER BY id LIMIT 5000) AS y",
            5000,
        ),
    ];
    let calls = (0..64).map(|number| {
        let number: usize = number;
        let (query, expected) = statements[number % statements.len()];
        let asked = pair.app.query(json!({"query": query}));
        async move {
            let (status, answer) = asked.await;
            assert_eq!((status, &answer["results"][0]["rows"]), (200, &json!([[expected]])), "{query}: {answer}");
        }
    });
    within("64 statements", join_all(calls)).await;
}

#[actix_web::test]
async fn what_does_not_fit_is_spilled_or_refused() {
    let settings = "[federation]\nstatement_memory = 16777216\nmemory = 67108864";
    let pair = Pair::start(WIDE, "", settings).await;
    // 40 MB are sorted in a memory of 16.
    let sorted = format!(
        "SELECT count(*) AS n, min(id) AS low FROM (SELECT * FROM ({ALL}) AS x ORDER BY filler, id LIMIT 79999) AS y"
    );
    let (status, answer) = pair.app.query(json!({"query": sorted})).await;
    assert_eq!((status, &answer["results"][0]["rows"]), (200, &json!([[79999, 1]])), "{answer}");
    // Rows of others are nobody's to read.
    let folder = pair.app.config.with_file_name("portico.spill");
    assert_eq!(std::fs::metadata(folder).unwrap().permissions().mode() & 0o777, 0o700);
    pair.until_clear().await;
    // Neither side of the join fits. What no plan can write down is refused.
    let joined = format!("SELECT count(*) AS n, sum(id) AS ids FROM ({JOINED}) AS x WHERE filler = again");
    let (status, answer) = pair.app.query(json!({"query": joined})).await;
    assert_eq!((status, &answer["results"][0]["rows"]), (200, &json!([[40000, 800_020_000]])), "{answer}");
    pair.until_clear().await;
    let all = "SELECT id FROM shop.public.wide WHERE filler NOT IN (SELECT filler FROM crm.public.wide)";
    let (status, answer) = pair.app.query(json!({"query": all})).await;
    assert_eq!((status, &error(&answer)["code"]), (413, &json!(1800)), "{}", error(&answer));
    pair.until_idle().await;
    pair.until_clear().await;

    let pair = Pair::start(WIDE, "", &format!("{settings}\nspill_limit = 1000000")).await;
    let (status, answer) = pair.app.query(json!({"query": sorted})).await;
    assert_eq!((status, &error(&answer)["code"]), (413, &json!(1800)), "{}", error(&answer));
    assert!(error(&answer)["hint"].as_str().unwrap().contains("spill_limit"), "{}", error(&answer));
    pair.until_idle().await;
    pair.until_clear().await;
}

#[actix_web::test]
async fn values_that_have_no_form_here_are_told_with_their_column() {
    let tables = "CREATE TABLE odd (id int, d date, t timestamp, z timestamptz, n numeric, w numeric);
        INSERT INTO odd VALUES (1, 'infinity', NULL, NULL, NULL, NULL), (2, NULL, '-infinity', NULL, NULL, NULL),
            (3, NULL, NULL, 'infinity', NULL, NULL), (4, NULL, NULL, NULL, 'NaN', NULL), (5, NULL, NULL, NULL, NULL, 1e60)";
    let pair = Pair::start(tables, "", "").await;
    for (id, column) in [(1, "d"), (2, "t"), (3, "z"), (4, "n"), (5, "w")] {
        let query = format!(
            "SELECT a.id, a.{column} AS value FROM shop.public.odd a JOIN crm.public.odd b ON b.id = a.id AND \
             coalesce(a.{column}, b.{column}) IS NOT NULL WHERE a.id = {id}"
        );
        let (_, answer) = pair.app.query(json!({"query": query})).await;
        let error = error(&answer);
        let message = error["message"].as_str().unwrap_or_else(|| panic!("{column}: {answer}"));
        assert!(message.contains(&format!("column \"{column}\"")), "{column}: {error}");
    }
    pair.until_idle().await;
}

/// What a cap leaves out is not read: sources and folder are as before, also behind a sort that did not fit.
#[actix_web::test]
async fn rows_beyond_the_cap_are_not_fetched() {
    let settings = "[federation]\nstatement_memory = 16777216\nmemory = 67108864";
    let pair = Pair::start(WIDE, "", settings).await;
    let sorted = format!("SELECT * FROM ({ALL}) AS x ORDER BY filler, id");
    for query in [ALL, JOINED, &sorted] {
        for most in [1, 1000] {
            let asked = pair.app.post("/api/query").json(&json!({"query": query, "maxRows": most}));
            let (status, answer) = read(within("an answer", asked.send()).await.unwrap()).await;
            assert_eq!(status, 200, "{query}: {}", error(&answer));
            assert_eq!(answer["results"][0]["rows"].as_array().unwrap().len(), most, "{query}");
            pair.until_idle().await;
            pair.until_clear().await;
        }
    }
}

#[actix_web::test]
async fn a_slow_source_is_waited_for() {
    let pair = Pair::start("CREATE TABLE t (id int); INSERT INTO t VALUES (1), (2)", "", "").await;
    pair.proxies[1].delay(Duration::from_millis(200));
    let (status, answer) = pair
        .app
        .query(json!({"query": "SELECT a.id FROM shop.public.t a JOIN crm.public.t b ON b.id = a.id ORDER BY 1"}))
        .await;
    assert_eq!((status, &answer["results"][0]["rows"]), (200, &json!([[1], [2]])), "{answer}");
}

/// The second side of a join begins when the first one is there: what merges two sources would hold the only place of
/// one of them meanwhile, for which the first side waits.
#[actix_web::test]
async fn a_second_side_waits_without_a_place() {
    let pair = Pair::start(WIDE, "pool = 1\nqueue_timeout = 60", "").await;
    let query = "SELECT count(*) AS n, sum(x.times) AS times FROM shop.public.wide a JOIN (SELECT filler, count(*) AS times \
                 FROM (SELECT filler FROM shop.public.wide UNION ALL SELECT filler FROM crm.public.wide) AS u \
                 GROUP BY filler) AS x ON x.filler = a.filler";
    let (status, answer) = pair.app.query(json!({"query": query, "timeout": 120})).await;
    assert_eq!((status, &answer["results"][0]["rows"]), (200, &json!([[40000, 80000]])), "{answer}");
    pair.until_idle().await;
}

#[actix_web::test]
async fn a_source_that_is_paused_or_ends_its_sessions_fails_only_what_runs() {
    let pair = Pair::start(WIDE, "", "").await;
    let one = format!("{JOINED} WHERE w.id = 7");
    let works = async || pair.app.query(json!({"query": one})).await.0 == 200;
    eventually("an answer", &works).await;
    // It says nothing any more while the statement is planned.
    pair.proxies[1].swallow();
    let (status, answer) = pair.app.query(json!({"query": one, "timeout": 2})).await;
    assert!([(408, json!(1500)), (503, json!(1700))].contains(&(status, error(&answer)["code"].clone())), "{answer}");
    pair.proxies[1].restore();
    eventually("an answer", &works).await;
    // The server ends every session between the first row and the last.
    let mut running = pair.begin(ALL).await;
    let told = within("the first rows", running.chunk()).await.unwrap().unwrap().to_vec();
    for admin in &pair.admins {
        let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() \
                   AND pid <> pg_backend_pid() AND backend_type = 'client backend'";
        admin.query(end, &[]).await.unwrap();
    }
    let answer = rest(told, running).await;
    assert!(error(&answer)["code"].is_number(), "{}", error(&answer));
    eventually("an answer", &works).await;
    pair.until_idle().await;
    pair.until_clear().await;
}

#[actix_web::test]
async fn a_source_that_restarts_is_found_again() {
    let cluster = Arc::new(Cluster::new());
    cluster.obey("start");
    let mut pair = Pair::with_second(cluster.url("postgres", "postgres"), WIDE, "", "").await;
    // Its rows are the first.
    let query = "SELECT id, filler FROM crm.public.wide UNION ALL SELECT id, filler FROM shop.public.wide";
    let mut running = pair.begin(query).await;
    let told = within("the first rows", running.chunk()).await.unwrap().unwrap().to_vec();
    let restarted = Arc::clone(&cluster);
    spawn_blocking(move || restarted.obey("restart")).await.unwrap();
    let answer = rest(told, running).await;
    assert!(error(&answer)["code"].is_number(), "{}", error(&answer));
    names(&answer, "crm");
    eventually("an answer", async || {
        pair.app.query(json!({"query": format!("{JOINED} WHERE w.id = 7")})).await.0 == 200
    })
    .await;
    pair.admins[1] = connect(&cluster.url("postgres", "postgres")).await;
    pair.until_idle().await;
    pair.until_clear().await;
}

/// A small file system of its own. Dropping it takes it away.
struct SmallDisk(PathBuf);

impl SmallDisk {
    /// In `folder`, of this size; `None` where this user may not mount one.
    fn mount(folder: PathBuf, size: &str) -> Option<Self> {
        std::fs::create_dir_all(&folder).unwrap();
        let options = format!("size={size}");
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", &options, "tmpfs"]).arg(&folder).status();
        mounted.is_ok_and(|status| status.success()).then_some(Self(folder))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

#[actix_web::test]
async fn a_full_disk_fails_the_statement_and_is_clear_again() {
    let folder = tempfile::tempdir().unwrap();
    let Some(disk) = SmallDisk::mount(folder.path().join("spill"), "4m") else {
        return say("a full disk is not tried: this user may not mount one");
    };
    let settings = "[federation]\nstatement_memory = 16777216\nmemory = 67108864\nspill_dir = ";
    let pair = Pair::start(WIDE, "", &format!("{settings}\"{}\"", disk.0.display())).await;
    let sorted = format!("SELECT count(*) AS n FROM (SELECT * FROM ({ALL}) AS x ORDER BY filler, id LIMIT 79999) AS y");
    for _ in 0..2 {
        let (status, answer) = pair.app.query(json!({"query": sorted})).await;
        assert_eq!((status, &error(&answer)["sqlState"]), (413, &json!("53100")), "{answer}");
        assert!(error(&answer)["hint"].as_str().unwrap().contains("spill_dir"), "{}", error(&answer));
        pair.until_idle().await;
        until_empty(&disk.0).await;
    }
    let (status, answer) = pair.app.query(json!({"query": format!("{JOINED} WHERE w.id = 7")})).await;
    assert_eq!(status, 200, "{answer}");
}

/// Statements have threads of their own: those that serve answer meanwhile.
#[actix_web::test]
async fn a_hundred_statements_leave_room_for_others() {
    let tables = "CREATE TABLE t (id int PRIMARY KEY, other int); INSERT INTO t SELECT i, i % 100 FROM generate_series(1, 3000) i";
    let settings = "[federation]\nmemory = 1099511627776";
    let pair = Pair::start(tables, "queue = 200\nqueue_timeout = 100", settings).await;
    let query = "SELECT count(*) AS n FROM shop.public.t w JOIN crm.public.t o \
                 ON length(repeat('x', o.other + w.other)) % 2 = 0";
    let calls = join_all((0..100).map(|_| pair.app.query(json!({"query": query, "timeout": 5}))));
    let mut calls = std::pin::pin!(calls);
    let mut healthy = 0;
    let answers = loop {
        let asked = within("an answer", pair.app.http.get(format!("{}/healthz", pair.app.url)).send());
        tokio::select! {
            biased;
            answers = &mut calls => break answers,
            answer = asked => {
                assert_eq!(answer.unwrap().status(), 200);
                healthy += 1;
            }
        }
    };
    assert!(healthy > 0, "nothing else was answered");
    for (status, answer) in answers {
        // Who cannot be served in time is told so at once.
        let is_clear = [200, 408, 429].contains(&status);
        assert!(is_clear, "{status}: {answer}");
    }
    pair.until_idle().await;
}
