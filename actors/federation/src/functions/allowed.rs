//! The functions that statements over several connections may use: those with PostgreSQL's results under the same
//! name, for the types listed. Unlisted functions do not exist: the engine has more, and some with another meaning.

use std::collections::HashMap;
use std::slice;
use std::sync::{Arc, LazyLock};

use arrow_schema::DataType as ArrowType;
use datafusion::common::{DFSchema, Result as EngineResult};
use datafusion::execution::SessionStateBuilder;
use datafusion::functions::all_default_functions;
use datafusion::functions::core::overlay;
use datafusion::functions::unicode::{strpos, substr};
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr};
use datafusion::logical_expr::{AggregateUDF, Expr, ExprSchemable, ScalarUDF};
use datafusion::sql::sqlparser::ast::BinaryOperator;

use crate::functions::aggregates::ordered_set;
use crate::functions::aggregates::single;
use crate::functions::bounded_text;
use crate::functions::cases;
use crate::functions::numbers::{doubles, percentile, rounding, sign};
use crate::functions::regular;
use crate::functions::times::date_arithmetic;
use crate::functions::times::elapsed;
use crate::functions::times::formatted;
use crate::functions::times::parts;
use crate::functions::times::{calendar, truncation};
use crate::functions::types::casts;
use crate::functions::types::categories::{AS_DOUBLE, is_interval, no_function};
use crate::functions::types::named_cast;
use crate::functions::types::typed;
use crate::functions::user_defined::{self, UserDefinedFunction};

/// Functions for values of any type, or without arguments, under the engine's names.
const SCALAR: &[&str] =
    &["coalesce", "concat", "concat_ws", "current_date", "greatest", "least", "now", "nullif", "pi", "random"];
/// Aggregates, as the engine calls them.
const AGGREGATE: &[&str] = &[
    "avg",
    "bit_and",
    "bit_or",
    "bit_xor",
    "bool_and",
    "bool_or",
    "corr",
    "count",
    "covar_pop",
    "covar_samp",
    "grouping",
    "max",
    "min",
    "stddev",
    "stddev_pop",
    "string_agg",
    "sum",
    "var",
    "var_pop",
];
/// Functions of windows alone, as PostgreSQL calls them.
const WINDOW: &[&str] = &[
    "cume_dist",
    "dense_rank",
    "first_value",
    "lag",
    "last_value",
    "lead",
    "nth_value",
    "ntile",
    "percent_rank",
    "rank",
    "row_number",
];
/// Aggregates that also PostgreSQL computes in double precision.
const OF_DOUBLES: &[&str] = &["corr", "covar_pop", "covar_samp", percentile::NAME];

/// PostgreSQL's other names of some.
const ALIASES: &[(&str, &str)] = &[("bool_and", "every"), ("var", "variance")];

/// Aggregates of PostgreSQL that are not there.
const MISSING: &[&str] =
    &["any_value", "array_agg", "json_agg", "json_object_agg", "jsonb_agg", "jsonb_object_agg", "xmlagg"];

/// Functions of PostgreSQL that are not the engine's.
fn user_defined() -> impl Iterator<Item = &'static UserDefinedFunction> {
    calendar::FUNCTIONS.iter().chain(truncation::FUNCTIONS).chain(regular::FUNCTIONS).chain(sign::FUNCTIONS)
}

/// The names of all functions that are there, in order.
pub fn functions() -> Vec<&'static str> {
    let others = [
        doubles::names(),
        rounding::NAMES.to_vec(),
        vec![formatted::NAME, percentile::NAME],
        ordered_set::NAMES.to_vec(),
        user_defined().map(|own| own.name).collect(),
    ]
    .concat();
    let mut names: Vec<&str> = SCALAR.iter().chain(AGGREGATE).copied().chain(typed::names()).chain(others).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Whether a function, by any of its names, is an aggregate.
pub(crate) fn is_aggregate(name: &str) -> bool {
    let name = name.to_lowercase();
    let others = ALIASES.iter().map(|(_, alias)| *alias).chain(["stddev_samp", "var_samp"]);
    is_ordered_set(&name) || AGGREGATE.iter().copied().chain(others).any(|known| known == name)
}

