//! Which media types a client takes at the MCP endpoint (RFC 9110 §12.5.1).

use actix_web::HttpRequest;
use actix_web::http::header;

/// Whether the client takes `media`; one that does not say takes everything.
pub(in crate::http) fn takes(request: &HttpRequest, media: &str) -> bool {
    let mut accept = request.headers().get_all(header::ACCEPT).peekable();
    accept.peek().is_none() || accept.any(|value| value.to_str().is_ok_and(|accept| allows(accept, media, true)))
}

/// Whether `accept` allows `media`, by name or, where `wild`, by `*/*`.
pub(in crate::http) fn allows(accept: &str, media: &str, wild: bool) -> bool {
    let kind = media.split('/').next().unwrap_or_default();
    accept.split(',').any(|range| {
        let mut pieces = range.split(';').map(str::trim);
        let range = pieces.next().unwrap_or_default().to_ascii_lowercase();
        let refused = pieces.any(|piece| matches!(piece, "q=0" | "q=0.0" | "q=0.00" | "q=0.000"));
        let named = range == media || range.strip_suffix("/*").is_some_and(|range| range == kind);
        !refused && (named || wild && range == "*/*")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::mcp::sse;

    #[test]
    fn an_accept_header_may_name_a_media_type_or_a_range() {
        let json = |accept| allows(accept, "application/json", true);
        for accept in ["*/*", "application/json", "application/*", "text/html, Application/JSON;q=0.5"] {
            assert!(json(accept), "{accept}");
        }
        for accept in ["text/html", "application/json;q=0", "", "text/*", "application/json5"] {
            assert!(!json(accept), "{accept}");
        }
        assert!(allows("application/json, text/event-stream", sse::MEDIA_TYPE, false));
        assert!(allows("text/*", sse::MEDIA_TYPE, false) && !allows("*/*", sse::MEDIA_TYPE, false));
    }
}
