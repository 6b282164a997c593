//! What somebody does who wants the service down, bounded in count: each goes on until what is given back is dropped.

use std::io::{Read, Write};
use std::sync::Arc;

use futures_util::stream::{self, StreamExt};
use reqwest::{Client, RequestBuilder, Response};
use serde_json::{Value, json};
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use crate::operations::load::hostile_load::{unfinished, unfinished_requests};
use crate::support::app::{CONNECTION, Caller, within};
use crate::support::dice::Random;
use crate::support::mcp::BOTH;
use crate::support::raw::{PREFACE, Place, Socket, unfinished_head};
use crate::support::service::Service;

/// Whom it is tried on, by which door, and with which credential that anybody may have.
pub(crate) struct Target {
    pub(crate) url: String,
    pub(crate) place: Place,
    /// Makes a client with connections of its own.
    pub(crate) client: Box<dyn Fn() -> Client>,
    /// Whom it must not harm: a stranger may know the name.
    pub(crate) name: String,
    /// Somebody who may read.
    pub(crate) reader: Caller,
}

/// What is under way, on a thread of its own: whoever measures does not wait for it.
pub(crate) struct UnderWay {
    thread: Handle,
    /// Dropped, its thread ends.
    _stop: oneshot::Sender<()>,
    work: JoinSet<Vec<Box<dyn Socket>>>,
}

impl UnderWay {
    pub(crate) fn begin() -> Self {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let (thread, (stop, stopped)) = (runtime.handle().clone(), oneshot::channel());
        std::thread::spawn(move || runtime.block_on(stopped));
        Self { thread, _stop: stop, work: JoinSet::new() }
    }

    /// Goes on until it is ended.
    fn go_on(&mut self, work: impl Future<Output = ()> + Send + 'static) {
        let work = async move {
            work.await;
            std::future::pending().await
        };
        self.work.spawn_on(work, &self.thread);
    }

    /// Sends it and keeps what it is answered with, unread.
    fn send(&mut self, request: RequestBuilder) {
        self.go_on(async move {
            let _answer = arrived(request.send().await);
            std::future::pending::<()>().await;
        });
    }

    /// Does what waits; the connections stay open.
    fn wait_for(&mut self, work: impl FnOnce() -> Vec<Box<dyn Socket>> + Send + 'static) {
        self.work.spawn_blocking_on(work, &self.thread);
    }

    /// Ends it. What was found out on the way fails the test here.
    pub(crate) async fn end(mut self) {
        self.work.abort_all();
        while let Some(ended) = within("the end of the attack", self.work.join_next()).await {
            if let Err(error) = ended
                && error.is_panic()
            {
                std::panic::resume_unwind(error.into_panic());
            }
        }
        // A client keeps a connection on which it has not said all that it announced: it ends with the thread.
    }
}

/// Begins an attack.
pub(crate) type Attack = fn(&Target, &Service, &mut UnderWay);

/// All of them, each with its name.
pub(crate) const ALL: [(&str, Attack); 10] = [
    ("heads that are not finished", heads),
    ("bodies that are not finished", bodies),
    ("bodies that are announced large", announced),
    ("strangers at every door", doors),
    ("one token with 1,100 requests without a body", tokens),
    ("readers that take nothing", readers),
    ("batches with much to prepare", batches),
    ("thousands of streams, or of connections", streams),
    ("long paths and garbage", garbage),
    ("64 requests at once on a connection", pipelined),
];

impl Target {
    /// Requests by as many clients as hold `each` of them.
    fn each(&self, count: usize, each: usize, mut send: impl FnMut(&Client, usize)) {
        let mut client = (self.client)();
        for index in 0..count {
            if index > 0 && index % each == 0 {
                client = (self.client)();
            }
            send(&client, index);
        }
    }

    fn read(&self, request: RequestBuilder) -> RequestBuilder {
        request.basic_auth(&self.reader.name, Some(&self.reader.secret))
    }
}

