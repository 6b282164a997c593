//! What is told of a statement that was refused where something is hidden: of what is hidden just what the
//! source says of what does not exist.

use crate::source::postgres::walls::refusal::Refusal;
use std::sync::{Arc, OnceLock};

use crate::error::{Error, Kind, Result};
use crate::source::Access;
use crate::source::postgres::bind::inference::inferred;
use crate::source::postgres::execute::job::{Job, Values};
use crate::source::postgres::session::clock::Clock;
use crate::source::postgres::session::handle::Session;
use crate::source::postgres::walls::ask;
use crate::source::postgres::walls::check::Walls;
use crate::source::postgres::walls::guarded::{Guard, Guarded};
use crate::source::postgres::walls::names::hidden;
use crate::source::postgres::walls::names::hidden::Names;
use crate::source::postgres::walls::names::mask::{Mask, Which};
use crate::source::postgres::walls::names::redaction::{bare, withheld};
use crate::source::postgres::walls::refusal::refused;
use crate::sql::{Outline, outline};

/// Names of columns that may stand where one of what is hidden was taken for it.
const MOST_COLUMNS: usize = 16;

impl Walls {
    /// Judges the statement of `job` on the session that it will run on, before its own transaction begins
    /// or within the one that it goes on with. Behind a refusal the transaction is the caller's to end.
    ///
    /// # Errors
    /// What is not available, what the source itself refuses, and what keeps it from being judged.
    pub(crate) async fn check(&self, session: &Session, job: &Job, clock: &Clock) -> Result<()> {
        let Some(guarded) = &job.guarded else { return Ok(()) };
        match self.inspect(session, job, guarded, clock).await {
            // Rarely needed, and large.
            Err(refusal) => Err(Box::pin(self.told(refusal, session, (job, guarded), clock)).await),
            Ok(()) => Ok(()),
        }
    }

    /// What is told of the statement of `job`, which was refused. Its transaction stays the caller's to end.
    pub(crate) async fn told(
        &self,
        Refusal { error, by_server }: Refusal,
        session: &Session,
        (job, guarded): (&Job, &Guarded),
        clock: &Clock,
    ) -> Error {
        if !guarded.guard.hides || is_of_ours(&error) {
            return error;
        }
        let Ok(names) = self.names(guarded.guard).await else { return withheld(&error) };
        if hidden::has_escapes(&guarded.text) {
            return hidden::escapes();
        }
        let mut begun = !matches!(guarded.outline, Outline::Definition | Outline::Call);
        for which in [Which::Hidden, Which::Denied] {
            // Of what the server refused, other names are not the reason.
            let Some(mask) = Mask::of(&guarded.text, &names, which).filter(|_| which == Which::Hidden || !by_server)
            else {
                continue;
            };
            let asked = (session, clock);
            if let Some(told) = self.as_missing(mask, &names, &mut begun, (job, guarded), asked).await {
                return told;
            }
        }
        if error.is_judged() { error } else { bare(error, &names) }
    }

    /// What is told where nothing of the masked names exists; `None` where nothing is the matter then.
    async fn as_missing(
        &self,
        mut mask: Mask,
        names: &Names,
        begun: &mut bool,
        (job, guarded): (&Job, &Guarded),
        (session, clock): (&Session, &Clock),
    ) -> Option<Error> {
        for _ in 0..MOST_COLUMNS {
            let masked = masked(job, guarded, &mask)?;
            ask::start_over(session, job, *begun).await;
            *begun = true;
            let Err(Refusal { error: failure, by_server }) = self.try_masked(session, &masked, clock).await else {
                return guarded.makes().then(|| taken(mask.first()));
            };
            if is_of_ours(&failure) {
                return Some(withheld(&failure));
            }
            // A column of that name is there, whatever else is.
            let place = failure.get_position().filter(|_| failure.get_sqlstate() == Some("42703"));
            let byte = place.and_then(|place| job.text.char_indices().nth(place.saturating_sub(1)));
            if byte.is_some_and(|(byte, _)| mask.spare(byte, names)) {
                if mask.edits.is_empty() {
                    return None;
                }
                continue;
            }
            let told = mask.lift(if failure.is_judged() { failure } else { bare(failure, names) });
            return Some(match (told.get_position(), &job.origin) {
                // Of our own refusals the place is one in the caller's text already.
                (Some(position), Some(origin)) if by_server => {
                    let position = origin.original_position(position);
                    told.position(position)
                }
                _ => told,
            });
        }
        None
    }

    /// What the statement is refused with, which nobody sent.
    async fn try_masked(&self, session: &Session, job: &Job, clock: &Clock) -> Result<(), Refusal> {
        let Some(guarded) = &job.guarded else { return Ok(()) };
        self.inspect(session, job, guarded, clock).await?;
        // What cannot be described has to be run.
        let tried = match job.terms.access {
            Access::ReadWrite if guarded.makes() && job.arguments().is_empty() => {
                ask::try_out(session, job, clock).await.map_err(|error| job.failure(&error, 0))
            }
            _ => inferred(session, job, clock).await.map(drop),
        };
        tried.map_err(Refusal::of_server)
    }

    /// A failure of the source without the names of what is hidden.
    pub(crate) async fn mend(&self, error: Error) -> Error {
        if !self.hides() || is_of_ours(&error) || error.is_judged() {
            return error;
        }
        match self.names(Guard { hides: true, identity: false, read_only: false }).await {
            Ok(names) => bare(error, &names),
            Err(_) => withheld(&error),
        }
    }

    /// What takes hidden names out of the values of `job`, which are the server's own words.
    pub(crate) async fn redaction(&self, job: &Job) -> Result<Option<Arc<Names>>> {
        match &job.guarded {
            Some(Guarded { guard, outline: Outline::Explain { .. } | Outline::Show(_), .. }) if guard.hides => {
                self.names(*guard).await.map(Some)
            }
            _ => Ok(None),
        }
    }
}

/// The same statement with other names; positions lead back to the text of `job`.
fn masked(job: &Job, guarded: &Guarded, mask: &Mask) -> Option<Job> {
    let origin = job.origin.as_ref()?.edited(mask.edits.clone());
    let behind = job.text.len().checked_sub(guarded.text.len())?;
    let text = origin.text.get(..origin.text.len().checked_sub(behind)?)?.to_owned();
    let Values::Inferred(values) = &job.values else { return None };
    let guarded = Guarded { outline: outline(&text).0, text, shape: None, brief: OnceLock::new(), ..*guarded };
    Some(Job {
        text: origin.text.clone(),
        values: Values::Inferred(values.clone()),
        default_schema: job.default_schema.clone(),
        origin: Some(origin),
        identity: job.identity.clone(),
        guarded: Some(guarded),
        ..*job
    })
}

/// The refusal of a statement that would be carried out with another name in the place of this one.
fn taken(name: &str) -> Error {
    refused(&format!("the name \"{name}\"")).hint("choose another name")
}

/// Whether what failed is ours, or the way to the source, and tells nothing of what is in it.
fn is_of_ours(error: &Error) -> bool {
    matches!(error.kind, Kind::Unavailable | Kind::Abandoned | Kind::TimedOut | Kind::Internal)
}
