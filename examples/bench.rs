//! Throughput: Portico beside bare actix-web handlers (with tokio-postgres) that do the same.
//!
//! They take turns on the same machine: only the ratios count.
//!
//! ```sh
//! PORTICO_BENCH=postgres://user@127.0.0.1:5432/database cargo run --release --example bench
//! ```
#![allow(clippy::print_stdout, clippy::unwrap_used, clippy::cast_precision_loss)]

use std::collections::HashMap;
use std::net::TcpListener;
use std::process::{Child, Command};
use std::sync::Arc;
use std::time::{Duration, Instant};

use actix_web::{App, HttpResponse, HttpServer, web};
use futures_util::StreamExt;
use portico::config::Config;
use portico_actors::auth::records::{NewPat, NewUser};
use portico_actors::auth::store::Store;
use portico_actors::principal::{Rights, Scope};
use secrecy::ExposeSecret;
use serde_json::json;
use tikv_jemallocator::Jemalloc;

/// As in the program.
#[global_allocator]
static ALLOCATOR: Jemalloc = Jemalloc;

const ROUNDS: usize = 5;
const PORTICO: u16 = 18_787;
const BARE: u16 = 18_788;

fn main() {
    let database = std::env::var("PORTICO_BENCH").expect("PORTICO_BENCH is the URL of a PostgreSQL database");
    match std::env::args().nth(1).as_deref() {
        Some("portico") => serve_portico(&database),
        Some("bare") => serve_bare(database),
        _ => actix_web::rt::System::new().block_on(measure()),
    }
}

/// Portico as it is, with one user whose token is told through a file.
fn serve_portico(database: &str) {
    let folder = tempfile::tempdir().unwrap();
    let text = format!(
        "[server]\nlisten = \"127.0.0.1:{PORTICO}\"\n[[connections]]\nid = \"{}\"\nname = \"bench\"\nurl = \"{database}\"\n",
        uuid::Uuid::nil()
    );
    let config = Config::parse(&text, folder.path(), &|_| None).unwrap();
    let mut store = Store::open(&config.store.place).unwrap();
    let email = "bench@example.com".to_owned();
    store.add_user(NewUser { email: email.clone(), rights: Rights::all(Scope::Read) }).unwrap();
    let (_, pat) = store.create_pat(&email, NewPat::default()).unwrap();
    std::fs::write(pat_file(), pat.expose_secret()).unwrap();
    let listener = TcpListener::bind(("127.0.0.1", PORTICO)).unwrap();
    actix_web::rt::System::new().block_on(async {
        let app = portico::app::App::start(config, Arc::new(|_| {})).await.unwrap();
        portico::run(app, listener, std::future::pending()).await.unwrap();
    });
}

fn pat_file() -> std::path::PathBuf {
    std::env::temp_dir().join("portico-bench-pat")
}

/// The least that answers: one session a worker, prepared statements, rows written by hand.
fn serve_bare(database: String) {
    actix_web::rt::System::new()
        .block_on(
            HttpServer::new(move || {
                let database = database.clone();
                App::new()
                    .data_factory(move || {
                        let database = database.clone();
                        async move {
                            let (client, connection) =
                                tokio_postgres::connect(&database, tokio_postgres::NoTls).await.map_err(drop)?;
                            actix_web::rt::spawn(async { drop(connection.await) });
                            Ok::<_, ()>(client)
                        }
                    })
                    .route("/api/query", web::post().to(bare))
                    .route("/mcp/connections/{connectionId}", web::post().to(bare_tools))
            })
            .tcp_nodelay(true)
            .bind(("127.0.0.1", BARE))
            .unwrap()
            .run(),
        )
        .unwrap();
}

async fn bare(body: web::Json<serde_json::Value>, client: web::Data<tokio_postgres::Client>) -> HttpResponse {
    let rows = client.query_raw(body["query"].as_str().unwrap(), Vec::<i32>::new()).await.unwrap();
    let chunks = rows.ready_chunks(256).map(|rows| {
        let mut text = String::with_capacity(rows.len() * 32);
        for row in rows.into_iter().map(Result::unwrap) {
            let (number, word): (i32, &str) = (row.get(0), row.get(1));
            text.push_str(&json!([number, word]).to_string());
            text.push(',');
        }
        Ok::<_, std::io::Error>(web::Bytes::from(text))
    });
    HttpResponse::Ok().streaming(chunks)
}

/// Reads the request and answers as many bytes as it names.
async fn bare_tools(body: web::Json<serde_json::Value>, query: web::Query<HashMap<String, usize>>) -> HttpResponse {
    assert_eq!(body["method"], "tools/list");
    HttpResponse::Ok().content_type("application/json").body("x".repeat(query["bytes"]))
}

/// What is asked for.
enum Ask<'a> {
    Rows(&'a str),
    /// The catalogue of tools; of the bare handler, as many bytes.
    Tools(usize),
}

