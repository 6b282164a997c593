//! The resources of access tokens (RFC 8707): which of our addresses a `resource` names, and the rights of a token
//! with such an audience.

use std::sync::Arc;

use uuid::Uuid;
use uuid::fmt::Hyphenated;

use portico_core::principal::{Endpoint, Rights, Scope, WorkspaceGrant};

/// Where the MCP endpoints of workspaces are.
const WORKSPACES: &str = "/mcp/workspaces/";

/// Longer than any resource of ours.
const LONGEST: usize = 2_048;

/// One of our addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Resource {
    /// The origin itself: every endpoint.
    Service,
    /// The SQL API.
    Api,
    /// Every MCP endpoint.
    Mcp,
    /// The MCP endpoint of one connection.
    Connection(Uuid),
    /// The MCP endpoint of one workspace.
    Workspace(Arc<str>),
}

impl Resource {
    /// Parses an absolute address within `origin`, which has no trailing slash. A trailing slash and a query string
    /// name the same resource. Returns `None` for everything that is not ours.
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
            "/mcp" | "/mcp/connections" | "/mcp/workspaces" => Some(Self::Mcp),
            path if path.starts_with("/api/") => Some(Self::Api),
            path if path.starts_with(WORKSPACES) => {
                let name = path.strip_prefix(WORKSPACES)?;
                let letter = |octet: u8| octet.is_ascii_alphanumeric() || octet == b'_';
                let fits = !name.is_empty() && name.bytes().all(letter);
                fits.then(|| Self::Workspace(name.to_ascii_lowercase().into()))
            }
            path => {
                // An id has one form, that of RFC 9562 §4.
                let id = path.strip_prefix("/mcp/connections/").filter(|id| id.len() == Hyphenated::LENGTH);
                id.and_then(|id| Uuid::try_parse(id).ok()).map(Self::Connection)
            }
        }
    }

    /// Returns true if this resource includes `other`. This is the only relation between resources: everything
    /// granted for a resource stays within it, and everything requested of a grant must.
    pub(crate) fn contains(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Service, _) | (Self::Mcp, Self::Connection(_) | Self::Workspace(_)) => true,
            _ => self == other,
        }
    }

    /// Returns the rights of a token for this resource at `endpoint`; `None` if it is not for that endpoint.
    pub(crate) fn rights_at(&self, endpoint: Endpoint) -> Option<Rights> {
        let whole = match endpoint {
            Endpoint::Api => Self::Api,
            Endpoint::Mcp => Self::Mcp,
        };
        if self.contains(&whole) {
            return Some(Rights::ALL);
        }
        self.part().filter(|_| whole.contains(self))
    }

    /// Returns the only connection or workspace that it names, with the widest scope there.
    pub(crate) fn part(&self) -> Option<Rights> {
        match self {
            Self::Connection(id) => Some(Rights::only([*id], Scope::Admin)),
            Self::Workspace(name) => {
                Some(Rights::each([]).with_workspaces([(Arc::clone(name), WorkspaceGrant::Given(Scope::Admin))]))
            }
            Self::Service | Self::Api | Self::Mcp => None,
        }
    }

    /// Returns true if `rights` include the connection or workspace of this resource, or if it has none.
    pub(crate) fn is_open_to(&self, rights: &Rights) -> bool {
        match self {
            Self::Connection(id) => rights.covers(*id),
            Self::Workspace(name) => rights.may_reach(name),
            Self::Service | Self::Api | Self::Mcp => true,
        }
    }
}

/// Returns the combined rights of `resources` at `endpoint`; `None` if none of them is for that endpoint.
pub(crate) fn reach(resources: impl IntoIterator<Item = Resource>, endpoint: Endpoint) -> Option<Rights> {
    let mut parts = None::<(Vec<Uuid>, Vec<(Arc<str>, WorkspaceGrant)>)>;
    for reach in resources.into_iter().filter_map(|resource| resource.rights_at(endpoint)) {
        let Some(list) = reach.list() else { return Some(Rights::ALL) };
        let (ids, workspaces) = parts.get_or_insert_default();
        ids.extend(list.iter().map(|(id, _)| *id));
        workspaces.extend(reach.workspaces().iter().cloned());
    }
    parts.map(|(ids, workspaces)| Rights::only(ids, Scope::Admin).with_workspaces(workspaces))
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
            ("/mcp/workspaces", Resource::Mcp),
            ("/mcp/workspaces/Revenue?ops=get_tables", Resource::Workspace("revenue".into())),
        ] {
            assert_eq!(parse(rest), Some(resource), "{rest}");
        }
        for rest in [
            ".evil.example",
            ":8443",
            "0",
            "/mcp/connections/x",
            "/mcp/workspaces/a.b",
            "/other",
            "/#a",
            "/a b",
            "/é",
            "/apis",
        ] {
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
            ("/mcp/workspaces/revenue".to_owned(), Resource::Workspace("revenue".into())),
            ("/mcp/workspaces/turnover".to_owned(), Resource::Workspace("turnover".into())),
        ];
        let tails = ["", "/", "//", "?", "?tools=sql", "/?resource=/mcp", "?/mcp/connections"];
        let all = stems
            .iter()
            .flat_map(|(stem, resource)| tails.map(|tail| (format!("{ORIGIN}{stem}{tail}"), resource.clone())));
        all.collect()
    }

    /// The endpoints that a token for `resource` opens.
    fn opened(resource: &Resource) -> BTreeSet<(&'static str, String)> {
        let mut opened = BTreeSet::new();
        for (word, endpoint) in [("api", Endpoint::Api), ("mcp", Endpoint::Mcp)] {
            let Some(reach) = resource.rights_at(endpoint) else { continue };
            let ids = [ID, Uuid::from_u128(7), Uuid::from_u128(8)].into_iter().filter(|id| reach.covers(*id));
            opened.extend(ids.map(|id| (word, id.to_string())));
            // Over a connection that no resource names.
            let is_reached = |name: &&str| reach.scope_in(name, [Uuid::from_u128(9)]).is_some();
            let names = ["revenue", "turnover", "other"].into_iter().filter(is_reached);
            opened.extend(names.map(|name| (word, name.to_owned())));
        }
        opened
    }

    #[test]
    fn one_resource_contains_another_just_where_it_opens_all_that_the_other_opens() {
        for (outer, whole) in spelled() {
            assert_eq!(Resource::parse(ORIGIN, &outer), Some(whole.clone()), "{outer}");
            for (inner, part) in spelled() {
                let within = opened(&part).is_subset(&opened(&whole));
                assert_eq!(whole.contains(&part), within, "{outer} and {inner}");
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
