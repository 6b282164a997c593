//! Reads a connection's URL and a service's section as names and values. Their meaning is in `options.rs`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use percent_encoding::percent_decode_str;

use super::invalid::refusal;
use portico_core::error::Result;

/// Parameters by their libpq names (PostgreSQL, §34.1.2). The values may be secret.
#[derive(Default)]
pub(crate) struct Parameters {
    values: BTreeMap<String, String>,
    /// The names that were asked for.
    known: BTreeSet<&'static str>,
}

impl Parameters {
    /// Reads a URL as libpq does (§34.1.1.2). Characters of the password that libpq wants encoded
    /// may also stand for themselves, as far as that is not ambiguous.
    ///
    /// # Errors
    /// [`Kind::Invalid`](portico_core::error::Kind::Invalid) without any word of the URL.
    pub(crate) fn of_url(url: &str) -> Result<Self> {
        const FORM: &str = "write postgres://user:password@host:5432/database?sslmode=verify-full, and % and two \
            digits for special characters";
        let text = url.strip_prefix("postgres://").or_else(|| url.strip_prefix("postgresql://"));
        let text = text.ok_or_else(|| refusal("url", "this is not a PostgreSQL URL", FORM))?;
        let mut parameters = Self::default();
        let (head, query) = text.split_once('?').map_or((text, None), |(head, query)| (head, Some(query)));
        // The last one: a password may hold others, and slashes as well.
        let (credentials, place) =
            head.rsplit_once('@').map_or((None, head), |(credentials, place)| (Some(credentials), place));
        if let Some(credentials) = credentials {
            let (user, password) =
                credentials.split_once(':').map_or((credentials, None), |(user, password)| (user, Some(password)));
            parameters.put("user", user, FORM)?;
            parameters.put("password", password.unwrap_or_default(), FORM)?;
        }
        let (hosts, database) = place.split_once('/').unwrap_or((place, ""));
        parameters.put("dbname", database, FORM)?;
        let (mut names, mut ports) = (Vec::new(), Vec::new());
        for host in hosts.split(',').filter(|_| !hosts.is_empty()) {
            let (name, port) = match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
                Some((name, rest)) => (name, rest.strip_prefix(':').unwrap_or(rest)),
                None => host.split_once(':').unwrap_or((host, "")),
            };
            names.push(name);
            ports.push(port);
        }
        parameters.put("host", &names.join(","), FORM)?;
        if ports.iter().any(|port| !port.is_empty()) {
            parameters.put("port", &ports.join(","), FORM)?;
        }
        // The part that looks like a port is the start of a password with a question mark in it.
        let is_cut =
            |(_, port): (&str, &str)| !port.bytes().all(|byte| byte.is_ascii_digit() || b",]/".contains(&byte));
        if credentials.is_none()
            && query.is_some_and(|query| query.contains('@'))
            && head.rsplit_once(':').is_some_and(is_cut)
            && !head.contains('/')
        {
            return Err(refusal(
                "url",
                "a question mark stands in front of the @",
                "write %3F for a ? of the password",
            ));
        }
        for pair in query.into_iter().flat_map(|query| query.split('&')).filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').ok_or_else(|| {
                refusal("url", "a parameter behind the question mark has no value", "write name=value&name=value")
            })?;
            let name = percent_decode_str(name).decode_utf8_lossy().into_owned();
            parameters.put(&name, value, FORM)?;
        }
        Ok(parameters)
    }

    fn put(&mut self, name: &str, value: &str, form: &str) -> Result<()> {
        let value = percent_decode_str(value).decode_utf8().map_err(|_| refusal(name, "this is not UTF-8", form))?;
        if !value.is_empty() {
            self.values.insert(name.to_owned(), value.into_owned());
        }
        Ok(())
    }

    /// Takes a parameter out.
    pub(crate) fn take(&mut self, name: &'static str) -> Option<String> {
        self.known.insert(name);
        self.values.remove(name)
    }

    /// Returns the names that were not read.
    pub(crate) fn left(&self) -> impl Iterator<Item = &str> {
        self.values.keys().map(String::as_str)
    }

    /// Returns the names that are supported.
    pub(crate) fn known(&self) -> impl Iterator<Item = &str> {
        self.known.iter().copied()
    }

    /// Adds the parameters of a service's section; those of the URL take precedence (§34.17).
    ///
    /// # Errors
    /// [`Kind::Invalid`](portico_core::error::Kind::Invalid) if no file has the service.
    pub(crate) fn add_service(&mut self, files: &[PathBuf]) -> Result<()> {
        let Some(service) = self.take("service") else { return Ok(()) };
        for file in files {
            let Ok(text) = fs::read_to_string(file) else { continue };
            let Some(section) = section(&text, &service)? else { continue };
            for (name, value) in section {
                self.values.entry(name).or_insert(value);
            }
            return Ok(());
        }
        Err(refusal(
            "service",
            &format!("no service file has a section [{service}]"),
            "add it to ~/.pg_service.conf, or name the file in PGSERVICEFILE",
        ))
    }
}