struct Server {
    child: Child,
    base: String,
    pat: Option<String>,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    /// User and system time so far, in seconds.
    fn cpu(&self) -> f64 {
        let text = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).unwrap();
        let fields: Vec<&str> = text.rsplit(')').next().unwrap().split_whitespace().collect();
        (fields[11].parse::<f64>().unwrap() + fields[12].parse::<f64>().unwrap()) / 100.0
    }

    /// Begins to measure the peak of memory anew, and gives the memory now, in KiB.
    fn reset_peak(&self) -> u64 {
        std::fs::write(format!("/proc/{}/clear_refs", self.child.id()), "5").unwrap();
        self.memory("VmRSS:")
    }

    fn memory(&self, line: &str) -> u64 {
        let text = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = text.lines().find(|each| each.starts_with(line)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }

    fn request(&self, http: &reqwest::Client, ask: &Ask<'_>) -> reqwest::RequestBuilder {
        let (path, body) = match ask {
            Ask::Rows(query) => ("/api/query".to_owned(), json!({"query": query})),
            Ask::Tools(bytes) => (
                format!("/mcp/connections/{}?bytes={bytes}", uuid::Uuid::nil()),
                json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}),
            ),
        };
        let request = http.post(format!("{}{path}", self.base)).json(&body);
        match &self.pat {
            Some(pat) => request.basic_auth("bench@example.com", Some(pat)),
            None => request,
        }
    }

    /// One answer, read to its end: time to the first byte and bytes.
    async fn read(&self, http: &reqwest::Client, ask: &Ask<'_>) -> (Duration, usize) {
        let started = Instant::now();
        let mut response = self.request(http, ask).send().await.unwrap().error_for_status().unwrap();
        let mut bytes = response.chunk().await.unwrap().map_or(0, |chunk| chunk.len());
        let first = started.elapsed();
        while let Some(chunk) = response.chunk().await.unwrap() {
            bytes += chunk.len();
        }
        (first, bytes)
    }
}

async fn start(role: &str, port: u16) -> Server {
    let _ = std::fs::remove_file(pat_file());
    let child = Command::new(std::env::current_exe().unwrap()).arg(role).spawn().unwrap();
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let mut server = Server { child, base: format!("http://127.0.0.1:{port}"), pat: None };
    loop {
        server.pat = std::fs::read_to_string(pat_file()).ok().filter(|_| role == "portico");
        let answer = server.request(&http, &Ask::Rows("SELECT 1, 'x'")).send().await;
        if answer.is_ok_and(|answer| answer.status().is_success()) {
            return server;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Requests a second with `callers` at once, and CPU microseconds a request.
async fn throughput(server: &Server, http: &reqwest::Client, ask: &Ask<'_>, callers: usize) -> (f64, f64) {
    let (started, cpu) = (Instant::now(), server.cpu());
    let until = started + Duration::from_secs(2);
    let loops = (0..callers).map(|_| async {
        let mut count = 0_u32;
        while Instant::now() < until {
            server.read(http, ask).await;
            count += 1;
        }
        count
    });
    let count: u32 = futures_util::future::join_all(loops).await.into_iter().sum();
    (f64::from(count) / started.elapsed().as_secs_f64(), (server.cpu() - cpu) * 1e6 / f64::from(count))
}

async fn measure() {
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let (portico, bare) = (start("portico", PORTICO).await, start("bare", BARE).await);
    println!("medians of {ROUNDS} interleaved rounds: Portico, bare handler, ratio");
    let one = Ask::Rows("SELECT 1, 'word'");
    let thousand = Ask::Rows("SELECT i, 'row number ' || i FROM generate_series(1, 1000) i");
    let tools = Ask::Tools(portico.read(&http, &Ask::Tools(0)).await.1);
    for (name, ask, callers) in [
        ("1 row, 1 caller", &one, 1),
        ("1 row, 16 callers", &one, 16),
        ("1,000 rows, 4 callers", &thousand, 4),
        ("tools/list, 1 caller", &tools, 1),
        ("tools/list, 16 callers", &tools, 16),
    ] {
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            ours.push(throughput(&portico, &http, ask, callers).await);
            theirs.push(throughput(&bare, &http, ask, callers).await);
        }
        let of = |figures: &[(f64, f64)], pick: fn(&(f64, f64)) -> f64| median(figures.iter().map(pick).collect());
        let (a, b) = (of(&ours, |it| it.0), of(&theirs, |it| it.0));
        println!("{name}: {a:.0}/s, {b:.0}/s, {:.2}", a / b);
        let (a, b) = (of(&ours, |it| it.1), of(&theirs, |it| it.1));
        println!("{name}: {a:.0} us CPU, {b:.0} us CPU, {:.2}", a / b);
    }
    for rows in [100_000, 1_000_000] {
        let query = format!("SELECT generate_series(1, {rows}), 'a row of some text'");
        for (name, server) in [("Portico", &portico), ("bare", &bare)] {
            let before = server.reset_peak();
            let (started, cpu) = (Instant::now(), server.cpu());
            let (first, bytes) = server.read(&http, &Ask::Rows(&query)).await;
            println!(
                "{rows} rows, {name}: first byte {:.1} ms, {:.2} s, {:.2} s CPU, {} MB, memory +{} KiB",
                first.as_secs_f64() * 1e3,
                started.elapsed().as_secs_f64(),
                server.cpu() - cpu,
                bytes / 1_000_000,
                server.memory("VmHWM:").saturating_sub(before)
            );
        }
    }
}
