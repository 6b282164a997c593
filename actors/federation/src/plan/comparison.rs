//! How values are compared that are text in the engine, but not in PostgreSQL. Each field of a table with such
//! values has a mark; comparisons with another result than PostgreSQL's are refused.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::DataType as ArrowType;
use datafusion::common::metadata::FieldMetadata;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, DataFusionError, ExprSchema, NullEquality, Result, ScalarValue, TableReference};
use datafusion::functions::unicode::rpad;
use datafusion::logical_expr::expr::{AggregateFunction, Alias, Sort, WindowFunction};
use datafusion::logical_expr::{Distinct, Expr, ExprSchemable, JoinConstraint, LogicalPlan, Projection, lit};
use uuid::Uuid;

use crate::external_error::external;
use crate::functions::aggregates::single;
use crate::functions::numbers::is_exact;
use crate::functions::types::categories::{admit_together, type_name};
use portico_core::error::{Error, Kind};
use portico_core::reply::{self, DataType, TextType};

/// The key of the mark among a field's metadata.
const KEY: &str = "portico.comparison";

/// The prefix of the mark of padded texts.
const PADDED: &str = "padded ";

/// How the values of a column compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Comparison {
    /// As the engine compares them.
    Plain,
    /// As UUIDs, which may be written otherwise.
    Uuid,
    /// Equal where their texts are, in an order of their own. A literal is one of these texts.
    Coded,
    /// Equal where their texts are, in an order of their own. A literal may be written otherwise.
    Canonical,
    /// Without the blanks at their end, which fill them up to so many characters.
    Padded(usize),
    /// By rules of their own.
    Own,
}

