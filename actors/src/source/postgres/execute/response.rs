//! A statement that has begun to answer.

use std::sync::Arc;

use crate::error::Result;
use crate::source::postgres::bind::shape::Shape;
use crate::source::postgres::catalog::relations::Question;
use crate::source::postgres::decode::columns::Seen;
use crate::source::postgres::decode::form::Form;
use crate::source::postgres::execute::mode::Place;
use crate::source::postgres::execute::running::{Fetched, Running};
use crate::source::postgres::session::clock::Clock;
use crate::source::postgres::session::handle::Session;

/// A statement that has begun to answer.
pub(crate) struct Answer {
    pub(crate) columns: Vec<Seen>,
    pub(crate) forms: Vec<Form>,
    /// Some rows, or `None` when the statement has ended without any (more).
    pub(crate) first: Option<Fetched>,
    pub(crate) progress: Progress,
    /// Characters in front of the statement's own text in what was sent.
    pub(crate) shift: usize,
    /// What was asked of its tables meanwhile.
    pub(crate) asked: Option<Question>,
    /// By what its tables can be foreseen the next time.
    pub(crate) shape: Option<Shape>,
}

/// How far a statement is.
pub(crate) enum Progress {
    /// More rows may come.
    Running(Running),
    /// It is complete; so many rows were changed. The session, if its transaction goes on.
    Over(u64, Option<Arc<Session>>),
}

/// Waits for the end of a statement that has no more rows: how many rows were changed, and the
/// session where its transaction goes on. Elsewhere it is given back.
pub(crate) async fn finish(
    running: Running,
    clock: &Clock,
    place: Place,
) -> Result<Result<(u64, Option<Arc<Session>>), tokio_postgres::Error>> {
    Ok(clock.bound(running.end()).await?.map(|(affected, session)| match session {
        Some(session) if place.ends => {
            session.settle();
            (affected, None)
        }
        session => (affected, session),
    }))
}
