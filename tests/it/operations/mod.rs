//! Running it: configuration, command line, audit, metrics, load, faults, stopping.

mod audit;
mod config;
mod load;
mod observe;
mod running;
mod sources;
