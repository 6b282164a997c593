//! The SQL API over HTTP: routes, forms, media types, errors.

mod both_drivers;
mod contract;
mod cross_origin;
mod description;
mod description_document;
mod edges;
mod framing;
mod media_types;
mod metadata;
mod output_schemas;
mod paths;
mod query;
mod repeats;
mod row_shapes;
mod whose_failure;
mod workspace_statements;
mod workspaces;
