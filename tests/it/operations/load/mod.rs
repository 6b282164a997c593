//! More than the service takes: what it is asked at once, held up with, and attacked by.

mod fairness;
mod hostile;
mod hostile_load;
mod limits;
mod progress;
mod slow_store;