/// Whether a function is one of windows alone.
pub(crate) fn is_window(name: &str) -> bool {
    WINDOW.contains(&name.to_lowercase().as_str())
}

/// Whether a function is an aggregate of ordered values.
pub(crate) fn is_ordered_set(name: &str) -> bool {
    let name = name.to_lowercase();
    name == percentile::NAME || ordered_set::NAMES.contains(&name.as_str())
}

/// Whether an aggregate takes all numbers for floats of double precision.
pub(crate) fn is_of_doubles(name: &str) -> bool {
    OF_DOUBLES.contains(&name)
}

/// Whether a function is an aggregate in PostgreSQL, and is not there.
pub(crate) fn is_missing(name: &str) -> bool {
    MISSING.contains(&name.to_lowercase().as_str())
}

/// The engine's own names of functions, by their other ones.
static CANONICAL: LazyLock<HashMap<String, String>> = LazyLock::new(|| {
    let is_there = |name: &str| SCALAR.contains(&name) || typed::is_one(name) || doubles::is_one(name);
    let functions = all_default_functions().into_iter().filter(|function| is_there(function.name()));
    let names = |function: Arc<ScalarUDF>| {
        let name = function.name().to_owned();
        function.aliases().iter().map(|alias| (alias.clone(), name.clone())).collect::<Vec<_>>()
    };
    functions.flat_map(names).collect()
});

/// Returns the engine's name of a function. The engine treats other names as aliases, and then asks twice about
/// everything inside: with nesting the time doubles at each level.
pub(crate) fn canonical(name: &str) -> Option<&'static str> {
    CANONICAL.get(name).map(String::as_str)
}

/// Removes the engine's functions that are not listed, and replaces some by ours.
pub(crate) fn register(builder: &mut SessionStateBuilder) {
    let scalar = builder.scalar_functions().get_or_insert_default();
    let (doubles, others): (Vec<_>, Vec<_>) =
        std::mem::take(scalar).into_iter().partition(|function| doubles::is_one(function.name()));
    let is_there = |name: &str| SCALAR.contains(&name) || typed::is_one(name);
    scalar.extend(others.into_iter().filter(|function| is_there(function.name())).map(as_postgresql));
    scalar.extend(doubles.into_iter().map(doubles::checked));
    scalar.extend(rounding::functions());
    scalar.extend([formatted::to_char(), named_cast::function()]);
    scalar.extend(user_defined().chain(regular::OPERATORS).map(user_defined::function));
    let aggregates = builder.aggregate_functions().get_or_insert_default();
    aggregates.retain(|function| AGGREGATE.contains(&function.name()));
    for function in aggregates {
        if let Some((_, name)) = ALIASES.iter().find(|(of, _)| *of == function.name()) {
            *function = Arc::new(AggregateUDF::clone(function).with_aliases([*name]));
        }
    }
    let aggregates = builder.aggregate_functions().get_or_insert_default();
    aggregates.extend(ordered_set::functions().chain([percentile::function(), single::function()]));
    let syntax = Syntax {
        extract: parts::extract(),
        overlay: as_postgresql(overlay()),
        position: as_postgresql(strpos()),
        substring: as_postgresql(substr()),
    };
    builder.expr_planners().get_or_insert_default().insert(0, Arc::new(syntax));
}

/// The engine's function, with PostgreSQL's types and a bound.
fn as_postgresql(function: Arc<ScalarUDF>) -> Arc<ScalarUDF> {
    bounded_text::bounded(typed::typed(cases::with_literals(function)))
}

/// Plans the functions that have a syntax of their own: the engine has its own ones for these.
#[derive(Debug)]
struct Syntax {
    extract: Arc<ScalarUDF>,
    overlay: Arc<ScalarUDF>,
    position: Arc<ScalarUDF>,
    substring: Arc<ScalarUDF>,
}

