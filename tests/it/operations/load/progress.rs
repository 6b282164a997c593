//! Whoever does not go on loses the connection, on every transport alike: heads that begin and do not end, answers
//! that nobody takes, handshakes that stop. And what a connection costs while nothing is asked.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures_util::future::join_all;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream, UnixStream};
use tokio::time::{Instant, timeout};

use crate::operations::load::fairness::{ask, both_doors};
use crate::support::app::{CONNECTION, PACE, eventually, read, within};
use crate::support::configuration::{BOTH_DOORS, Configuration, connection};
use crate::support::fixture;
use crate::support::postgres::connect;
use crate::support::service::Service;
use crate::support::tls::{Authority, TLS};

trait Socket: AsyncRead + AsyncWrite + Unpin + Send {}
impl<S: AsyncRead + AsyncWrite + Unpin + Send> Socket for S {}

/// A transport of HTTP/1.
#[derive(Clone, Copy, Debug)]
enum Transport {
    Tcp,
    Tls,
    Unix,
}

const TRANSPORTS: [Transport; 3] = [Transport::Tcp, Transport::Tls, Transport::Unix];

/// Services that listen on every transport.
struct Doors {
    plain: Service,
    secured: Service,
    authority: Authority,
}

impl Doors {
    async fn open(server: &str, table: &str) -> Self {
        let plain = Configuration::new().server(BOTH_DOORS).server(server).with(table).serve().await;
        let secured = Configuration::new().server(server).server(TLS).with(table);
        let authority = Authority::new("own");
        authority.sign(secured.path(), "server");
        let secured = secured.serve().await;
        Self { plain, secured, authority }
    }

    fn behind(&self, transport: Transport) -> &Service {
        if matches!(transport, Transport::Tls) { &self.secured } else { &self.plain }
    }

    /// A connection whose kernel takes little for a reader that does not read.
    async fn connect(&self, transport: Transport) -> Box<dyn Socket> {
        if matches!(transport, Transport::Unix) {
            return Box::new(UnixStream::connect(self.plain.folder.path().join("portico.sock")).await.unwrap());
        }
        let tcp = small(self.behind(transport).port()).await;
        if matches!(transport, Transport::Tcp) {
            return Box::new(tcp);
        }
        Box::new(self.authority.connect(tcp, &[b"http/1.1"]).await)
    }
}

async fn small(port: u16) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    socket.connect(([127, 0, 0, 1], port).into()).await.unwrap()
}

const GET: &str = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
const ALIVE: &str = "{\"status\":\"ok\"}";

/// A query by the writer of `service`, with its body in this framing.
fn post(service: &Service, query: &str, chunked: bool) -> String {
    let basic = STANDARD.encode(format!("{}:{}", service.writer.name, service.writer.secret));
    let body = json!({"query": query, "timeout": 300}).to_string();
    let fields = format!("Host: localhost\r\nAuthorization: Basic {basic}\r\nContent-Type: application/json");
    let (framing, body) = if chunked {
        ("Transfer-Encoding: chunked".to_owned(), format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len()))
    } else {
        (format!("Content-Length: {}", body.len()), body)
    };
    format!("POST /api/query HTTP/1.1\r\n{fields}\r\n{framing}\r\n\r\n{body}")
}

/// Reads so many answers, of which the last one ends so.
async fn read_to(socket: &mut (impl AsyncRead + Unpin), end: &str, answers: usize) {
    let mut text = String::new();
    while text.matches("HTTP/1.1 200").count() < answers || !text.ends_with(end) {
        let mut piece = [0; 4096];
        let read = within("an answer", socket.read(&mut piece)).await.unwrap();
        assert!(read > 0, "it ended behind {text:?}");
        text.push_str(std::str::from_utf8(&piece[..read]).unwrap());
    }
}

/// What comes until the end of the connection, while `drip` is sent now and then.
async fn rest(socket: Box<dyn Socket>, drip: &[u8]) -> String {
    let (mut from, mut to) = tokio::io::split(socket);
    let mut text = Vec::new();
    let read = async {
        let mut piece = [0; 4096];
        while let Ok(read @ 1..) = from.read(&mut piece).await {
            text.extend_from_slice(&piece[..read]);
        }
    };
    let dripping = Box::pin(async {
        let mut pace = tokio::time::interval(PACE);
        for octet in drip.iter().cycle().take(if drip.is_empty() { 0 } else { usize::MAX }) {
            pace.tick().await;
            if to.write_all(&[*octet]).await.is_err() {
                break;
            }
        }
        std::future::pending::<()>().await;
    });
    let ended = Box::pin(async {
        tokio::select! {
            () = read => {}
            () = dripping => {}
        }
    });
    within("the end of the connection", ended).await;
    String::from_utf8(text).unwrap()
}

