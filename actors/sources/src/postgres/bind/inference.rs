//! With which types a statement is prepared. A value means what the same literal would mean: a number or
//! a truth value has a type of its own, a string or NULL that of the place where it stands. Only where
//! the source refuses that, other ways are tried, and the one that was found is remembered.

use std::collections::HashMap;

use tokio_postgres::Statement;
use tokio_postgres::error::{ErrorPosition, SqlState};
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
/// SQLSTATEs of an expression that is not the one of GROUP BY, or of DISTINCT.
const GROUPING: [&str; 2] = ["42803", "42P10"];
/// Parameters that are given a type one by one; the rest of them at once.
const ONE_BY_ONE: usize = 8;
/// Ways that are looked for which numbers the source takes by the type of their place.
const MOST_SEARCHED: usize = 64;

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
    let mut attempts =
        Attempts { session, execution, context, behind: false, tried: HashMap::new(), refusal: None, alike: None };
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

/// By what ways are told apart.
fn key(apart: Option<&SplitParameters>, types: &[Type]) -> (bool, Vec<u32>) {
    (apart.is_some(), types.iter().map(Type::oid).collect())
}

/// The ways to prepare one statement that were tried.
struct Attempts<'a> {
    session: &'a Session,
    execution: &'a Execution,
    context: &'a CallContext,
    /// Whether there is something of an attempt to be taken back.
    behind: bool,
    /// With what the source refused each, behind what was tried from there on.
    tried: HashMap<(bool, Vec<u32>), Option<Refused>>,
    /// What the source said that is nearest to what the caller wrote, and whether of places apart.
    refusal: Option<(Error, bool)>,
    /// The statement with places apart and the types with which the source takes it, where all places of each value had
    /// the same one.
    alike: Option<(SplitParameters, Vec<Type>)>,
}

type Found = (Inferred, Vec<Type>);

/// A refusal's SQLSTATE, and the place in the text that it tells.
type Refused = (String, Option<u32>);

