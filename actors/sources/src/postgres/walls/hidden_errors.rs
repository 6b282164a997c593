//! Makes the error for a statement that was refused because of hidden objects: the same as the source's error for
//! objects that do not exist.

use std::sync::OnceLock;

use crate::Access;
use crate::postgres::bind::inference::inferred;
use crate::postgres::execute::execution::{Execution, Values};
use crate::postgres::execute::sent_text::SentText;
use crate::postgres::session::context::CallContext;
use crate::postgres::session::handle::Session;
use crate::postgres::walls::analyze;
use crate::postgres::walls::check::Walls;
use crate::postgres::walls::names::hidden::{self, HiddenNames};
use crate::postgres::walls::names::hiding::{HidingMode, bare, withheld};
use crate::postgres::walls::names::mask::{NameMask, NameSet};
use crate::postgres::walls::policy::{CheckPolicy, PendingCheck};
use crate::postgres::walls::refusal::{Refusal, refused};
use portico_core::error::{Error, Kind, Result};
use portico_sql::{StatementForm, statement_form};

/// The maximal number of column names that may be masked because they equal a hidden name.
const MOST_COLUMNS: usize = 16;

impl Walls {
    /// Checks the statement of `execution` on the session that it will run on, before its own transaction begins or
    /// within the one that it continues. After a refusal the caller must end the transaction.
    ///
    /// # Errors
    /// What is not available, the source's own error, and a failure to check.
    pub(crate) async fn check(&self, session: &Session, execution: &Execution, context: &CallContext) -> Result<()> {
        let Some(guarded) = &execution.guarded else { return Ok(()) };
        match self.inspect(session, execution, guarded, context).await {
            // Rarely needed, and large.
            Err(refusal) => Err(Box::pin(self.told(refusal, session, (execution, guarded), context)).await),
            Ok(()) => Ok(()),
        }
    }

    /// Returns the error for the refused statement of `execution`. The caller must end its transaction.
    pub(crate) async fn told(
        &self,
        Refusal { error, by_server }: Refusal,
        session: &Session,
        (execution, guarded): (&Execution, &PendingCheck),
        context: &CallContext,
    ) -> Error {
        if !guarded.guard.hides || is_of_ours(&error) {
            return error;
        }
        let Ok(names) = self.names(guarded.guard).await else { return withheld(&error) };
        if hidden::has_escapes(&guarded.text) {
            return hidden::escapes();
        }
        let mut begun = !matches!(guarded.form, StatementForm::Definition | StatementForm::Call);
        for which in [NameSet::Hidden, NameSet::Denied] {
            // If the server refused it, other names are not the reason.
            let Some(mask) =
                NameMask::new(&guarded.text, &names, which).filter(|_| which == NameSet::Hidden || !by_server)
            else {
                continue;
            };
            let asked = (session, context);
            if let Some(told) = self.as_missing(mask, &names, &mut begun, (execution, guarded), asked).await {
                return told;
            }
        }
        if error.is_judged() { error } else { bare(error, &names) }
    }

    /// Returns the error that results if none of the masked names exists; `None` if there is no error then.
    async fn as_missing(
        &self,
        mut mask: NameMask,
        names: &HiddenNames,
        begun: &mut bool,
        (execution, guarded): (&Execution, &PendingCheck),
        (session, context): (&Session, &CallContext),
    ) -> Option<Error> {
        for _ in 0..MOST_COLUMNS {
            let masked = masked(execution, guarded, &mask)?;
            analyze::start_over(session, execution, *begun).await;
            *begun = true;
            let Err(Refusal { error: failure, by_server }) = self.try_masked(session, &masked, context).await else {
                return guarded.makes().then(|| taken(mask.first()));
            };
            if is_of_ours(&failure) {
                return Some(withheld(&failure));
            }
            // A column of that name exists, whatever else does.
            let place = failure.get_position().filter(|_| failure.get_sqlstate() == Some("42703"));
            let byte = place.and_then(|place| execution.text.char_indices().nth(place.saturating_sub(1)));
            if byte.is_some_and(|(byte, _)| mask.spare(byte, names)) {
                if mask.is_empty() {
                    return None;
                }
                continue;
            }
            let told = mask.lift(if failure.is_judged() { failure } else { bare(failure, names) });
            return Some(match (told.get_position(), &execution.origin) {
                // The position of our own refusals already refers to the caller's text.
                (Some(position), Some(origin)) if by_server => {
                    let position = origin.original_position(position);
                    told.position(position)
                }
                _ => told,
            });
        }
        None
    }

