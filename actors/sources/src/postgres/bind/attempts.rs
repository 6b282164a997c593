//! Attempts to prepare a statement with types for its parameters.

use std::collections::HashMap;
use std::sync::Arc;

use tokio_postgres::Statement;
use tokio_postgres::error::{ErrorPosition, SqlState};
use tokio_postgres::types::Type;

use crate::postgres::bind::argument_types::at_last;
use crate::postgres::bind::split_parameters::{Sharing, SplitParameters};
use crate::postgres::execute::envelope::transaction::{begun, step_back};
use crate::postgres::execute::execution::Execution;
use crate::postgres::execute::sent_text::SentText;
use crate::postgres::failure;
use crate::postgres::session::context::CallContext;
use crate::postgres::session::handle::Session;
use portico_core::call::Argument;
use portico_core::error::{Error, Result};

/// SQLSTATEs of a parameter whose type was not inferred or inferred twice, of an ambiguous or unknown operator or
/// function, of types that do not match, and of a cast that does not exist.
const NEEDS_TYPES: [&str; 6] = ["42P18", "42P08", "42725", "42883", "42804", "42846"];
/// SQLSTATEs of an expression that differs from that of GROUP BY or DISTINCT.
const GROUPING: [&str; 2] = ["42803", "42P10"];
/// Attempts for one statement, and the parameters of all of them together.
const MOST_ATTEMPTS: usize = 512;
const MOST_PARAMETERS: usize = 1 << 18;

/// A statement that is prepared.
pub(crate) struct Inferred {
    pub(crate) statement: Statement,
    pub(crate) split: Split,
}

/// Set where places of a value are parameters of their own.
pub(crate) type Split = Option<Arc<SplitParameters>>;

/// A statement that is prepared, and the types that it was given.
pub(super) type Found = (Inferred, Vec<Type>);

/// A refusal's SQLSTATE, and the position in the text that it reports.
pub(super) type Refused = (String, Option<u32>);

/// The key of an attempt.
type Key = (Option<Sharing>, Vec<u32>);

#[derive(Clone)]
enum Outcome {
    /// With these types.
    Accepted(Vec<Type>),
    Refused(Option<Refused>),
}

/// The attempts to prepare one statement.
pub(super) struct Attempts<'a> {
    session: &'a Session,
    pub(super) execution: &'a Execution,
    context: &'a CallContext,
    /// Whether there is something of an attempt to be taken back.
    behind: bool,
    tried: HashMap<Key, Outcome>,
    /// The parameters of all attempts.
    sent: usize,
    /// The attempt that is prepared now.
    ready: Option<(Key, Statement)>,
    /// The source's error that is nearest to the caller's text, and whether it is for a text with split parameters.
    refusal: Option<(Error, bool)>,
}

fn key(split: &Split, types: &[Type]) -> Key {
    (split.as_ref().map(|split| Arc::clone(&split.sharing)), types.iter().map(Type::oid).collect())
}

impl<'a> Attempts<'a> {
    pub(super) fn new(session: &'a Session, execution: &'a Execution, context: &'a CallContext) -> Self {
        Self { session, execution, context, behind: false, tried: HashMap::new(), sent: 0, ready: None, refusal: None }
    }

