//! Calling a function or procedure by name: which overload the arguments mean, and the statement
//! that calls it.

use std::fmt::Write;

use tokio_postgres::types::Type;

use crate::digest;
use crate::postgres::bind::argument_types::{own, own_array};
use crate::postgres::catalog::routines::{KnownRoutines, RETURN_VALUE, Routine, RoutineLookup, Slot, SlotType};
use crate::postgres::execute::envelope::options::{ExecOptions, TransactionPosition};
use crate::postgres::execute::execution::{Execution, Values};
use crate::postgres::execute::slots::{
    elements, gathered, inputs, is_forced, is_whole, leaves_out, number, slot_of, takes_arrays,
};
use crate::postgres::quote::quoted;
use crate::postgres::walls::refusal::refused;
use crate::statements::bindings;
use crate::{Direction, Invocation, Parameter};
use portico_core::call::Argument;
use portico_core::error::{Error, Kind, Result};
use portico_sql::Class;

/// Names in a message at most.
const MOST_NAMES: usize = 10;

const NAME_TYPES: &str = "say with dataType which type is meant";
const GIVE_TYPES: &str = "give values of the types that one of the candidates takes";

/// Who chooses the overload of a call.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ChosenBy {
    /// The casts of its arguments say which it is.
    Us,
    /// Several differ only in types: the values mean what literals would.
    Server,
}

/// A call of a routine.
pub(crate) struct RoutineCall {
    pub(crate) execution: Execution,
    /// Set where the server chooses among overloads: which these are.
    candidates: Option<String>,
}

impl RoutineCall {
    /// Returns the error to report for a call that failed with `error`.
    pub(crate) fn told(self, error: Error) -> Error {
        // The called routine may have failed with the same error in its own calls.
        let is_within = error.get_site().is_some_and(|site| site.within || site.raised);
        match (self.candidates.filter(|_| !is_within), error.get_sqlstate()) {
            (Some(candidates), Some("42883")) => {
                misfit("no overload takes arguments of these types", &candidates).hint(GIVE_TYPES)
            }
            (Some(candidates), Some("42725")) => undecided(&candidates),
            _ => error,
        }
    }
}

/// Returns the statement for `invocation`. If something is hidden (`hides`), no argument may name a hidden object.
///
/// # Errors
/// [`Kind::NotFound`](portico_core::error::Kind::NotFound) if nothing has that name,
/// [`Kind::Invalid`](portico_core::error::Kind::Invalid) if no overload accepts the arguments, or several with
/// different parameters do, [`Kind::Forbidden`](portico_core::error::Kind::Forbidden) if an argument may name a
/// hidden object.
pub(crate) fn execution(
    known: &KnownRoutines,
    invocation: &Invocation,
    options: ExecOptions,
    hides: bool,
) -> Result<RoutineCall> {
    let overloads = named(known, invocation);
    if overloads.is_empty() {
        return Err(not_found(known, invocation));
    }
    let meant: Vec<&Routine> = overloads
        .iter()
        .copied()
        .filter(|routine| routine.procedure.is_overload(invocation.overload.as_deref()))
        .collect();
    if meant.is_empty() {
        return Err(misfit("the overload that was meant is no longer there", &candidates(&overloads)));
    }
    let mut fitting: Vec<(&Routine, Vec<Option<usize>>)> = meant
        .iter()
        .filter_map(|routine| fit(routine, &invocation.arguments).map(|places| (*routine, places)))
        .collect();
    if fitting.iter().any(|(routine, _)| !is_forced(routine, invocation)) {
        fitting.retain(|(routine, _)| !is_forced(routine, invocation));
    }
    if fitting.iter().any(|(routine, places)| takes_arrays(routine, places, invocation)) {
        fitting.retain(|(routine, places)| takes_arrays(routine, places, invocation));
    }
    let written =
        |(routine, places): &(&Routine, Vec<Option<usize>>), by| call(routine, places, invocation, options, by);
    match fitting.as_slice() {
        [] => Err(misfit("no overload takes these arguments", &candidates(&meant))),
        [only @ (routine, places)] => {
            if hides {
                hand_no_names(routine, places, invocation)?;
            }
            Ok(RoutineCall { execution: written(only, ChosenBy::Us), candidates: None })
        }
        // The server would also choose among hidden overloads.
        _ if hides => Err(undecided(&candidates(&meant))),
        [first, others @ ..] => {
            let execution = written(first, ChosenBy::Server);
            if others.iter().any(|other| written(other, ChosenBy::Server).text != execution.text) {
                return Err(undecided(&candidates(&meant)));
            }
            Ok(RoutineCall { execution, candidates: Some(candidates(&meant)) })
        }
    }
}

