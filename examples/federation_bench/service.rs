//! Portico in a process of its own, whose memory can be told from the bench's.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command};
use std::sync::Arc;
use std::time::{Duration, Instant};

use portico::config::Config;
use portico_actors::auth::records::{NewPat, NewUser};
use portico_actors::auth::store::Store;
use portico_actors::principal::{Rights, Scope};
use secrecy::ExposeSecret;
use serde_json::{Value, json};
use tempfile::TempDir;
use tikv_jemallocator::Jemalloc;

/// As in the program.
#[global_allocator]
static ALLOCATOR: Jemalloc = Jemalloc;

/// The word by which this program becomes the service.
pub(crate) const SERVE: &str = "serve";
const EMAIL: &str = "bench@example.com";

/// Serves what `config` says until it is killed.
pub(crate) fn serve(config: &Path) {
    let folder = config.parent().unwrap();
    let config = Config::parse(&fs::read_to_string(config).unwrap(), folder, &|_| None).unwrap();
    let mut store = Store::open(&config.store.place).unwrap();
    store.add_user(NewUser { email: EMAIL.to_owned(), rights: Rights::all(Scope::Read) }).unwrap();
    let (_, pat) = store.create_pat(EMAIL, NewPat::default()).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let told = format!("{} {}", listener.local_addr().unwrap(), pat.expose_secret());
    actix_web::rt::System::new().block_on(async {
        let app = portico::app::App::start(config, Arc::new(|_| {})).await.unwrap();
        fs::write(folder.join("told.new"), told).unwrap();
        fs::rename(folder.join("told.new"), folder.join("told")).unwrap();
        portico::run(app, listener, std::future::pending()).await.unwrap();
    });
}

/// What one statement fetched from one connection.
pub(crate) struct Fetched {
    pub(crate) connection: String,
    pub(crate) rows: u64,
    pub(crate) octets: u64,
}

/// The service.
pub(crate) struct Portico {
    child: Child,
    base: String,
    pat: String,
    http: reqwest::Client,
    _folder: TempDir,
}

impl Drop for Portico {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Portico {
    /// Starts it with these connections, and a workspace over them.
    pub(crate) async fn start(connections: &[(&str, &str)], assets: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut text = "[server]\nlisten = \"127.0.0.1:0\"\n".to_owned();
        for (name, url) in connections {
            let id = uuid::Uuid::new_v4();
            text += &format!("[[connections]]\nid = \"{id}\"\nname = \"{name}\"\nurl = \"{url}\"\n");
        }
        text += &format!("[[workspaces]]\nname = \"tpch\"\nassets = [{assets}]\n");
        let config = folder.path().join("config.toml");
        fs::write(&config, text).unwrap();
        let child = Command::new(std::env::current_exe().unwrap()).arg(SERVE).arg(&config).spawn().unwrap();
        let told = loop {
            if let Ok(told) = fs::read_to_string(folder.path().join("told")) {
                break told;
            }
            actix_web::rt::time::sleep(Duration::from_millis(50)).await;
        };
        let (address, pat) = told.split_once(' ').unwrap();
        let (base, pat) = (format!("http://{address}"), pat.to_owned());
        let portico = Self { child, base, pat, http: reqwest::Client::new(), _folder: folder };
        while !portico.ready().await {
            actix_web::rt::time::sleep(Duration::from_millis(50)).await;
        }
        portico
    }

    async fn ready(&self) -> bool {
        let asked = self.http.get(format!("{}/readyz", self.base)).send().await;
        asked.is_ok_and(|answer| answer.status().is_success())
    }

