//! What an open, idle stream costs a running service in memory, and how soon it notices that its client has left.
//!
//! `cargo run --example idle_streams -- CREDENTIALS.json PID [COUNT]`, after `portico demo`; the
//! limit of open files (`ulimit -n`) must allow the count on both sides. Linux only.

#![allow(clippy::print_stdout)]

use std::error::Error;
use std::fs;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Resident memory of a process, in KiB.
fn resident(pid: &str) -> Result<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no VmRSS")?;
    Ok(line.trim().trim_end_matches(" kB").parse()?)
}

fn open_files(pid: &str) -> Result<usize> {
    Ok(fs::read_dir(format!("/proc/{pid}/fd"))?.count())
}

async fn stream(host: &str, path: &str, basic: &str) -> Result<TcpStream> {
    let mut socket = TcpStream::connect(host).await?;
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Basic {basic}\r\nAccept: text/event-stream\r\n\r\n"
    );
    socket.write_all(request.as_bytes()).await?;
    let mut head = [0; 2048];
    let read = socket.read(&mut head).await?;
    if !head[..read].starts_with(b"HTTP/1.1 200") {
        return Err(String::from_utf8_lossy(&head[..read]).into());
    }
    Ok(socket)
}

#[actix::main]
async fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let (file, pid) = (arguments.next().ok_or("CREDENTIALS.json")?, arguments.next().ok_or("PID")?);
    let count: u64 = arguments.next().as_deref().unwrap_or("10000").parse()?;
    let credentials: serde_json::Value = serde_json::from_str(&fs::read_to_string(file)?)?;
    let text = |member: &str| credentials[member].as_str().unwrap_or_default().to_owned();
    let (url, base) = (text("mcpUrl"), text("baseUrl"));
    let host = base.trim_start_matches("http://");
    let path = url.trim_start_matches(&base);
    let basic = BASE64.encode(format!("{}:{}", text("user"), text("pat")));
    let warm = stream(host, path, &basic).await?;
    let (before, files) = (resident(&pid)?, open_files(&pid)?);
    let mut streams = Vec::new();
    for _ in 0..count {
        streams.push(stream(host, path, &basic).await?);
    }
    // Two heartbeats: what they cost is part of it.
    tokio::time::sleep(Duration::from_secs(31)).await;
    let after = resident(&pid)?;
    println!("{count} streams: {} KiB, {} bytes each", after - before, (after - before) * 1024 / count);
    // What was not read would make the goodbye a loud one: a reset instead of an end.
    let mut rest = [0; 4096];
    for stream in &streams {
        while stream.try_read(&mut rest).is_ok_and(|read| read > 0) {}
    }
    drop(streams);
    let left = Instant::now();
    while open_files(&pid)? > files + 16 {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    println!("noticed that they are gone within {:.1} s", left.elapsed().as_secs_f64());
    drop(warm);
    Ok(())
}
