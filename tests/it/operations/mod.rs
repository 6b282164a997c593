//! Running it: configuration, command line, audit, metrics, load, faults, stopping.

mod audit;
mod audit_changes;
mod audit_order;
mod bounds;
pub(crate) mod command_line;
mod config;
mod config_catalogue;
mod config_lists;
mod descriptors;
mod endings;
mod fairness;
mod faults;
mod hostile;
mod hostile_load;
mod idle;
mod limits;
mod looking;
mod metrics;
#[cfg(feature = "otel")]
mod otel;
mod packaging;
mod pooler;
mod progress;
mod running_descriptors;
mod running_doctor;
mod running_edge;
mod running_log;
mod running_manager;
mod running_reload;
mod running_stop;
mod running_threads;
mod settings;
mod slow_store;
mod tracing;
mod unhealthy;
mod unrecorded;
