//! What rows and their columns are told to be.

mod arrow_form;
mod decoding;
mod descriptors;
mod printed;
mod settings;
mod types;
