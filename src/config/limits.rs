//! `[limits]`: how often what may happen, in a minute.

use portico_actors::auth::AuthLimits;
use portico_actors::auth::throttle::Rate;

use super::problem::Problem;
use super::section::Section;

/// How often what may happen; a rate of none is no limit.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Failed sign-ins and token requests.
    pub auth: AuthLimits,
    /// Requests of one caller.
    pub requests_per_principal: Rate,
}

impl Default for Limits {
    fn default() -> Self {
        Self { auth: AuthLimits::default(), requests_per_principal: Rate::per_minute(600_000) }
    }
}

pub(super) fn read(root: &mut Section<'_>, problems: &mut Vec<Problem>) -> Limits {
    let mut section = root.section("limits", problems);
    let default = Limits::default();
    let mut rate = |name: &'static str, default: Rate| {
        let most = section.integer(name, 0..=10_000_000, problems).and_then(|most| u32::try_from(most).ok());
        most.map_or(default, Rate::per_minute)
    };
    let limits = Limits {
        auth: AuthLimits {
            failures_per_address: rate("failures_per_address", default.auth.failures_per_address),
            failures_per_name: rate("failures_per_name", default.auth.failures_per_name),
            tokens_per_client: rate("tokens_per_client", default.auth.tokens_per_client),
            registrations_per_address: rate("registrations_per_address", default.auth.registrations_per_address),
        },
        requests_per_principal: rate("requests_per_principal", default.requests_per_principal),
    };
    section.finish(problems);
    limits
}
