//! What settings say: in a file, by default, in the manual and in the packages.

mod bounds;
mod catalogue;
mod lists;
mod packaging;
mod reading;
mod settings;
mod workspaces;
