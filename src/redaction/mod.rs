//! Keeps secrets out of what is written down: every text that goes to the log, to the audit trail or into a
//! span passes here last, wherever it came from. Secrets are known by their forms, not by the field that they
//! stand in: a client puts them anywhere.
//!
//! Known are our own (`ptc_…`, also in Base64 as `Basic` has them), tokens of any issuer (compact JWS), what
//! follows the schemes of `Authorization`, passwords in addresses, values of parameters that are named as
//! secrets are, private keys, and digests of passwords; each of them also in percent-encoding. A person's
//! password has no form: it is known by its place alone.

mod json;
mod text;

pub(crate) use json::redact_json;
pub(crate) use text::redact;
