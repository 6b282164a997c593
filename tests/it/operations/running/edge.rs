//! TLS, HTTP/2, Unix sockets, inherited sockets and proxies: the edges of the service.

use std::net::{IpAddr, TcpListener};
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::process::{Command, Stdio};

use reqwest::Version;
use serde_json::json;

use crate::support::app::{builder, client, eventually, read};
use crate::support::configuration::{BOTH_DOORS, Configuration, shop};
use crate::support::fixture;
use crate::support::mcp::ENDLESS;
use crate::support::postgres::connect;
use crate::support::process::{Running, portico};
use crate::support::service::Service;
use crate::support::tls::{Authority, TLS};
use portico_actors::event::Event;

async fn secured(service: &Service, client: &reqwest::Client) -> Result<Version, reqwest::Error> {
    let request = client.post(format!("https://localhost:{}/api/query", service.port()));
    let request = request.basic_auth(&service.writer.name, Some(&service.writer.secret));
    let response = request.json(&json!({"query": "SELECT 1"})).send().await?;
    let version = response.version();
    assert_eq!(read(response).await.0, 200);
    Ok(version)
}

#[actix_web::test]
async fn http2_is_spoken_only_where_it_is_switched_on() {
    let service = Configuration::new().server(&TLS.replace("http2 = true", "")).sqlite("shop", "");
    let authority = Authority::new("own");
    authority.sign(service.path(), "server");
    let service = service.serve().await;
    assert_eq!(secured(&service, &authority.client(None)).await.unwrap(), Version::HTTP_11);
    let config = service.folder.path().join("config.toml");
    let switched = std::fs::read_to_string(&config).unwrap().replace("[server.tls]", "[server.tls]\nhttp2 = true");
    std::fs::write(&config, switched).unwrap();
    assert!(service.reload().await.0);
    assert_eq!(secured(&service, &authority.client(None)).await.unwrap(), Version::HTTP_2);
}

#[actix_web::test]
async fn tls_speaks_http2_and_takes_renewed_certificates() {
    let service = Configuration::new().server(TLS).sqlite("shop", "");
    let (first, second) = (Authority::new("first"), Authority::new("second"));
    first.sign(service.path(), "server");
    let service = service.serve().await;
    assert_eq!(secured(&service, &first.client(None)).await.unwrap(), Version::HTTP_2);
    for path in ["/healthz", "/api/tables"] {
        let head = first.client(None).head(format!("https://localhost:{}{path}", service.port()));
        let head = head.basic_auth(&service.writer.name, Some(&service.writer.secret)).send().await.unwrap();
        assert_eq!((head.version(), head.status().as_u16()), (Version::HTTP_2, 200), "{path}");
        assert_eq!(head.text().await.unwrap(), "", "{path}");
    }
    assert!(secured(&service, &second.client(None)).await.is_err(), "a foreign authority was trusted");
    assert!(service.post("/api/query").send().await.is_err(), "a request without TLS was answered");
    // A key that does not fit changes nothing; a pair does.
    let folder = service.folder.path();
    let key = std::fs::read(folder.join("server.key")).unwrap();
    second.sign(folder, "server");
    let renewed = std::fs::read(folder.join("server.key")).unwrap();
    std::fs::write(folder.join("server.key"), key).unwrap();
    let (done, said) = service.reload().await;
    assert!(!done && said["problems"][0]["key"] == "server.tls.key", "{said}");
    assert!(secured(&service, &first.client(None)).await.is_ok());
    std::fs::write(folder.join("server.key"), renewed).unwrap();
    let (done, said) = service.reload().await;
    assert!(done && said["report"]["certificate"] == true, "{said}");
    assert!(secured(&service, &second.client(None)).await.is_ok());
    assert!(secured(&service, &first.client(None)).await.is_err());
    // Whether there is TLS belongs to the listener.
    service.configure("", &shop(""));
    let (done, said) = service.reload().await;
    assert!(!done && said["problems"][0]["key"] == "server.tls.certificate", "{said}");
}

