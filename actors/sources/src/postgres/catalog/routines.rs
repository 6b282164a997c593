//! The functions and procedures that a connection exposes, as read from the catalogue. How one is
//! chosen and called is in `execute/procedure.rs`.

use serde::Deserialize;
use tokio_postgres::types::{Oid, Type};
use tokio_postgres::{Client, Row};

use crate::postgres::catalog::details;
use crate::postgres::catalog::fragments::{CALLABLE, base_type, may_execute};
use crate::postgres::decode::types;
use crate::postgres::session::internal_query::{ask, get};
use crate::postgres::walls::objects::{NAMING_TYPES, naming};
use crate::{Direction, Parameter, Procedure};
use portico_core::error::{Error, Result};

/// A function or procedure, with what is needed to call it.
#[derive(Clone, Debug)]
pub(crate) struct Routine {
    /// As callers see it.
    pub(crate) procedure: Procedure,
    /// `CALL`, not `SELECT`.
    pub(crate) is_procedure: bool,
    /// The arguments that a call names, in order.
    pub(crate) slots: Vec<Slot>,
    version: RoutineVersion,
}

/// A routine's number, and the transaction that wrote its row of the catalogue.
type RoutineVersion = (Oid, i64);

/// One argument of a call.
#[derive(Clone, Debug)]
pub(crate) struct Slot {
    pub(crate) name: String,
    pub(crate) direction: Direction,
    pub(crate) type_: SlotType,
    /// Whether it has a default.
    pub(crate) optional: bool,
    pub(crate) variadic: bool,
    /// Whether a value of its type may name an object of the catalogue.
    pub(crate) names_objects: bool,
}

/// The type that an argument is cast to.
#[derive(Clone, Debug)]
pub(crate) enum SlotType {
    /// The type of this full name, which is safe to stand in a statement.
    Named(String),
    /// An array of any type.
    AnyArray,
    /// Another pseudo-type, which has no casts.
    Any,
}

/// The result's name for a function without named columns.
pub(crate) const RETURN_VALUE: &str = "returnValue";

/// The schemas in which a name without one is looked for.
pub(crate) const PATH: &str = "pg_catalog.current_schemas(false)::text[]";

/// The routines, and the schemas in which an unqualified name is looked for.
#[derive(Default)]
pub(crate) struct KnownRoutines {
    pub(crate) routines: Vec<Routine>,
    pub(crate) path: Vec<String>,
}

impl KnownRoutines {
    /// Returns the routines that a caller with `role` may run.
    pub(crate) fn seen_by(&self, role: &str) -> Self {
        let routines = self.routines.iter().filter(|routine| routine.procedure.is_for(Some(role))).cloned().collect();
        Self { routines, path: self.path.clone() }
    }
}

/// Where a name is looked up, in all its forms, and which routines it meant when they were read.
pub(crate) struct RoutineLookup {
    path: Vec<String>,
    schemas: Vec<String>,
    names: Vec<String>,
    versions: Vec<RoutineVersion>,
}

impl RoutineLookup {
    /// Makes a lookup from the known routines.
    pub(crate) fn new(known: &KnownRoutines, schemas: Vec<String>, names: Vec<String>) -> Self {
        let is_meant = |procedure: &Procedure| schemas.contains(&procedure.schema) && names.contains(&procedure.name);
        let meant = known.routines.iter().filter(|routine| is_meant(&routine.procedure));
        let mut versions: Vec<_> = meant.map(|routine| routine.version).collect();
        versions.sort_unstable();
        Self { path: known.path.clone(), schemas, names, versions }
    }

    /// Whether it means the same now.
    pub(crate) async fn is_current(&self, client: &Client, roles: Option<&str>) -> Result<bool> {
        let question = format!(
            "SELECT {PATH}, r.oid, r.version FROM (SELECT) AS one LEFT JOIN (SELECT p.oid, p.xmin::text::int8 AS version
                {ROUTINES} WHERE n.nspname = ANY ($1) AND p.proname = ANY ($2) AND {}) AS r ON true ORDER BY 2",
            callable(roles)
        );
        let asked = [(&self.schemas as _, Type::TEXT_ARRAY), (&self.names as _, Type::TEXT_ARRAY)];
        let rows = ask(client, &question, &asked).await?;
        let mut versions = Vec::new();
        for row in &rows {
            if get::<Vec<String>>(row, 0)? != self.path {
                return Ok(false);
            }
            versions.extend(get::<Option<Oid>>(row, 1)?.zip(get(row, 2)?));
        }
        Ok(versions == self.versions)
    }
}

/// Reads all of them, ordered by schema and name; at most 10,000.
/// Where callers have `roles`, these are the routines that any of them may run.
pub(crate) async fn read(client: &Client, roles: Option<&str>) -> Result<Vec<Routine>> {
    let naming = NAMING_TYPES.to_vec();
    let rows = ask(client, &statement(roles), &[(&naming, Type::OID_ARRAY)]).await?;
    rows.iter().map(routine).collect()
}

/// Functions and procedures, with their schemas and the types of their results.
const ROUTINES: &str = "FROM pg_catalog.pg_proc p
JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
JOIN pg_catalog.pg_type rt ON rt.oid = p.prorettype";

/// Which of them callers may run: of `roles` any, where they have some.
fn callable(roles: Option<&str>) -> String {
    let visible = match roles {
        Some(roles) => format!("EXISTS (SELECT {roles} AND {})", may_execute("r.oid, ")),
        None => may_execute(""),
    };
    format!(
        "p.prokind IN ('f', 'p') AND {CALLABLE} AND {visible}
    AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'"
    )
}

