//! What a thousand configured connections that nobody uses cost one process: time to start, memory, latency beside them.
//!
//! `cargo run --release --example many_connections -- [--connections 1000] [--used 50] [--calls 2000]`
//! with `--postgres URL` for connections to that database instead of SQLite files. It runs the
//! program beside it, `target/release/portico`. Linux only.
#![allow(clippy::print_stdout, clippy::cast_precision_loss)]

use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use portico_actors::auth::records::{NewPat, NewUser};
use portico_actors::auth::store::Store;
use portico_actors::principal::Rights;
use reqwest::Client;
use secrecy::ExposeSecret;
use serde_json::json;
use uuid::Uuid;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// How often each cold start is measured; the median is told.
const STARTS: usize = 7;
const USER: &str = "many@example.org";

struct Asked {
    connections: usize,
    used: usize,
    calls: usize,
    postgres: Option<String>,
}

fn asked() -> Result<Asked> {
    let mut asked = Asked { connections: 1000, used: 50, calls: 2000, postgres: None };
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        let value = arguments.next().ok_or_else(|| format!("{name} needs a value"))?;
        match name.as_str() {
            "--connections" => asked.connections = value.parse()?,
            "--used" => asked.used = value.parse()?,
            "--calls" => asked.calls = value.parse()?,
            "--postgres" => asked.postgres = Some(value),
            _ => return Err(format!("there is no {name}").into()),
        }
    }
    asked.used = asked.used.clamp(1, asked.connections);
    Ok(asked)
}

/// A folder with a configuration of so many connections, and a user who may use them.
fn prepare(folder: &Path, count: usize, asked: &Asked) -> Result<(String, String)> {
    fs::create_dir_all(folder)?;
    let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    let mut text = format!("[server]\nlisten = \"127.0.0.1:{port}\"\n[defaults]\nstart = \"lazy\"\n");
    for number in 1..=count {
        let url = match &asked.postgres {
            Some(url) => url.clone(),
            None => {
                let file = folder.join(format!("c{number}.db"));
                rusqlite::Connection::open(&file)?.execute_batch("CREATE TABLE t (a int); INSERT INTO t VALUES (1)")?;
                format!("sqlite:{}", file.display())
            }
        };
        let id = Uuid::from_u128(number as u128);
        writeln!(text, "[[connections]]\nid = \"{id}\"\nname = \"c{number}\"\nurl = \"{url}\"")?;
        // What an administrator would write beside it.
        writeln!(text, "access = \"read-only\"\npool = 5\ninstructions = \"Amounts are in euros. Orders are in t.\"")?;
    }
    fs::write(folder.join("config.toml"), text)?;
    let mut store = Store::open(folder.join("portico.db"))?;
    store.add_user(NewUser { email: USER.to_owned(), rights: Rights::ALL })?;
    let (_, token) = store.create_pat(USER, NewPat::default())?;
    Ok((format!("http://127.0.0.1:{port}"), token.expose_secret().to_owned()))
}

/// The program that was built with this example.
fn program() -> Result<PathBuf> {
    let path = std::env::current_exe()?;
    let folder = path.parent().and_then(Path::parent).ok_or("this program is in no folder")?;
    Ok(folder.join("portico"))
}

/// The service as a child process, which ends with this value.
struct Service {
    child: Child,
    url: String,
    token: String,
    http: Client,
}