/// Returns true if a call may have failed because the routine has changed since it was read: it does not exist with
/// these arguments, or is of the other kind, or a value is not of its former type.
pub(crate) fn may_be_changed(error: &Error) -> bool {
    matches!(error.get_sqlstate(), Some("42883" | "42725" | "42809" | "42704" | "3F000")) || error.kind == Kind::Invalid
}

/// Returns where the name is looked up, its forms, and the routines that it had when they were read: everything
/// that determines what the call means.
pub(crate) fn lookup(known: &KnownRoutines, invocation: &Invocation) -> RoutineLookup {
    let schemas = invocation.schemas(&known.path).cloned().collect();
    RoutineLookup::new(known, schemas, invocation.spellings().to_vec())
}

/// The overloads that the name means: of the named schema, or else of the first schema on the
/// path that has any.
fn named<'a>(known: &'a KnownRoutines, invocation: &Invocation) -> Vec<&'a Routine> {
    let schemas: Vec<&String> = invocation.schemas(&known.path).collect();
    for name in invocation.spellings() {
        for schema in &schemas {
            let found: Vec<&Routine> =
                known.routines.iter().filter(|r| r.procedure.schema == **schema && r.procedure.name == name).collect();
            if !found.is_empty() {
                return found;
            }
        }
    }
    Vec::new()
}

/// For each slot the argument that fills it, if all arguments have a slot and all slots that need
/// one an argument.
fn fit(routine: &Routine, arguments: &[Argument]) -> Option<Vec<Option<usize>>> {
    let mut places: Vec<Option<usize>> = vec![None; routine.slots.len()];
    for (index, argument) in arguments.iter().enumerate() {
        let name = bindings::name_without_at(&argument.name);
        if argument.value.get() == "null" && names_output(routine, name) {
            continue;
        }
        let slot = slot_of(&routine.slots, name)?;
        let place = places.get_mut(slot)?;
        match *place {
            None => *place = Some(index),
            // Further values for the VARIADIC parameter that starts with that one.
            Some(_) if number(argument).is_some() && routine.slots.get(slot).is_some_and(|slot| slot.variadic) => {}
            Some(_) => return None,
        }
    }
    if leaves_out(routine, arguments) {
        return None;
    }
    let complete = routine
        .slots
        .iter()
        .zip(&places)
        .all(|(slot, place)| place.is_some() || slot.optional || slot.variadic || slot.direction == Direction::Out);
    complete.then_some(places)
}

/// Refuses values that the source would take for names of objects: the routine runs with its owner's privileges,
/// and the values are the caller's. The error says nothing about the value, so that hidden and missing objects look
/// alike.
fn hand_no_names(routine: &Routine, places: &[Option<usize>], invocation: &Invocation) -> Result<()> {
    for (slot, place) in routine.slots.iter().zip(places) {
        let mut handed = match place.and_then(|index| invocation.arguments.get(index)) {
            _ if slot.variadic => elements(routine, invocation),
            argument => argument.into_iter().collect(),
        };
        handed.retain(|argument| argument.value.get().trim() != "null");
        if slot.names_objects && !handed.is_empty() {
            let name = routine.procedure.name.as_str();
            let error =
                refused(&format!("an argument of {name} that names an object of the database, {},", shown(slot)));
            return Err(if routine.is_procedure {
                error
            } else {
                error.hint("call the function in a statement, with the name as a literal")
            });
        }
    }
    Ok(())
}

