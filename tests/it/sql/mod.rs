//! Statements, values and types, as they come out of the databases.

mod answers;
mod postgres_offer;
mod procedures;
mod results;
mod source_postgres;
mod statements;
