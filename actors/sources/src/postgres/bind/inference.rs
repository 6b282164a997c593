//! With which types a statement is prepared. A value means what the same literal would mean: a number or
//! a truth value has a type of its own, a string or NULL that of the place where it stands. Only where
//! the source refuses that, other ways are tried, and the one that was found is remembered.

use std::collections::HashSet;

use tokio_postgres::Statement;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::Type;

use crate::postgres::bind::argument_types::{at_last, fits, named, own, takes, text_at_last};
use crate::postgres::bind::parameter_types::ParameterTypes;
use crate::postgres::bind::split_parameters::SplitParameters;
use crate::postgres::execute::envelope::transaction::{begun, step_back};
use crate::postgres::execute::execution::{APART, Execution};
use crate::postgres::failure;
use crate::postgres::session::context::CallContext;
use crate::postgres::session::handle::Session;
use portico_core::call::Argument;
use portico_core::error::{Error, Result};

/// SQLSTATEs of a parameter whose type could not be inferred or was inferred twice, of an operator or a
/// function that could not be chosen, of types that do not fit together, and of a cast that there is not.
const NEEDS_TYPES: [&str; 6] = ["42P18", "42P08", "42725", "42883", "42804", "42846"];
/// Parameters that are given a type one by one; the rest of them at once.
const ONE_BY_ONE: usize = 8;

/// A statement that is prepared.
pub(crate) struct Inferred {
    pub(crate) statement: Statement,
    /// Set where each place of a value is a parameter of its own.
    pub(crate) apart: Option<SplitParameters>,
}

/// Begins the transaction and prepares the statement in it.
///
/// # Errors
/// What the source says of the statement as it says it where literals stand for the values.
pub(crate) async fn inferred(session: &Session, execution: &Execution, context: &CallContext) -> Result<Inferred> {
    let arguments = execution.arguments();
    let mut attempts = Attempts { session, execution, context, behind: false, tried: HashSet::new(), refusal: None };
    if arguments.is_empty() {
        let ready = attempts.prepare(None, &[]).await.map_err(|error| execution.failure(&error, 0))?;
        return Ok(Inferred { statement: ready, apart: None });
    }
    let known = if execution.position.begins { session.parameter_types().of(|| execution.exact()) } else { None };
    if let Some(ParameterTypes { types, apart }) = known {
        let apart = if apart { SplitParameters::of(&execution.text, arguments) } else { None };
        let given = given(apart.as_ref(), arguments);
        let takes = |(argument, type_): (&&Argument, &Type)| own(argument) == Type::UNKNOWN || fits(argument, type_);
        if types.len() == given.len() && given.iter().zip(&types).all(takes) {
            // What it rested on may be gone.
            if let Ok(statement) = Box::pin(attempts.prepare(apart.as_ref(), &types)).await {
                return Ok(Inferred { statement, apart });
            }
        }
    }
    let (inferred, types) = match Box::pin(attempts.apart()).await? {
        Some(found) => found,
        None => {
            // Nearly all statements need no more than their values' own types; casts say those of a routine's.
            let type_: fn(&Argument) -> Type = match execution.means_literals() {
                true if execution.is_overloaded => named,
                true => own,
                false => |_| Type::UNKNOWN,
            };
            let first = arguments.iter().map(type_).collect();
            match attempts.attempt(None, first).await? {
                Some(found) => found,
                None => Box::pin(attempts.others()).await?,
            }
        }
    };
    if attempts.tried.len() > 1 && execution.position.begins {
        session.parameter_types().keep(execution.exact(), types, inferred.apart.is_some());
    }
    Ok(inferred)
}

fn given<'a>(apart: Option<&SplitParameters>, arguments: &'a [Argument]) -> Vec<&'a Argument> {
    apart.map_or_else(|| arguments.iter().collect(), |apart| apart.arguments(arguments))
}

/// The ways to prepare one statement that were tried.
struct Attempts<'a> {
    session: &'a Session,
    execution: &'a Execution,
    context: &'a CallContext,
    /// Whether there is something of an attempt to be taken back.
    behind: bool,
    tried: HashSet<(bool, Vec<u32>)>,
    /// What the source said that is nearest to what the caller wrote, and whether of places apart.
    refusal: Option<(Error, bool)>,
}

type Found = (Inferred, Vec<Type>);

