//! What a caller may reach: exposure, roles, grants.

mod exposure;
mod functions;
mod grants;
mod login;
mod row_level_security;
mod sqlite_hiding;
