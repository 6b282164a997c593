//! Statements, values and types, as they come out of the databases.

mod answers;
mod arrow_form;
mod batch;
mod decoding;
mod descriptors;
mod dry_run;
mod exec;
mod literals;
mod near_names;
mod objects;
mod objects_calls;
mod parameters;
mod placeholders;
mod postgres_offer;
mod printed;
mod script;
mod settings;
mod source_postgres;
mod texts;
mod texts_brackets;
mod types;
