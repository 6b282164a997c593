//! What an access token is for (RFC 8707): which of our addresses a `resource` names, and what a
//! token with such an audience opens.

use uuid::Uuid;
use uuid::fmt::Hyphenated;

use portico_core::principal::{Endpoint, Rights, Scope};

/// Longer than any resource of ours.
const LONGEST: usize = 2_048;

/// One of our addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Resource {
    /// The origin itself: every endpoint.
    Service,
    /// The SQL API.
    Api,
    /// Every MCP endpoint.
    Mcp,
    /// The MCP endpoint of one connection.
    Connection(Uuid),
}

impl Resource {
    /// Reads an absolute address within `origin`, which has no trailing slash. A trailing slash and
    /// a query string name the same resource. `None` for everything that is not ours.
    pub(crate) fn parse(origin: &str, address: &str) -> Option<Self> {
        if address.len() > LONGEST || !address.chars().all(|c| c.is_ascii_graphic() && c != '#') {
            return None;
        }
        let rest = address.strip_prefix(origin)?;
        if !(rest.is_empty() || rest.starts_with(['/', '?'])) {
            return None;
        }
        match rest.split('?').next().unwrap_or_default().trim_end_matches('/') {
            "" => Some(Self::Service),
            "/api" => Some(Self::Api),
            "/mcp" | "/mcp/connections" => Some(Self::Mcp),
            path if path.starts_with("/api/") => Some(Self::Api),
            path => {
                // An id has one form, that of RFC 9562 §4.
                let id = path.strip_prefix("/mcp/connections/").filter(|id| id.len() == Hyphenated::LENGTH);
                id.and_then(|id| Uuid::try_parse(id).ok()).map(Self::Connection)
            }
        }
    }

    /// The one relation among resources: whether whatever is for `other` is for this one too. All that
    /// is given for a resource stays within it, and what is asked of a grant has to be.
    pub(crate) fn contains(self, other: Self) -> bool {
        match (self, other) {
            (Self::Service, _) | (Self::Mcp, Self::Connection(_)) => true,
            _ => self == other,
        }
    }

    /// What a token for this resource reaches at `endpoint`; `None` where it is not for there.
    pub(crate) fn reach(self, endpoint: Endpoint) -> Option<Rights> {
        let whole = match endpoint {
            Endpoint::Api => Self::Api,
            Endpoint::Mcp => Self::Mcp,
        };
        if self.contains(whole) {
            return Some(Rights::ALL);
        }
        self.connection().filter(|_| whole.contains(self)).map(|id| Rights::only([id], Scope::Admin))
    }

    /// The one connection that it names, if it does.
    pub(crate) fn connection(self) -> Option<Uuid> {
        match self {
            Self::Connection(id) => Some(id),
            _ => None,
        }
    }
}

