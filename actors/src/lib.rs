//! Portico behind the mailbox: everything that knows connections, tokens and SQL, and nothing
//! that knows HTTP, MCP, files of configuration or people.
//!
//! Only [`call::Call`], [`reply::Reply`], [`principal::Credential`], [`principal::Principal`],
//! [`event::Event`] and [`error::Error`] pass through the wall.
//!
//! # Decisions, with their reasons
//!
//! **Why does a query run in a `ResponseFuture`?** A panic in a handler, or in a future that holds
//! the actor, ends the actor for good; in a `ResponseFuture` it ends that call alone. Handlers
//! therefore do nothing that can panic.
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

pub mod auth;
pub mod backoff;
pub mod beat;
pub mod budget;
pub mod calendar;
pub mod call;
pub mod connection;
pub mod directory;
pub mod error;
pub mod event;
pub mod identity;
pub mod name;
pub mod near;
pub mod pattern;
pub mod principal;
pub mod queue;
pub mod reply;
mod request;
pub mod shares;
pub mod source;
pub mod sql;
pub mod trace;