impl Attempts<'_> {
    /// The statement with a parameter for each place of a value, where the places have different types: as one parameter
    /// all of them would have that of the first, without a word.
    async fn apart(&mut self) -> Result<Option<Found>> {
        let arguments = self.execution.arguments();
        if !self.execution.means_literals() {
            return Ok(None);
        }
        let Some(apart) = SplitParameters::of(&self.execution.text, arguments) else { return Ok(None) };
        let types = apart.arguments(arguments).into_iter().map(own).collect();
        let found = self.attempt(Some(&apart), types).await?;
        Ok(found.filter(|(inferred, _)| apart.differ(inferred.statement.params())))
    }

    async fn others(&mut self) -> Result<Found> {
        let arguments = self.execution.arguments();
        let each = |type_: fn(&Argument) -> Type| arguments.iter().map(type_).collect::<Vec<_>>();
        if !self.execution.means_literals() {
            for types in [each(own), each(text_at_last)] {
                if let Some(found) = self.attempt(None, types).await? {
                    return Ok(found);
                }
            }
            return Err(self.refused());
        }
        let apart = SplitParameters::of(&self.execution.text, arguments);
        let texts: Vec<Option<&SplitParameters>> = std::iter::once(None).chain(apart.as_ref().map(Some)).collect();
        let by: [fn(&Argument) -> Type; 2] = [own, named];
        for apart in texts.iter().copied() {
            for type_ in by {
                let types = given(apart, arguments).into_iter().map(type_).collect();
                if let Some(found) = self.attempt(apart, types).await? {
                    return Ok(found);
                }
            }
        }
        for apart in texts {
            if let Some(types) = self.taken(apart).await?
                && let Some(found) = self.attempt(apart, types).await?
            {
                return Ok(found);
            }
        }
        // A string that no place gives a type is text. NULL is too where a name is one of a type and of
        // several functions: what is no literal is not taken for a cast.
        let ambiguous = self.refusal.as_ref().is_some_and(|(refusal, _)| refusal.get_sqlstate() == Some("42725"));
        if let Some(found) = self.attempt(None, each(if ambiguous { at_last } else { text_at_last })).await? {
            return Ok(found);
        }
        Err(self.refused())
    }

    /// What the source says of the statement as it stands, with the values' own types, is nearest to what the caller
    /// wrote; but that a type was inferred twice is said of no literal.
    fn note(&mut self, error: &tokio_postgres::Error, apart: bool) {
        const INFERRED_TWICE: &str = "42P08";
        let is_better = |(refusal, of_apart): &(Error, bool)| {
            let [before, now] = [refusal.get_sqlstate(), error.code().map(SqlState::code)];
            (apart && before == Some(INFERRED_TWICE)) || (*of_apart && !apart && now != Some(INFERRED_TWICE))
        };
        if self.refusal.as_ref().is_none_or(is_better) {
            self.refusal = Some((self.execution.failure(error, if apart { APART } else { 0 }), apart));
        }
    }

    fn refused(&mut self) -> Error {
        let refusal = self.refusal.take().map(|(refusal, _)| refusal);
        refusal.unwrap_or_else(|| Error::internal("a statement was neither prepared nor refused"))
    }

    /// Numbers and truth values with the types that the source infers for their places, where it infers
    /// one that is no text and takes the value.
    async fn taken(&mut self, apart: Option<&SplitParameters>) -> Result<Option<Vec<Type>>> {
        let given = given(apart, self.execution.arguments());
        if given.iter().all(|argument| own(argument) == Type::UNKNOWN) {
            return Ok(None);
        }
        let Some((open, _)) = self.attempt(apart, vec![Type::UNKNOWN; given.len()]).await? else { return Ok(None) };
        let types = given.iter().zip(open.statement.params()).map(|(argument, type_)| match own(argument) {
            own if own != Type::UNKNOWN && takes(argument, type_) => type_.clone(),
            own => own,
        });
        Ok(Some(types.collect()))
    }

    /// The statement, if the source takes it with these types and what it needs beyond them; `None` where
    /// others may help.
    async fn attempt(&mut self, apart: Option<&SplitParameters>, types: Vec<Type>) -> Result<Option<Found>> {
        let given = given(apart, self.execution.arguments());
        let mut types = types;
        let mut given_one = 0;
        loop {
            if !self.tried.insert((apart.is_some(), types.iter().map(Type::oid).collect())) {
                return Ok(None);
            }
            let error = match self.prepare(apart, &types).await {
                Ok(statement) => return Ok(Some((Inferred { statement, apart: apart.cloned() }, types))),
                Err(error) => error,
            };
            self.note(&error, apart.is_some());
            let Some(code) = error.code() else { return Err(self.execution.failure(&error, 0)) };
            if !NEEDS_TYPES.contains(&code.code()) {
                let is_first = apart.is_none() && self.tried.iter().filter(|(apart, _)| !apart).count() == 1;
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
            given_one += 1;
            if given_one > ONE_BY_ONE {
                for (type_, argument) in types.iter_mut().zip(&given).filter(|(type_, _)| **type_ == Type::UNKNOWN) {
                    *type_ = at_last(argument);
                }
            }
        }
    }

    async fn prepare(
        &mut self,
        apart: Option<&SplitParameters>,
        types: &[Type],
    ) -> Result<Statement, tokio_postgres::Error> {
        if std::mem::replace(&mut self.behind, true) {
            step_back(self.session, self.execution.mode(), self.execution.position).await;
        }
        let text = apart.map_or(self.execution.text.as_str(), |apart| apart.text.as_str());
        // As if none were given: the source then infers all of them.
        let types = if types.iter().all(|type_| *type_ == Type::UNKNOWN) { &[] } else { types };
        begun(self.session, self.execution, self.context, text, types).await
    }
}
