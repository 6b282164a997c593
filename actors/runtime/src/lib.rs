//! Connections while they run: the directory that supervises them, the actor of each, and the queue before its pool.

pub mod connection;
pub mod directory;
pub mod queue;