/// The names and values of one section of a service file.
fn section(text: &str, service: &str) -> Result<Option<Vec<(String, String)>>> {
    let mut found: Option<Vec<(String, String)>> = None;
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            if found.is_some() {
                break;
            }
            if name == service {
                found = Some(Vec::new());
            }
        } else if let Some(section) = &mut found {
            let (name, value) = line.split_once('=').ok_or_else(|| {
                refusal("service", &format!("a line of section [{service}] has no ="), "write name=value, one a line")
            })?;
            if name.trim() == "service" {
                return Err(refusal("service", "a service cannot refer to another one", "remove that line"));
            }
            section.push((name.trim().to_owned(), value.trim().to_owned()));
        }
    }
    Ok(found)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn read(url: &str) -> Vec<(String, String)> {
        Parameters::of_url(url).unwrap().values.into_iter().collect()
    }

    fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn urls_are_read_as_libpq_does() {
        assert_eq!(
            read("postgres://u:p%40s@h:1/d?sslmode=require"),
            pairs(&[
                ("dbname", "d"),
                ("host", "h"),
                ("password", "p@s"),
                ("port", "1"),
                ("sslmode", "require"),
                ("user", "u")
            ])
        );
        assert_eq!(
            read("postgresql://a:1,[::1]:2,c/?user=u"),
            pairs(&[("host", "a,::1,c"), ("port", "1,2,"), ("user", "u")])
        );
        assert_eq!(read("postgres://%2Frun%2Fpg/d"), pairs(&[("dbname", "d"), ("host", "/run/pg")]));
        assert_eq!(read("postgres:///d?service=x"), pairs(&[("dbname", "d"), ("service", "x")]));
    }

    #[test]
    fn special_characters_of_a_password_may_stand_for_themselves() {
        let error = Parameters::of_url("postgres://u:hunter?2@h/d").map(drop).unwrap_err();
        assert!(error.get_hint().unwrap().contains("%3F") && !error.message.contains("hunter"), "{error:?}");
        for (url, password) in [("postgres://u:a/b+c=@h/d", "a/b+c="), ("postgres://u:a@b/c@h/d", "a@b/c")] {
            let mut read = Parameters::of_url(url).unwrap();
            assert_eq!(read.take("password").unwrap(), password);
            assert_eq!((read.take("host").unwrap(), read.take("dbname").unwrap()), ("h".to_owned(), "d".to_owned()));
        }
    }

    #[test]
    fn a_service_has_a_section_of_its_own() {
        let text = "# ours\n[a]\nhost=one\n\n[b]\nhost = two\nport=5\n[b]\nhost=three\n";
        assert_eq!(section(text, "b").unwrap().unwrap(), pairs(&[("host", "two"), ("port", "5")]));
        assert!(section(text, "c").unwrap().is_none());
        assert!(section("[a]\nservice=b", "a").is_err());
    }
}