    /// The arguments, one for each parameter.
    pub(super) fn given(&self, split: &Split) -> Vec<&'a Argument> {
        let arguments = self.execution.arguments();
        split.as_ref().map_or_else(|| arguments.iter().collect(), |split| split.arguments(arguments))
    }

    /// The statement as it is sent.
    fn text<'t>(&self, split: &'t Split) -> &'t str
    where
        'a: 't,
    {
        split.as_ref().map_or(self.execution.text.as_str(), |split| split.text())
    }

    /// Sorts these parameters by their distance to the position that the source refused.
    pub(super) fn nearest(&self, split: &Split, refused: Option<&Refused>, of: &[usize]) -> Vec<usize> {
        let Some(place) = refused.and_then(|(_, place)| usize::try_from((*place)?).ok()) else { return of.to_vec() };
        let mut far = HashMap::new();
        for (position, index) in portico_sql::parameter_positions(self.text(split)) {
            let distance = (position + 1).abs_diff(place);
            far.entry(index).and_modify(|known: &mut usize| *known = distance.min(*known)).or_insert(distance);
        }
        let mut nearest = of.to_vec();
        nearest.sort_by_key(|index| far.get(index).copied().unwrap_or(usize::MAX));
        nearest
    }

    /// Whether as many were made as one statement may cost.
    pub(super) fn is_exhausted(&self) -> bool {
        self.tried.len() > MOST_ATTEMPTS || self.sent > MOST_PARAMETERS
    }

    /// Whether there was more than one.
    pub(super) fn is_several(&self) -> bool {
        self.tried.len() > 1
    }

    /// Whether the source refused the statement with these types for an expression of GROUP BY or DISTINCT.
    pub(super) fn is_grouping(&self, split: &Split, types: &[Type]) -> bool {
        self.refused_with(split, types).is_some_and(|(code, _)| GROUPING.contains(&code.as_str()))
    }

    /// Whether the source refused any attempt for an expression of GROUP BY or DISTINCT.
    pub(super) fn was_grouping(&self) -> bool {
        self.tried
            .values()
            .any(|outcome| matches!(outcome, Outcome::Refused(Some((code, _))) if GROUPING.contains(&code.as_str())))
    }

    /// Whether the source said that there were several meanings.
    pub(super) fn is_ambiguous(&self) -> bool {
        self.refusal.as_ref().is_some_and(|(refusal, _)| refusal.get_sqlstate() == Some("42725"))
    }

    /// Returns the source's refusal of the statement with these types.
    pub(super) fn refused_with(&self, split: &Split, types: &[Type]) -> Option<Refused> {
        match self.tried.get(&key(split, types)) {
            Some(Outcome::Refused(refused)) => refused.clone(),
            Some(Outcome::Accepted(_)) | None => None,
        }
    }

    /// Returns the error that describes the failure of all attempts.
    pub(super) fn refused(&mut self) -> Error {
        let refusal = self.refusal.take().map(|(refusal, _)| refusal);
        refusal.unwrap_or_else(|| Error::internal("a statement was neither prepared nor refused"))
    }

    /// Returns the statement, if the source accepts it with these types and what it needs beyond them; `None` if
    /// other types may help.
    ///
    /// # Errors
    /// The source's error, if it does not depend on the types.
    pub(super) async fn attempt(&mut self, split: &Split, types: Vec<Type>) -> Result<Option<Found>> {
        let first = key(split, &types);
        let given = self.given(split);
        let mut types = types;
        loop {
            let now = key(split, &types);
            match self.tried.get(&now).cloned() {
                Some(Outcome::Accepted(types)) => return self.once_more(split, types).await.map(Some),
                Some(Outcome::Refused(_)) => return Ok(None),
                None if self.is_exhausted() => return Ok(None),
                None => {}
            }
            let error = match self.prepare(split, &types).await {
                Ok(statement) => {
                    for key in [first, now] {
                        self.tried.insert(key, Outcome::Accepted(types.clone()));
                    }
                    return Ok(Some((Inferred { statement, split: split.clone() }, types)));
                }
                Err(error) => error,
            };
            let refused = Outcome::Refused(error.code().map(|code| (code.code().to_owned(), place(&error))));
            let is_first = split.is_none() && !self.tried.keys().any(|(sharing, _)| sharing.is_none());
            for key in [first.clone(), now] {
                self.tried.insert(key, refused.clone());
            }
            self.note(&error, split);
            let Some(code) = error.code() else { return Err(self.execution.failure(&error, &SentText::SAME)) };
            if !NEEDS_TYPES.contains(&code.code()) {
                return if is_first { Err(self.refused()) } else { Ok(None) };
            }
            let said = error.as_db_error().filter(|error| *error.code() == SqlState::INDETERMINATE_DATATYPE);
            let open = said.and_then(|error| failure::parameter(error.message()));
            let Some(index) = open.and_then(|number| number.checked_sub(1)) else { return Ok(None) };
            let (Some(argument), Some(type_)) = (given.get(index), types.get_mut(index)) else { return Ok(None) };
            if *type_ != Type::UNKNOWN {
                return Ok(None);
            }
            *type_ = at_last(argument);
            // Parameters in the same position as this one have no type either.
            for index in portico_sql::parameters_like(self.text(split), index) {
                if let (Some(argument), Some(type_)) = (given.get(index), types.get_mut(index))
                    && *type_ == Type::UNKNOWN
                {
                    *type_ = at_last(argument);
                }
            }
        }
    }

    /// Keeps the error that is nearest to the caller's text: that of the statement without split parameters. An
    /// error about a type inferred twice gives way to others, for it never occurs with literals.
    fn note(&mut self, error: &tokio_postgres::Error, split: &Split) {
        const INFERRED_TWICE: &str = "42P08";
        let is_better = |(refusal, of_split): &(Error, bool)| {
            let [before, now] = [refusal.get_sqlstate(), error.code().map(SqlState::code)];
            (split.is_some() && before == Some(INFERRED_TWICE))
                || (*of_split && split.is_none() && now != Some(INFERRED_TWICE))
        };
        if self.refusal.as_ref().is_none_or(is_better) {
            let failure = self.execution.failure(error, &SentText::new(split.as_ref()));
            self.refusal = Some((failure, split.is_some()));
        }
    }

    /// Prepares the statement again, if later attempts have replaced it.
    async fn once_more(&mut self, split: &Split, types: Vec<Type>) -> Result<Found> {
        let statement = match &self.ready {
            Some((ready, statement)) if *ready == key(split, &types) => statement.clone(),
            _ => {
                let prepared = self.prepare(split, &types).await;
                prepared.map_err(|error| self.execution.failure(&error, &SentText::new(split.as_ref())))?
            }
        };
        Ok((Inferred { statement, split: split.clone() }, types))
    }

    pub(super) async fn prepare(&mut self, split: &Split, types: &[Type]) -> Result<Statement, tokio_postgres::Error> {
        self.ready = None;
        self.sent += types.len();
        if std::mem::replace(&mut self.behind, true) {
            step_back(self.session, self.execution.mode(), self.execution.position).await;
        }
        let text = self.text(split);
        // As if no types were given: the source then infers all of them.
        let given = if types.iter().all(|type_| *type_ == Type::UNKNOWN) { &[] } else { types };
        let statement = begun(self.session, self.execution, self.context, text, given).await?;
        self.ready = Some((key(split, types), statement.clone()));
        Ok(statement)
    }
}

fn place(error: &tokio_postgres::Error) -> Option<u32> {
    match error.as_db_error()?.position()? {
        ErrorPosition::Original(place) => Some(*place),
        ErrorPosition::Internal { .. } => None,
    }
}
