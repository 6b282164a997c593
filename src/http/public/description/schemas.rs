//! The schemas of bodies and answers, each from the type that the service reads or writes.

use schemars::generate::{SchemaGenerator, SchemaSettings};
use serde_json::{Map, Value};

use crate::http::api::bodies::{Batch, Exec, Script};
use crate::http::api::metadata::{Connections, Workspaces};
use crate::http::error::{ApiFailure, OAuthFailure};
use crate::http::oauth::register::{Registered, Registration};
use crate::http::oauth::token::{Described, TokenResponse};
use crate::http::pages::front::Addresses;
use crate::http::public::description::shapes::{Document, KeySet};
use crate::http::public::health::{Health, Readiness};
use crate::http::public::well_known::{AuthorizationServer, ProtectedResource};

/// All of them, by name.
pub(super) fn all() -> Map<String, Value> {
    let settings = || {
        SchemaSettings::draft2020_12().with(|settings| {
            settings.definitions_path = "/components/schemas".into();
            settings.meta_schema = None;
        })
    };
    let mut all = bodies(settings().for_deserialize().into_generator());
    all.extend(answers(settings().for_serialize().into_generator()));
    all.sort_keys();
    all
}

/// Returns the schemas of request bodies.
fn bodies(mut schemas: SchemaGenerator) -> Map<String, Value> {
    schemas.subschema_for::<(Script, Batch, Exec, Registration)>();
    schemas.take_definitions(true)
}

/// Returns the schemas of responses.
fn answers(mut schemas: SchemaGenerator) -> Map<String, Value> {
    schemas.subschema_for::<(Document, ApiFailure, Connections, Workspaces, Health, Readiness)>();
    schemas.subschema_for::<(TokenResponse, Described, Registered, OAuthFailure)>();
    schemas.subschema_for::<(KeySet, AuthorizationServer, ProtectedResource, Addresses)>();
    schemas.take_definitions(true)
}