#[actix_web::test]
async fn a_client_certificate_is_demanded_where_it_is_configured() {
    let service = Configuration::new().server(TLS).server("client_ca = \"ca.pem\"").sqlite("shop", "");
    let folder = service.path();
    let (own, foreign) = (Authority::new("own"), Authority::new("foreign"));
    own.sign(folder, "server");
    own.sign(folder, "client");
    foreign.sign(folder, "stranger");
    std::fs::write(folder.join("ca.pem"), own.0.pem()).unwrap();
    let service = service.serve().await;
    let folder = service.folder.path();
    // A session that ended is one that could be taken up again.
    let known = own.speaking(Some((folder, "client")), &[b"http/1.1"]);
    let once = |client: &reqwest::Client| {
        let url = format!("https://localhost:{}/healthz", service.port());
        client.get(url).header("connection", "close").send()
    };
    assert!(once(&known).await.is_ok() && once(&known).await.is_ok());
    assert!(secured(&service, &own.client(None)).await.is_err(), "a client without a certificate was let in");
    assert!(secured(&service, &own.client(Some((folder, "stranger")))).await.is_err());
    // Another authority is in force for the next handshake.
    std::fs::write(folder.join("ca.pem"), foreign.0.pem()).unwrap();
    let (done, said) = service.reload().await;
    assert!(done && said["report"]["settings"] == json!(["server.tls.client_ca"]), "{said}");
    assert!(secured(&service, &own.client(Some((folder, "stranger")))).await.is_ok());
    assert!(secured(&service, &own.client(Some((folder, "client")))).await.is_err());
    assert!(once(&known).await.is_err(), "a session of before was taken up again");
}

#[actix_web::test]
async fn who_leaves_behind_tls_or_gives_up_an_http2_stream_cancels_the_statement() {
    let url = fixture::postgres().await;
    let service = Configuration::new().server(TLS).connection("shop", &url, "");
    let authority = Authority::new("own");
    authority.sign(service.path(), "server");
    let service = service.serve().await;
    let client = authority.client(None);
    assert_eq!(secured(&service, &client).await.unwrap(), Version::HTTP_2);
    let plain = authority.speaking(None, &[b"http/1.1"]);
    assert_eq!(secured(&service, &plain).await.unwrap(), Version::HTTP_11);
    let sleep = |client: &reqwest::Client, marker: &str| {
        let request = client.post(format!("https://localhost:{}/api/query", service.port()));
        let request = request.basic_auth(&service.writer.name, Some(&service.writer.secret));
        tokio::spawn(request.json(&json!({"query": format!("SELECT pg_sleep(280), '{marker}'")})).send())
    };
    let (given_up, other) = (sleep(&client, "h2_given_up"), sleep(&client, "h2_other"));
    let left = sleep(&plain, "tls_left");
    let source = connect(&url).await;
    let until = async |marker: &str, count: i64| {
        let query = "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND pid <> pg_backend_pid() AND query LIKE $1";
        eventually(&format!("{count} statements with {marker} at the server"), async || {
            source.query_one(query, &[&format!("%{marker}%")]).await.unwrap().get::<_, i64>(0) == count
        })
        .await;
    };
    until("h2_given_up", 1).await;
    until("h2_other", 1).await;
    given_up.abort();
    until("h2_given_up", 0).await;
    assert!(!other.is_finished(), "the connection's other request was cut");
    until("h2_other", 1).await;
    other.abort();
    until("h2_other", 0).await;
    until("tls_left", 1).await;
    left.abort();
    until("tls_left", 0).await;
}

#[actix_web::test]
async fn a_unix_socket_serves_and_notices_who_leaves() {
    let service = Configuration::new().server(BOTH_DOORS).server("trusted_proxies = [\"unix\"]").sqlite("shop", "");
    // What a process left behind is in nobody's way.
    drop(UnixListener::bind(service.path().join("portico.sock")).unwrap());
    let mut service = service.serve().await;
    let path = service.folder.path().join("portico.sock");
    let mode = std::fs::metadata(&path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o666, "who may connect is for the folder to say, as for a port it is for nobody");
    let client = || builder().unix_socket(path.as_path()).build().unwrap();
    let post = |client: &reqwest::Client, query: &str| {
        let request = client.post("http://localhost/api/query").header("x-forwarded-for", "192.0.2.7");
        let request = request.basic_auth(&service.writer.name, Some(&service.writer.secret));
        request.json(&json!({"query": query})).send()
    };
    let kept = client();
    assert_eq!(read(post(&kept, "SELECT count(*) FROM orders").await.unwrap()).await.0, 200);
    assert_eq!(service.query("SELECT 1").await.0, 200, "the other listener serves too");
    let endless = tokio::spawn(post(&client(), ENDLESS));
    // Its turn is over as soon as the other one is served by the same process.
    assert_eq!(read(post(&kept, "SELECT 1").await.unwrap()).await.0, 200);
    service.line("client=192.0.2.7").await;
    endless.abort();
    service.line("outcome=abandoned").await;
    service.signal("TERM");
    assert!(service.ended().await.success());
    assert!(!path.exists(), "the socket was left behind");
}

