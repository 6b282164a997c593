//! GROUP BY in a source's SQL.

use std::sync::Arc;

use arrow_schema::{DataType as ArrowType, Field, FieldRef, Schema};
use datafusion::logical_expr::expr::{AggregateFunction, AggregateFunctionParams};
use datafusion::logical_expr::{Aggregate, Expr, ExprSchemable, cast};

use super::expressions::{NameScope, Rendered, type_of};
use super::select::{Output, Select};
use crate::functions::numbers;
use crate::tables::table::UNBOUNDED;
use portico_sources::pushdown::{Type, Use};

/// The maximal digits of values whose total has room: as many values as a table can have add 19.
const MOST_DIGITS: u8 = numbers::DIGITS - 19;

/// The groups that a source computes. The planned columns are followed by the number of values of each average, in
/// their order.
pub(super) struct Groups {
    pub(super) select: Select,
    averages: Vec<Average>,
}

/// An average. A source returns the total and the number of values: its own quotient has other digits than the
/// engine's.
struct Average {
    /// The index of the average, which contains the total.
    place: usize,
    /// Digits of the total behind the point.
    scale: i8,
}

impl Groups {
    /// Whether the source does all of it.
    pub(super) fn is_complete(&self) -> bool {
        self.averages.is_empty()
    }

    /// Returns the fields that the source returns for these planned columns.
    pub(super) fn fields(&self, planned: &Schema) -> Schema {
        let mut fields: Vec<FieldRef> = planned.fields().to_vec();
        for Average { place, scale } in &self.averages {
            if let Some(field) = fields.get_mut(*place) {
                *field = Arc::new(Field::new(field.name(), ArrowType::Decimal128(numbers::DIGITS, *scale), true));
            }
        }
        fields.extend(
            self.averages
                .iter()
                .map(|average| Arc::new(Field::new(format!("count of c{}", average.place), ArrowType::Int64, false))),
        );
        Schema::new(fields)
    }

    /// Returns the planned columns as expressions over the source's columns.
    pub(super) fn columns(&self, given: &[Expr]) -> Vec<Expr> {
        let number = ArrowType::Decimal128(numbers::DIGITS, 0);
        let (planned, counts) = given.split_at(given.len().saturating_sub(self.averages.len()));
        let mut columns = planned.to_vec();
        for (Average { place, .. }, count) in self.averages.iter().zip(counts) {
            if let Some(total) = columns.get_mut(*place) {
                *total = numbers::quotient().call(vec![total.clone(), cast(count.clone(), number.clone())]);
            }
        }
        columns
    }
}

/// The aggregate as far as the source of `select` makes it.
pub(super) fn group(aggregate: &Aggregate, select: &Select) -> Option<Groups> {
    let select = select.clone().wrapped_for_keys();
    let schema = aggregate.input.schema();
    let scope = NameScope::new(&select, schema)?;
    let keys = aggregate.group_expr.iter().map(|expr| scope.render(expr)).collect::<Option<Vec<_>>>()?;
    let unique = keys.len() == 1;
    let mut outputs: Vec<Output> =
        (keys.iter()).map(|key| Output { sql: key.sql.clone(), raw: None, type_: Some(key.type_), unique }).collect();
    let (mut averages, mut counts) = (Vec::new(), Vec::new());
    for expr in &aggregate.aggr_expr {
        let called = Called::from_expr(expr, aggregate)?;
        if called.name == "avg" {
            let (total, scale, count) = called.average(&scope)?;
            averages.push(Average { place: outputs.len(), scale });
            outputs.push(total);
            counts.push(count);
        } else {
            outputs.push(called.output(&scope)?);
        }
    }
    outputs.extend(counts);
    // A constant as a key would be taken for the place of a column.
    if keys.iter().zip(&aggregate.group_expr).any(|(_, expr)| expr.column_refs().is_empty()) {
        return None;
    }
    // In its own collation a key needs no cast, and has its statistics.
    let at_source = |(expr, key): (&Expr, Rendered)| {
        let raw = scope.column(expr).and_then(|output| output.raw.as_ref()).filter(|raw| raw.exact);
        raw.map_or(key.sql, |raw| raw.sql.clone())
    };
    let group = Some(aggregate.group_expr.iter().zip(keys).map(at_source).collect());
    Some(Groups { select: Select { outputs, group, order: Vec::new(), ..select }, averages })
}

