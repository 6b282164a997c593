//! The functions and procedures that a connection exposes, as read from the catalogue. How one is
//! chosen and called is in `execute/procedure.rs`.

use tokio_postgres::types::{Oid, Type};
use tokio_postgres::{Client, Row};

use crate::postgres::catalog::fragments::{CALLABLE, base_type, may_execute};
use crate::postgres::decode::types;
use crate::postgres::session::own::{ask, get};
use crate::postgres::walls::objects::{NAMING_TYPES, naming};
use crate::{Direction, Parameter, Procedure};
use portico_core::error::Result;

/// A function or procedure with what a call of it needs to know.
#[derive(Clone, Debug)]
pub(crate) struct Routine {
    /// As callers see it.
    pub(crate) procedure: Procedure,
    /// `CALL`, not `SELECT`.
    pub(crate) is_procedure: bool,
    /// The arguments that a call names, in order.
    pub(crate) slots: Vec<Slot>,
}

/// One argument of a call.
#[derive(Clone, Debug)]
pub(crate) struct Slot {
    pub(crate) name: String,
    pub(crate) direction: Direction,
    /// The type's full name, safe to stand in a statement; empty for a pseudo-type, to which nothing
    /// can be cast.
    pub(crate) cast: String,
    pub(crate) optional: bool,
    pub(crate) variadic: bool,
    /// Whether a value of its type may name an object of the catalogue.
    pub(crate) names_objects: bool,
}

/// The routines, and the schemas in which an unqualified name is looked for.
#[derive(Default)]
pub(crate) struct KnownRoutines {
    pub(crate) routines: Vec<Routine>,
    pub(crate) path: Vec<String>,
}

impl KnownRoutines {
    /// What a caller with `role` may run.
    pub(crate) fn seen_by(&self, role: &str) -> Self {
        let routines = self.routines.iter().filter(|routine| routine.procedure.is_for(Some(role))).cloned().collect();
        Self { routines, path: self.path.clone() }
    }
}

/// Reads all of them, ordered by schema and name; at most 2,000.
/// Where callers have `roles`, these are the routines that any of them may run.
pub(crate) async fn read(client: &Client, roles: Option<&str>) -> Result<Vec<Routine>> {
    let naming = NAMING_TYPES.to_vec();
    let rows = ask(client, &statement(roles), &[(&naming, Type::OID_ARRAY)]).await?;
    let mut routines = rows.iter().map(routine).collect::<Result<Vec<_>>>()?;
    routines.retain(|routine| routine.procedure.roles.as_ref().is_none_or(|roles| !roles.is_empty()));
    Ok(routines)
}

/// Whether any of `schemas` has a routine of one of these names that a call may mean.
pub(crate) async fn are_in(client: &Client, schemas: &[String], names: &[String]) -> Result<bool> {
    let question = format!(
        "SELECT EXISTS (SELECT FROM pg_catalog.pg_proc p
            JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace JOIN pg_catalog.pg_type rt ON rt.oid = p.prorettype
            WHERE n.nspname = ANY ($1) AND p.proname = ANY ($2) AND p.prokind IN ('f', 'p') AND {CALLABLE} AND {})",
        may_execute("")
    );
    let rows = ask(client, &question, &[(&schemas, Type::TEXT_ARRAY), (&names, Type::TEXT_ARRAY)]).await?;
    rows.first().map_or(Ok(false), |row| get(row, 0))
}

