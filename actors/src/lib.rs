//! The interface of the crates behind the mailbox: everything that the service in front of it may use.
//!
//! The floors are crates of their own, from the lowest: `core` (values and errors), `sql` (parsing statements) and
//! beside it `arrow` (rows as arrays), then `sources` (the interface to databases and the drivers), and on top
//! three that do not know each other: `auth` (authentication), `runtime` (connections and their actors) and
//! `federation` (statements over several connections). The service in front names none of them; what is not listed
//! here is private to them. None of them knows HTTP, MCP, configuration files or user interfaces.
//!
//! # Decisions, with their reasons
//!
//! **Why does a query run in a `ResponseFuture`?** A panic in a handler, or in a future that holds the actor, ends
//! the actor for good; in a `ResponseFuture` it ends that call alone. Handlers therefore do nothing that can panic.
//!
//! **Why an actor of each connection on each thread?** A call that changes threads pays for waking each of them,
//! more than for its statement. State that is shared by all threads has its own lock or channel: permits, sessions,
//! and the state of the source, which one monitor determines.
//!
//! **Why our own supervisor?** actix's does not revive an actor that panicked and has no backoff. A message sent in
//! the `Drop` of a field arrives also on a panic.
//!
//! **Why a cancellation token in every call?** The mailbox does not notice that a caller has dropped its `send`
//! future: the call would run to its end for no one.
//!
//! **Why is a SELECT by a caller who may write sometimes run read-write?** A function in it may be meant to write.
//! The read-only transaction, which is one round trip, is used only if every function is known to be harmless.
//!
//! **Why does a statement that could not be parsed run read-only?** The source then reports what is wrong with it,
//! in its own words and with a position, and nothing can be written meanwhile.
//!
//! **Why does an idle connection have no actor?** A connection that waits for its first use, or was unused for
//! long, has only its settings: no actor, no pool, no thread. Its next use opens a new source, so that closing the
//! last one affects no one.
//!
//! **Why a second actor for people?** It writes: sessions, codes, grants. The authentication of calls must not wait
//! for a disk. It issues nothing itself: access tokens are made in one place.
//!
//! **Why does everything that a token began end with it?** A session, a grant or a token derived from a personal
//! access token could otherwise be used to evade its scope, its expiry and its revocation.
//!
//! **Why does a caller carry whether their credential is still valid?** A statement or a stream runs long after its
//! credential was verified. All that run under one credential share its validity. When the store's contents change,
//! the actor that verifies credentials revokes the validity, and so cancels whatever runs: no call has to register,
//! and nothing polls.
//!
//! **Why does a thread watch a store that is a database, and why does a refusal ask it?** Authentication must not
//! wait for a network. A change is taken over when its notification comes, and an acceptance from memory stands. A
//! refusal may be outdated: a token that another process has just issued would be refused. And if the store cannot
//! be asked, a refusal would be a guess.
//!
//! **Why do writers of such a store take turns?** SQLite has one writer, and what is read and then written is one
//! step. One locked row makes the same true of any number of processes, with the same statements.
//!
//! **Why are names and placeholders rewritten by ranges of the text?** Positions, comments and spelling are
//! preserved; a tree that is printed again is another statement.

pub use portico_core::{
    backoff, budget, calendar, call, effects, error, event, finding, heartbeat, identity, loopback, mutex, name, near,
    pattern, principal, reply, shares, trace, workspace,
};

pub mod arrow {
    //! Rows as arrays of Apache Arrow.

    pub use portico_arrow::{Values, arrow_type};
}

pub mod sql {
    //! Parsing SQL statements.

    pub use portico_sql::{
        Class, Dialect, Naming, Redact, Statement, addressed, catalogs, is_plain_name, procedure_name, redacted,
        statements, statements_with, written,
    };
}

pub mod source {
    //! Databases: describing, opening and querying connections.

    pub use portico_sources::bindings;
    pub use portico_sources::catalog;
    pub use portico_sources::digest;
    pub use portico_sources::drivers;
    pub use portico_sources::pushdown;
    pub use portico_sources::table_search;
    pub use portico_sources::{
        Access, Capabilities, ConnectOptions, DeclaredProcedure, Direction, Driver, Exposure, GrantRequest,
        GrantScript, Invocation, Location, Login, Names, OpenSource, Parameter, Password, Plan, Pooler, Prepared,
        Procedure, Profile, ROLE, Settings, Source, Table, Task, TextRow, check_login_role, narrow, of_role, speaks_of,
        texts,
    };

    pub mod postgres {
        //! The driver for PostgreSQL, for the store of identities and for tests of its walls.

        pub use portico_sources::postgres::{
            Address, DRIVER, Files, functions_listed, functions_query, is_function_listed, is_label_known,
        };
    }

    pub mod sqlite {
        //! The driver for SQLite, for tests of its walls.

        pub use portico_sources::sqlite::DatabaseFile;
    }
}

pub mod auth {
    //! Authentication and rights.

    pub use portico_auth::accounts;
    pub use portico_auth::clock;
    pub use portico_auth::oauth;
    pub use portico_auth::recording;
    pub use portico_auth::records;
    pub use portico_auth::store;
    pub use portico_auth::throttle;
    pub use portico_auth::{
        AccessToken, Algorithm, Auth, AuthLimits, AuthSettings, Authenticate, CLIENT_ID_PREFIX, ClientAuthentication,
        GrantError, Introspect, Introspection, IssuerIdentity, IssuerKey, IssuerKeys, Jwks, PeerMessage, PeerMessages,
        Reconfigure, Revoke, SharedSecret, StoreKey, TokenRequest, TrustedIssuer, network,
    };
}

#[cfg(feature = "federation")]
pub mod federation {
    //! Statements over several connections.

    pub use portico_federation::{
        Bound, Connections, Engine, Fragment, Settings, SourceConnection, Statement, functions,
    };
}

pub mod connection {
    //! The state of a connection.

    pub use portico_runtime::connection::{ConnectionState, with_reader_timeout};
}

pub mod directory {
    //! The connections of this service, by their names and numbers.

    pub use portico_runtime::directory::{
        ConnectionEntry, ConnectionLease, ConnectionSpec, Directory, Intensity, Start, changed,
    };
}
