//! Messages besides a single response: progress, changes, and resumed answers.

pub mod changes;
pub mod progress;
pub mod progress_stream;
pub mod replay;
pub mod subscription;
