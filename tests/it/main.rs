//! One binary: each test starts the service in-process and talks HTTP as a client would.

// Everything here is a test: what cannot be unwrapped has failed.
#![allow(clippy::unwrap_used, clippy::expect_used)]
// What holds for both kinds of store is a module of each.
#![allow(clippy::duplicate_mod)]

// What the conformance suite is answered with.
#[path = "../../examples/conformance/fixture/mod.rs"]
mod conformance_fixture;

mod admission;
mod answers;
mod arrow_form;
mod audit;
mod audit_changes;
mod audit_order;
mod authorize;
mod authorize_attacks;
mod both_drivers;
mod browser;
mod browsers;
mod client_documents;
mod command_line;
mod config;
mod config_catalogue;
mod config_lists;
mod contract;
mod cross_origin;
mod decoding;
mod description;
mod description_document;
mod descriptors;
mod doors;
mod edges;
mod endings;
mod exposure;
mod fairness;
mod faults;
mod framing;
mod grants;
mod hostile_load;
mod house;
mod idle;
mod instructions;
mod issuers;
mod limits;
mod login;
mod looking;
mod mcp_any_bytes;
mod mcp_envelope;
mod mcp_listen;
mod mcp_logging;
mod mcp_progress;
mod mcp_resources;
mod mcp_results;
mod mcp_resume;
mod mcp_rmcp;
mod mcp_seam;
mod mcp_sessions;
mod mcp_streams;
mod mcp_table;
mod mcp_tasks;
mod mcp_tools;
mod media_types;
mod metadata;
mod metrics;
mod near_names;
mod oauth;
mod objects;
#[cfg(feature = "otel")]
mod otel;
mod output_schemas;
mod own_tools;
mod paths;
mod people;
mod pooler;
mod postgres_offer;
mod progress;
mod repeats;
mod replicas;
mod resources;
mod revocation;
mod row_level_security;
mod running_doctor;
mod running_edge;
mod running_log;
mod running_manager;
mod running_reload;
mod running_stop;
mod secrets;
mod settings;
mod source_postgres;
mod sql_api;
mod sql_batch;
mod sql_dry_run;
mod sql_exec;
mod sql_literals;
mod sql_parameters;
mod sql_placeholders;
mod sql_printed;
mod sql_script;
mod sql_types;
mod sqlite_hiding;
mod store_on_postgres;
mod support;
mod texts;
mod texts_brackets;
mod throttling;
mod tracing;
mod unhealthy;
mod walls;
mod walls_functions;
mod whose_failure;
mod within;

use support::fixture;