/// What a request is answered with, or how it was cut off; one that never left is no attack.
fn arrived(answer: reqwest::Result<Response>) -> reqwest::Result<Response> {
    let unsaid = answer.as_ref().is_err_and(|error| error.is_builder() || error.is_connect());
    assert!(!unsaid, "{answer:?}");
    answer
}

/// Opens so many connections and says `words` on each.
fn say(place: &Place, count: usize, words: impl Fn(usize) -> Vec<u8>) -> Vec<Box<dyn Socket>> {
    let dialled = (0..count).filter_map(|index| {
        let mut socket = place.dial().expect("a connection is taken");
        // One may be closed while it speaks.
        socket.write_all(&words(index)).and_then(|()| socket.flush()).ok()?;
        Some(socket)
    });
    dialled.collect()
}

fn heads(target: &Target, _: &Service, under_way: &mut UnderWay) {
    let place = target.place.clone();
    under_way.wait_for(move || {
        let http2 = place.speaks_http2();
        say(&place, if http2 { 100 } else { 400 }, |_| {
            let fields = [(":method", "POST"), (":scheme", "https"), (":path", "/api/query")];
            if http2 {
                [PREFACE, &unfinished_head(&fields)].concat()
            } else {
                b"POST /api/query HTTP/1.1\r\nHost: loc".to_vec()
            }
        })
    });
}

fn bodies(target: &Target, service: &Service, under_way: &mut UnderWay) {
    // More than are worked on at once.
    for _ in 0..2 {
        for request in unfinished_requests(service, &((target.client)(), target.url.clone())) {
            under_way.send(request);
        }
    }
}

fn announced(target: &Target, _: &Service, under_way: &mut UnderWay) {
    target.each(240, 240, |client, index| {
        let (path, kind) = match index % 3 {
            0 => ("/oauth/token", "application/x-www-form-urlencoded"),
            _ => ("/api/query", "application/json"),
        };
        let length = [4_194_304_u64, 1 << 40][index / 3 % 2];
        let request = client.post(format!("{}{path}", target.url)).header("content-type", kind);
        let request = request.header("content-length", length).body(unfinished("{"));
        under_way.send(if index % 3 == 1 { target.read(request) } else { request });
    });
}

fn doors(target: &Target, _: &Service, under_way: &mut UnderWay) {
    let client = (target.client)();
    let (url, name) = (target.url.clone(), target.name.clone());
    under_way.go_on(async move {
        let form = json!({"csrf": "x", "email": name, "secret": "guessed"});
        let asked = |index: usize| match index % 5 {
            0 => client.get(format!("{url}/authorize?response_type=code&client_id=nobody&redirect_uri=http://x")),
            1 => client.post(format!("{url}/oauth/register")).json(&json!({"redirect_uris": ["http://localhost/x"]})),
            2 => client.post(format!("{url}/sign-in")).form(&form),
            3 => client.post(format!("{url}/oauth/token")).form(&json!({"grant_type": "client_credentials",
                "client_id": "nobody", "client_secret": "guessed"})),
            // A name and a password, as people have it.
            _ => client.get(format!("{url}/api/tables")).basic_auth(&name, Some("guessed")),
        };
        let all = stream::iter(0..1_000).map(|index| asked(index).send());
        all.buffer_unordered(100).for_each(async |answer| drop(arrived(answer))).await;
    });
}

fn tokens(target: &Target, _: &Service, under_way: &mut UnderWay) {
    let mcp = format!("/mcp/connections/{CONNECTION}");
    let paths = ["/api/query", "/api/batch", "/api/exec", "/api/nothing", &mcp, "/mcp/connections/x", "/nothing", "/"];
    target.each(1_100, 400, |client, index| {
        let request = client.post(format!("{}{}", target.url, paths[index % paths.len()]));
        let request = request.header("content-type", "application/json").header("content-length", 100);
        let nothing = stream::pending::<Result<Vec<u8>, std::io::Error>>();
        under_way.send(target.read(request.body(reqwest::Body::wrap_stream(nothing))));
    });
}

fn readers(target: &Target, _: &Service, under_way: &mut UnderWay) {
    let long = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT printf('%0100d', i) FROM n";
    target.each(40, 10, |client, _| {
        let request = client.post(format!("{}/api/query", target.url)).json(&json!({"query": long, "timeout": 300}));
        under_way.send(target.read(request));
    });
}

