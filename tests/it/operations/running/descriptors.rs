//! A running service that has no descriptors left, or only those that clients may not take.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;

use rustix::process::{Resource, Rlimit, getrlimit, prlimit};
use serde_json::json;

use crate::support::app::{DEADLINE, awaited, eventually, read};
use crate::support::configuration::Configuration;
use crate::support::fixture;
use crate::support::proxy::ChaosProxy;

#[actix_web::test]
async fn where_no_descriptors_are_left_readiness_and_log_say_so() {
    let mut service = Configuration::new().sqlite("shop", "").serve().await;
    let ready = async || read(service.get("/readyz").send().await.unwrap()).await;
    assert_eq!(ready().await.0, 200);
    // As many as are open, and none beside them. The process may raise it again up to what it may have.
    let most = getrlimit(Resource::Nofile).maximum;
    let least = Rlimit { current: Some(service.census().descriptors as u64), maximum: most };
    let was = prlimit(Some(service.id()), Resource::Nofile, least).unwrap();
    let (_, told) =
        awaited("the want of descriptors", async || Some(ready().await).filter(|(status, _)| *status == 503)).await;
    assert_eq!(
        (&told["status"], &told["reason"]),
        (&json!("unavailable"), &json!("there are no file descriptors left"))
    );
    let mut waiting = TcpStream::connect(("127.0.0.1", service.port())).unwrap();
    waiting.write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    let line = service.line("Too many open files").await;
    assert!(line.contains(" ERROR "), "{line}");
    prlimit(Some(service.id()), Resource::Nofile, was).unwrap();
    let answered = tokio::task::spawn_blocking(move || {
        waiting.set_read_timeout(Some(DEADLINE)).unwrap();
        let mut begin = [0; 15];
        waiting.read_exact(&mut begin).unwrap();
        begin
    });
    assert_eq!(answered.await.unwrap(), *b"HTTP/1.1 200 OK");
    assert_eq!(read(service.get("/readyz").send().await.unwrap()).await.0, 200);
}

#[actix_web::test]
async fn where_clients_have_all_that_they_may_sources_still_reconnect() {
    let url = fixture::postgres().await;
    let proxy = ChaosProxy::start(&url, true).await;
    let mut command = Command::new("prlimit");
    command.args(["--nofile=300:300", env!("CARGO_BIN_EXE_portico")]);
    let service = Configuration::new().connection("shop", &proxy.url(&url), "connect_timeout = 2");
    let mut service = service.serve_by(command).await;
    let said = service.seen().iter().any(|line| line.contains("raise LimitNOFILE= for more"));
    if !said {
        service.line("raise LimitNOFILE= for more").await;
    }
    assert_eq!(service.query("SELECT 1").await.0, 200);
    // More than may be open, and no more than the kernel has wait.
    let clients: Vec<TcpStream> = (0..180)
        .map(|_| {
            let mut client = TcpStream::connect(("127.0.0.1", service.port())).unwrap();
            client.write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
            client
        })
        .collect();
    proxy.break_up();
    // Every session is lost, and on the connection that is there already somebody is told so.
    eventually("the loss of the sessions", async || service.query("SELECT 1").await.0 == 503).await;
    proxy.restore();
    eventually("the connection to be back", async || service.query("SELECT 1").await.0 == 200).await;
    let (status, told) = read(service.get("/readyz").send().await.unwrap()).await;
    assert_eq!(status, 200, "{told}");
    assert!(service.census().descriptors < 300);
    drop(clients);
}