/// What is sent first, how its answer ends, what is sent then, and what drips.
type Attempt = (String, &'static str, &'static str, &'static [u8]);

#[actix_web::test]
async fn every_head_has_its_time_on_every_transport() {
    let folder = TempDir::new().unwrap();
    let table = connection(CONNECTION, "shop", &fixture::sqlite(&folder, "shop.db"), "");
    let doors = Doors::open("header_timeout = 3", &table).await;
    let each = TRANSPORTS.into_iter().flat_map(|transport| {
        let doors = &doors;
        let (sized, chunked) = (false, true);
        let query = |chunked| post(doors.behind(transport), "SELECT 1", chunked);
        let (half, end) = ("GET /healthz HTTP/1.1\r\nHo", "\r\n0\r\n\r\n");
        let attempts: Vec<Attempt> = vec![
            (GET.to_owned(), ALIVE, half, b""),
            (GET.to_owned(), ALIVE, "GET /healthz HTTP/1.1\r\nX: ", b"x"),
            (GET.to_owned(), ALIVE, "\r\n", b""),
            (GET.to_owned(), ALIVE, "", b"\r\n"),
            (GET.to_owned(), ALIVE, "", b"\n"),
            // All at once: the second has come before the first was answered.
            (format!("{GET}{half}"), ALIVE, "", b""),
            (format!("{GET}\r\n"), ALIVE, "", b""),
            (format!("{GET}{GET}{half}"), ALIVE, "", b""),
            (query(sized), end, half, b""),
            (format!("{}{half}", query(sized)), end, "", b""),
            (format!("{}\r\n", query(sized)), end, "", b""),
            (query(chunked), end, half, b""),
            (format!("{}{half}", query(chunked)), end, "", b""),
            (format!("{}\r\n", query(chunked)), end, "", b""),
        ];
        attempts.into_iter().map(move |(first, end, then, drip)| async move {
            let mut socket = doors.connect(transport).await;
            socket.write_all(first.as_bytes()).await.unwrap();
            read_to(&mut socket, end, if first.starts_with(&[GET, GET].concat()) { 2 } else { 1 }).await;
            let begun = Instant::now();
            socket.write_all(then.as_bytes()).await.unwrap();
            let text = Box::pin(rest(socket, drip)).await;
            let tried = format!("{transport:?}: {first:?}, then {then:?} and {drip:?}");
            assert!(text.contains("HTTP/1.1 408") && text.ends_with("\r\n\r\n"), "{tried}: {text:?}");
            // Not before its time, but for what had come before.
            assert!(begun.elapsed() > Duration::from_millis(500), "{tried}");
        })
    });
    join_all(each).await;
}

#[actix_web::test]
async fn a_connection_that_waits_for_its_next_request_is_kept() {
    let folder = TempDir::new().unwrap();
    let table = connection(CONNECTION, "shop", &fixture::sqlite(&folder, "shop.db"), "");
    let doors = Doors::open("header_timeout = 3", &table).await;
    let each = TRANSPORTS.into_iter().flat_map(|transport| {
        let doors = &doors;
        let query = |chunked| post(doors.behind(transport), "SELECT 1", chunked);
        let slow = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 3000000) SELECT max(i) FROM n";
        let ends = "\r\n0\r\n\r\n";
        let requests = vec![
            (GET.to_owned(), ALIVE, 1),
            (format!("{GET}{GET}"), ALIVE, 2),
            (query(false), ends, 1),
            (query(true), ends, 1),
            (format!("{}{GET}", query(true)), ALIVE, 2),
            (format!("{}{GET}", post(doors.behind(transport), slow, false)), ALIVE, 2),
        ];
        requests.into_iter().map(move |(request, end, answers)| async move {
            let mut socket = doors.connect(transport).await;
            // In two pieces, of which the second comes when the first was read, and then as one.
            let (begin, rest) = request.split_at(request.len() / 2);
            socket.write_all(begin.as_bytes()).await.unwrap();
            socket.flush().await.unwrap();
            tokio::task::yield_now().await;
            socket.write_all(rest.as_bytes()).await.unwrap();
            for _ in 0..2 {
                read_to(&mut socket, end, answers).await;
                let mut octet = [0];
                let said = timeout(Duration::from_secs(5), socket.read(&mut octet)).await;
                assert!(said.is_err(), "{transport:?}: {request:?}: {said:?}");
                socket.write_all(request.as_bytes()).await.unwrap();
            }
            read_to(&mut socket, end, answers).await;
        })
    });
    join_all(each).await;
}

const PATIENCE: Duration = Duration::from_secs(4);
/// How long a session may take to be free after that, and what a busy machine may add.
const FREE: Duration = Duration::from_secs(2 + 20);

/// How many statements with this marker have a session.
async fn sessions(watcher: &tokio_postgres::Client, marker: &str) -> i64 {
    let query = format!(
        "SELECT count(*) FROM pg_stat_activity WHERE state <> 'idle' AND query LIKE '%{marker}%' \
         AND pid <> pg_backend_pid()"
    );
    watcher.query_one(&query, &[]).await.unwrap().get(0)
}

/// Waits until the session of `marker` is free, which is not before its time and not long after.
async fn until_free(watcher: &tokio_postgres::Client, marker: &str, begun: Instant) {
    eventually("the end of the statement", async || sessions(watcher, marker).await == 0).await;
    let took = begun.elapsed();
    assert!(took < PATIENCE + FREE, "{marker}: {took:?}");
}

