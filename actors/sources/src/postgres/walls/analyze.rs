//! Asks the server how it understands a statement: the statement becomes the body of a temporary function that is
//! created, read and rolled back. For that the server resolves every name and infers every type, and runs nothing
//! (PostgreSQL 14 and later, "CREATE FUNCTION", `sql_body`).

use std::borrow::Cow;

use futures_util::future::{join, join4};
use tokio_postgres::error::{ErrorPosition, SqlState};
use tokio_postgres::types::{Kind as TypeKind, Type};

use crate::postgres::bind::attempts::Inferred;
use crate::postgres::bind::inference::inferred;
use crate::postgres::execute::envelope::identity;
use crate::postgres::execute::envelope::options::TransactionMode;
use crate::postgres::execute::envelope::transaction::{beginning, search_path, step_back};
use crate::postgres::execute::execution::Execution;
use crate::postgres::execute::sent_text::SentText;
use crate::postgres::quote::quoted;
use crate::postgres::session::context::CallContext;
use crate::postgres::session::handle::Session;
use crate::statements::bindings;
use portico_core::call::Argument;
use portico_core::error::{Error, Kind, Result};

/// Characters of a tree that is read; a longer one is not judged.
const LONGEST: usize = 16 << 20;
const READ: &str = "SELECT pg_catalog.left(p.prosqlbody::text, $1) FROM pg_catalog.pg_proc p \
    WHERE p.proname = 'portico_check' AND p.pronamespace = pg_catalog.pg_my_temp_schema()";
const SAVE: &str = "SAVEPOINT portico_check";
/// The judge's questions mean the server's own operators and functions. They are small, and to compile
/// them would take far longer than they do.
const OWN_PATH: &str = "SET LOCAL search_path = pg_catalog; SET LOCAL jit = off";
/// Rolls the function back in a transaction that continues.
const STEP_BACK: &str = "ROLLBACK TO SAVEPOINT portico_check; RELEASE SAVEPOINT portico_check";

/// The server's answer.
pub(crate) enum Analysis {
    /// The analysed tree, with the question's transaction still open.
    Tree(String),
    /// The server does not take the statement.
    Refused(tokio_postgres::Error),
    /// The statement is not a query.
    NoQuery,
}

/// Asks about the query `text`: the statement of `execution`, or a part of it. After a failure the caller must end
/// the transaction.
///
/// # Errors
/// A refusal by the driver itself, or a lost session.
pub(crate) async fn ask(
    session: &Session,
    execution: &Execution,
    text: &str,
    context: &CallContext,
) -> Result<Analysis> {
    let (mut text, mut types, mut valueless) = (Cow::Borrowed(text), Vec::new(), None);
    if !execution.arguments().is_empty() {
        let inferred = inferred(session, execution, context).await?;
        types = inferred.statement.params().to_vec();
        valueless = refused_parameter(&inferred, execution.arguments());
        // No parameter precedes the part: their numbers are the same in it.
        if let Some(split) = &inferred.split {
            text = Cow::Owned(split.text_of(&text, execution.arguments()));
        }
        step_back(session, execution.mode(), execution.position).await;
    }
    let question = question(&text, &types);
    let asked = join(read(session), session.batch_execute(OWN_PATH));
    let (made, (tree, _)) = join(made(session, execution, &question, context), asked).await;
    match made {
        Ok(()) => {}
        Err(error) if is_no_query(&error) => return Ok(Analysis::NoQuery),
        // The server speaks of the function, which the caller has not written.
        Err(error) => match valueless.filter(|_| error.code() == Some(&SqlState::INVALID_FUNCTION_DEFINITION)) {
            Some(refused) => return Err(refused.because(error)),
            None => return Ok(Analysis::Refused(error)),
        },
    }
    let tree: String =
        tree.and_then(|row| row.try_get(0)).map_err(|error| execution.failure(&error, &SentText::SAME))?;
    if tree.chars().count() > LONGEST {
        return Err(Error::new(Kind::TooLarge, "the statement is too long to be checked")
            .hint("send fewer values, or many of them as one array"));
    }
    Ok(Analysis::Tree(tree))
}

