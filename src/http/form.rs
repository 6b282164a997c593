//! The parameters of a query or a form, in their order.

use actix_web::{HttpRequest, web};
use portico_actors::error::{Error, Result};
use uuid::Uuid;

use crate::http::middleware::body;

/// Names and values.
#[derive(Clone, Debug, Default)]
pub(super) struct Form(Vec<(String, String)>);

impl Form {
    /// Reads `name=value&…`.
    pub(super) fn parse(text: &str) -> Self {
        Self(form_urlencoded::parse(text.as_bytes()).into_owned().collect())
    }

    /// Reads the body of a request.
    pub(super) async fn read(request: &HttpRequest, payload: web::Payload) -> Result<Self> {
        let bytes = body::read(request, payload).await?;
        body::text(&bytes).map(Self::parse)
    }

    /// The value of `name`, without the white space around it; empty counts as absent (RFC 6749 §3.1).
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.all(name).next()
    }

    /// A value that has to be there.
    pub(super) fn need(&self, name: &str) -> Result<&str> {
        self.get(name).ok_or_else(|| Error::invalid(format!("{name} is missing: fill it in")))
    }

    /// Which of the things on the page a form is about.
    pub(super) fn id(&self) -> Result<Uuid> {
        Uuid::try_parse(self.need("id")?).map_err(|_| Error::invalid("id is not a UUID"))
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

    /// As above, and returns an owned text.
    pub(super) fn take(&self, name: &str) -> Option<String> {
        self.exact(name).map(str::to_owned)
    }

    /// The first name that was given before.
    pub(super) fn repeated(&self) -> Option<&str> {
        let is_known = |place: usize, name: &str| self.0[..place].iter().any(|(known, _)| known == name);
        let mut names = self.0.iter().map(|(name, _)| name.as_str()).enumerate();
        names.find(|(place, name)| is_known(*place, name)).map(|(_, name)| name)
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