    /// Returns the refusal of a statement with masked names, which no caller has sent.
    async fn try_masked(&self, session: &Session, execution: &Execution, context: &CallContext) -> Result<(), Refusal> {
        let Some(guarded) = &execution.guarded else { return Ok(()) };
        self.inspect(session, execution, guarded, context).await?;
        // A statement that cannot be described has to be run.
        let tried = match execution.options.access {
            Access::ReadWrite if guarded.makes() && execution.arguments().is_empty() => {
                let made = analyze::made(session, execution, &execution.text, context).await;
                made.map_err(|error| execution.failure(&error, &SentText::SAME))
            }
            _ => inferred(session, execution, context).await.map(drop),
        };
        tried.map_err(Refusal::of_server)
    }

    /// Removes hidden names from an error of the source.
    pub(crate) async fn mend(&self, error: Error) -> Error {
        if !self.hides() || is_of_ours(&error) || error.is_judged() || error.get_sqlstate().is_none() {
            return error;
        }
        match self.names(CheckPolicy { hides: true, identity: false, read_only: false }).await {
            Ok(names) => bare(error, &names),
            Err(_) => withheld(&error),
        }
    }

    /// Returns how the results of `execution`, which was checked, are filtered if they are the server's own words.
    /// A plan without hidden objects contains only the caller's words and shown names.
    pub(crate) async fn telling(&self, execution: &Execution) -> Result<Option<HidingMode>> {
        match &execution.guarded {
            Some(PendingCheck { guard, form: StatementForm::Show(_), .. }) if guard.hides => {
                self.names(*guard).await.map(|names| Some(HidingMode::Without(names)))
            }
            Some(guarded) if guarded.is_brief() && guarded.estimates => Ok(Some(HidingMode::Costs)),
            Some(guarded) if guarded.is_brief() => Ok(Some(HidingMode::Nodes)),
            Some(PendingCheck { guard, form: StatementForm::Explain { .. }, .. }) if guard.hides => {
                Ok(Some(HidingMode::Plan))
            }
            _ => Ok(None),
        }
    }
}

/// Returns the statement with other names; positions lead back to the text of `execution`.
fn masked(execution: &Execution, guarded: &PendingCheck, mask: &NameMask) -> Option<Execution> {
    let origin = execution.origin.as_ref()?.edited(mask.edits());
    let behind = execution.text.len().checked_sub(guarded.text.len())?;
    let text = origin.text.get(..origin.text.len().checked_sub(behind)?)?.to_owned();
    let Values::Inferred(values) = &execution.values else { return None };
    let guarded = PendingCheck {
        form: statement_form(&text).0,
        text,
        fingerprint: None,
        brief: OnceLock::new(),
        within: guarded.within.clone(),
        ..*guarded
    };
    Some(Execution {
        text: origin.text.clone(),
        values: Values::Inferred(values.clone()),
        default_schema: execution.default_schema.clone(),
        origin: Some(origin),
        identity: execution.identity.clone(),
        guarded: Some(guarded),
        ..*execution
    })
}

/// Returns the error for a statement that would run with another name in place of this one.
fn taken(name: &str) -> Error {
    refused(&format!("the name \"{name}\"")).hint("choose another name")
}

/// Returns true if the failure is our own or of the connection, and contains nothing of the source's content.
fn is_of_ours(error: &Error) -> bool {
    matches!(error.kind, Kind::Unavailable | Kind::Abandoned | Kind::TimedOut | Kind::Internal)
}
