//! Which media types a client takes (RFC 9110 §12.5.1). The HTTP library reads the header.

use std::cell::RefCell;
use std::cmp::Reverse;
use std::rc::Rc;

use actix_web::HttpRequest;
use actix_web::http::header::{self, Accept, Header, HeaderValue, Quality};

/// How a media range that a media type is in names it: the most specific one decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Specificity {
    Everything,
    Kind,
    Type,
}

/// A range that a media type is in: how specific it is, its place among the others, and how much it is wanted.
type Fit = (Specificity, Reverse<usize>, Quality);

fn fits(accept: &Accept, media: &str) -> impl Iterator<Item = Fit> {
    let kind = media.split('/').next().unwrap_or_default();
    accept.iter().enumerate().filter_map(move |(place, range)| {
        let specificity = match range.item.essence_str() {
            "*/*" => Specificity::Everything,
            named if named == media => Specificity::Type,
            named if named.strip_suffix("/*") == Some(kind) => Specificity::Kind,
            _ => return None,
        };
        Some((specificity, Reverse(place), range.quality))
    })
}

/// Octets of a header that is remembered at most.
const LONGEST: usize = 256;

thread_local! {
    /// The header that this thread parsed last: programs send the same one with each request.
    static LAST: RefCell<Option<(HeaderValue, Rc<Accept>)>> = const { RefCell::new(None) };
}

fn read(request: &HttpRequest) -> Rc<Accept> {
    let mut values = request.headers().get_all(header::ACCEPT);
    let only = values.next().filter(|value| values.next().is_none() && value.len() <= LONGEST);
    let last =
        LAST.with_borrow(|last| last.as_ref().filter(|last| Some(&last.0) == only).map(|last| Rc::clone(&last.1)));
    last.unwrap_or_else(|| {
        let accept = Rc::new(Accept::parse(request).unwrap_or_else(|_| Accept(Vec::new())));
        if let Some(only) = only {
            // A copy: the value may hold on to all that its request was read into.
            let copy = HeaderValue::from_bytes(only.as_bytes());
            LAST.set(copy.ok().map(|copy| (copy, Rc::clone(&accept))));
        }
        accept
    })
}

/// Which of `offered`, the best one first, the client prefers; one that does not say takes the first.
pub(super) fn preferred(request: &HttpRequest, offered: &[&str]) -> Option<usize> {
    let is_blank = |octet: &u8| matches!(octet, b' ' | b'\t' | b',');
    if request.headers().get_all(header::ACCEPT).all(|value| value.as_bytes().iter().all(is_blank)) {
        return Some(0);
    }
    let accept = read(request);
    let best = offered.iter().enumerate().filter_map(|(order, media)| {
        let (specificity, place, quality) = fits(&accept, media).max()?;
        (quality > Quality::ZERO).then_some((quality, specificity, place, Reverse(order)))
    });
    best.max().map(|(.., Reverse(order))| order)
}

/// Which of `medias` the client takes; one that does not say takes everything.
pub(super) fn takes<const N: usize>(request: &HttpRequest, medias: [&str; N]) -> [bool; N] {
    if !request.headers().contains_key(header::ACCEPT) {
        return [true; N];
    }
    let accept = read(request);
    medias.map(|media| fits(&accept, media).any(|(.., quality)| quality > Quality::ZERO))
}

/// Whether the client names `media` or its kind: not just anything.
pub(super) fn names(request: &HttpRequest, media: &str) -> bool {
    let is_named = |(specificity, _, quality)| specificity > Specificity::Everything && quality > Quality::ZERO;
    fits(&read(request), media).any(is_named)
}

#[cfg(test)]
mod tests {
    use actix_web::test::TestRequest;

    use super::*;

    const STREAM: &str = "text/event-stream";

    fn accepting(accept: &str) -> HttpRequest {
        TestRequest::default().insert_header((header::ACCEPT, accept)).to_http_request()
    }

    #[test]
    fn an_accept_header_may_name_a_media_type_or_a_range() {
        let json = |accept| takes(&accepting(accept), ["application/json"]) == [true];
        for accept in ["*/*", "application/json", "application/*", "text/html, Application/JSON;q=0.5"] {
            assert!(json(accept), "{accept}");
        }
        for accept in ["text/html", "application/json;q=0", "", "text/*", "application/json5"] {
            assert!(!json(accept), "{accept}");
        }
        assert!(names(&accepting("application/json, text/event-stream"), STREAM));
        assert!(names(&accepting("text/*"), STREAM) && !names(&accepting("*/*"), STREAM));
        let none = TestRequest::default().to_http_request();
        assert!(takes(&none, [STREAM]) == [true] && !names(&none, STREAM));
    }

    #[test]
    fn the_most_wanted_form_is_chosen() {
        let offered = ["application/json", "text/csv", "application/x-ndjson", "application/vnd.apache.arrow.stream"];
        for (accept, expected) in [
            ("", Some(0)),
            (" , ", Some(0)),
            ("*/*", Some(0)),
            ("application/*", Some(0)),
            ("text/html, application/xml;q=0.9, */*;q=0.8", Some(0)),
            ("text/csv", Some(1)),
            ("TEXT/CSV ; q=0.5, application/json;q=0.4", Some(1)),
            ("text/*", Some(1)),
            ("application/x-ndjson, text/csv", Some(2)),
            ("text/csv, */*", Some(1)),
            ("text/csv;q=0.5, */*", Some(0)),
            ("application/json;q=0, */*;q=0.1", Some(1)),
            ("application/vnd.apache.arrow.stream", Some(3)),
            ("application/xml", None),
            ("nonsense", None),
            ("text/csv;q=0", None),
            ("text/csv;q=0.000, text/plain", None),
        ] {
            assert_eq!(preferred(&accepting(accept), &offered), expected, "{accept}");
        }
    }
}
