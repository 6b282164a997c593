//! Functions, procedures and other objects, and calls of them.

mod exec;
mod objects;
mod objects_calls;