fn statement(roles: Option<&str>) -> String {
    let (visible, roles) = match roles {
        Some(roles) => {
            ("true".to_owned(), format!("ARRAY(SELECT r.rolname::text {roles} AND {})", may_execute("r.oid, ")))
        }
        None => (may_execute(""), "NULL::text[]".to_owned()),
    };
    let element = base_type("t");
    let result = base_type("rt");
    let naming = naming();
    format!(
        "WITH RECURSIVE {naming}
SELECT n.nspname::text, p.proname::text, pg_catalog.obj_description(p.oid, 'pg_proc'),
    p.prokind = 'p', p.prokind = 'f' AND p.provolatile IN ('i', 's'), p.pronargdefaults::int4,
    COALESCE(a.names, '{{}}'), COALESCE(a.modes, '{{}}'), COALESCE(a.shown, '{{}}'),
    COALESCE(a.casts, '{{}}'), COALESCE(a.oids, '{{}}'),
    pg_catalog.format_type(p.prorettype, NULL), {result}, rt.typname = 'void', {roles},
    COALESCE(a.naming, '{{}}')
FROM pg_catalog.pg_proc p
JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
JOIN pg_catalog.pg_type rt ON rt.oid = p.prorettype
CROSS JOIN LATERAL (
    SELECT array_agg(COALESCE(p.proargnames[u.i], '') ORDER BY u.i) AS names,
        array_agg(COALESCE(p.proargmodes[u.i]::text, 'i') ORDER BY u.i) AS modes,
        array_agg(pg_catalog.format_type(u.type, NULL) ORDER BY u.i) AS shown,
        array_agg(CASE t.typtype WHEN 'p' THEN '' ELSE pg_catalog.format('%I.%I', tn.nspname, t.typname) END
            ORDER BY u.i) AS casts,
        array_agg({element} ORDER BY u.i) AS oids,
        array_agg(u.type = ANY (ARRAY(SELECT oid FROM naming)) ORDER BY u.i) AS naming
    FROM unnest(COALESCE(p.proallargtypes, p.proargtypes::oid[])) WITH ORDINALITY AS u(type, i)
    JOIN pg_catalog.pg_type t ON t.oid = u.type
    JOIN pg_catalog.pg_namespace tn ON tn.oid = t.typnamespace
) a
WHERE p.prokind IN ('f', 'p') AND {CALLABLE} AND {visible}
    AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
ORDER BY n.nspname, p.proname, p.oid
LIMIT 2000"
    )
}

fn routine(row: &Row) -> Result<Routine> {
    let is_procedure = get(row, 3)?;
    let defaults = usize::try_from(get::<i32>(row, 5)?).unwrap_or(0);
    let names: Vec<String> = get(row, 6)?;
    let modes: Vec<String> = get(row, 7)?;
    let shown: Vec<String> = get(row, 8)?;
    let casts: Vec<String> = get(row, 9)?;
    let oids: Vec<Oid> = get(row, 10)?;
    let naming: Vec<bool> = get(row, 15)?;

    let parameter = |name, direction, oid, type_name, optional| {
        let data_type = types::traits_of(oid, -1).data_type;
        Parameter { name, direction, data_type, type_name, optional, remarks: None, default: None }
    };
    let inputs = modes.iter().filter(|mode| matches!(mode.as_str(), "i" | "b" | "v")).count();
    let mut inputs_seen = 0;
    let mut parameters = Vec::with_capacity(names.len() + 1);
    let mut slots = Vec::with_capacity(names.len());
    let arguments = names.into_iter().zip(modes).zip(shown).zip(casts).zip(oids).zip(naming);
    for (((((name, mode), shown), cast), oid), names_objects) in arguments {
        let direction = match mode.as_str() {
            "b" => Direction::InOut,
            "o" => Direction::Out,
            "t" => Direction::Return,
            _ => Direction::In,
        };
        let mut optional = false;
        if matches!(direction, Direction::In | Direction::InOut) {
            inputs_seen += 1;
            // Defaults belong to the last of the inputs.
            optional = inputs_seen + defaults > inputs || mode == "v";
        }
        // A function's OUT parameters are its result; a procedure's stand in its CALL.
        if matches!(direction, Direction::In | Direction::InOut) || (is_procedure && direction == Direction::Out) {
            let variadic = mode == "v";
            slots.push(Slot { name: name.clone(), direction, cast, optional, variadic, names_objects });
        }
        parameters.push(parameter(name, direction, oid, shown, optional));
    }
    let returns_nothing: bool = get(row, 13)?;
    let has_results = parameters.iter().any(|parameter| parameter.direction != Direction::In);
    if !is_procedure && !returns_nothing && !has_results {
        let name = "returnValue".to_owned();
        parameters.push(parameter(name, Direction::Return, get(row, 12)?, get(row, 11)?, false));
    }
    Ok(Routine {
        procedure: Procedure {
            schema: get(row, 0)?,
            name: get(row, 1)?,
            remarks: get(row, 2)?,
            reads_only: get(row, 4)?,
            parameters,
            roles: get::<Option<Vec<String>>>(row, 14)?.map(Into::into),
        },
        is_procedure,
        slots,
    })
}
