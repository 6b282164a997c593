//! With which types a statement is prepared. A value means what the same literal would mean (`wire.md`
//! §4): a number or a truth value has a type of its own, a string or NULL that of the place where it
//! stands. Only where the source refuses that, other ways are tried, and the one that was found is
//! remembered.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio_postgres::Statement;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::{Kind, Type};

use crate::call::Argument;
use crate::error::{Error, Result};
use crate::source::postgres::bind::argument::integral;
use crate::source::postgres::execute::prepared::begun;
use crate::source::postgres::execute::statement::{APART, Job};
use crate::source::postgres::execute::transaction::step_back;
use crate::source::postgres::session::clock::Clock;
use crate::source::postgres::session::handle::Session;
use crate::sql;

/// SQLSTATEs of a parameter whose type could not be inferred or was inferred twice, of an operator or a
/// function that could not be chosen, of types that do not fit together, and of a cast that there is not.
const NEEDS_TYPES: [&str; 6] = ["42P18", "42P08", "42725", "42883", "42804", "42846"];
/// Parameters that are given a type one by one; the rest of them at once.
const ONE_BY_ONE: usize = 8;
/// How long a way is remembered: what it rests on in the catalogue may change.
const LIFETIME: Duration = Duration::from_secs(30);
/// Ways of one connection that are remembered at most, and the parameters of one.
const MOST: usize = 2_048;
const MOST_TYPES: usize = 128;

/// A statement that is prepared.
pub(crate) struct Inferred {
    pub(crate) statement: Statement,
    /// Set where each place of a value is a parameter of its own.
    pub(crate) apart: Option<Apart>,
}

/// A statement's text with a parameter for each place where a string or NULL stands: each then has the
/// type of its place, as literals have.
#[derive(Clone, Debug)]
pub(crate) struct Apart {
    pub(crate) text: String,
    /// For each parameter the argument that is bound to it, from 0.
    places: Vec<usize>,
}

impl Apart {
    /// Of `text`, a statement of these arguments or a part of it; `None` where nothing stands twice.
    pub(crate) fn of(text: &str, arguments: &[Argument]) -> Option<Self> {
        let is_open = |index: usize| arguments.get(index).is_some_and(|argument| own(argument) == Type::UNKNOWN);
        let (text, places) = sql::parameters_apart(text, arguments.len(), is_open)?;
        Some(Self { text, places })
    }

    /// The arguments, one for each parameter.
    pub(crate) fn arguments<'a>(&self, arguments: &'a [Argument]) -> Vec<&'a Argument> {
        self.places.iter().filter_map(|place| arguments.get(*place)).collect()
    }
}

/// Begins the transaction and prepares the statement in it.
///
/// # Errors
/// What the source says of the statement as it says it where literals stand for the values.
pub(crate) async fn inferred(session: &Session, job: &Job, clock: &Clock) -> Result<Inferred> {
    let arguments = job.arguments();
    let mut attempts = Attempts { session, job, clock, behind: false, tried: HashSet::new(), refusal: None };
    if arguments.is_empty() {
        let ready = attempts.prepare(None, &[]).await.map_err(|error| job.failure(&error, 0))?;
        return Ok(Inferred { statement: ready, apart: None });
    }
    let known = if job.place.begins { session.ways().of(job) } else { None };
    if let Some(Way { types, apart, .. }) = known {
        let apart = if apart { Apart::of(&job.text, arguments) } else { None };
        let given = given(apart.as_ref(), arguments);
        let takes = |(argument, type_): (&&Argument, &Type)| own(argument) == Type::UNKNOWN || fits(argument, type_);
        if types.len() == given.len() && given.iter().zip(&types).all(takes) {
            // What it rested on may be gone.
            if let Ok(statement) = Box::pin(attempts.prepare(apart.as_ref(), &types)).await {
                return Ok(Inferred { statement, apart });
            }
        }
    }
    // Nearly all statements need no more than their values' own types; casts say those of a routine's.
    let type_: fn(&Argument) -> Type = if job.means_literals() { own } else { |_| Type::UNKNOWN };
    let first = arguments.iter().map(type_).collect();
    let (inferred, types) = match attempts.attempt(None, first).await? {
        Some(found) => found,
        None => Box::pin(attempts.others()).await?,
    };
    if attempts.tried.len() > 1 && job.place.begins {
        session.ways().keep(Shape::of(job), types, inferred.apart.is_some());
    }
    Ok(inferred)
}

fn given<'a>(apart: Option<&Apart>, arguments: &'a [Argument]) -> Vec<&'a Argument> {
    apart.map_or_else(|| arguments.iter().collect(), |apart| apart.arguments(arguments))
}

