//! A real browser, driven by `WebDriver` (W3C): what people see and click. Debian's `chromium` and
//! `chromium-driver` are needed.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::app::{client, eventually};

/// The name of an element's reference (`WebDriver` §11).
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";
/// How long the browser looks for an element of a page that is loading, in milliseconds.
const PATIENCE: u32 = 60_000;

/// A running browser. Dropping it ends it.
pub(crate) struct Browser {
    driver: Child,
    port: u16,
    session: String,
    http: reqwest::Client,
    _profile: TempDir,
}

/// Whether an element has left with its page. The driver has two words for that, as it notices it.
fn is_gone(error: &Value) -> bool {
    let message = error["message"].as_str().unwrap_or_default();
    error["error"] == "stale element reference" || message.contains("does not belong to the document")
}

impl Browser {
    /// Starts a browser; `None` where there is none and none is demanded by `PORTICO_BROWSER_TESTS`.
    pub(crate) async fn start(scripts: bool) -> Option<Self> {
        let (driver, lines, port) = loop {
            let started =
                Command::new("chromedriver").arg("--port=0").stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
            let mut driver = match started {
                Ok(driver) => driver,
                Err(error) => {
                    assert!(
                        std::env::var_os("PORTICO_BROWSER_TESTS").is_none(),
                        "chromedriver: {error}; install chromium-driver"
                    );
                    #[expect(clippy::print_stdout, reason = "a test that is passed over says so")]
                    {
                        println!("skipped: there is no chromedriver (apt-get install chromium chromium-driver)");
                    }
                    return None;
                }
            };
            let mut lines = BufReader::new(driver.stdout.take().unwrap()).lines().map(Result::unwrap);
            if let Some(told) = lines.find(|line| line.contains("successfully on port")) {
                let port = told.trim_end_matches('.').rsplit(' ').next().unwrap().parse().unwrap();
                break (driver, lines, port);
            }
            // It takes the same port of IPv6 as it was given of IPv4, which another may have: then it ends.
            driver.wait().unwrap();
        };
        // Nobody may fill the pipe.
        std::thread::spawn(move || lines.for_each(drop));
        let profile = TempDir::new().unwrap();
        let mut options = json!({"args": [
            "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
            "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--window-size=1100,900",
            format!("--user-data-dir={}", profile.path().display()),
        ]});
        if !scripts {
            options["prefs"] = json!({"profile.managed_default_content_settings.javascript": 2});
        }
        let http = client();
        let mut browser = Self { driver, port, session: String::new(), http, _profile: profile };
        let always = json!({"goog:chromeOptions": options, "timeouts": {"implicit": PATIENCE, "pageLoad": 120_000}});
        let session = browser.ask("POST", "session", json!({"capabilities": {"alwaysMatch": always}})).await;
        session["sessionId"].as_str().unwrap().clone_into(&mut browser.session);
        Some(browser)
    }

    async fn ask(&self, method: &str, path: &str, body: Value) -> Value {
        let answer = self.answer(method, path, &body).await;
        answer.unwrap_or_else(|error| panic!("{method} {path} {body}: {}", error["message"]))
    }

    async fn answer(&self, method: &str, path: &str, body: &Value) -> Result<Value, Value> {
        let url = format!("http://127.0.0.1:{}/{path}", self.port);
        let request = self.http.request(method.parse().unwrap(), url);
        let request = if method == "POST" { request.json(body) } else { request };
        let mut answer: Value = request.send().await.unwrap().json().await.unwrap();
        let value = answer["value"].take();
        if value.get("error").is_some() { Err(value) } else { Ok(value) }
    }

    async fn send(&self, method: &str, path: &str, body: Value) -> Value {
        self.ask(method, &format!("session/{}/{path}", self.session), body).await
    }

    pub(crate) async fn go(&self, url: &str) {
        self.send("POST", "url", json!({"url": url})).await;
    }

    pub(crate) async fn address(&self) -> String {
        self.send("GET", "url", json!({})).await.as_str().unwrap().to_owned()
    }

    /// Asks something of the first element that a CSS selector finds, once it is there. One that
    /// leaves with its page in between is looked for on the next.
    async fn of_element(&self, selector: &str, method: &str, action: &str, body: Value) -> Value {
        loop {
            let found = self.send("POST", "element", json!({"using": "css selector", "value": selector})).await;
            let path = format!("session/{}/element/{}/{action}", self.session, found[ELEMENT].as_str().unwrap());
            match self.answer(method, &path, &body).await {
                Ok(value) => return value,
                Err(error) if is_gone(&error) => {}
                Err(error) => panic!("{method} {action} {selector} {body}: {}", error["message"]),
            }
        }
    }

