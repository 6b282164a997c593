//! The interface between a connection and its database, and the drivers behind it. What only one driver needs is in
//! that driver's own folder.

pub mod catalog;
mod connect_options;
pub mod digest;
mod driver;
pub mod drivers;
mod exposure;
mod lazy;
mod local_set;
mod plan;
pub mod postgres;
mod profile;
pub mod sqlite;
mod statements;
pub mod table_search;

pub use self::connect_options::{ConnectOptions, Login, Password, Pooler, ROLE, check_login_role, of_role};
pub use self::driver::{Capabilities, Driver, Location, Pool, Settings, Source};
pub use self::exposure::grants::{GrantRequest, GrantScript};
pub use self::exposure::names::{Exposure, Names, speaks_of};
pub use self::exposure::source::narrow;
pub use self::lazy::LazySource;
pub use self::lazy::OpenSource;
pub use self::local_set::in_local_set;
pub use self::plan::{Access, CallShare, Invocation, Plan, Prepared, Repeated, Task};
pub use self::profile::{DeclaredProcedure, Direction, MOST_TABLES, Parameter, Procedure, Profile, Table};
pub use self::statements::explain::{Estimate, Explain};
pub use self::statements::foreign::instead;
pub use self::statements::texts::{TextRow, texts};
pub use self::statements::{bindings, pushdown};