impl ExprPlanner for Syntax {
    fn plan_binary_op(&self, of: RawBinaryExpr, schema: &DFSchema) -> EngineResult<PlannerResult<RawBinaryExpr>> {
        let moved = date_arithmetic::moved(&of.op, &of.left, &of.right, schema);
        Ok(match moved.or_else(|| elapsed::operator(&of.op, &of.left, &of.right, schema)) {
            Some(planned) => PlannerResult::Planned(planned),
            None => PlannerResult::Original(with_literals(of, schema)?),
        })
    }

    fn plan_extract(&self, args: Vec<Expr>) -> EngineResult<PlannerResult<Vec<Expr>>> {
        let between = elapsed::part(&args);
        Ok(PlannerResult::Planned(between.unwrap_or_else(|| self.extract.call(args))))
    }

    fn plan_overlay(&self, args: Vec<Expr>) -> EngineResult<PlannerResult<Vec<Expr>>> {
        Ok(PlannerResult::Planned(self.overlay.call(args)))
    }

    fn plan_position(&self, args: Vec<Expr>) -> EngineResult<PlannerResult<Vec<Expr>>> {
        Ok(PlannerResult::Planned(self.position.call(args)))
    }

    fn plan_substring(&self, args: Vec<Expr>) -> EngineResult<PlannerResult<Vec<Expr>>> {
        Ok(PlannerResult::Planned(self.substring.call(args)))
    }
}

/// Rewrites an operator so that a literal beside a truth value is one, and in arithmetic a literal beside a number
/// is a number: the engine determines types before literals get those of the other operands.
fn with_literals(of: RawBinaryExpr, schema: &DFSchema) -> EngineResult<RawBinaryExpr> {
    let is_arithmetic = matches!(
        of.op,
        BinaryOperator::Plus
            | BinaryOperator::Minus
            | BinaryOperator::Multiply
            | BinaryOperator::Divide
            | BinaryOperator::Modulo
    );
    let is_met = |expr: &Expr| {
        let type_ = expr.get_type(schema);
        type_.is_ok_and(|type_| type_ == ArrowType::Boolean || (is_arithmetic && type_.is_numeric()))
    };
    if !(is_met(&of.left) || is_met(&of.right)) {
        return Ok(of);
    }
    let RawBinaryExpr { op, left, right } = of;
    let mut both = casts::literals_beside(vec![left, right], schema)?;
    let (right, left) = (both.swap_remove(1), both.swap_remove(0));
    Ok(RawBinaryExpr { op, left, right })
}

/// Refuses a function whose result for values of these types would differ.
///
/// # Errors
/// `42883`, with what to write.
pub(crate) fn admit_scalar(name: &str, of: &[ArrowType]) -> EngineResult<()> {
    match (name, of) {
        ("round" | "trunc", [number, _]) if number.is_floating() => {
            Err(no_function(name, of, "write CAST(… AS numeric) around its argument"))
        }
        ("concat_ws", [separator, ..]) if !(separator.is_string() || separator.is_null()) => {
            Err(no_function(name, of, "write CAST(… AS text) around what stands first"))
        }
        _ => Ok(()),
    }
}

/// Refuses an aggregate whose result for values of this type would differ.
///
/// # Errors
/// `42883`, with what to write.
pub(crate) fn admit_aggregate(name: &str, of: Option<&ArrowType>) -> EngineResult<()> {
    let Some(of) = of else { return Ok(()) };
    match (name, of) {
        ("sum", ArrowType::Float32) => Err(no_function(name, slice::from_ref(of), AS_DOUBLE)),
        ("sum" | "avg", of) if !of.is_numeric() && !of.is_null() && !is_interval(of) => {
            Err(no_function(name, slice::from_ref(of), "write CAST(… AS numeric) around its argument"))
        }
        ("string_agg", of) if !(of.is_string() || of.is_null()) => {
            Err(no_function(name, slice::from_ref(of), "write CAST(… AS text) around its argument"))
        }
        ("min" | "max", ArrowType::Boolean) => Err(no_function(name, slice::from_ref(of), "use bool_and or bool_or")),
        _ => Ok(()),
    }
}
