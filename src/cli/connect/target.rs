//! What a client is to use, as named on the command line.

use portico_actors::error::Error;
use portico_actors::near;
use url::Url;

use crate::client_setup::mcp_server::{McpServer, ServerTarget};
use crate::config::Config;

/// The command line's options for it.
pub(super) struct Named<'a> {
    pub(super) server: Option<&'a str>,
    pub(super) connection: Option<&'a str>,
    pub(super) workspace: Option<&'a str>,
    pub(super) lean: bool,
}

/// Returns the named target, which must be in `config` if that is known.
pub(super) fn place(said: &Named<'_>, config: Option<&Config>) -> Result<McpServer, Error> {
    let server = match (said.server, config) {
        (Some(server), _) => origin(server)?,
        (None, Some(config)) => config.server.public_url.clone(),
        (None, None) => return Err(Error::invalid("--server: no server is known").hint("give its address")),
    };
    let target = match (said.connection, said.workspace) {
        (Some(name), _) => {
            let known = config.map(|config| config.connections.iter().map(|it| it.name.as_ref()).collect());
            ServerTarget::Connection(named("connection", name, known)?)
        }
        (None, Some(name)) => {
            let known = config.map(|config| config.workspaces.iter().map(|it| it.name.as_ref()).collect());
            ServerTarget::Workspace(named("workspace", name, known)?)
        }
        (None, None) => ServerTarget::All,
    };
    Ok(McpServer { server, target, lean: said.lean })
}

/// Returns the origin of the text, which may be a copied address with a path.
fn origin(text: &str) -> Result<String, Error> {
    let wrong = |why: &str| {
        Error::invalid(format!("--server: {text:?} {why}"))
            .hint("write scheme, host and port, as in https://data.example.org")
    };
    let url = Url::parse(text).map_err(|_| wrong("is not an address"))?;
    if !url.username().is_empty() || url.password().is_some() {
        // It is not repeated.
        return Err(Error::invalid("--server: the address has a user or a password").hint("leave them out"));
    }
    if !matches!(url.scheme(), "http" | "https") {
        return Err(wrong("is not an http or https address of a server"));
    }
    if !matches!(url.path(), "" | "/") || url.query().is_some() || url.fragment().is_some() {
        return Err(wrong("is more than the address of a server"));
    }
    Ok(url.origin().ascii_serialization())
}

/// Returns the name as spelled in the configuration, or unchanged without one.
fn named(what: &str, name: &str, known: Option<Vec<&str>>) -> Result<String, Error> {
    let letter = |each: char| each.is_ascii_alphanumeric() || matches!(each, '_' | '-');
    let Some(known) = known else {
        if name.is_empty() || !name.chars().all(letter) {
            return Err(Error::invalid(format!("--{what}: {name:?} is not the name of a {what}"))
                .hint("use letters, digits, _ and -"));
        }
        return Ok(name.to_owned());
    };
    let found = known.iter().find(|known| known.eq_ignore_ascii_case(name));
    found.map(|found| (*found).to_owned()).ok_or_else(|| {
        let near = near::suggestion(name, known.iter().copied());
        let there = if known.is_empty() { format!("there is no {what}") } else { known.join(", ") };
        Error::not_found(format!("--{what}: there is no {what} {name:?}"))
            .hint(near.unwrap_or_else(|| format!("{what}s: {there}")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_an_origin() {
        for (text, origin_) in [
            ("https://data.example.org", "https://data.example.org"),
            ("https://data.example.org/", "https://data.example.org"),
            ("http://localhost:8787", "http://localhost:8787"),
            ("https://data.example.org:443", "https://data.example.org"),
        ] {
            assert_eq!(origin(text).unwrap(), origin_);
        }
        for wrong in ["data.example.org", "ftp://x", "https://u:p@x", "https://x/mcp", "https://x?a", ""] {
            assert!(origin(wrong).unwrap_err().message.starts_with("--server: "), "{wrong}");
        }
    }

    #[test]
    fn a_name_is_looked_up_where_that_is_possible() {
        assert_eq!(named("connection", "SHOP", Some(vec!["shop"])).unwrap(), "shop");
        let error = named("connection", "shpo", Some(vec!["shop", "crm"])).unwrap_err();
        assert_eq!(error.get_hint(), Some("did you mean shop?"));
        assert_eq!(named("workspace", "any-1", None).unwrap(), "any-1");
        assert!(named("workspace", "a/b", None).is_err());
    }
}