/// The ways to prepare one statement that were tried.
struct Attempts<'a> {
    session: &'a Session,
    job: &'a Job,
    clock: &'a Clock,
    /// Whether there is something of an attempt to be taken back.
    behind: bool,
    tried: HashSet<(bool, Vec<u32>)>,
    /// What the source said first, which is nearest to what the caller wrote.
    refusal: Option<Error>,
}

type Found = (Inferred, Vec<Type>);

impl Attempts<'_> {
    async fn others(&mut self) -> Result<Found> {
        let arguments = self.job.arguments();
        let each = |type_: fn(&Argument) -> Type| arguments.iter().map(type_).collect::<Vec<_>>();
        if !self.job.means_literals() {
            for types in [each(own), each(text_at_last)] {
                if let Some(found) = self.attempt(None, types).await? {
                    return Ok(found);
                }
            }
            return Err(self.refused());
        }
        let apart = Apart::of(&self.job.text, arguments);
        let texts: Vec<Option<&Apart>> = std::iter::once(None).chain(apart.as_ref().map(Some)).collect();
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
        let ambiguous = self.refusal.as_ref().is_some_and(|refusal| refusal.get_sqlstate() == Some("42725"));
        if let Some(found) = self.attempt(None, each(if ambiguous { at_last } else { text_at_last })).await? {
            return Ok(found);
        }
        Err(self.refused())
    }

    /// What the source says of the values' own types is nearest to what the caller wrote; but that a type
    /// was inferred twice is said of no literal.
    fn note(&mut self, error: &tokio_postgres::Error, apart: bool) {
        let is_better = |refusal: &Error| apart && refusal.get_sqlstate() == Some("42P08");
        if self.refusal.as_ref().is_none_or(is_better) {
            self.refusal = Some(self.job.failure(error, if apart { APART } else { 0 }));
        }
    }

    fn refused(&mut self) -> Error {
        self.refusal.take().unwrap_or_else(|| Error::internal("a statement was neither prepared nor refused"))
    }

    /// Numbers and truth values with the types that the source infers for their places, where it infers
    /// one that is no text and takes the value.
    async fn taken(&mut self, apart: Option<&Apart>) -> Result<Option<Vec<Type>>> {
        let given = given(apart, self.job.arguments());
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
    async fn attempt(&mut self, apart: Option<&Apart>, types: Vec<Type>) -> Result<Option<Found>> {
        let given = given(apart, self.job.arguments());
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
            let Some(code) = error.code() else { return Err(self.job.failure(&error, 0)) };
            if !NEEDS_TYPES.contains(&code.code()) {
                return if self.tried.len() == 1 { Err(self.refused()) } else { Ok(None) };
            }
            let open = (error.code() == Some(&SqlState::INDETERMINATE_DATATYPE)).then(|| number(&error)).flatten();
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

    async fn prepare(&mut self, apart: Option<&Apart>, types: &[Type]) -> Result<Statement, tokio_postgres::Error> {
        if std::mem::replace(&mut self.behind, true) {
            step_back(self.session, self.job.frame(), self.job.place).await;
        }
        let text = apart.map_or(self.job.text.as_str(), |apart| apart.text.as_str());
        // As if none were given: the source then infers all of them.
        let types = if types.iter().all(|type_| *type_ == Type::UNKNOWN) { &[] } else { types };
        begun(self.session, self.job, self.clock, text, types).await
    }
}

/// The number of the parameter that the source has no type for. The words are in the server's language.
fn number(error: &tokio_postgres::Error) -> Option<usize> {
    let (_, digits) = error.as_db_error()?.message().split_once('$')?;
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    digits.get(..end)?.parse().ok()
}

/// The type that the value has by itself, as a literal would; unknown is that of its place.
fn own(argument: &Argument) -> Type {
    let json = argument.value.get().trim();
    match json.as_bytes().first() {
        Some(b't' | b'f') => Type::BOOL,
        Some(b'-' | b'0'..=b'9') => of_number(json),
        _ => Type::UNKNOWN,
    }
}

fn of_number(digits: &str) -> Type {
    if digits.parse::<i32>().is_ok() {
        Type::INT4
    } else if digits.parse::<i64>().is_ok() {
        Type::INT8
    } else {
        Type::NUMERIC
    }
}

/// The same, and where it has none the one that the caller names. Clients name the same one for every
/// number, so that among numbers the value decides.
fn named(argument: &Argument) -> Type {
    let own = own(argument);
    if own != Type::UNKNOWN {
        return own;
    }
    let json = argument.value.get().trim();
    match argument.data_type {
        Some(1) => Type::BYTEA,
        Some(5) => Type::TEXT,
        Some(6 | 7) => Type::INT2,
        Some(8) => match serde_json::from_str::<String>(json) {
            Ok(text) if serde_json::from_str::<serde_json::Number>(&text).is_ok() => of_number(&text),
            _ => Type::INT4,
        },
        Some(9) => Type::INT8,
        Some(10) => Type::FLOAT4,
        Some(11) => Type::FLOAT8,
        Some(12 | 13) => Type::NUMERIC,
        Some(14) => Type::BOOL,
        Some(15) => Type::DATE,
        Some(16) => Type::TIME,
        Some(17) => Type::TIMESTAMP,
        Some(18) => Type::UUID,
        _ if json.starts_with('{') => Type::JSONB,
        _ => Type::UNKNOWN,
    }
}

/// The type of a value that nothing else gives one.
fn at_last(argument: &Argument) -> Type {
    match named(argument) {
        Type::UNKNOWN => Type::TEXT,
        named => named,
    }
}

/// The same for strings alone.
fn text_at_last(argument: &Argument) -> Type {
    if argument.value.get().trim().starts_with('"') { at_last(argument) } else { named(argument) }
}

/// By what statements with such values are told apart.
pub(crate) fn kind(argument: &Argument) -> [u32; 2] {
    [own(argument).oid(), text_at_last(argument).oid()]
}

/// Whether a value of a type of its own goes where a statement was prepared for `type_`.
fn fits(argument: &Argument, type_: &Type) -> bool {
    own(argument) == *type_ || takes(argument, type_)
}

/// Whether the source's own inferred type takes a number or a truth value that it would not take as a
/// literal.
fn takes(argument: &Argument, type_: &Type) -> bool {
    if let Kind::Domain(base) = type_.kind() {
        return takes(argument, base);
    }
    let json = argument.value.get().trim();
    let is_number = own(argument) != Type::BOOL;
    match *type_ {
        Type::JSON | Type::JSONB => true,
        Type::BOOL => !is_number || matches!(json, "0" | "1"),
        Type::INT2 | Type::INT4 | Type::INT8 | Type::OID => is_number && is_whole(json),
        Type::FLOAT4 | Type::FLOAT8 | Type::NUMERIC | Type::MONEY => is_number,
        _ => false,
    }
}

/// Whether a number is whole, however it is written.
fn is_whole(json: &str) -> bool {
    integral(json).bytes().all(|byte| byte == b'-' || byte.is_ascii_digit())
}

/// What a way is remembered by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Shape(u64, u64);

impl Shape {
    fn of(job: &Job) -> Self {
        static KEYS: std::sync::LazyLock<[RandomState; 2]> =
            std::sync::LazyLock::new(|| [RandomState::new(), RandomState::new()]);
        let [first, second] = KEYS.each_ref().map(|key| {
            let mut hasher = key.build_hasher();
            let schema = job.default_schema.as_deref().unwrap_or_default();
            let role = job.identity.as_ref().map_or("", |identity| identity.role.as_str());
            for term in [job.text.as_str(), schema, role] {
                hasher.write_usize(term.len());
                hasher.write(term.as_bytes());
            }
            for oid in job.arguments().iter().flat_map(kind) {
                hasher.write_u32(oid);
            }
            hasher.finish()
        });
        Self(first, second)
    }
}

/// How a statement was prepared that its values' own types did not do for.
#[derive(Clone)]
struct Way {
    types: Vec<Type>,
    apart: bool,
    since: Instant,
}

/// The ways that were found lately.
#[derive(Default)]
pub(crate) struct Ways(Mutex<HashMap<Shape, Way>>);

impl Ways {
    fn of(&self, job: &Job) -> Option<Way> {
        // Most statements need none, and their texts may be long.
        if self.lock().is_empty() {
            return None;
        }
        let shape = Shape::of(job);
        self.lock().get(&shape).filter(|way| way.since.elapsed() < LIFETIME).cloned()
    }

    fn keep(&self, shape: Shape, types: Vec<Type>, apart: bool) {
        if types.len() > MOST_TYPES {
            return;
        }
        let mut ways = self.lock();
        if ways.len() >= MOST {
            ways.retain(|_, way| way.since.elapsed() < LIFETIME);
            if ways.len() >= MOST {
                ways.clear();
            }
        }
        ways.insert(shape, Way { types, apart, since: Instant::now() });
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Shape, Way>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