#[actix_web::test]
async fn sockets_of_the_service_manager_are_served() {
    let folder = Configuration::new().server("listen = \"203.0.113.1:1\"").sqlite("shop", "").write();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    // As the manager does it: the socket is descriptor 3, and the process knows its own number.
    let script = format!(
        "exec 3<&{0}; export LISTEN_FDS=1 LISTEN_PID=$$; exec {1} serve",
        inherit(&listener),
        env!("CARGO_BIN_EXE_portico")
    );
    let mut command = Command::new("bash");
    let mut served = Running::begin(command.args(["-c", &script]).current_dir(folder.path()).stderr(Stdio::piped()));
    // Connections wait in the socket's queue until the service takes them.
    let alive = client().get(format!("http://127.0.0.1:{port}/healthz")).send().await.unwrap();
    assert_eq!(alive.status(), 200);
    served.signal("TERM");
    assert!(served.ended().await.success());
}

/// A descriptor of the listener that a child process gets.
fn inherit(listener: &TcpListener) -> i32 {
    use rustix::io::{FdFlags, fcntl_setfd};

    fcntl_setfd(listener, FdFlags::empty()).unwrap();
    listener.as_raw_fd()
}

#[actix_web::test]
async fn only_a_trusted_proxy_tells_where_a_request_comes_from() {
    let app = fixture::on_sqlite().await;
    let client = |forged: &str| {
        let request = app.post("/api/query").header("forwarded", format!("for={forged}"));
        request.header("x-forwarded-for", forged.to_owned()).json(&json!({"query": "SELECT 1"})).send()
    };
    assert_eq!(client("192.0.2.66").await.unwrap().status(), 200);
    let seen = || -> Vec<Option<IpAddr>> {
        let events = app.events.lock().unwrap();
        events
            .iter()
            .filter_map(|event| if let Event::CallEnded(call) = event { Some(call.client) } else { None })
            .collect()
    };
    crate::support::app::eventually("the event of the refusal", async || !seen().is_empty()).await;
    assert_eq!(seen(), [Some("127.0.0.1".parse().unwrap())], "a forged header was believed");
}

#[actix_web::test]
async fn whom_to_believe_changes_with_a_reload() {
    let mut service =
        Configuration::new().server("trusted_proxies = [\"127.0.0.0/8\"]").sqlite("shop", "").serve().await;
    let request = async |service: &Service| {
        let forwarded = "6.6.6.6, 192.0.2.7, 127.0.0.9";
        let request = service.post("/api/query").header("x-forwarded-for", forwarded);
        assert_eq!(request.json(&json!({"query": "SELECT 1"})).send().await.unwrap().status(), 200);
    };
    request(&service).await;
    let line = service.line("what=/api/query").await;
    assert!(line.contains(" client=192.0.2.7 "), "{line}");
    service.configure("", &shop(""));
    assert!(service.reload().await.0);
    request(&service).await;
    let line = service.line("what=/api/query").await;
    assert!(line.contains(" client=127.0.0.1 "), "{line}");
}

#[actix_web::test]
async fn a_unix_socket_never_takes_the_place_of_a_file() {
    let folder = Configuration::new().server("listen = \"unix:precious\"").sqlite("shop", "").write();
    std::fs::write(folder.path().join("precious"), "data").unwrap();
    let output = portico(folder.path(), &["serve"]);
    let words = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && words.contains("precious cannot be listened on"), "{words}");
    assert!(words.contains("move that file away"), "{words}");
    assert_eq!(std::fs::read_to_string(folder.path().join("precious")).unwrap(), "data");
}