/// Returns an argument's name, or its type if it has no name.
fn shown(slot: &Slot) -> &str {
    match &slot.type_ {
        SlotType::Named(type_) if slot.name.is_empty() => type_,
        _ => &slot.name,
    }
}

/// Returns true if the name is that of an output parameter, which clients may list without a value.
fn names_output(routine: &Routine, name: &str) -> bool {
    if routine.slots.iter().any(|slot| slot.direction != Direction::Out && slot.name == name) {
        return false;
    }
    let mut outputs = routine.procedure.parameters.iter().filter(|parameter| parameter.direction == Direction::Out);
    let is_behind_inputs =
        |number: usize| number > inputs(routine) && number <= inputs(routine) + outputs.clone().count();
    let is_list = routine.slots.iter().any(|slot| slot.variadic);
    (!is_list && name.parse().is_ok_and(is_behind_inputs))
        || outputs.any(|output| output.name.eq_ignore_ascii_case(name))
}

/// Whether the caller gave the value of a slot by its name, not by its place.
fn is_named(slot: &Slot, argument: &Argument) -> bool {
    !slot.name.is_empty() && slot.name.eq_ignore_ascii_case(bindings::name_without_at(&argument.name))
}

/// Returns a value with the type of its slot. If any type is accepted, a number has its own.
fn cast(value: String, slot: &Slot, argument: Option<&Argument>) -> String {
    let own = match (&slot.type_, argument) {
        (SlotType::Named(type_), _) => return format!("{value}::{type_}"),
        (SlotType::AnyArray, Some(argument)) if bindings::is_array(argument) => own_array(argument),
        (_, argument) => argument.map(own).filter(|own| *own != Type::UNKNOWN),
    };
    own.map_or_else(|| value.clone(), |own| format!("{value}::pg_catalog.{}", own.name()))
}

/// Returns the list of arguments. Those that a caller names are written by name: the server itself finds their
/// position. If the cached signature is outdated, the call must fail and not return a wrong answer.
fn argument_list(
    routine: &Routine,
    places: &[Option<usize>],
    invocation: &Invocation,
    by: ChosenBy,
) -> (Vec<Argument>, String) {
    let mut values = Vec::new();
    let mut written = Vec::new();
    let cast = |value: String, slot: &Slot, argument: Option<&Argument>| match by {
        ChosenBy::Server => value,
        ChosenBy::Us => cast(value, slot, argument),
    };
    let given: Vec<(&Slot, Option<&Argument>)> = (routine.slots.iter().zip(places))
        .map(|(slot, place)| (slot, place.and_then(|index| invocation.arguments.get(index))))
        .collect();
    // After a named argument none can be given by position. A call by names does not find a routine whose list of any
    // length is left out (PostgreSQL, §38.5.6).
    let leaves_list_out = given.iter().any(|(slot, argument)| slot.variadic && slot.optional && argument.is_none());
    let nameless =
        given.iter().rposition(|(slot, argument)| (slot.name.is_empty() || leaves_list_out) && argument.is_some());
    let mut by_name = false;
    for (index, (slot, argument)) in given.into_iter().enumerate() {
        let may_be_named = nameless.is_none_or(|nameless| index > nameless);
        by_name |= may_be_named && argument.is_some_and(|argument| is_named(slot, argument));
        let list = if slot.variadic { elements(routine, invocation) } else { Vec::new() };
        // A list of values of any type cannot be an array. After a named argument none can be given by position.
        let is_list = match slot.type_ {
            SlotType::Any => true,
            SlotType::Named(_) => by == ChosenBy::Server && !is_whole(&list),
            SlotType::AnyArray => !is_whole(&list),
        };
        if slot.variadic && is_list && !by_name && !list.is_empty() {
            for element in list {
                values.push(element.clone());
                written.push(cast(format!("${}", values.len()), slot, Some(element)));
            }
            continue;
        }
        let value = match (argument, slot.direction) {
            (Some(argument), _) => {
                values.push(gathered(&list).unwrap_or_else(|| argument.clone()));
                cast(format!("${}", values.len()), slot, Some(argument))
            }
            (None, Direction::Out) => cast("NULL".to_owned(), slot, None),
            // Without arguments the list is empty.
            (None, _) if slot.variadic && !slot.optional => cast("'{}'".to_owned(), slot, None),
            // Left to its default; later arguments can only be given by name.
            (None, _) => {
                by_name = true;
                continue;
            }
        };
        let variadic = if slot.variadic { "VARIADIC " } else { "" };
        written.push(if by_name && !slot.name.is_empty() {
            format!("{variadic}{} => {value}", quoted(&slot.name))
        } else {
            format!("{variadic}{value}")
        });
    }
    (values, written.join(", "))
}

