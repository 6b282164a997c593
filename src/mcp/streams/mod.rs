//! What goes out beside one response: progress, changes, and answers that are taken up again.

pub mod changes;
pub mod progress;
pub mod progress_stream;
pub mod replay;
pub mod subscription;
