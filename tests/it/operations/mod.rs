//! Running it: configuration, command line, audit, metrics, load, faults, stopping.

mod audit;
mod audit_changes;
mod audit_order;
pub(crate) mod command_line;
mod config;
mod config_catalogue;
mod config_lists;
mod descriptors;
mod endings;
mod fairness;
mod faults;
mod hostile_load;
mod idle;
mod limits;
mod looking;
mod metrics;
#[cfg(feature = "otel")]
mod otel;
mod pooler;
mod running_doctor;
mod running_edge;
mod running_log;
mod running_manager;
mod running_reload;
mod running_stop;
mod slow_store;
mod tracing;
mod unhealthy;
mod unrecorded;
