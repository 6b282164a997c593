//! Reports the rest of a rate limit in an answer (draft-ietf-httpapi-ratelimit-headers).

use actix_web::http::header::{HeaderMap, HeaderName, HeaderValue};
use portico_actors::error::Quota;

const RATELIMIT: HeaderName = HeaderName::from_static("ratelimit");
const RATELIMIT_POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");

/// Returns the headers of a rate limit (draft-ietf-httpapi-ratelimit-headers §3 and §4), in whole seconds.
pub(super) fn headers(quota: &Quota) -> [(HeaderName, String); 2] {
    let Quota { policy, most, remaining, .. } = quota;
    let (window, reset) = (quota.window.as_secs(), quota.reset.as_millis().div_ceil(1000));
    [
        (RATELIMIT_POLICY, format!("\"{policy}\";q={most};w={window}")),
        (RATELIMIT, format!("\"{policy}\";r={remaining};t={reset}")),
    ]
}

/// Adds the headers of a rate limit, unless the answer has those of another one.
pub(super) fn insert_headers(answer: &mut HeaderMap, quota: &Quota) {
    if answer.contains_key(&RATELIMIT) {
        return;
    }
    for (name, value) in headers(quota) {
        if let Ok(value) = HeaderValue::from_str(&value) {
            answer.insert(name, value);
        }
    }
}