fn statement(roles: Option<&str>) -> String {
    let callable = callable(roles);
    let roles = match roles {
        Some(roles) => format!("ARRAY(SELECT r.rolname::text {roles} AND {})", may_execute("r.oid, ")),
        None => "NULL::text[]".to_owned(),
    };
    let element = base_type("t");
    let result = base_type("rt");
    let naming = naming();
    let (labels, remarks) = (details::labels(&element), details::argument_remarks("u.i::int4", &element));
    format!(
        "WITH RECURSIVE {naming}
SELECT n.nspname::text, p.proname::text, pg_catalog.obj_description(p.oid, 'pg_proc'),
    p.prokind = 'p', p.prokind = 'f' AND p.provolatile IN ('i', 's'), p.pronargdefaults::int4, a.arguments,
    pg_catalog.format_type(p.prorettype, NULL), {result}, rt.typname = 'void', {roles}, p.oid, p.xmin::text::int8
{ROUTINES}
CROSS JOIN LATERAL (
    SELECT COALESCE(pg_catalog.json_agg(pg_catalog.json_build_object(
        'name', COALESCE(p.proargnames[u.i], ''),
        'mode', COALESCE(p.proargmodes[u.i]::text, 'i'),
        'type_name', pg_catalog.format_type(u.type, NULL),
        'cast', CASE WHEN t.typtype <> 'p' THEN pg_catalog.format('%I.%I', tn.nspname, t.typname) END,
        'oid', ({element})::int8,
        'names_objects', u.type = ANY (ARRAY(SELECT oid FROM naming)),
        'labels', {labels},
        'remarks', {remarks}) ORDER BY u.i)::text, '[]') AS arguments
    FROM unnest(COALESCE(p.proallargtypes, p.proargtypes::oid[])) WITH ORDINALITY AS u(type, i)
    JOIN pg_catalog.pg_type t ON t.oid = u.type
    JOIN pg_catalog.pg_namespace tn ON tn.oid = t.typnamespace
) a
WHERE {callable}
ORDER BY n.nspname, p.proname, p.oid
LIMIT 10000"
    )
}

/// An argument, as the catalogue tells it.
#[derive(Deserialize)]
struct Argument {
    name: String,
    /// As `pg_proc.proargmodes` has it.
    mode: char,
    type_name: String,
    /// The type's full name, of pseudo-types none.
    cast: Option<String>,
    /// Of the type below its domains.
    oid: Oid,
    names_objects: bool,
    labels: Option<Vec<String>>,
    remarks: Option<String>,
}

impl Argument {
    fn direction(&self) -> Direction {
        match self.mode {
            'b' => Direction::InOut,
            'o' => Direction::Out,
            't' => Direction::Return,
            _ => Direction::In,
        }
    }

    fn slot_type(&self) -> SlotType {
        match (self.type_name.as_str(), &self.cast) {
            ("anyarray" | "anycompatiblearray", _) => SlotType::AnyArray,
            (_, None) => SlotType::Any,
            (_, Some(cast)) => SlotType::Named(cast.clone()),
        }
    }
}

fn routine(row: &Row) -> Result<Routine> {
    let is_procedure = get(row, 3)?;
    let defaults = usize::try_from(get::<i32>(row, 5)?).unwrap_or(0);
    let arguments: Vec<Argument> = serde_json::from_str(get(row, 6)?).map_err(Error::internal)?;

    let parameter = |name, direction, oid, type_name| {
        let data_type = types::traits_of(oid, -1).data_type;
        let (optional, remarks, default, labels) = (false, None, None, Vec::new());
        Parameter { name, direction, data_type, type_name, optional, remarks, default, labels }
    };
    let inputs = arguments.iter().filter(|argument| matches!(argument.mode, 'i' | 'b' | 'v')).count();
    let mut inputs_seen = 0;
    let mut parameters = Vec::with_capacity(arguments.len() + 1);
    let mut slots = Vec::with_capacity(arguments.len());
    for argument in arguments {
        let (direction, variadic) = (argument.direction(), argument.mode == 'v');
        let mut optional = false;
        if matches!(direction, Direction::In | Direction::InOut) {
            inputs_seen += 1;
            // Defaults belong to the last of the inputs.
            optional = inputs_seen + defaults > inputs;
        }
        // A function's OUT parameters are its result; a procedure's stand in its CALL.
        if matches!(direction, Direction::In | Direction::InOut) || (is_procedure && direction == Direction::Out) {
            let (name, type_, names_objects) = (argument.name.clone(), argument.slot_type(), argument.names_objects);
            slots.push(Slot { name, direction, type_, optional, variadic, names_objects });
        }
        let (optional, remarks, labels) = (optional || variadic, argument.remarks, argument.labels.unwrap_or_default());
        let told = parameter(argument.name, direction, argument.oid, argument.type_name);
        parameters.push(Parameter { optional, remarks, labels, ..told });
    }
    let returns_nothing: bool = get(row, 9)?;
    let has_results = parameters.iter().any(|parameter| parameter.direction != Direction::In);
    if !is_procedure && !returns_nothing && !has_results {
        let name = RETURN_VALUE.to_owned();
        parameters.push(parameter(name, Direction::Return, get(row, 8)?, get(row, 7)?));
    }
    Ok(Routine {
        procedure: Procedure {
            schema: get(row, 0)?,
            name: get(row, 1)?,
            remarks: get(row, 2)?,
            reads_only: get(row, 4)?,
            parameters,
            roles: get::<Option<Vec<String>>>(row, 10)?.map(Into::into),
        },
        is_procedure,
        slots,
        version: (get(row, 11)?, get(row, 12)?),
    })
}