/// Returns the error for the first parameter of a type of which the server takes no value: a function cannot have
/// such an argument either. Its SQLSTATE is the server's for a value of such a type (`feature_not_supported`).
fn refused_parameter(inferred: &Inferred, arguments: &[Argument]) -> Option<Error> {
    let given: Vec<&Argument> = match &inferred.split {
        Some(split) => split.arguments(arguments),
        None => arguments.iter().collect(),
    };
    let (argument, type_) = given.into_iter().zip(inferred.statement.params()).find(|(_, type_)| is_pseudo(type_))?;
    let type_ = match type_.name().strip_prefix('_') {
        Some(element) => format!("{element}[]"),
        None => type_.name().to_owned(),
    };
    let name = bindings::name_without_at(&argument.name);
    let message = format!("parameter @{name}: the type {type_} takes no value from outside");
    Some(Error::invalid(message).sqlstate("0A000").hint(format!("cast @{name} to text or jsonb")).judged())
}

/// Whether a type is a pseudo-type, or an array of one.
fn is_pseudo(type_: &Type) -> bool {
    match type_.kind() {
        TypeKind::Array(element) => matches!(element.kind(), TypeKind::Pseudo),
        kind => matches!(kind, TypeKind::Pseudo),
    }
}

/// Runs `text`, such as a statement of definition, to learn the server's error; the caller must roll the
/// transaction back.
pub(crate) async fn made(
    session: &Session,
    execution: &Execution,
    text: &str,
    context: &CallContext,
) -> Result<(), tokio_postgres::Error> {
    if !execution.position.begins {
        let (saved, made) = join(session.batch_execute(SAVE), session.execute_typed(text, &[])).await;
        return saved.and(made).map(drop);
    }
    let begin = beginning(TransactionMode::ReadWrite, context, session.pooled);
    let (opened, role, path, made) = join4(
        session.batch_execute(&begin),
        identity::assume(session, &execution.identity, TransactionMode::ReadWrite),
        search_path(session, execution.default_schema.as_deref(), TransactionMode::ReadWrite),
        session.execute_typed(text, &[]),
    )
    .await;
    opened.and(role).and(path).and(made).map(drop)
}

/// Takes back the question: with its transaction, where that is its own.
pub(crate) async fn undo(session: &Session, execution: &Execution) -> Result<()> {
    let undo = if execution.position.begins { "ROLLBACK" } else { STEP_BACK };
    session.batch_execute(undo).await.map_err(|error| execution.failure(&error, &SentText::SAME))
}

/// Undoes what an earlier attempt left, if it had `begun` anything.
pub(crate) async fn start_over(session: &Session, execution: &Execution, begun: bool) {
    if execution.position.begins {
        let _nothing_open = session.batch_execute("ROLLBACK").await;
    } else if begun && session.batch_execute(STEP_BACK).await.is_err() {
        step_back(session, execution.mode(), execution.position).await;
    }
}

async fn read(session: &Session) -> Result<tokio_postgres::Row, tokio_postgres::Error> {
    let longest = i32::try_from(LONGEST + 1).unwrap_or(i32::MAX);
    session.query_typed_one(READ, &[(&longest, Type::INT4)]).await
}

/// The text after the statement's own.
const END: &str = "\n; END";

/// Arguments of a function at most (`FUNC_MAX_ARGS`).
const MOST_ARGUMENTS: usize = 100;

