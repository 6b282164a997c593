//! Clients that describe themselves at their own address, fetched with care.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;

use crate::support::app::TestApp;
use crate::support::configuration::Configuration;
use crate::support::person::{Person, REDIRECT, redemption, token};

/// A web server of the client's that answers every request with `answer(its own address)`.
fn serve(answer: impl Fn(&str) -> String + Send + 'static) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://localhost:{}/client.json", listener.local_addr().unwrap().port());
    let asked = Arc::new(AtomicUsize::new(0));
    let (own, count) = (address.clone(), Arc::clone(&asked));
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            count.fetch_add(1, Ordering::SeqCst);
            let mut request = [0; 4096];
            if stream.read(&mut request).is_ok() {
                // Whoever reads no further has seen enough.
                drop(stream.write_all(answer(&own).as_bytes()));
            }
        }
    });
    (address, asked)
}

fn json_answer(body: &str) -> String {
    format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    )
}

fn document(id: &str) -> String {
    json!({"client_id": id, "client_name": "Self-described", "redirect_uris": [REDIRECT], "token_endpoint_auth_method": "none"}).to_string()
}

async fn start(oauth: &str) -> TestApp {
    Configuration::new().sqlite("shop", "").with(&format!("[oauth]\n{oauth}")).start().await
}

#[actix_web::test]
async fn a_client_described_at_its_address_gets_a_token() {
    let app = start("private_client_documents = true").await;
    let (id, asked) = serve(|own| json_answer(&document(own)));
    // Strangers do not make the service fetch anything.
    let page = Person::new(&app).authorize(&id, &[]).await;
    assert!(page.html.contains("Sign in") && asked.load(Ordering::SeqCst) == 0, "{}", page.html);
    let person = Person::signed_in(&app, &app.writer).await;
    let page = person.authorize(&id, &[]).await;
    let host = id.split('/').nth(2).unwrap();
    assert!(page.html.contains("Self-described") && page.html.contains(host), "{}", page.html);
    let code = person.code(&id).await;
    assert_eq!(asked.load(Ordering::SeqCst), 1, "the document is kept for a while");
    let (status, issued) = token(&app, &redemption(&id, &code)).await;
    assert_eq!(status, 200, "{issued}");
    let other = person.authorize(&id, &[("redirect_uri", "https://evil.example/cb")]).await;
    assert_eq!((other.status, other.location.as_str()), (400, ""));
}

#[actix_web::test]
async fn what_a_description_may_not_be_is_a_page_for_the_person() {
    let app = start("private_client_documents = true").await;
    let person = Person::signed_in(&app, &app.writer).await;
    let (elsewhere, reached) = serve(|own| json_answer(&document(own)));
    let elsewhere_ = elsewhere.clone();
    let cases: Vec<(Box<dyn Fn(&str) -> String + Send>, &str)> = vec![
        (Box::new(|_| json_answer(&document("https://app.example/other.json"))), "another client"),
        (Box::new(|_| json_answer("<html>")), "not a JSON document"),
        (Box::new(|_| json_answer(&" ".repeat(70_000))), "larger than 65536"),
        (Box::new(|own| json_answer(&document(own).replace("\"none\"", "\"client_secret_post\""))), "authenticate"),
        (Box::new(|own| json_answer(&document(own).replace(REDIRECT, "javascript:alert(1)"))), "redirect_uris"),
        (
            Box::new(move |_| format!("HTTP/1.1 302 Found\r\nlocation: {elsewhere_}\r\ncontent-length: 0\r\n\r\n")),
            "status 302",
        ),
        (Box::new(|_| "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n".to_owned()), "status 404"),
    ];
    for (answer, why) in cases {
        let (id, _) = serve(answer);
        let page = person.authorize(&id, &[]).await;
        assert_eq!((page.status, page.location.as_str()), (400, ""), "{why}");
        assert!(page.html.contains(why), "{why}: {}", page.html);
        // As where the service cannot reach the internet: published clients then register themselves.
        assert!(page.html.contains("oauth.client_documents = false"), "{}", page.html);
    }
    assert_eq!(reached.load(Ordering::SeqCst), 0, "a redirect was followed");
}

#[actix_web::test]
async fn addresses_of_private_networks_are_not_asked() {
    let app = start("").await;
    let (id, asked) = serve(|own| json_answer(&document(own)));
    let person = Person::signed_in(&app, &app.writer).await;
    let port = id.split(':').nth(2).unwrap().split('/').next().unwrap();
    for id in [
        id.clone(),
        id.replace("http://", "https://"),
        format!("https://127.0.0.1:{port}/client.json"),
        format!("https://[::1]:{port}/client.json"),
        format!("https://[::ffff:7f00:1]:{port}/client.json"),
        "https://169.254.169.254/latest/meta-data".to_owned(),
        "https://10.0.0.1/client.json".to_owned(),
        "file:///etc/passwd".to_owned(),
    ] {
        let page = person.authorize(&id, &[]).await;
        assert_eq!((page.status, page.location.as_str()), (400, ""), "{id}");
    }
    assert_eq!(asked.load(Ordering::SeqCst), 0);
    let off = start("client_documents = false").await;
    let person = Person::signed_in(&off, &off.writer).await;
    let page = person.authorize("https://app.example/client.json", &[]).await;
    assert!(page.html.contains("not known here"), "{}", page.html);
}