/// The call of an aggregate function of one argument, without FILTER and order.
struct Called<'a> {
    name: &'a str,
    argument: &'a Expr,
    distinct: bool,
    /// The type that the engine gets.
    planned: Type,
}

impl<'a> Called<'a> {
    fn from_expr(expr: &'a Expr, aggregate: &Aggregate) -> Option<Self> {
        let bare = match expr {
            Expr::Alias(alias) => &alias.expr,
            other => other,
        };
        let Expr::AggregateFunction(AggregateFunction { func, params }) = bare else { return None };
        let AggregateFunctionParams { args, distinct, filter: None, order_by, null_treatment: None } = params else {
            return None;
        };
        let ([argument], true) = (args.as_slice(), order_by.is_empty()) else { return None };
        let planned = type_of(&bare.get_type(aggregate.input.schema()).ok()?)?;
        Some(Self { name: func.name(), argument, distinct: *distinct, planned })
    }

    fn output(&self, scope: &NameScope<'_>) -> Option<Output> {
        let distinct = if self.distinct { "DISTINCT " } else { "" };
        let sql = match self.name {
            "count" if self.distinct => format!("COUNT(DISTINCT {})", scope.render(self.argument)?.sql),
            "count" => self.counted(scope)?,
            "sum" => {
                let argument = scope.render(self.argument)?;
                // The cast of such a sum would round it.
                ((scope.dialect.does)(argument.type_, Use::Compute) && argument.type_ != UNBOUNDED).then_some(())?;
                format!("SUM({distinct}{})", argument.sql)
            }
            name @ ("min" | "max") => {
                let argument = scope.render(self.argument)?;
                (argument.type_ == self.planned && !matches!(argument.type_, Type::Boolean | Type::Uuid))
                    .then_some(())?;
                return Some(output(format!("{name}({})", argument.sql), self.planned));
            }
            _ => return None,
        };
        // Sums and counts have types of their own at each source.
        match scope.cast(&sql, self.planned) {
            Some(cast) => Some(output(cast.sql, self.planned)),
            None => (self.name == "count").then(|| output(sql, self.planned)),
        }
    }

    /// The total with its digits behind the point, and the number of values.
    fn average(&self, scope: &NameScope<'_>) -> Option<(Output, i8, Output)> {
        let returned = Type::Decimal { precision: numbers::DIGITS, scale: numbers::SCALE };
        (self.planned == returned && !self.distinct).then_some(())?;
        let argument = scope.render(self.argument)?;
        let scale = match argument.type_ {
            Type::Decimal { scale, .. } => scale,
            _ => 0,
        };
        let fits = argument.type_.fits_in(Type::Decimal { precision: MOST_DIGITS, scale });
        (fits && (scope.dialect.does)(argument.type_, Use::Compute)).then_some(())?;
        let total = Type::Decimal { precision: numbers::DIGITS, scale };
        let sum = scope.cast(&format!("SUM({})", argument.sql), total)?;
        Some((output(sum.sql, total), scale, output(self.counted(scope)?, Type::BigInt)))
    }

    /// Renders the number of values. Those of a constant, or of a column that is never NULL, need not be counted
    /// separately; any other expression is evaluated, since it may fail.
    fn counted(&self, scope: &NameScope<'_>) -> Option<String> {
        if matches!(self.argument, Expr::Literal(value, _) if !value.is_null()) {
            return Some("COUNT(*)".to_owned());
        }
        Some(match scope.column(self.argument) {
            Some(_) if self.argument.nullable(scope.schema).is_ok_and(|nullable| !nullable) => "COUNT(*)".to_owned(),
            Some(column) => format!("COUNT({})", column.sql),
            None => format!("COUNT({})", scope.render(self.argument)?.sql),
        })
    }
}

fn output(sql: String, type_: Type) -> Output {
    Output { sql, raw: None, type_: Some(type_), unique: false }
}