/// The question for `text`, with parameters of these types.
fn question(text: &str, types: &[Type]) -> String {
    let names: Vec<String> =
        types.iter().map(|type_| format!("{}.{}", quoted(type_.schema()), quoted(type_.name()))).collect();
    if types.len() <= MOST_ARGUMENTS {
        return format!("{}{text}{END}", opening(&names));
    }
    // Parameters of one type become the elements of one argument. Those of an array type are passed as text, since
    // an array of arrays does not exist.
    let (mut arguments, mut written) = (Vec::<String>::new(), Vec::with_capacity(types.len()));
    let mut lists: Vec<(&str, usize, usize)> = Vec::new();
    for (type_, name) in types.iter().zip(&names) {
        let is_array = matches!(type_.kind(), TypeKind::Array(_));
        let element = if is_array { "pg_catalog.text" } else { name.as_str() };
        let place = lists.iter().position(|(known, ..)| *known == element).unwrap_or_else(|| {
            arguments.push(format!("{element}[]"));
            lists.push((element, arguments.len(), 0));
            lists.len() - 1
        });
        let (_, argument, elements) = &mut lists[place];
        *elements += 1;
        let value = format!("((${argument})[{elements}])");
        written.push(if is_array { format!("({value}::{name})") } else { value });
    }
    let text = portico_sql::parameters_written(text, |index| written.get(index).cloned());
    format!("{}{text}{END}", opening(&arguments))
}

/// The text in front of the statement's own.
fn opening(types: &[String]) -> String {
    let types = types.join(", ");
    format!("CREATE FUNCTION pg_temp.portico_check({types}) RETURNS pg_catalog.void LANGUAGE sql BEGIN ATOMIC ")
}

/// How many characters of the question stand in front of the statement's text.
pub(crate) fn shift() -> usize {
    opening(&[]).chars().count()
}

/// Returns true if the server says that the statement cannot be a function's body. There is no SQLSTATE for that:
/// it is recognised by the routine in the server's code, since the text is in the server's language.
fn is_no_query(error: &tokio_postgres::Error) -> bool {
    error.as_db_error().is_some_and(|error| {
        *error.code() == SqlState::FEATURE_NOT_SUPPORTED
            && error.routine() == Some("interpret_AS_clause")
            && error.position().is_none()
    })
}

/// Returns true if the server refuses a constant that a function's body may not contain, since the function would
/// depend on the object: of `regrole`, and of other objects that belong to no database.
pub(crate) fn names_no_dependency(error: &tokio_postgres::Error) -> bool {
    error.as_db_error().is_some_and(|error| {
        *error.code() == SqlState::FEATURE_NOT_SUPPORTED && error.routine() == Some("find_expr_references_walker")
    })
}

/// Returns true if the position of the server's error is after so many characters.
pub(crate) fn is_behind(error: &tokio_postgres::Error, characters: usize) -> bool {
    let position = match error.as_db_error().and_then(|error| error.position()) {
        Some(ErrorPosition::Original(position)) => usize::try_from(*position).ok(),
        _ => None,
    };
    position.is_some_and(|position| position > characters)
}

/// Returns true if the error mentions the text after the statement, which a statement with an open end runs into.
pub(crate) fn tells_its_end(error: &tokio_postgres::Error) -> bool {
    error.as_db_error().is_some_and(|error| error.message().contains(END))
}

/// Returns true if the server may be unable to answer at all: it is a standby, is too old, or gives the role no
/// temporary objects. The probe distinguishes this from an error in the statement.
pub(crate) fn may_be_unable(error: &tokio_postgres::Error) -> bool {
    let code = error.code().map(SqlState::code);
    matches!(code, Some("25006" | "0A000" | "42501" | "42601"))
}

/// Returns true if the server can be asked at all. Runs outside of a transaction, and leaves none open.
pub(crate) async fn can_be_asked(session: &Session, execution: &Execution, context: &CallContext) -> bool {
    let begin = beginning(TransactionMode::ReadWrite, context, session.pooled);
    let question = question("SELECT 1", &[]);
    let (opened, role, made, undone) = join4(
        session.batch_execute(&begin),
        identity::assume(session, &execution.identity, TransactionMode::ReadWrite),
        session.execute_typed(&question, &[]),
        session.batch_execute("ROLLBACK"),
    )
    .await;
    opened.and(role).and(made).is_ok() && undone.is_ok()
}
