//! Keeps secrets out of what is written: every text for the log, for the audit trail or for a span passes here
//! last, wherever it comes from. Secrets are recognised by their forms, not by the field that contains them: a
//! client puts them anywhere.
//!
//! Recognised are our own (`ptc_…`, also in Base64 as in `Basic`), tokens of any issuer (compact JWS), what follows
//! the schemes of `Authorization`, passwords in addresses, values of parameters with names of secrets, private
//! keys, and password digests; each of them also in percent-encoding. A person's password has no form: it is
//! recognised by its place alone.

mod json;
mod text;

pub(crate) use json::redact_json;
pub(crate) use text::redact;