    async fn answer(&self, query: &str, workspace: bool) -> Result<Value, String> {
        let path = if workspace { "query?workspace=tpch" } else { "query" };
        let request = self.http.post(format!("{}/api/{path}", self.base)).bearer_auth(&self.pat);
        let response =
            request.json(&json!({"query": query, "timeout": 300})).send().await.map_err(|it| it.to_string())?;
        let status = response.status();
        let document: Value = response.json().await.map_err(|error| error.to_string())?;
        let failed = document["error"].is_object() || document["results"][0]["error"].is_object();
        if !status.is_success() || failed { Err(document.to_string()) } else { Ok(document) }
    }

    /// The seconds of the quickest round.
    pub(crate) async fn seconds(&self, query: &str, rounds: usize) -> Option<f64> {
        let mut quickest: Option<f64> = None;
        for _ in 0..rounds {
            let begun = Instant::now();
            if let Err(error) = self.answer(query, true).await {
                println!("{error}");
                return None;
            }
            let took = begun.elapsed().as_secs_f64();
            quickest = Some(quickest.map_or(took, |quickest| quickest.min(took)));
        }
        quickest
    }

    /// The most memory that the process has while it runs, in MiB.
    pub(crate) async fn peak(&self, query: &str) -> u64 {
        let process = format!("/proc/{}", self.child.id());
        // The mark begins anew.
        fs::write(format!("{process}/clear_refs"), "5").unwrap();
        let _ = self.answer(query, true).await;
        let status = fs::read_to_string(format!("{process}/status")).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() / 1024
    }

    /// What it fetches from each connection.
    pub(crate) async fn fetched(&self, query: &str) -> Vec<Fetched> {
        let Ok(told) = self.answer(&format!("EXPLAIN ANALYZE {query}"), true).await else { return Vec::new() };
        let rows = told["results"][0]["rows"].as_array().unwrap();
        rows.iter()
            .filter_map(|row| {
                let line = row[0].as_str().unwrap();
                let after = |word: &str| {
                    let (_, rest) = line.split_once(word)?;
                    Some(rest[..rest.find([',', ']']).unwrap_or(rest.len())].trim().to_owned())
                };
                let number = |word: &str| after(word).map_or(0, |text| number(&text));
                let connection = after("Source: connection=")?;
                Some(Fetched { connection, rows: number("output_rows="), octets: number("output_octets=") })
            })
            .collect()
    }

    /// A join of two sources with a selective side, beside what its two statements take by themselves.
    pub(crate) async fn selective(&self) {
        let joined = "SELECT c.c_name, o.o_orderkey FROM second.public.customer c JOIN first.public.orders o \
                      ON o.o_custkey = c.c_custkey WHERE c.c_custkey BETWEEN 100 AND 120";
        let mut took = [f64::INFINITY; 3];
        let alone = [
            "SELECT c_custkey, c_name FROM second.public.customer WHERE c_custkey BETWEEN 100 AND 120",
            "SELECT o_custkey, o_orderkey FROM first.public.orders WHERE o_custkey BETWEEN 100 AND 120",
        ];
        for _ in 0..5 {
            for (place, query) in [joined, alone[0], alone[1]].into_iter().enumerate() {
                let begun = Instant::now();
                self.answer(query, false).await.unwrap();
                took[place] = took[place].min(begun.elapsed().as_secs_f64() * 1000.0);
            }
        }
        let [joined, one, other] = took;
        println!("a selective join: {joined:.1} ms; its two sides alone: {one:.1} ms and {other:.1} ms");
    }
}

/// A number as plans tell it: `1.5 K`, `2.3 M`, `7`.
fn number(text: &str) -> u64 {
    let (number, unit) = text.split_once(' ').unwrap_or((text, ""));
    let times = match unit {
        "K" => 1_000,
        "M" => 1_000_000,
        "B" => 1_000_000_000,
        _ => 1,
    };
    let (whole, rest) = number.split_once('.').unwrap_or((number, ""));
    let fraction = format!("{rest:0<9}").get(..9).and_then(|rest| rest.parse::<u64>().ok()).unwrap_or_default();
    whole.parse::<u64>().unwrap_or_default() * times + fraction * times / 1_000_000_000
}