impl Service {
    /// Starts it; gives the milliseconds until `/healthz` and until `/readyz` answered 200.
    async fn start(folder: &Path, (url, token): (String, String)) -> Result<(Self, f64, f64)> {
        let http = Client::builder().no_proxy().build()?;
        let begun = Instant::now();
        let mut command = Command::new(program()?);
        command.arg("serve").current_dir(folder).env("RUST_LOG", "error").stderr(Stdio::null());
        let service = Self { child: command.spawn()?, url, token, http };
        let mut times = [0.0; 2];
        for (time, path) in times.iter_mut().zip(["/healthz", "/readyz"]) {
            while !service.answers(path).await {
                if begun.elapsed() > Duration::from_secs(60) {
                    return Err("the service does not start".into());
                }
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            *time = begun.elapsed().as_secs_f64() * 1e3;
        }
        Ok((service, times[0], times[1]))
    }

    async fn answers(&self, path: &str) -> bool {
        let answer = self.http.get(format!("{}{path}", self.url)).send().await;
        answer.is_ok_and(|answer| answer.status().is_success())
    }

    /// A line of the process's own status, a number.
    fn status(&self, name: &str) -> Result<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix(name)).ok_or("no such line")?;
        Ok(line.trim_start_matches(':').trim().trim_end_matches(" kB").parse()?)
    }

    /// Milliseconds of processor time that it has taken so far, in steps of ten: other than the clock's
    /// it says the same on a machine that has more to do.
    fn processor(&self) -> Result<f64> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.child.id()))?;
        // proc(5): utime and stime, the 12th and 13th behind the name in parentheses, in hundredths of a second.
        let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
        let ticks: Vec<f64> = fields.skip(11).take(2).map(str::parse).collect::<std::result::Result<_, _>>()?;
        Ok(ticks.iter().sum::<f64>() * 10.0)
    }

    /// One row from the connection with this number, in milliseconds.
    async fn call(&self, number: usize, by: Way) -> Result<f64> {
        let begun = Instant::now();
        let request = match by {
            Way::Mcp => {
                let id = Uuid::from_u128(number as u128);
                let params = json!({"name": "execute_select", "arguments": {"query": "SELECT 1 AS one"}});
                let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
                self.http.post(format!("{}/mcp/connections/{id}", self.url)).json(&body)
            }
            Way::Sql => {
                let body = json!({"query": "SELECT 1 AS one", "defaultCatalog": format!("c{number}")});
                self.http.post(format!("{}/api/query", self.url)).json(&body)
            }
        };
        let answer = request.basic_auth(USER, Some(&self.token)).send().await?;
        let (status, text) = (answer.status(), answer.text().await?);
        if !status.is_success() || text.contains("\"isError\":true") || text.contains("\"error\":") {
            return Err(format!("{status}: {text}").into());
        }
        Ok(begun.elapsed().as_secs_f64() * 1e3)
    }

    /// The 50th and the 99th hundredth of `calls` calls, one after the other, over `used` connections, and
    /// the processor time of each, all in milliseconds.
    async fn latencies(&self, used: usize, calls: usize, by: Way) -> Result<(f64, f64, f64)> {
        let before = self.processor()?;
        let mut times = Vec::with_capacity(calls);
        for call in 0..calls {
            times.push(self.call(call % used + 1, by).await?);
        }
        times.sort_by(f64::total_cmp);
        let each = (self.processor()? - before) / calls as f64;
        Ok((times[calls / 2], times[calls * 99 / 100], each))
    }
}

#[derive(Clone, Copy)]
enum Way {
    Mcp,
    Sql,
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[actix::main]
async fn main() -> Result<()> {
    let asked = asked()?;
    let folder = std::env::temp_dir().join(format!("portico-many-{}", std::process::id()));
    let measured = measure(&folder, &asked).await;
    fs::remove_dir_all(&folder)?;
    measured
}

async fn measure(folder: &Path, asked: &Asked) -> Result<()> {
    let mut before = 0;
    for count in [1, asked.connections] {
        let place = folder.join(count.to_string());
        let access = prepare(&place, count, asked)?;
        // The first start makes the signing key.
        drop(Service::start(&place, access.clone()).await?);
        let mut starts = Vec::new();
        for _ in 0..STARTS {
            let (_service, healthy, ready) = Service::start(&place, access.clone()).await?;
            starts.push((healthy, ready));
        }
        starts.sort_by(|a, b| a.1.total_cmp(&b.1));
        let (healthy, ready) = starts[STARTS / 2];
        println!("{count} connections: /healthz after {healthy:.0} ms, /readyz after {ready:.0} ms");
        let (service, ..) = Service::start(&place, access).await?;
        let (memory, threads) = (service.status("VmRSS")?, service.status("Threads")?);
        let taken = service.processor()?;
        println!("  idle: {memory} KiB resident, {threads} threads; its start took {taken:.0} ms of processor time");
        if count == 1 {
            before = memory;
        } else {
            let each = memory.saturating_sub(before) as f64 / (count - 1) as f64;
            println!("  each connection more: {each:.1} KiB");
        }
        let used = asked.used.min(count);
        let mut first = Vec::new();
        for number in 1..=used {
            first.push(service.call(number, Way::Mcp).await?);
        }
        first.sort_by(f64::total_cmp);
        println!("  the first call of each of {used}: p50 {:.2} ms", first[used / 2]);
        for (way, name) in [(Way::Mcp, "MCP"), (Way::Sql, "SQL")] {
            service.latencies(used, asked.calls / 4, way).await?;
            let (half, most, each) = service.latencies(used, asked.calls, way).await?;
            println!("  one row by {name} over {used}: p50 {half:.2} ms, p99 {most:.2} ms, processor {each:.3} ms");
        }
        let (memory, threads) = (service.status("VmRSS")?, service.status("Threads")?);
        println!("  {used} used: {memory} KiB resident, {threads} threads");
        let metrics = service.http.get(format!("{}/metrics", service.url)).basic_auth(USER, Some(&service.token));
        let length = metrics.send().await?.text().await?.len();
        println!("  /metrics: {} KiB; resident afterwards {} KiB", length / 1024, service.status("VmRSS")?);
    }
    Ok(())
}
