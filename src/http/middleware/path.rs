//! Checks that a request's target cannot be read in two ways: a path in its normal form (RFC 3986 §6.2.2), and in
//! HTTP/1 one host (RFC 9112 §3.2). Anything ambiguous is refused before it is used. Query strings are not checked
//! here.
//!
//! If only programs of this machine can reach the service, the host must be one of ours: a page of another site can
//! make its own name resolve to this machine (DNS rebinding), and then has the same origin in its browser. A
//! foreign host is refused.

use actix_web::HttpRequest;
use actix_web::body::{BoxBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::{Version, header};
use actix_web::middleware::Next;
use portico_actors::error::Error;

use crate::app::App;
use crate::http::connections::connection::HttpConnection;
use crate::http::error;
use crate::http::middleware::{audit_trail, recorder};
use crate::http::state;
use portico_actors::loopback;

/// Refuses a path that is not in its normal form, or a foreign host, and records it.
pub(in crate::http) async fn check(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> actix_web::Result<ServiceResponse<BoxBody>> {
    let app = state::app(&request)?;
    let malformed = fault(request.path()).or_else(|| fault_of_host(request.request()));
    let malformed = malformed.map(|refusal| (error::status(refusal.kind), refusal));
    let misdirected = || Some((error::MISDIRECTED, foreign(&request, &app)?));
    let Some((status, refusal)) = malformed.or_else(misdirected) else {
        return Ok(next.call(request).await?.map_into_boxed_body());
    };
    let id = recorder::request_id(request.request());
    recorder::refused(request.request(), &refusal);
    app.metrics.traffic.refused.inc();
    audit_trail::record_refusal(request.request(), &app, &refusal).await;
    app.metrics.traffic.responded(status.as_u16());
    let mut response = error::with_status(status, &refusal, id);
    // Where its body ends, if it has one, is of no interest.
    error::close(&mut response);
    Ok(request.into_response(response))
}

/// Returns the error in `path`.
fn fault(path: &str) -> Option<Error> {
    let wrong = |what: &str, remedy: &str| {
        Some(Error::invalid(format!("path: {what}")).hint(format!("{remedy} (RFC 3986, section 6.2.2)")))
    };
    let Some(rest) = path.strip_prefix('/') else {
        return wrong("it does not begin with a slash", "write the whole path");
    };
    let mut segments = rest.split('/').peekable();
    let mut octets = Vec::with_capacity(path.len());
    while let Some(segment) = segments.next() {
        // A slash at the end is another path, and not a wrong one.
        if segment.is_empty() && segments.peek().is_some() {
            return wrong("it has two slashes in a row", "write one");
        }
        if matches!(segment, "." | "..") {
            return wrong("it has a segment of dots alone", "write the path that it leads to");
        }
        if let Err((what, remedy)) = decode(segment, &mut octets) {
            return wrong(what, remedy);
        }
        octets.push(b'/');
    }
    if std::str::from_utf8(&octets).is_err() {
        return wrong("its escapes are not UTF-8", "escape the octets of UTF-8");
    }
    None
}

/// Appends the decoded `segment`.
fn decode(segment: &str, octets: &mut Vec<u8>) -> Result<(), (&'static str, &'static str)> {
    let mut rest = segment.bytes();
    while let Some(octet) = rest.next() {
        if octet != b'%' {
            let sub_delimiter = || b"!$&'()*+,;=:@".contains(&octet);
            if !unreserved(octet) && !sub_delimiter() {
                return Err(("it has a character that has to be escaped", "escape it as %XX"));
            }
            octets.push(octet);
            continue;
        }
        let mut digit = || rest.next().and_then(|digit| char::from(digit).to_digit(16));
        let decoded = digit().zip(digit()).and_then(|(high, low)| u8::try_from(high * 16 + low).ok());
        let Some(decoded) = decoded else {
            return Err(("it has a % without two hexadecimal digits", "write %25 for the sign itself"));
        };
        if unreserved(decoded) {
            return Err(("it has an escaped character that needs no escape", "write the character itself"));
        }
        if matches!(decoded, b'/' | b'\\') {
            return Err(("it has an escaped slash", "leave it out: no address here has one"));
        }
        if decoded.is_ascii_control() {
            return Err(("it has a control character", "leave it out"));
        }
        octets.push(decoded);
    }
    Ok(())
}

/// RFC 3986 §2.3.
fn unreserved(octet: u8) -> bool {
    octet.is_ascii_alphanumeric() || matches!(octet, b'-' | b'.' | b'_' | b'~')
}

/// Returns the error in the host of a request. In HTTP/2 the target contains it (`:authority`), and the header may
/// be absent.
fn fault_of_host(request: &HttpRequest) -> Option<Error> {
    let mut hosts = request.headers().get_all(header::HOST);
    let (host, is_repeated) = (hosts.next(), hosts.next().is_some());
    let is_http_2 = request.version() >= Version::HTTP_2;
    let is_one = match (request.uri().authority(), host) {
        (Some(authority), Some(host)) => host.as_bytes().eq_ignore_ascii_case(authority.as_str().as_bytes()),
        (Some(_), None) => is_http_2,
        (None, Some(_)) => true,
        (None, None) => !is_http_2,
    };
    (!is_one || is_repeated).then(|| {
        Error::invalid("Host: it differs from the host of the request's target, or it is missing or repeated")
            .hint("send it once, and the same in both (RFC 9112, section 3.2; RFC 9113, section 8.3.1)")
    })
}

/// Returns the error in the host of a request to a loopback listener.
fn foreign(request: &ServiceRequest, app: &App) -> Option<Error> {
    // Browsers do not reach a Unix socket.
    if !request.request().conn_data::<HttpConnection>()?.on_loopback() {
        return None;
    }
    let authority = match request.uri().authority() {
        Some(authority) => authority.as_str(),
        // Only HTTP/1.0 leaves it out, and no browser does.
        None => request.headers().get(header::HOST)?.to_str().unwrap_or_default(),
    };
    let host = loopback::host(authority);
    let config = app.config();
    let server = &config.server;
    let public = server.public_url.split_once("://").map_or("", |(_, authority)| authority);
    let is_ours = loopback::is_host(host)
        || host.eq_ignore_ascii_case(loopback::host(public))
        || server.allowed_hosts.iter().any(|allowed| host.eq_ignore_ascii_case(allowed));
    (!is_ours).then(|| {
        Error::invalid("Host: this service is not known by that name")
            .hint("use the host of its public address; an administrator can add others to server.allowed_hosts")
    })
}

#[cfg(test)]
mod tests {
    use actix_web::test::TestRequest;

    use super::*;

    #[test]
    fn a_path_has_one_spelling() {
        for path in [
            "/",
            "/api/query",
            "/api/query/",
            "/.well-known/jwks.json",
            "/mcp/connections/a-b_c~d.e",
            "/a;b=c/d@e:f!$&'()*+,",
            "/%C3%A9/%c3%a9/%20/%25/%7B",
        ] {
            assert!(fault(path).is_none(), "{path}");
        }
        for path in [
            "",
            "*",
            "api/query",
            "//api/query",
            "/api//query",
            "/api/query//",
            "//",
            "/./api",
            "/api/.",
            "/api/..",
            "/api/../mcp",
            "/%2e/api",
            "/%2E%2e",
            "/.%2E/",
            "/%61pi/query",
            "/api/quer%79",
            "/%7Eann",
            "/a%2Fb",
            "/a%5cb",
            "/a%00",
            "/a%0A",
            "/a%7f",
            "/%",
            "/%4",
            "/%zz",
            "/%+1",
            "/%C3",
            "/%FF",
            "/%C0%AE",
            "/\u{e9}",
            "/a b",
            "/a\\b",
            "/{a}",
            "/a\"",
        ] {
            assert!(fault(path).is_some_and(|fault| fault.message.starts_with("path: ")), "{path}");
        }
    }

    #[test]
    fn a_request_is_for_one_host() {
        let fault = |version, target: &str, hosts: &[&str]| {
            let mut request = TestRequest::default().version(version).uri(target);
            for host in hosts {
                request = request.append_header((header::HOST, *host));
            }
            fault_of_host(&request.to_http_request()).is_some()
        };
        let whole = "https://a.example/x";
        for (version, target, hosts) in [
            (Version::HTTP_11, "/x", &["a.example"] as &[&str]),
            (Version::HTTP_10, "/x", &[]),
            (Version::HTTP_11, whole, &["A.example"]),
            (Version::HTTP_2, whole, &[]),
            (Version::HTTP_2, whole, &["a.example"]),
            (Version::HTTP_2, "/x", &["a.example"]),
        ] {
            assert!(!fault(version, target, hosts), "{version:?} {target} {hosts:?}");
        }
        for (version, target, hosts) in [
            (Version::HTTP_11, "/x", &["a.example", "a.example"] as &[&str]),
            (Version::HTTP_11, whole, &["evil.example"]),
            (Version::HTTP_11, whole, &[]),
            (Version::HTTP_2, whole, &["evil.example"]),
            (Version::HTTP_2, whole, &["a.example", "a.example"]),
            (Version::HTTP_2, "/x", &[]),
        ] {
            assert!(fault(version, target, hosts), "{version:?} {target} {hosts:?}");
        }
    }
}
