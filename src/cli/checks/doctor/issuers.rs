//! Whether the keys of other issuers can be had.

use futures_util::{StreamExt, stream};
use portico_actors::auth::TrustedIssuer;

use super::finding::CheckResult;
use crate::config::Config;

/// Fetches each set of keys once, so many at a time.
pub(super) fn look(config: &Config, at_once: usize) -> Vec<CheckResult> {
    let fetched = actix::System::new().block_on(async {
        stream::iter(config.issuers.iter().map(TrustedIssuer::count_keys)).buffered(at_once).collect::<Vec<_>>().await
    });
    let told = config.issuers.iter().zip(fetched).filter_map(|(issuer, keys)| {
        let name = &issuer.issuer;
        Some(match keys? {
            Ok(0) => CheckResult::problem(
                "issuer",
                format!("{name}: its set has no key that can verify a token"),
                "look at jwks_url; a key is of RSA with 2048 bits or more, P-256 or Ed25519",
            ),
            Ok(keys) => CheckResult::ok("issuer", format!("{name}: {keys} of its keys can verify tokens")),
            Err(why) => CheckResult::problem(
                "issuer",
                format!("{name}: its keys cannot be had: {why}"),
                "look at jwks_url and the network; its tokens are answered with 503 while no key is known",
            ),
        })
    });
    told.collect()
}
