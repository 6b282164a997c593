//! Whether a person could sign in from another machine, according to the configuration.

use portico_actors::auth::oauth::client::DynamicRegistration;
use serde::Serialize;

use crate::config::{Config, Server};
use portico_actors::loopback;

/// One thing that was found about signing in.
#[derive(Debug, Serialize)]
pub(in crate::cli) struct SignInFinding {
    /// Whether that much works.
    pub(in crate::cli) works: bool,
    /// How it is.
    pub(in crate::cli) message: String,
    /// Whether it is a mistake; who may ask for access is the administrator's choice.
    #[serde(skip)]
    pub(in crate::cli) is_mistake: bool,
    /// What to change, or how to allow more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::cli) remedy: Option<&'static str>,
}

/// Returns the findings in the order in which a client meets them: the address, then who may ask for access.
pub(in crate::cli) fn look(config: &Config) -> Vec<SignInFinding> {
    vec![address(&config.server), clients(config)]
}

/// Whether the public address leads here from another machine.
fn address(server: &Server) -> SignInFinding {
    let url = &server.public_url;
    let found = |works, message: String, remedy| SignInFinding { works, message, is_mistake: !works, remedy };
    let secure = url.starts_with("https://");
    if loopback::is_origin(url) {
        return found(
            true,
            format!(
                "clients on this machine can sign in at {url}; others cannot, for public_url is an address of this machine"
            ),
            Some("for clients elsewhere, set server.public_url to the https address that they reach"),
        );
    }
    if !secure {
        return found(
            false,
            format!("clients elsewhere refuse to sign in at {url}, which has no TLS"),
            Some("configure [server.tls], or a proxy with TLS in front, and make server.public_url https"),
        );
    }
    if server.tls.is_some() && server.is_loopback() {
        return found(
            false,
            format!("clients elsewhere do not reach {url}: the service has TLS and listens on loopback alone"),
            Some("add an address of this machine to server.listen, as \"0.0.0.0:443\""),
        );
    }
    let proxies = &server.trusted_proxies;
    if server.tls.is_none() && proxies.networks.is_empty() && !proxies.unix {
        return found(
            false,
            format!(
                "clients elsewhere can sign in at {url} if a proxy with TLS is in front, but every one of them has the \
                 proxy's address: one that guesses passwords slows down all"
            ),
            Some("name the proxy in server.trusted_proxies, and have it send server.forwarded_header"),
        );
    }
    found(true, format!("clients elsewhere can sign in at {url}"), None)
}

/// Which clients may ask people for access.
fn clients(config: &Config) -> SignInFinding {
    let found =
        |works, message: &str, remedy| SignInFinding { works, message: message.to_owned(), is_mistake: false, remedy };
    let known = "set oauth.dynamic_registration = \"known\" to admit Cursor, VS Code, Claude and programs on people's own \
                 machines";
    match (config.oauth.registration(), config.oauth.client_documents) {
        (DynamicRegistration::Everybody, _) => {
            found(true, "every client may register itself and ask people for access", None)
        }
        (DynamicRegistration::Known, _) => found(
            true,
            "clients on people's own machines and published ones (Cursor, VS Code, Claude) may register themselves",
            Some("oauth.dynamic_registration = true admits every client, and portico client add one by name"),
        ),
        (DynamicRegistration::Nobody, true) => found(
            false,
            "clients that describe themselves at their own address may ask people for access; those that register \
             themselves, as most do, may not",
            Some(known),
        ),
        (DynamicRegistration::Nobody, false) => {
            found(false, "only clients of `portico client add` may ask people for access", Some(known))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn what_stands_in_a_clients_way_is_told_with_what_to_change() {
        const CONNECTION: &str = "[[connections]]\nid = \"6f0b1a52-8d0e-4c57-9d1b-6a7f3f0c2b11\"\nname = \"shop\"\nurl = \"sqlite:shop.db\"\n";
        let told = |text: &str| {
            let text = format!("{CONNECTION}{text}");
            let found = look(&Config::parse(&text, Path::new(""), &|_| None).unwrap());
            let words = |found: &SignInFinding| format!("{} -> {}", found.message, found.remedy.unwrap_or_default());
            (found[0].works, words(&found[0]), found[1].works, words(&found[1]))
        };
        let (works, words, may, who) = told("");
        assert!(works && words.contains("http://localhost:8787") && words.contains("server.public_url"), "{words}");
        assert!(may && who.contains("dynamic_registration = true"), "{who}");
        for (server, works, expected) in [
            ("public_url = \"http://data.example.org\"", false, "no TLS -> configure [server.tls]"),
            ("public_url = \"https://data.example.org\"", false, "server.trusted_proxies"),
            (
                "public_url = \"https://data.example.org\"\ntrusted_proxies = [\"127.0.0.1\"]",
                true,
                "https://data.example.org -> ",
            ),
            ("public_url = \"http://[::1]:8787\"", true, "on this machine"),
        ] {
            let (well, words, ..) = told(&format!("[server]\n{server}"));
            assert!(well == works && words.contains(expected), "{server}: {words}");
        }
        let (.., may, who) = told("[server]\nlisten = \"0.0.0.0:8787\"");
        assert!(!may && who.contains("set oauth.dynamic_registration = \"known\""), "{who}");
        let (.., may, who) = told("[oauth]\ndynamic_registration = false\nclient_documents = false");
        assert!(!may && who.contains("portico client add"), "{who}");
        let (.., may, who) = told("[oauth]\ndynamic_registration = true");
        assert!(may && who.starts_with("every client"), "{who}");
        let refused = Config::parse("[oauth]\ndynamic_registration = \"knwn\"", Path::new(""), &|_| None).unwrap_err();
        assert!(refused.to_string().contains("write true, false or \"known\""), "{refused}");
    }
}
