//! What may pass through the wall: all that the service in front of the mailbox sees of what is behind it.
//!
//! The floors are crates of their own, from the lowest: `core` (values and errors), `sql` (what a statement says) and
//! beside it `arrow` (rows as arrays), then `sources` (the seam and the drivers), and on top three that do not know
//! each other: `auth` (who calls), `runtime` (connections and their actors) and `federation` (statements over several
//! connections). Nobody in front names one of them; what is not listed here is theirs alone. None of them knows HTTP,
//! MCP, files of configuration or people.
//!
//! # Decisions, with their reasons
//!
//! **Why does a query run in a `ResponseFuture`?** A panic in a handler, or in a future that holds
//! the actor, ends the actor for good; in a `ResponseFuture` it ends that call alone. Handlers
//! therefore do nothing that can panic.
//!
//! **Why an actor of each connection on each thread?** A call that changes threads pays for waking each of them,
//! more than for its statement. What has to be one for all threads is shared by its own lock or channel: permits,
//! sessions, and how the source fares, which one monitor finds out.
//!
//! **Why our own supervisor?** actix's does not revive an actor that panicked and knows no backoff.
//! A field whose `Drop` sends word arrives also on a panic.
//!
//! **Why a cancellation token in every call?** A caller who drops its `send` future is not noticed
//! by the mailbox: the call would run to its end for nobody.
//!
//! **Why is a SELECT by someone who may write sometimes run read-write?** A function in it may be
//! there to write. Only when every function is known to be harmless is the read-only transaction
//! used, which is one round trip.
//!
//! **Why does what could not be parsed run read-only?** The source then says what is wrong with it,
//! in its own words and with a position, and nothing can be written meanwhile.
//!
//! **Why does an idle connection have no actor?** One that waits for its first use, or that nobody has
//! used for long, is its settings and nothing else: no actor, no pool, no thread. Its next use makes a
//! source of its own, so that what the last one still closes concerns nobody.
//!
//! **Why a second actor for people?** It writes: sessions, codes, grants. Whoever judges the credential
//! of a call must not wait for a disk. It issues nothing itself: access tokens are made in one place.
//!
//! **Why does what a token began end with it?** A session, a grant or a token that came of a personal
//! access token would otherwise be a way around its scope, its expiry and its revocation.
//!
//! **Why does a caller carry whether their credential is still good?** A statement or a stream goes on long after its
//! credential was judged. Whoever judges takes the validity away that all of one credential share, with the next
//! contents of the store, and so cancels whatever runs: nobody registers a call, and nobody asks again and again.
//!
//! **Why does a thread watch a store that is a database, and why does a refusal ask it?** No call waits for
//! a network to be let in. A change is taken over when its word comes, and a yes from memory stands. A no
//! may be of yesterday: a token that another process has just issued would be refused. And where the
//! store cannot be asked, a no would be a guess.
//!
//! **Why do writers of such a store take turns?** SQLite has one writer, and what is read and then
//! written is one step. One locked row makes the same true of any number of processes, with the same
//! statements.
//!
//! **Why are names and placeholders rewritten by ranges of the text?** Positions, comments and
//! spelling survive; a tree that is printed again is another statement.

pub use portico_core::{
    backoff, budget, calendar, call, error, event, finding, heartbeat, identity, loopback, mutex, name, near, pattern,
    principal, reply, shares, trace, workspace,
};

pub mod arrow {
    //! Rows as arrays of Apache Arrow.

    pub use portico_arrow::{Values, arrow_type};
}

pub mod sql {
    //! What a SQL statement says, by its text.

    pub use portico_sql::{
        Class, Dialect, Naming, Redact, Statement, addressed, catalogs, is_plain_name, procedure_name, redacted,
        statements, statements_with, written,
    };
}

pub mod source {
    //! Databases: how a connection is described and opened, and what it is asked.

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
    //! Who calls, and how far they reach.

    pub use portico_auth::accounts;
    pub use portico_auth::clock;
    pub use portico_auth::oauth;
    pub use portico_auth::recording;
    pub use portico_auth::records;
    pub use portico_auth::store;
    pub use portico_auth::throttle;
    pub use portico_auth::{
        AccessToken, Algorithm, Auth, AuthLimits, AuthSettings, Authenticate, AuthorizationGrant, CLIENT_ID_PREFIX,
        ClientAuthentication, GrantError, Introspect, Introspection, IssuerIdentity, IssuerKey, IssuerKeys, Jwks,
        PeerMessage, PeerMessages, Reconfigure, Revoke, SharedSecret, StoreKey, TokenRequest, TrustedIssuer, network,
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
    //! How a connection is.

    pub use portico_runtime::connection::{State, with_reader_timeout};
}

pub mod directory {
    //! The connections of this service, by their names and numbers.

    pub use portico_runtime::directory::{
        ConnectionEntry, ConnectionLease, ConnectionSpec, Directory, Intensity, Start,
    };
}
