//! What the service manager is told, and what it hands over: the tests stand in for it.

use std::os::unix::net::UnixDatagram;
use std::path::Path;

use serde_json::json;
use tempfile::TempDir;

use crate::support::app::{DEADLINE, eventually};
use crate::support::configuration::Configuration;
use crate::support::fixture;

/// The manager's end of the notification socket.
struct Manager(UnixDatagram);

impl Manager {
    fn listen(folder: &Path) -> (Self, String) {
        let path = folder.join("notify");
        (Self(UnixDatagram::bind(&path).unwrap()), path.display().to_string())
    }

    /// Forgets what was told before.
    fn forget(&self) {
        self.0.set_nonblocking(true).unwrap();
        while self.0.recv(&mut [0; 4096]).is_ok() {}
        self.0.set_nonblocking(false).unwrap();
    }

    /// Waits for a message with `line` in it, and gives all of its lines.
    async fn told(&self, line: &str) -> Vec<String> {
        let socket = self.0.try_clone().unwrap();
        let line = line.to_owned();
        socket.set_read_timeout(Some(DEADLINE)).unwrap();
        let (place, wanted) = (std::panic::Location::caller(), line.clone());
        let read = move || loop {
            let mut buffer = [0; 4096];
            let received = socket.recv(&mut buffer);
            let length = received.unwrap_or_else(|_| panic!("{place}: nobody told {wanted:?}"));
            let lines: Vec<String> =
                std::str::from_utf8(&buffer[..length]).unwrap().lines().map(str::to_owned).collect();
            if lines.iter().any(|told| told.starts_with(&line)) {
                return lines;
            }
        };
        tokio::task::spawn_blocking(read).await.unwrap()
    }
}

#[actix_web::test]
async fn the_manager_is_told_of_start_reload_life_and_end() {
    let service = Configuration::new().connection("shop", "sqlite:not-there.db", "");
    let (manager, path) = Manager::listen(service.path());
    let mut service = service.serve_with(&[("NOTIFY_SOCKET", &path), ("WATCHDOG_USEC", "20000000")]).await;
    let ready = manager.told("READY=1").await;
    assert!(ready.contains(&"STATUS=0 of 1 connections up; shop down".to_owned()), "{ready:?}");
    manager.told("WATCHDOG=1").await;
    service.signal("HUP");
    let reloading = manager.told("RELOADING=1").await;
    let stamp = reloading.iter().find_map(|line| line.strip_prefix("MONOTONIC_USEC=")).unwrap();
    assert!(stamp.parse::<u64>().unwrap() > 0);
    manager.told("READY=1").await;
    service.signal("TERM");
    manager.told("STOPPING=1").await;
    assert!(service.ended().await.success());
}

#[actix_web::test]
async fn the_watchdog_is_fed_while_the_store_is_locked_and_strangers_wait() {
    let more = "[oauth]\ndynamic_registration = true\n[limits]\nregistrations_per_address = 1000";
    let service = Configuration::new().server("metrics = \"open\"").sqlite("shop", "").with(more);
    let (manager, path) = Manager::listen(service.path());
    let service = service.serve_with(&[("NOTIFY_SOCKET", &path), ("WATCHDOG_USEC", "4000000")]).await;
    let lock = rusqlite::Connection::open(service.folder.path().join("portico.db")).unwrap();
    lock.execute_batch("BEGIN IMMEDIATE").unwrap();
    // Some of them wait for the store's writer, one behind the other; the others are refused at once.
    let register = || {
        let body = json!({"redirect_uris": ["http://localhost/x"]});
        tokio::spawn(service.http.post(format!("{}/oauth/register", service.url)).json(&body).send())
    };
    let waiting: Vec<_> = (0..30).map(|_| register()).collect();
    let failures = async || {
        let text = service.get("/metrics").send().await.unwrap().text().await.unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix("portico_store_failures_total ")).map(str::to_owned);
        line.unwrap().parse::<u64>().unwrap()
    };
    eventually("the store to fail", async || failures().await != 0).await;
    manager.forget();
    let mut later = Vec::new();
    for _ in 0..3 {
        later.push(register());
        manager.told("WATCHDOG=1").await;
    }
    assert!(later.last().is_some_and(|request| !request.is_finished()), "the last of them waits for the store");
    assert_eq!(service.get("/healthz").send().await.unwrap().status(), 200);
    let health = service.run(&["health"]);
    assert!(health.status.success(), "{health:?}");
    for request in waiting {
        let answer = request.await.unwrap().unwrap();
        assert!([429, 503].contains(&answer.status().as_u16()), "{}", answer.status());
        assert!(answer.headers().contains_key("retry-after"));
    }
    lock.execute_batch("ROLLBACK").unwrap();
    later.iter().for_each(tokio::task::JoinHandle::abort);
}

#[actix_web::test]
async fn a_refused_reload_ends_ready_and_says_so() {
    let service = Configuration::new().sqlite("shop", "");
    let (manager, path) = Manager::listen(service.path());
    let service = service.serve_with(&[("NOTIFY_SOCKET", &path)]).await;
    manager.told("READY=1").await;
    std::fs::write(service.folder.path().join("config.toml"), "nonsense").unwrap();
    service.signal("HUP");
    manager.told("RELOADING=1").await;
    let ready = manager.told("READY=1").await;
    assert!(ready.iter().any(|line| line.ends_with("the last reload was refused")), "{ready:?}");
}

#[actix_web::test]
async fn credentials_are_read_from_their_folder_and_read_again() {
    let folder = TempDir::new().unwrap();
    let (url, path) = (fixture::sqlite(&folder, "shop.db"), folder.path().to_str().unwrap().to_owned());
    std::fs::write(folder.path().join("database"), format!("{url}\n")).unwrap();
    let service = Configuration::in_folder(folder).connection("shop", "${credential:database}", "");
    let service = service.serve_with(&[("CREDENTIALS_DIRECTORY", &path)]).await;
    assert_eq!(service.query("SELECT count(*) FROM customers").await.0, 200);
    // Who manages users needs no credential of the service's.
    assert!(service.run(&["user", "list"]).status.success());
    // The file has not changed, but what it stands for has.
    let other = service.folder.path().join("other.db");
    rusqlite::Connection::open(&other).unwrap().execute_batch("CREATE TABLE fresh (a)").unwrap();
    std::fs::write(service.folder.path().join("database"), format!("sqlite:{}\n", other.display())).unwrap();
    let (done, said) = service.reload().await;
    assert!(done && said["report"]["changed"][0] == "shop", "{said}");
    assert_eq!(service.query("SELECT count(*) FROM fresh").await.0, 200);
    std::fs::remove_file(service.folder.path().join("database")).unwrap();
    let (done, said) = service.reload().await;
    assert!(!done && said["problems"][0]["key"] == "connections[0].url", "{said}");
}