/// What `resources` open together at `endpoint`; `None` where none of them is for there.
pub(crate) fn reach(resources: impl IntoIterator<Item = Resource>, endpoint: Endpoint) -> Option<Rights> {
    let mut ids = None::<Vec<Uuid>>;
    for reach in resources.into_iter().filter_map(|resource| resource.reach(endpoint)) {
        match reach.list() {
            None => return Some(Rights::ALL),
            Some(list) => ids.get_or_insert_default().extend(list.iter().map(|(id, _)| *id)),
        }
    }
    ids.map(|ids| Rights::only(ids, Scope::Admin))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const ORIGIN: &str = "https://data.example.org";
    const ID: Uuid = Uuid::from_u128(0x6f0b_1a52_8d0e_4c57_9d1b_6a7f_3f0c_2b11);

    fn parse(rest: &str) -> Option<Resource> {
        Resource::parse(ORIGIN, &format!("{ORIGIN}{rest}"))
    }

    #[test]
    fn only_our_own_addresses_are_resources() {
        let mcp = format!("/mcp/connections/{ID}");
        for (rest, resource) in [
            ("", Resource::Service),
            ("/", Resource::Service),
            ("/?x", Resource::Service),
            ("/api", Resource::Api),
            ("/api/query", Resource::Api),
            ("/mcp/", Resource::Mcp),
            (&mcp, Resource::Connection(ID)),
            (&format!("{mcp}/?tools=sql"), Resource::Connection(ID)),
        ] {
            assert_eq!(parse(rest), Some(resource), "{rest}");
        }
        for rest in [".evil.example", ":8443", "0", "/mcp/connections/x", "/other", "/#a", "/a b", "/é", "/apis"] {
            assert_eq!(parse(rest), None, "{rest}");
        }
        assert_eq!(Resource::parse(ORIGIN, "http://data.example.org"), None);
        assert_eq!(parse(&format!("/api/{}", "a".repeat(3_000))), None);
    }

    /// Every resource, in all of its spellings.
    fn spelled() -> Vec<(String, Resource)> {
        let other = Uuid::from_u128(7);
        let stems = [
            (String::new(), Resource::Service),
            ("/api".to_owned(), Resource::Api),
            ("/api/query".to_owned(), Resource::Api),
            ("/mcp".to_owned(), Resource::Mcp),
            ("/mcp/connections".to_owned(), Resource::Mcp),
            (format!("/mcp/connections/{ID}"), Resource::Connection(ID)),
            (format!("/mcp/connections/{}", ID.to_string().to_uppercase()), Resource::Connection(ID)),
            (format!("/mcp/connections/{other}"), Resource::Connection(other)),
        ];
        let tails = ["", "/", "//", "?", "?tools=sql", "/?resource=/mcp", "?/mcp/connections"];
        let all =
            stems.iter().flat_map(|(stem, resource)| tails.map(|tail| (format!("{ORIGIN}{stem}{tail}"), *resource)));
        all.collect()
    }

    /// The doors that a token for `resource` opens.
    fn opened(resource: Resource) -> BTreeSet<(&'static str, Uuid)> {
        let ids = [ID, Uuid::from_u128(7), Uuid::from_u128(8)];
        let doors = [("api", Endpoint::Api), ("mcp", Endpoint::Mcp)];
        let all = doors.into_iter().flat_map(|(word, endpoint)| ids.map(|id| (word, endpoint, id)));
        let opens = |endpoint, id| resource.reach(endpoint).is_some_and(|reach| reach.covers(id));
        all.filter(|(_, endpoint, id)| opens(*endpoint, *id)).map(|(word, _, id)| (word, id)).collect()
    }

    #[test]
    fn one_resource_contains_another_just_where_it_opens_all_that_the_other_opens() {
        for (outer, whole) in spelled() {
            assert_eq!(Resource::parse(ORIGIN, &outer), Some(whole), "{outer}");
            for (inner, part) in spelled() {
                let within = opened(part).is_subset(&opened(whole));
                assert_eq!(whole.contains(part), within, "{outer} and {inner}");
            }
            for foreign in ["http://data.example.org", "https://data.example.org.evil.example", "https://evil.example"]
            {
                let elsewhere = outer.replacen(ORIGIN, foreign, 1);
                assert_eq!(Resource::parse(ORIGIN, &elsewhere), None, "{elsewhere}");
            }
        }
        for id in [ID.simple().to_string(), ID.braced().to_string(), ID.urn().to_string()] {
            assert_eq!(parse(&format!("/mcp/connections/{id}")), None, "{id}");
        }
    }

    #[test]
    fn a_resource_opens_its_own_endpoint_alone() {
        assert_eq!(reach([Resource::Connection(ID)], Endpoint::Mcp), Some(Rights::only([ID], Scope::Admin)));
        assert_eq!(reach([Resource::Connection(ID)], Endpoint::Api), None);
        assert_eq!(reach([Resource::Connection(ID), Resource::Api], Endpoint::Api), Some(Rights::ALL));
        assert_eq!(reach([Resource::Api], Endpoint::Mcp), None);
        assert_eq!(reach([], Endpoint::Mcp), None);
    }
}
