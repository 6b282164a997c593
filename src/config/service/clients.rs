//! `[tokens]`, `[oauth]` and `[limits]`: tokens for clients, which clients may ask for them, and how often.

use std::time::Duration;

use portico_actors::auth::AuthLimits;
use portico_actors::auth::clock::Clock;
use portico_actors::auth::oauth::client::{ClientPolicy, DynamicRegistration};
use portico_actors::auth::throttle::Rate;
use serde_json::Value;

use super::server::Server;
use crate::config::declared::setting::Literal::{Number, Switch};
use crate::config::declared::setting::{SWITCH, Setting, number, switch_or_word};
use crate::config::declared::table::{FromJson, settings};

settings! {
    /// How tokens are issued.
    pub struct Tokens {
        /// Seconds that an access token is valid.
        lifetime: Duration = number(60..=86_400).or(Number(3600)).live(),
        /// Seconds that the clocks of two machines may be apart, at most 60: so long after its end a token is taken,
        /// and whatever else another process may have made (codes, grants, sessions).
        clock_skew: Duration = number(0..=60).or(Number(30)),
    }
}

settings! {
    /// Which clients may ask people for access, besides those of `portico client add`. Nobody is given anything before
    /// a person signed in and agreed to it. What clients hold that are not admitted any more opens nothing.
    #[derive(Copy)]
    pub struct OAuth {
        /// Clients whose id is the https address of their own description (Client ID Metadata Documents).
        client_documents: bool = SWITCH.or(Switch(true)).live(),
        /// Whether such an address may be private or without TLS: for development alone.
        private_client_documents: bool = SWITCH.or(Switch(false)),
        /// Which clients may register themselves (RFC 7591): true (all), false (none), or "known": those whose answers go
        /// to the person's own machine, or to the address that a published client documents (Cursor, VS Code, Claude).
        /// Left out, it is "known" where the service listens on loopback alone, else false. At most a thousand are kept;
        /// the unused ones are forgotten.
        dynamic_registration: Option<DynamicRegistration> = switch_or_word(|| vec![KNOWN]).example("\"known\"").live(),
    }
}

/// The word for clients that are known.
const KNOWN: &str = "known";

impl FromJson for DynamicRegistration {
    fn from_json(value: Option<Value>) -> Self {
        match value {
            Some(Value::Bool(true)) => Self::Everybody,
            Some(Value::String(word)) if word == KNOWN => Self::Known,
            _ => Self::Nobody,
        }
    }
}

settings! {
    /// Limits a minute; 0 is no limit. What goes beyond is answered with status 429,
    /// Retry-After and RateLimit headers. A good credential is let in however many others failed.
    pub struct Limits {
        /// Credentials that are not valid, from one address (or one IPv6 network of 64 bits), at all endpoints together:
        /// passwords, tokens, codes, refresh tokens and client secrets.
        failures_per_address: u32 = rate().or(Number(600)),
        /// The same under one name: an e-mail address or a client id, known or not. Nobody is locked out by it: beyond
        /// it, passwords of that name are compared at this rate and behind those of everybody else, but for addresses
        /// that have signed in under that name before. So many addresses together guess no faster than this.
        failures_per_name: u32 = rate().or(Number(60)),
        /// Clients that register themselves, from one address.
        registrations_per_address: u32 = rate().or(Number(10)),
        /// Access tokens issued to one client.
        tokens_per_client: u32 = rate().or(Number(300_000)),
        /// Requests of one caller.
        requests_per_principal: u32 = rate().or(Number(600_000)),
    }
}

const fn rate() -> Setting {
    number(0..=10_000_000)
}

impl Tokens {
    /// Returns the clock of tokens.
    pub fn clock(&self) -> Clock {
        Clock::system().apart(self.clock_skew)
    }
}

impl OAuth {
    /// Returns which clients people may give access to, besides those that an administrator registered.
    pub fn admission(self) -> ClientPolicy {
        ClientPolicy { documents: self.client_documents, dynamic: self.registration() }
    }

    /// Which clients may register themselves.
    pub fn registration(self) -> DynamicRegistration {
        self.dynamic_registration.unwrap_or(DynamicRegistration::Nobody)
    }

    /// Returns true if a published client may ask people for access; it may have a description at an address of its
    /// own.
    pub fn admits_published(self, describes_itself: bool) -> bool {
        self.registration() != DynamicRegistration::Nobody || (self.client_documents && describes_itself)
    }

    /// Sets the defaults for `server` where the file says nothing.
    pub(in crate::config) fn usual_for(self, server: &Server) -> Self {
        let usual = if server.is_loopback() { DynamicRegistration::Known } else { DynamicRegistration::Nobody };
        Self { dynamic_registration: self.dynamic_registration.or(Some(usual)), ..self }
    }
}

impl Limits {
    /// Failed sign-ins and token requests.
    pub fn auth(&self) -> AuthLimits {
        AuthLimits {
            failures_per_address: Rate::per_minute(self.failures_per_address),
            failures_per_name: Rate::per_minute(self.failures_per_name),
            tokens_per_client: Rate::per_minute(self.tokens_per_client),
            registrations_per_address: Rate::per_minute(self.registrations_per_address),
        }
    }

    /// Requests of one caller.
    pub fn requests(&self) -> Rate {
        Rate::per_minute(self.requests_per_principal)
    }
}