/// The statement that calls `routine`.
fn call(
    routine: &Routine,
    places: &[Option<usize>],
    invocation: &Invocation,
    options: ExecOptions,
    by: ChosenBy,
) -> Execution {
    let (values, list) = argument_list(routine, places, invocation, by);
    let procedure = &routine.procedure;
    let is_cursor = |p: &Parameter| p.direction != Direction::In && p.type_name == "refcursor";
    let opens_cursors = procedure.parameters.iter().any(is_cursor);
    let target = format!("{}.{}({})", quoted(&procedure.schema), quoted(&procedure.name), list);
    // Only the author of the FROM clause knows its columns.
    let is_of_any_columns =
        |p: &Parameter| p.direction == Direction::Return && p.name == RETURN_VALUE && p.type_name == "record";
    let (text, class) = if routine.is_procedure {
        (format!("CALL {target}"), Class::Call)
    } else if procedure.parameters.iter().any(is_of_any_columns) {
        (format!("SELECT {target}"), Class::Select)
    } else {
        (format!("SELECT * FROM {target}"), Class::Select)
    };
    Execution {
        default_schema: invocation.default_schema.clone(),
        // Cursors live as long as their transaction.
        position: if opens_cursors {
            TransactionPosition { begins: true, ..TransactionPosition::WITHIN }
        } else {
            TransactionPosition::ALONE
        },
        opens_cursors,
        is_overloaded: by == ChosenBy::Server,
        ..Execution::of_ours(text, class, options, Values::Inferred(values))
    }
}

fn candidates(overloads: &[&Routine]) -> String {
    let signatures: Vec<String> = overloads.iter().take(MOST_NAMES).map(|routine| signature(routine)).collect();
    signatures.join("; ")
}

fn misfit(message: &str, candidates: &str) -> Error {
    Error::invalid(format!("parameters: {message}; candidates: {candidates}"))
}

fn undecided(candidates: &str) -> Error {
    misfit("more than one overload takes these arguments", candidates).hint(NAME_TYPES)
}

/// `schema.name(a integer, b text = default)`.
fn signature(routine: &Routine) -> String {
    let mut text = format!("{}.{}(", routine.procedure.schema, routine.procedure.name);
    let given = routine.procedure.parameters.iter().filter(|p| matches!(p.direction, Direction::In | Direction::InOut));
    for (index, parameter) in given.enumerate() {
        let comma = if index == 0 { "" } else { ", " };
        let default = if parameter.optional { " = default" } else { "" };
        let name = if parameter.name.is_empty() { format!("{}:", index + 1) } else { parameter.name.clone() };
        // Writing to a String cannot fail.
        let _ = write!(text, "{comma}{name} {}{default}", parameter.type_name);
    }
    text.push(')');
    text
}

fn not_found(known: &KnownRoutines, invocation: &Invocation) -> Error {
    let shown = match &invocation.schema {
        Some(schema) => format!("{schema}.{}", invocation.name),
        None => invocation.name.clone(),
    };
    let error = Error::not_found(format!("there is no procedure or function {shown}"));
    let names: Vec<(&str, &str)> = (known.routines.iter())
        .map(|routine| (routine.procedure.schema.as_str(), routine.procedure.name.as_str()))
        .collect();
    error.with(digest::did_you_mean(invocation.schema.as_deref(), &invocation.name, &names), Error::hint)
}
