//! The tests for both kinds of store, with a schema in PostgreSQL.

#[path = "../both/actor.rs"]
mod actor;
#[path = "../both/chains.rs"]
mod chains;
#[path = "../both/desk.rs"]
mod desk;
#[path = "../both/endings.rs"]
mod endings;
#[path = "../both/grants.rs"]
mod grants;
#[path = "../both/handed_over.rs"]
mod handed_over;
#[path = "../both/in_force.rs"]
mod in_force;
#[path = "../both/keys.rs"]
mod keys;
#[path = "../both/locked.rs"]
mod locked;
#[path = "../both/namesakes.rs"]
mod namesakes;
#[path = "../both/people.rs"]
mod people;
#[path = "../both/revival.rs"]
mod revival;
#[path = "../both/skew.rs"]
mod skew;
#[path = "../both/store.rs"]
mod store;

/// The same with a store in a database.
mod support {
    pub(super) use super::super::support::*;

    pub(super) type House = AnyHouse<OnPostgres>;
}
