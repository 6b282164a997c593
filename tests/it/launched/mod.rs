//! Clients that launch programs: MCP over pipes, in front of a service that runs elsewhere, or of one in the program.

mod eras;
mod faults;
mod here;
mod sign_in;
