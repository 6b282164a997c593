//! Databases that are away, break, stall, stand behind a pooler or are not asked for long.

mod faults;
mod idle;
mod pooler;
mod unhealthy;
mod words;