fn endless(marker: &str) -> String {
    format!("SELECT repeat('x', 1000) AS {marker} FROM (SELECT generate_series(1, 100000000)) g")
}

#[actix_web::test]
async fn an_answer_that_nobody_takes_ends_and_its_session_is_free_on_every_transport() {
    let url = fixture::postgres().await;
    let watcher = connect(&url).await;
    let table = connection(CONNECTION, "shop", &url, "reader_timeout = 300");
    let doors = Doors::open(&format!("write_timeout = {}", PATIENCE.as_secs()), &table).await;
    for transport in TRANSPORTS {
        let marker = format!("taken_by_nobody_{transport:?}").to_lowercase();
        let mut socket = doors.connect(transport).await;
        let request = post(doors.behind(transport), &endless(&marker), false);
        socket.write_all(request.as_bytes()).await.unwrap();
        let mut octets = [0; 1024];
        assert!(within("the begin of the answer", socket.read(&mut octets)).await.unwrap() > 0);
        let begun = Instant::now();
        assert_eq!(sessions(&watcher, &marker).await, 1);
        until_free(&watcher, &marker, begun).await;
        // Nobody is there any more who would take what the client sends.
        eventually("the connection to be closed", async || {
            within("a write", async { socket.write_all(b"\n").await.and(socket.flush().await) }).await.is_err()
        })
        .await;
    }
}

#[actix_web::test]
async fn so_does_one_of_http2() {
    let url = fixture::postgres().await;
    let watcher = connect(&url).await;
    let table = connection(CONNECTION, "shop", &url, "reader_timeout = 300");
    let (service, [door, _]) = both_doors(&format!("write_timeout = {}", PATIENCE.as_secs()), &table).await;
    let mut late = ask(&service, &door, &endless("window_of_zero")).send().await.unwrap();
    // The client goes on to take what is not of this stream.
    assert!(late.chunk().await.unwrap().is_some(), "the answer has begun");
    let begun = Instant::now();
    until_free(&watcher, "window_of_zero", begun).await;
    let end = async { while late.chunk().await.is_ok_and(|piece| piece.is_some()) {} };
    within("the end of its connection", end).await;
}

#[actix_web::test]
async fn a_reader_that_takes_a_little_now_and_then_has_its_answer() {
    let folder = TempDir::new().unwrap();
    let table = connection(CONNECTION, "shop", &fixture::sqlite(&folder, "shop.db"), "");
    let doors = Doors::open("write_timeout = 2", &table).await;
    let rows = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 6000) \
                SELECT printf('%01000d', i) FROM n";
    let each = TRANSPORTS.into_iter().map(|transport| {
        let doors = &doors;
        async move {
            let mut socket = doors.connect(transport).await;
            socket.write_all(post(doors.behind(transport), rows, false).as_bytes()).await.unwrap();
            let (mut all, mut tail) = (0, Vec::new());
            let mut octets = vec![0; 16 * 1024];
            let mut ticks = tokio::time::interval(Duration::from_millis(15));
            while !tail.ends_with(b"\r\n0\r\n\r\n") {
                ticks.tick().await;
                let read = within("more of the answer", socket.read(&mut octets)).await.unwrap();
                assert!(read > 0, "{transport:?}: it ended behind {all} octets");
                all += read;
                tail.extend_from_slice(&octets[..read]);
                tail.drain(..tail.len().saturating_sub(16));
            }
            assert!(all > 6_000_000);
        }
    });
    join_all(each).await;
}

#[actix_web::test]
async fn an_idle_connection_has_one_descriptor() {
    const MANY: usize = 40;
    let folder = TempDir::new().unwrap();
    let table = connection(CONNECTION, "shop", &fixture::sqlite(&folder, "shop.db"), "");
    let doors = Doors::open("", &table).await;
    for transport in TRANSPORTS {
        let service = doors.behind(transport);
        let before = service.sockets();
        let mut held = Vec::new();
        for _ in 0..MANY {
            let mut socket = doors.connect(transport).await;
            socket.write_all(GET.as_bytes()).await.unwrap();
            read_to(&mut socket, ALIVE, 1).await;
            held.push(socket);
        }
        eventually("the service to have all sockets", async || service.sockets() == before + MANY).await;
        drop(held);
        eventually("the service to have no socket of ours", async || service.sockets() == before).await;
    }
}

#[actix_web::test]
async fn handshakes_that_stop_keep_nobody_waiting() {
    let folder = TempDir::new().unwrap();
    let table = connection(CONNECTION, "shop", &fixture::sqlite(&folder, "shop.db"), "");
    let (service, [door, _]) = both_doors("header_timeout = 300", &table).await;
    let workers = std::thread::available_parallelism().unwrap().get();
    let mut held = Vec::new();
    for _ in 0..workers * 300 {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind(([127, 0, 0, 2], 0).into()).unwrap();
        held.push(socket.connect(([127, 0, 0, 1], service.port()).into()).await.unwrap());
    }
    let (status, document) =
        read(within("another's call", ask(&service, &door, "SELECT 1").send()).await.unwrap()).await;
    assert_eq!((status, document.get("error")), (200, None::<&Value>), "{document}");
}
