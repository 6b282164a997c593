//! The program as a child process, with signals, TLS and a stand-in for the service manager; and its commands.

mod command_line;
mod descriptors;
mod doctor;
mod edge;
mod log;
mod looking;
mod manager;
mod reload;
mod stop;
mod threads;
mod without_files;