impl Comparison {
    const MARKS: [(Self, &'static str); 4] =
        [(Self::Uuid, "uuid"), (Self::Coded, "coded"), (Self::Canonical, "canonical"), (Self::Own, "own")];

    /// How a source's column compares.
    pub(crate) fn from_column(column: &reply::Column) -> Self {
        match (column.data_type, column.text) {
            _ if !column.enforced => Self::Plain,
            (DataType::Uuid, _) => Self::Uuid,
            (DataType::Time, _) if column.zoned => Self::Canonical,
            (DataType::Varchar, TextType::Canonical) => Self::Canonical,
            (DataType::Varchar, TextType::Coded) => Self::Coded,
            (DataType::Varchar, TextType::Padded) => Self::Padded(usize::try_from(column.length).unwrap_or(0)),
            (DataType::Varchar, TextType::Own) => Self::Own,
            _ => Self::Plain,
        }
    }

    /// Marks a field with it.
    pub(crate) fn mark(self, metadata: &mut HashMap<String, String>) {
        let mark = match self {
            Self::Padded(length) => Some(format!("{PADDED}{length}")),
            other => Self::MARKS.iter().find(|(one, _)| *one == other).map(|(_, mark)| (*mark).to_owned()),
        };
        metadata.extend(mark.map(|mark| (KEY.to_owned(), mark)));
    }

    /// How the values of a field with this metadata compare.
    pub(crate) fn marked(metadata: &HashMap<String, String>) -> Self {
        let mark = metadata.get(KEY).map(String::as_str);
        if let Some(length) = mark.and_then(|mark| mark.strip_prefix(PADDED)?.parse().ok()) {
            return Self::Padded(length);
        }
        Self::MARKS.iter().find(|(_, one)| Some(*one) == mark).map_or(Self::Plain, |(one, _)| *one)
    }

    /// How the values of `expr` compare, if it hands a column on.
    pub(crate) fn handed_on(expr: &Expr, schema: &DFSchema) -> Self {
        match expr {
            Expr::Column(column) => {
                schema.field_from_column(column).map_or(Self::Plain, |field| Self::marked(field.metadata()))
            }
            Expr::OuterReferenceColumn(field, _) => Self::marked(field.metadata()),
            Expr::Alias(alias) => Self::handed_on(&alias.expr, schema),
            Expr::Case(case) => {
                let branches = case.when_then_expr.iter().map(|(_, then)| then).chain(&case.else_expr);
                Self::of_any(branches.map(AsRef::as_ref), schema)
            }
            Expr::ScalarFunction(call) if matches!(call.name(), "coalesce" | "greatest" | "least") => {
                Self::of_any(&call.args, schema)
            }
            Expr::ScalarFunction(call) if call.name() == "nullif" => Self::of_any(call.args.first(), schema),
            Expr::WindowFunction(call)
                if matches!(
                    call.fun.name(),
                    "lag" | "lead" | "first_value" | "last_value" | "max" | "min" | "nth_value"
                ) =>
            {
                Self::of_any(call.params.args.first(), schema)
            }
            Expr::AggregateFunction(call)
                if matches!(call.func.name(), "min" | "max" | "mode" | "percentile_disc" | single::NAME) =>
            {
                Self::of_any(call.params.args.first(), schema)
            }
            Expr::ScalarSubquery(query) => {
                let schema = query.subquery.schema();
                let field = schema.fields().first();
                field.map_or(Self::Plain, |field| Self::marked(field.metadata()))
            }
            _ => Self::Plain,
        }
    }

    /// Returns the first special comparison among them.
    fn of_any<'a>(exprs: impl IntoIterator<Item = &'a Expr>, schema: &DFSchema) -> Self {
        exprs
            .into_iter()
            .map(|expr| Self::handed_on(expr, schema))
            .find(|how| *how != Self::Plain)
            .unwrap_or(Self::Plain)
    }

    /// Returns the first of these whose literals may be spelled differently from its values.
    pub(crate) fn spelled(mut among: impl Iterator<Item = Self>) -> Option<Self> {
        among.find(|how| matches!(how, Self::Uuid | Self::Canonical | Self::Own))
    }

    /// Converts a literal to the spelling of the values that it is compared with.
    ///
    /// # Errors
    /// `22P02` for a text that is not a UUID; refuses a type with several spellings.
    pub(crate) fn literal(self, expr: Expr) -> Result<Expr> {
        let Expr::Literal(value, metadata) = &expr else { return Ok(expr) };
        let text = match (self, value.try_as_str().flatten()) {
            (Self::Canonical | Self::Own, Some(_)) => return Err(refused(&expr, "a value beside")),
            (Self::Uuid, Some(text)) => canonical(text)?,
            (Self::Padded(_), Some(text)) => text.trim_end_matches(' ').to_owned(),
            _ => return Ok(expr),
        };
        Ok(Expr::Literal(ScalarValue::Utf8(Some(text)), metadata.clone()))
    }

    /// The value by this name, marked with it.
    pub(crate) fn named(self, value: Expr, relation: Option<TableReference>, name: String) -> Expr {
        let mut marks = HashMap::new();
        self.mark(&mut marks);
        Expr::Alias(Alias::new(value, relation, name).with_metadata(Some(FieldMetadata::from(marks))))
    }

    fn is_equality(self) -> bool {
        self != Self::Own
    }

    fn is_order(self) -> bool {
        matches!(self, Self::Plain | Self::Uuid | Self::Padded(_))
    }
}

fn name(expr: &Expr) -> String {
    match expr {
        Expr::Column(column) => column.name.clone(),
        other => other.schema_name().to_string(),
    }
}

fn refused(expr: &Expr, what: &str) -> DataFusionError {
    let message = format!(
        "query: {what} {} is not supported over several connections, because its type has rules of its own",
        name(expr)
    );
    external(Error::invalid(message).hint("do it on its own connection, or in a view there"))
}

/// Refuses values that cannot be compared for equality.
pub(crate) fn equality(expr: &Expr, schema: &DFSchema, what: &str) -> Result<()> {
    if Comparison::handed_on(expr, schema).is_equality() { Ok(()) } else { Err(refused(expr, what)) }
}

/// Refuses values that cannot be ordered.
pub(crate) fn order(expr: &Expr, schema: &DFSchema, what: &str) -> Result<()> {
    if Comparison::handed_on(expr, schema).is_order() { Ok(()) } else { Err(refused(expr, what)) }
}

/// Returns the values to be compared with each other, with UUIDs spelled as a source does.
///
/// # Errors
/// For values that cannot be compared like this, and for texts that are not UUIDs.
pub(crate) fn compared(exprs: Vec<Expr>, schema: &DFSchema, by_order: bool) -> Result<Vec<Expr>> {
    let how = exprs.iter().map(|expr| Comparison::handed_on(expr, schema)).collect();
    compared_as(exprs, how, by_order)
}

fn compared_as(exprs: Vec<Expr>, how: Vec<Comparison>, by_order: bool) -> Result<Vec<Expr>> {
    for (expr, how) in exprs.iter().zip(&how) {
        if !(how.is_equality() && (how.is_order() || !by_order)) {
            return Err(refused(expr, "a comparison of"));
        }
    }
    if how.contains(&Comparison::Canonical)
        && let Some(literal) = exprs.iter().find(|expr| matches!(expr, Expr::Literal(value, _) if !value.is_null()))
    {
        return Err(refused(literal, "a comparison with"));
    }
    // Another source may have no UUIDs: its texts are compared as they are.
    let is_padded = |how: &Comparison| matches!(how, Comparison::Padded(_));
    let of_literals = if how.contains(&Comparison::Uuid) {
        Comparison::Uuid
    } else {
        how.into_iter().find(is_padded).unwrap_or(Comparison::Plain)
    };
    exprs.into_iter().map(|expr| of_literals.literal(expr)).collect()
}

/// Returns a padded text with its blanks, which are significant for patterns and if its text is requested.
///
/// # Errors
/// For one among others, whose number of blanks is unknown.
pub(crate) fn filled(expr: Expr, schema: &DFSchema, what: &str) -> Result<Expr> {
    match Comparison::handed_on(&expr, schema) {
        Comparison::Padded(length) if length == 0 || !matches!(expr, Expr::Column(_)) => Err(refused(&expr, what)),
        Comparison::Padded(length) => {
            let length = i64::try_from(length).unwrap_or(i64::MAX);
            Ok(rpad().call(vec![expr, lit(length), lit(" ")]))
        }
        _ => Ok(expr),
    }
}

/// Marks an expression of a query with its comparison, unless it is a column with a mark.
pub(crate) fn marked(expr: Expr, schema: &DFSchema) -> Transformed<Expr> {
    match mark(&expr, schema) {
        Some(how) => {
            let (relation, name) = expr.qualified_name();
            Transformed::yes(how.named(expr, relation, name))
        }
        None => Transformed::no(expr),
    }
}

/// Adds such marks in a projection over groups or window functions: the engine does not recognise an aggregate with
/// a mark.
pub(crate) fn marked_above(plan: LogicalPlan, schema: &DFSchema) -> Result<LogicalPlan> {
    let mark = |expr| mark(expr, schema);
    let marks: Vec<Option<Comparison>> = match &plan {
        LogicalPlan::Aggregate(groups) => groups.group_expr.iter().chain(&groups.aggr_expr).map(mark).collect(),
        LogicalPlan::Window(rows) => {
            let handed_on = rows.input.schema().fields().iter().map(|_| None);
            handed_on.chain(rows.window_expr.iter().map(mark)).collect()
        }
        _ => return Ok(plan),
    };
    if marks.iter().all(Option::is_none) {
        return Ok(plan);
    }
    let columns = plan.schema().columns().into_iter().zip(marks).map(|(column, how)| match how {
        Some(how) => how.named(Expr::Column(column.clone()), column.relation, column.name),
        None => Expr::Column(column),
    });
    let columns = columns.collect();
    Ok(LogicalPlan::Projection(Projection::try_new(columns, Arc::new(plan))?))
}

/// Returns the comparison of an expression that is not a column. Its number of blanks is unknown.
fn mark(expr: &Expr, schema: &DFSchema) -> Option<Comparison> {
    let how = match Comparison::handed_on(expr, schema) {
        Comparison::Plain => return None,
        Comparison::Padded(_) => Comparison::Padded(0),
        how => how,
    };
    let mut value = expr;
    while let Expr::Alias(alias) = value {
        value = &alias.expr;
    }
    (!matches!(value, Expr::Column(_))).then_some(how)
}

/// The text of a UUID as PostgreSQL writes it. It reads it in braces too, and with a hyphen behind any four digits.
fn canonical(text: &str) -> Result<String> {
    let bare = text.strip_prefix('{').and_then(|bare| bare.strip_suffix('}')).unwrap_or(text);
    let groups = bare.split('-').collect::<Vec<_>>();
    let is_grouped = groups.iter().all(|group| !group.is_empty() && group.len() % 4 == 0);
    let uuid = Some(groups.concat()).filter(|_| is_grouped).and_then(|digits| Uuid::try_parse(&digits).ok());
    uuid.map(|uuid| uuid.hyphenated().to_string()).ok_or_else(|| {
        let message = format!("invalid input syntax for type uuid: {text:?}");
        external(Error::new(Kind::Rejected, message).sqlstate("22P02"))
    })
}

/// Returns whether a value has a text of its own: an enum's label, or a UUID.
///
/// # Errors
/// For types whose PostgreSQL text differs from that in results.
pub(crate) fn text(expr: &Expr, schema: &DFSchema) -> Result<bool> {
    match Comparison::handed_on(expr, schema) {
        Comparison::Plain => Ok(false),
        Comparison::Uuid | Comparison::Coded | Comparison::Padded(_) => Ok(true),
        Comparison::Canonical | Comparison::Own => Err(refused(expr, "the text of")),
    }
}

/// Refuses values that are not text in PostgreSQL where `function` requires text.
///
/// # Errors
/// For values that are text only in the engine.
pub(crate) fn is_text(expr: &Expr, schema: &DFSchema, function: &str) -> Result<()> {
    match Comparison::handed_on(expr, schema) {
        Comparison::Plain | Comparison::Padded(_) => Ok(()),
        Comparison::Canonical | Comparison::Own => Err(refused(expr, "the text of")),
        Comparison::Uuid | Comparison::Coded => {
            let message = format!("{function} takes a text, and {} is of a type of its own", name(expr));
            Err(external(Error::new(Kind::Rejected, message).sqlstate("42883").hint("write CAST(… AS text) around it")))
        }
    }
}

/// Refuses a node of a plan that would order, group or join values otherwise than PostgreSQL does.
pub(crate) fn check_comparisons(plan: &LogicalPlan) -> Result<()> {
    let inputs = plan.inputs();
    let Some(schema) = inputs.first().map(|input| input.schema()) else { return Ok(()) };
    let sorted = |by: &[Sort], what: &str| by.iter().try_for_each(|by| order(&by.expr, schema, what));
    let grouped = |by: &[Expr], what: &str| by.iter().try_for_each(|by| equality(by, schema, what));
    match plan {
        LogicalPlan::Sort(of) => sorted(&of.expr, "ORDER BY"),
        LogicalPlan::Aggregate(of) => {
            one_order(&of.aggr_expr)?;
            of.group_expr.iter().try_for_each(|by| match by {
                Expr::GroupingSet(sets) => {
                    sets.distinct_expr().into_iter().try_for_each(|by| equality(by, schema, "GROUP BY"))
                }
                by => equality(by, schema, "GROUP BY"),
            })
        }
        LogicalPlan::Distinct(Distinct::All(input)) => {
            let columns: Vec<Expr> = input.schema().columns().into_iter().map(Expr::Column).collect();
            grouped(&columns, "DISTINCT or UNION of")
        }
        LogicalPlan::Distinct(Distinct::On(of)) => grouped(&of.on_expr, "DISTINCT ON"),
        LogicalPlan::Join(of) => of.on.iter().try_for_each(|(left, right)| {
            equality(left, of.left.schema(), "a join on")?;
            equality(right, of.right.schema(), "a join on")?;
            // INTERSECT and EXCEPT: only these treat NULLs as equal.
            let is_set = of.null_equality == NullEquality::NullEqualsNull;
            // Of a merged column the engine keeps the first side's type.
            if is_set || of.join_constraint == JoinConstraint::Using {
                let (one, other) = (left.get_type(of.left.schema())?, right.get_type(of.right.schema())?);
                let is_mixed = !is_set && is_exact(&one) && is_exact(&other) && one.is_integer() != other.is_integer();
                let what = if is_set { "a set operation" } else { "USING or NATURAL" };
                return one_type(&one, &other, is_mixed, what);
            }
            Ok(())
        }),
        LogicalPlan::Union(of) => of.inputs.iter().try_for_each(|input| {
            let fields = of.inputs.first().map(|first| first.schema().fields().iter());
            let mut fields = fields.into_iter().flatten().zip(input.schema().fields());
            fields.try_for_each(|(one, other)| one_type(one.data_type(), other.data_type(), false, "a set operation"))
        }),
        _ => Ok(()),
    }
}

/// Refuses values that are to be different ones in an order beside others in another order: the engine has one for all.
fn one_order(aggregates: &[Expr]) -> Result<()> {
    let calls = aggregates.iter().filter_map(|expr| match expr.clone().unalias() {
        Expr::AggregateFunction(call) if !call.params.order_by.is_empty() => Some(call.params),
        _ => None,
    });
    let calls: Vec<_> = calls.collect();
    let is_apart = calls.iter().any(|one| one.distinct && calls.iter().any(|other| one.order_by != other.order_by));
    if is_apart {
        let message = "an aggregate with DISTINCT and ORDER BY beside one in another order is not supported over \
                       several connections";
        let error = Error::new(Kind::Rejected, message).sqlstate("0A000");
        return Err(external(error.hint("compute one of them in a subquery with the same groups, and join it")));
    }
    Ok(())
}

/// Refuses to combine types for which the engine has another common type than PostgreSQL.
fn one_type(one: &ArrowType, other: &ArrowType, is_mixed: bool, what: &str) -> Result<()> {
    admit_together([one, other].into_iter())?;
    let is_mixed = is_mixed
        || (one.is_floating() && is_exact(other))
        || (is_exact(one) && other.is_floating())
        || (one.is_temporal() && other.is_temporal() && one != other);
    if is_mixed {
        let (one, other) = (type_name(one), type_name(other));
        let message = format!("query: {what} of {one} and {other} is not supported over several connections");
        return Err(external(Error::invalid(message).hint("CAST both to one type")));
    }
    Ok(())
}

/// Refuses an aggregate that would order or compare its values differently.
pub(crate) fn admit_aggregate(call: &AggregateFunction, schema: &DFSchema) -> Result<()> {
    let params = &call.params;
    if matches!(call.func.name(), "min" | "max") {
        params.args.iter().try_for_each(|of| order(of, schema, "the least or greatest"))?;
    }
    if call.func.name() == "string_agg" {
        params.args.iter().try_for_each(|of| is_text(of, schema, "string_agg"))?;
    }
    if params.distinct {
        params.args.iter().try_for_each(|of| equality(of, schema, "DISTINCT"))?;
    }
    params.order_by.iter().try_for_each(|by| order(&by.expr, schema, "ORDER BY"))
}

/// Refuses a window function that would order or compare its values differently.
pub(crate) fn admit_window(call: &WindowFunction, schema: &DFSchema) -> Result<()> {
    let params = &call.params;
    if matches!(call.fun.name(), "min" | "max") {
        params.args.iter().try_for_each(|of| order(of, schema, "the least or greatest"))?;
    }
    params.partition_by.iter().try_for_each(|by| equality(by, schema, "PARTITION BY"))?;
    params.order_by.iter().try_for_each(|by| order(&by.expr, schema, "ORDER BY"))
}