    pub(crate) async fn click(&self, selector: &str) {
        self.of_element(selector, "POST", "click", json!({})).await;
    }

    pub(crate) async fn write(&self, selector: &str, text: &str) {
        self.of_element(selector, "POST", "value", json!({"text": text})).await;
    }

    /// The text of an element, once it is there. One of a page that is just being left is looked for again.
    pub(crate) async fn text(&self, selector: &str) -> String {
        self.of_element(selector, "GET", "text", json!({})).await.as_str().unwrap().to_owned()
    }

    /// Waits until an element's text holds `wanted`: until then the page before may still be there.
    pub(crate) async fn shows(&self, selector: &str, wanted: &str) {
        eventually(&format!("{wanted:?} in {selector}"), async || self.text(selector).await.contains(wanted)).await;
    }

    /// How many elements a selector finds now; ask for something that is there first.
    pub(crate) async fn count(&self, selector: &str) -> usize {
        self.send("POST", "timeouts", json!({"implicit": 0})).await;
        let found = self.send("POST", "elements", json!({"using": "css selector", "value": selector})).await;
        self.send("POST", "timeouts", json!({"implicit": PATIENCE})).await;
        found.as_array().unwrap().len()
    }

    /// The role and the name that assistive technology is told of an element.
    pub(crate) async fn spoken(&self, selector: &str) -> (String, String) {
        let role = self.of_element(selector, "GET", "computedrole", json!({})).await;
        let name = self.of_element(selector, "GET", "computedlabel", json!({})).await;
        (role.as_str().unwrap().to_owned(), name.as_str().unwrap().to_owned())
    }

    /// Makes the window so large; a page in it has a little less height.
    pub(crate) async fn resize(&self, width: u32, height: u32) {
        self.send("POST", "window/rect", json!({"width": width, "height": height})).await;
    }

    /// Whether the page is no wider than the window, so that nobody has to scroll sideways.
    pub(crate) async fn fits(&self, what: &str) {
        let script = "const page = document.documentElement; return [page.scrollWidth, page.clientWidth];";
        let widths = self.send("POST", "execute/sync", json!({"script": script, "args": []})).await;
        assert_eq!(widths[0], widths[1], "{what}: the page is wider than the window");
    }

    /// Keeps a picture of the page in the folder that `PORTICO_SCREENSHOTS` names, if it names one.
    pub(crate) async fn picture(&self, name: &str) {
        let Some(folder) = std::env::var_os("PORTICO_SCREENSHOTS") else { return };
        let picture = self.send("GET", "screenshot", json!({})).await;
        let octets = base64::engine::general_purpose::STANDARD.decode(picture.as_str().unwrap()).unwrap();
        std::fs::write(Path::new(&folder).join(format!("{name}.png")), octets).unwrap();
    }
}

impl Drop for Browser {
    /// Without runtime, so that it also works after a panic: ends the browser, then its driver.
    fn drop(&mut self) {
        if let Ok(mut stream) = TcpStream::connect(("127.0.0.1", self.port)) {
            let (session, port) = (&self.session, self.port);
            let request =
                format!("DELETE /session/{session} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n");
            if stream.write_all(request.as_bytes()).is_ok() {
                drop(stream.read(&mut [0; 256]));
            }
        }
        drop(self.driver.kill());
        drop(self.driver.wait());
    }
}

/// A client on this machine that waits for its answer at `/callback`.
pub(crate) struct Callback {
    pub(crate) address: String,
    /// The query of the first answer.
    pub(crate) query: Arc<Mutex<Option<String>>>,
}

impl Callback {
    pub(crate) fn open() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://127.0.0.1:{}/callback", listener.local_addr().unwrap().port());
        let query = Arc::new(Mutex::new(None));
        let kept = Arc::clone(&query);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let mut line = String::new();
                if BufReader::new(&stream).read_line(&mut line).is_err() {
                    continue;
                }
                let target = line.split(' ').nth(1).unwrap_or_default();
                if let Some((_, query)) = target.split_once("/callback?") {
                    kept.lock().unwrap().get_or_insert(query.to_owned());
                }
                let page = "<!doctype html><title>Done</title><h1>Back at the client</h1>";
                let head = format!(
                    "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                    page.len()
                );
                drop((&stream).write_all(format!("{head}{page}").as_bytes()));
            }
        });
        Self { address, query }
    }
}