impl Attempts<'_> {
    /// The statement with a parameter for each place of a value, where the places have different types: as one parameter
    /// all of them would have that of the first, without a word. Only what stands in GROUP BY or DISTINCT too may have to
    /// be one.
    async fn apart(&mut self) -> Result<Option<Found>> {
        let arguments = self.execution.arguments();
        if !self.execution.means_literals() {
            return Ok(None);
        }
        let Some(apart) = SplitParameters::of(&self.execution.text, arguments) else { return Ok(None) };
        let each = |type_: fn(&Argument) -> Type| apart.arguments(arguments).into_iter().map(type_).collect::<Vec<_>>();
        if let Some((inferred, types)) = self.attempt(Some(&apart), each(own)).await? {
            if apart.differ(inferred.statement.params()) {
                return Ok(Some((inferred, types)));
            }
            self.alike = Some((apart, types));
            return Ok(None);
        }
        if let Some(found) = Box::pin(self.literal_ways(Some(&apart))).await? {
            return Ok(Some(found));
        }
        let is_grouping =
            |refused: &Option<Refused>| refused.as_ref().is_some_and(|(code, _)| GROUPING.contains(&code.as_str()));
        if self.tried.values().any(is_grouping) { Ok(None) } else { Err(self.refused()) }
    }

    /// The statement with other types than its values' own: those that the caller names, those of the numbers' places,
    /// and text for what has none.
    async fn literal_ways(&mut self, apart: Option<&SplitParameters>) -> Result<Option<Found>> {
        let given = given(apart, self.execution.arguments());
        let each = |type_: fn(&Argument) -> Type| given.iter().map(|argument| type_(argument)).collect::<Vec<_>>();
        if let Some(found) = self.attempt(apart, each(named)).await? {
            return Ok(Some(found));
        }
        for type_ in [own, named] {
            if let Some(found) = self.taken(apart, type_).await? {
                return Ok(Some(found));
            }
        }
        // A string that no place gives a type is text. NULL is too where a name is one of a type and of
        // several functions: what is no literal is not taken for a cast.
        let ambiguous = self.refusal.as_ref().is_some_and(|(refusal, _)| refusal.get_sqlstate() == Some("42725"));
        self.attempt(apart, each(if ambiguous { at_last } else { text_at_last })).await
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
        if let Some((apart, types)) = self.alike.take() {
            let statement = self.once_more(Some(&apart), &types).await?;
            return Ok((Inferred { statement, apart: Some(apart) }, types));
        }
        if let Some(found) = self.attempt(None, each(own)).await? {
            return Ok(found);
        }
        match self.literal_ways(None).await? {
            Some(found) => Ok(found),
            None => Err(self.refused()),
        }
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

    /// The statement with numbers and truth values of the types that the source infers for their places, where it takes
    /// them no other way: as few as will do, for the others mean what literals would.
    async fn taken(&mut self, apart: Option<&SplitParameters>, type_: fn(&Argument) -> Type) -> Result<Option<Found>> {
        let given = given(apart, self.execution.arguments());
        let literal: Vec<Type> = given.iter().map(|argument| type_(argument)).collect();
        let numbers: Vec<usize> = (0..given.len()).filter(|at| own(given[*at]) != Type::UNKNOWN).collect();
        if numbers.is_empty() {
            return Ok(None);
        }
        let Some(open) = self.opened(apart, &literal, &numbers).await? else { return Ok(None) };
        let (open, (inferred, mut types)) = open;
        for at in &open {
            let inferred = &inferred.statement.params()[*at];
            types[*at] = if takes(given[*at], inferred) { inferred.clone() } else { literal[*at].clone() };
        }
        let Some(found) = self.attempt(apart, types).await? else { return Ok(None) };
        self.fewest(apart, &literal, &numbers, found).await.map(Some)
    }

    /// The statement that was `found`, with as many of the `numbers` of their own types as it can have: what one value needs
    /// is no concern of the others.
    async fn fewest(
        &mut self,
        apart: Option<&SplitParameters>,
        literal: &[Type],
        numbers: &[usize],
        found: Found,
    ) -> Result<Found> {
        let (mut inferred, mut types) = found;
        let others: Vec<usize> = numbers.iter().copied().filter(|at| literal[*at] != types[*at]).collect();
        let mut is_last = true;
        // Halves of them, and halves of these.
        let (one, other) = others.split_at(others.len() / 2);
        let mut parts = if others.len() > 1 { vec![other, one] } else { Vec::new() };
        while let Some(part) = parts.pop() {
            let mut closed = types.clone();
            for at in part {
                closed[*at] = literal[*at].clone();
            }
            let found = self.attempt(apart, closed).await?;
            is_last = found.is_some();
            match found {
                Some(found) => (inferred, types) = found,
                None if part.len() > 1 => {
                    let (one, other) = part.split_at(part.len() / 2);
                    parts.extend([other, one]);
                }
                None => {}
            }
        }
        if !is_last {
            inferred.statement = self.once_more(apart, &types).await?;
        }
        Ok((inferred, types))
    }

    /// Which of these `numbers` the source is to infer the types of, and the statement so: all of them, or where it finds
    /// too many meanings then, one after the other, as long as each changes what it refuses.
    async fn opened(
        &mut self,
        apart: Option<&SplitParameters>,
        literal: &[Type],
        numbers: &[usize],
    ) -> Result<Option<(Vec<usize>, Found)>> {
        let open = |open: &[usize]| {
            let mut types = literal.to_vec();
            for at in open {
                types[*at] = Type::UNKNOWN;
            }
            types
        };
        if let Some(found) = self.attempt(apart, open(numbers)).await? {
            return Ok(Some((numbers.to_vec(), found)));
        }
        let refused = |tried: &HashMap<_, Option<Refused>>, set: &[usize]| tried.get(&key(apart, &open(set))).cloned();
        // What is refused all the same is not refused for the type of a number.
        if refused(&self.tried, numbers) == refused(&self.tried, &[]) {
            return Ok(None);
        }
        // Where one of them has a meaning of its own alone.
        for but in numbers.iter().take(ONE_BY_ONE) {
            let others: Vec<usize> = numbers.iter().copied().filter(|at| at != but).collect();
            if let Some(found) = self.attempt(apart, open(&others)).await? {
                return Ok(Some((others, found)));
            }
        }
        let (mut sets, mut searched) = (vec![Vec::new()], 0);
        while let Some(set) = sets.pop() {
            let before = refused(&self.tried, &set);
            let mut further = Vec::new();
            for at in numbers.iter().filter(|at| !set.contains(*at)) {
                let wider = [set.as_slice(), &[*at]].concat();
                let types = open(&wider);
                let key = key(apart, &types);
                if self.tried.contains_key(&key) {
                    continue;
                }
                searched += 1;
                if searched > MOST_SEARCHED {
                    return Ok(None);
                }
                if let Some(found) = self.attempt(apart, types).await? {
                    return Ok(Some((wider, found)));
                }
                if self.tried.get(&key) != before.as_ref() {
                    further.push(wider);
                }
            }
            sets.extend(further.into_iter().rev());
        }
        Ok(None)
    }

    /// The statement, if the source takes it with these types and what it needs beyond them; `None` where
    /// others may help.
    async fn attempt(&mut self, apart: Option<&SplitParameters>, types: Vec<Type>) -> Result<Option<Found>> {
        let given = given(apart, self.execution.arguments());
        let first = key(apart, &types);
        let mut types = types;
        let mut given_one = 0;
        loop {
            let key = key(apart, &types);
            if self.tried.contains_key(&key) {
                return Ok(None);
            }
            self.tried.insert(key.clone(), None);
            let error = match self.prepare(apart, &types).await {
                Ok(statement) => return Ok(Some((Inferred { statement, apart: apart.cloned() }, types))),
                Err(error) => error,
            };
            let place = error.as_db_error().and_then(|error| match error.position() {
                Some(ErrorPosition::Original(place)) => Some(*place),
                _ => None,
            });
            let refused = error.code().map(|code| (code.code().to_owned(), place));
            self.tried.insert(key, refused.clone());
            self.tried.insert(first.clone(), refused);
            self.note(&error, apart.is_some());
            let Some(code) = error.code() else { return Err(self.execution.failure(&error, 0)) };
            if !NEEDS_TYPES.contains(&code.code()) {
                let is_first = apart.is_none() && self.tried.keys().filter(|(apart, _)| !apart).count() == 1;
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

    /// The statement as it was prepared before what was tried since then took it back.
    async fn once_more(&mut self, apart: Option<&SplitParameters>, types: &[Type]) -> Result<Statement> {
        let prepared = self.prepare(apart, types).await;
        prepared.map_err(|error| self.execution.failure(&error, if apart.is_some() { APART } else { 0 }))
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