/// 100 calls of 1,000 rows of 1 kB each.
fn batch() -> Value {
    let rows =
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 1000) SELECT printf('%01000d', i) FROM n";
    let call = |id: u64| {
        let params = json!({"name": "execute_select", "arguments": {"query": rows}});
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
    };
    (1..=100).map(call).collect()
}

fn batches(target: &Target, _: &Service, under_way: &mut UnderWay) {
    let batch = Arc::new(batch().to_string());
    for _ in 0..6 {
        let (client, url) = ((target.client)(), format!("{}/mcp/connections/{CONNECTION}", target.url));
        let (reader, batch) = (target.reader.clone(), Arc::clone(&batch));
        under_way.go_on(async move {
            let post = |body: String| {
                let request = client.post(&url).header("accept", BOTH).header("content-type", "application/json");
                let request = request.header("mcp-protocol-version", "2025-03-26").body(body);
                request.basic_auth(&reader.name, Some(&reader.secret))
            };
            let answer = arrived(post(batch.to_string()).send().await);
            // All of it was prepared, and nobody takes it.
            let _unread = answer.inspect(|answer| assert_eq!(answer.status(), 200));
            std::future::pending::<()>().await;
        });
    }
}

fn streams(target: &Target, _: &Service, under_way: &mut UnderWay) {
    if target.place.speaks_http2() {
        // More than a connection may have, on each of two.
        let form = "application/x-www-form-urlencoded";
        target.each(4_000, 2_000, |client, _| {
            let post = client.post(format!("{}/oauth/token", target.url)).header("content-type", form);
            under_way.send(post.body(unfinished("grant_type=")));
        });
        return;
    }
    let place = target.place.clone();
    under_way.wait_for(move || say(&place, 1_500, |_| b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n".to_vec()));
}

fn garbage(target: &Target, _: &Service, under_way: &mut UnderWay) {
    let client = (target.client)();
    let long = format!("{}/nothing/{}", target.url, "x%22".repeat(7_000));
    under_way.go_on(async move {
        let all = stream::iter(0..400).map(|_| client.get(&long).send());
        all.buffer_unordered(50).for_each(async |answer| drop(arrived(answer))).await;
    });
    let place = target.place.clone();
    under_way.wait_for(move || {
        say(&place, 50, |index| {
            let mut dice = Random::of_seed(index as u64);
            let noise: Vec<u8> = (0..2_000).map(|_| u8::try_from(dice.below(256)).unwrap()).collect();
            let begin: &[u8] = match index % 3 {
                0 => b"",
                1 => PREFACE,
                _ => b"GET / HTTP/1.1\r\n",
            };
            [begin, &noise].concat()
        })
    });
}

fn pipelined(target: &Target, _: &Service, under_way: &mut UnderWay) {
    const AT_ONCE: usize = 64;
    if target.place.speaks_http2() {
        let client = (target.client)();
        let asked = stream::iter(0..10 * AT_ONCE).map({
            let url = format!("{}/healthz", target.url);
            move |_| client.get(&url).send()
        });
        under_way.go_on(async move {
            let all = asked.buffer_unordered(AT_ONCE);
            all.for_each(async |answer| assert_eq!(answer.unwrap().status(), 200)).await;
        });
        return;
    }
    let place = target.place.clone();
    under_way.wait_for(move || {
        let words = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(AT_ONCE).into_bytes();
        let mut sockets = say(&place, 10, |_| words.clone());
        assert_eq!(sockets.len(), 10);
        for socket in &mut sockets {
            let (mut read, mut piece) = (String::new(), [0; 4096]);
            while read.matches("HTTP/1.1 200 OK").count() < AT_ONCE {
                let count = socket.read(&mut piece).expect("each of the requests is answered");
                assert!(count > 0, "not every request was answered: {read}");
                read.push_str(std::str::from_utf8(&piece[..count]).unwrap());
            }
        }
        sockets
    });
}
