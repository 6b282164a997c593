//! The parameters of a query or a form, in their order.

use actix_web::{HttpRequest, web};
use portico_actors::error::{Error, Result};

use crate::http::middleware::body;

/// How large a form may be.
pub(super) const LIMIT: body::Limit = body::Limit::Form(64 * 1024);

/// Names and values.
#[derive(Clone, Debug, Default)]
pub(in crate::http) struct Form(Vec<(String, String)>);

impl Form {
    /// Reads `name=value&…`.
    pub(in crate::http) fn parse(text: &str) -> Self {
        Self(form_urlencoded::parse(text.as_bytes()).into_owned().collect())
    }

    /// Reads the body of a request.
    pub(super) async fn read(request: &HttpRequest, payload: web::Payload) -> Result<Self> {
        let bytes = body::read(request, payload).await?;
        body::text(&bytes).map(Self::parse)
    }

    /// The value of `name`, without the white space around it; empty counts as absent (RFC 6749 §3.1).
    pub(in crate::http) fn get(&self, name: &str) -> Option<&str> {
        self.all(name).next()
    }

    /// A value that has to be there.
    pub(super) fn need(&self, name: &str) -> Result<&str> {
        self.get(name).ok_or_else(|| Error::invalid(format!("{name} is missing: fill it in")))
    }

    /// Every value of `name` that is not empty.
    pub(super) fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        self.0.iter().filter(move |(known, _)| known == name).map(|(_, value)| value.trim()).filter(|it| !it.is_empty())
    }

    /// A value as it was sent.
    pub(super) fn exact(&self, name: &str) -> Option<&str> {
        self.0
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
            .filter(|value| !value.is_empty())
    }

    /// Whether `name` is given more than once.
    pub(super) fn repeats(&self, name: &str) -> bool {
        self.0.iter().filter(|(known, _)| known == name).count() > 1
    }

    /// Names and values as a query.
    pub(super) fn encode(&self) -> String {
        form_urlencoded::Serializer::new(String::new()).extend_pairs(&self.0).finish()
    }
}
