//! The names of the columns of a select list: PostgreSQL's, if the statement does not name them. The engine names
//! columns after their expressions, and requires unique names; so a duplicate name gets a mark, which is removed
//! from the result.

use std::borrow::Cow;
use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    AccessExpr, CastKind, DataType, Distinct, ExactNumberInfo, Expr, Ident, ObjectName, OrderBy, OrderByKind, Query,
    Select, SelectItem, SelectItemQualifiedWildcardKind as Kind, SetExpr, Statement, TimezoneInfo, TrimWhereField,
    TypedString, VisitMut, VisitorMut, visit_expressions,
};

use crate::plan::text::syntax::selects;

/// Separates a name from the number that makes it unique. PostgreSQL allows it only in quoted names.
pub(crate) const MARK: char = '\u{1}';

/// PostgreSQL's name of a column without one.
const NAMELESS: &str = "?column?";

/// Names the columns of all select lists.
pub(crate) fn name(statement: &mut Statement) {
    let _ = statement.visit(&mut Naming { depth: 0 });
}

/// The name without its mark.
pub(crate) fn shown(name: &str) -> &str {
    name.split_once(MARK).map_or(name, |(name, _)| name)
}

/// The text with the names in it without their marks.
pub(crate) fn without_marks(text: &str) -> Cow<'_, str> {
    if !text.contains(MARK) {
        return Cow::Borrowed(text);
    }
    let mut parts = text.split(MARK);
    let first = parts.next().unwrap_or_default().to_owned();
    Cow::Owned(parts.fold(first, |all, part| all + part.trim_start_matches(|each: char| each.is_ascii_digit())))
}

struct Naming {
    depth: usize,
}

impl VisitorMut for Naming {
    type Break = ();

    fn pre_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.depth += 1;
        ControlFlow::Continue(())
    }

    // The inner lists have their names already: a subquery in a list provides its own.
    fn post_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        self.depth -= 1;
        // The names of the outermost query's columns are used only in the result.
        let said_in_full = if self.depth == 0 { named_in_full(query.order_by.as_ref()) } else { Vec::new() };
        let is_alone = matches!(*query.body, SetExpr::Select(_));
        let is_ordered = query.order_by.is_some();
        for (at, Select { projection: list, distinct, .. }) in selects(&mut query.body).into_iter().enumerate() {
            let before = list.clone();
            rename(list, is_ordered, &said_in_full);
            let kind = query.order_by.as_mut().map(|order| &mut order.kind).filter(|_| at == 0);
            if let Some(OrderByKind::Expressions(order)) = kind
                && !matches!(distinct, Some(Distinct::On(_)))
            {
                for by in order {
                    refer(&mut by.expr, &before, list, is_alone);
                }
            }
        }
        ControlFlow::Continue(())
    }
}

/// Returns the qualified columns that rows are ordered by. They are ambiguous for the engine if the list gives
/// their name to another value.
fn named_in_full(order: Option<&OrderBy>) -> Vec<String> {
    let mut names = Vec::new();
    let Some(OrderBy { kind: OrderByKind::Expressions(order), .. }) = order else { return names };
    for by in order {
        let _ = visit_expressions(&by.expr, |expr| {
            if let Expr::CompoundIdentifier(parts) = expr {
                names.extend(parts.last().map(folded));
            }
            ControlFlow::<()>::Continue(())
        });
    }
    names
}

/// The name of a column in a list, and whether it is derived from a column.
struct Label {
    name: String,
    is_columns: bool,
}

/// Adds missing names, and marks duplicates.
fn rename(list: &mut [SelectItem], is_ordered: bool, said_in_full: &[String]) {
    let labels: Vec<Option<Label>> = list.iter().map(label).collect();
    let has_wildcard =
        list.iter().any(|item| matches!(item, SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..)));
    for at in 0..list.len() {
        let Some(Label { name, is_columns }) = labels.get(at).and_then(Option::as_ref) else { continue };
        let Some((before, rest)) = list.split_at_mut_checked(at) else { continue };
        let Some((item, behind)) = rest.split_first_mut() else { continue };
        let expr = expr_of(item);
        let bears_it = |of: usize| labels.get(of).and_then(Option::as_ref).is_some_and(|label| label.name == *name);
        let is_twin = |other: &SelectItem| expr_of(other) == expr;
        let has_twin = before.iter().enumerate().any(|(of, other)| bears_it(of) && is_twin(other));
        let other_before = before.iter().enumerate().any(|(of, other)| bears_it(of) && !is_twin(other));
        let other_behind = (at + 1..).zip(behind.iter()).any(|(of, other)| bears_it(of) && !is_twin(other));
        let is_marked = match item {
            SelectItem::UnnamedExpr(expr) if is_column(expr) => {
                let is_covered = |other: &SelectItem| covers(other, expr);
                has_twin
                    || before.iter().chain(behind.iter()).any(is_covered)
                    || (other_before && !before.iter().all(|other| is_apart(expr, other)))
            }
            SelectItem::UnnamedExpr(_) => {
                has_wildcard || has_twin || other_before || other_behind || (*is_columns && is_ordered)
            }
            _ => has_twin || other_before || said_in_full.contains(name),
        };
        let alias = |expr: &mut Expr| {
            let name = if is_marked { format!("{name}{MARK}{at}") } else { name.clone() };
            let expr = std::mem::replace(expr, Expr::Tuple(Vec::new()));
            SelectItem::ExprWithAlias { expr, alias: Ident::with_quote('"', name) }
        };
        *item = match item {
            SelectItem::UnnamedExpr(expr) if is_marked || !is_column(expr) => alias(expr),
            SelectItem::ExprWithAlias { expr, .. } if is_marked => alias(expr),
            _ => continue,
        };
    }
}

/// Replaces an expression that a list is ordered by with the column of the list that PostgreSQL takes it for.
fn refer(by: &mut Expr, before: &[SelectItem], list: &[SelectItem], is_alone: bool) {
    let meant = if let Expr::Identifier(ident) = by {
        let wanted = folded(ident);
        let bears_it = |item: &&SelectItem| label(item).is_some_and(|label| label.name == wanted);
        let mut found = before.iter().enumerate().filter(|(_, item)| bears_it(item));
        let Some((first, item)) = found.next() else { return };
        // Of two that differ, it is not clear which is meant.
        (found.all(|(_, other)| expr_of(other) == expr_of(item))).then_some(first)
    } else if is_alone {
        before.iter().position(|item| matches!(item, SelectItem::UnnamedExpr(expr) if expr == by && !is_column(expr)))
    } else {
        None
    };
    if let Some(SelectItem::ExprWithAlias { alias, .. }) = meant.and_then(|at| list.get(at)) {
        *by = Expr::Identifier(alias.clone());
    }
}

fn expr_of(item: &SelectItem) -> Option<&Expr> {
    match item {
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => Some(expr),
        _ => None,
    }
}

const fn is_column(expr: &Expr) -> bool {
    matches!(expr, Expr::Identifier(_) | Expr::CompoundIdentifier(_))
}

/// Returns true if a wildcard includes this column too.
fn covers(item: &SelectItem, column: &Expr) -> bool {
    match (item, column) {
        (SelectItem::Wildcard(_), _) => true,
        (SelectItem::QualifiedWildcard(Kind::ObjectName(of), _), Expr::CompoundIdentifier(parts)) => {
            let of = of.0.iter().filter_map(|part| part.as_ident());
            parts.split_last().is_some_and(|(_, before)| of.eq(before))
        }
        _ => false,
    }
}

/// Returns true if the engine distinguishes a column from another item of the list: they are of two tables.
fn is_apart(column: &Expr, other: &SelectItem) -> bool {
    let (Some(named), _) = label_of(column) else { return true };
    if label(other).is_none_or(|label| label.name != named) {
        return true;
    }
    match (column, other) {
        (Expr::CompoundIdentifier(column), SelectItem::UnnamedExpr(Expr::CompoundIdentifier(other))) => column != other,
        _ => false,
    }
}

fn label(item: &SelectItem) -> Option<Label> {
    match item {
        SelectItem::ExprWithAlias { alias, .. } => Some(Label { name: folded(alias), is_columns: false }),
        SelectItem::UnnamedExpr(expr) => {
            let (name, is_columns) = label_of(expr);
            Some(Label { name: name.unwrap_or_else(|| NAMELESS.to_owned()), is_columns })
        }
        _ => None,
    }
}

/// Returns PostgreSQL's name for the column of an expression (`FigureColname`), and whether it is a column's name.
fn label_of(expr: &Expr) -> (Option<String>, bool) {
    let (name, strength) = figured(expr);
    (name, strength == Strength::Column)
}

/// The strength of a name: that of a type or of CASE yields to one inside.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Strength {
    None,
    Weak,
    Strong,
    Column,
}

fn figured(expr: &Expr) -> (Option<String>, Strength) {
    let strong = |name: &str| (Some(name.to_owned()), Strength::Strong);
    let weak = |inner: (Option<String>, Strength), name: Option<String>| match inner {
        inner @ (_, Strength::Strong | Strength::Column) => inner,
        inner if name.is_none() => inner,
        _ => (name, Strength::Weak),
    };
    match expr {
        Expr::Identifier(ident) => (Some(folded(ident)), Strength::Column),
        Expr::CompoundIdentifier(parts) => match parts.last() {
            Some(last) => (Some(folded(last)), Strength::Column),
            None => (None, Strength::None),
        },
        Expr::CompoundFieldAccess { root, access_chain } => {
            let field = access_chain.iter().rev().find_map(|access| match access {
                AccessExpr::Dot(Expr::Identifier(ident)) => Some(folded(ident)),
                _ => None,
            });
            field.map_or_else(|| figured(root), |field| (Some(field), Strength::Column))
        }
        Expr::Nested(inner) | Expr::Collate { expr: inner, .. } => figured(inner),
        Expr::Function(function) => (last(&function.name), Strength::Strong),
        Expr::Cast { kind: CastKind::Cast | CastKind::DoubleColon, expr, data_type, .. } => {
            weak(figured(expr), type_name(data_type))
        }
        Expr::TypedString(TypedString { data_type, .. }) => (type_name(data_type), Strength::Weak),
        Expr::Interval(_) => (Some("interval".to_owned()), Strength::Weak),
        Expr::Case { else_result, .. } => {
            let inner = else_result.as_ref().map_or((None, Strength::None), |inner| figured(inner));
            weak(inner, Some("case".to_owned()))
        }
        Expr::Subquery(query) => match first(&query.body) {
            Some(name) => strong(&name),
            None => (None, Strength::None),
        },
        Expr::Exists { .. } => strong("exists"),
        Expr::Extract { .. } => strong("extract"),
        Expr::Ceil { .. } => strong("ceil"),
        Expr::Floor { .. } => strong("floor"),
        Expr::Position { .. } => strong("position"),
        Expr::Substring { .. } => strong("substring"),
        Expr::Overlay { .. } => strong("overlay"),
        Expr::AtTimeZone { .. } => strong("timezone"),
        Expr::Array(_) => strong("array"),
        Expr::Tuple(_) => strong("row"),
        Expr::Trim { trim_where, .. } => strong(match trim_where {
            Some(TrimWhereField::Leading) => "ltrim",
            Some(TrimWhereField::Trailing) => "rtrim",
            Some(TrimWhereField::Both) | None => "btrim",
        }),
        _ => (None, Strength::None),
    }
}

/// The name of a query's first column.
fn first(body: &SetExpr) -> Option<String> {
    match body {
        SetExpr::Select(select) => {
            let name = label(select.projection.first()?)?.name;
            Some(shown(&name).to_owned())
        }
        SetExpr::SetOperation { left, .. } => first(left),
        SetExpr::Query(query) => first(&query.body),
        SetExpr::Values(_) => Some("column1".to_owned()),
        _ => None,
    }
}

fn last(name: &ObjectName) -> Option<String> {
    name.0.last().and_then(|part| part.as_ident()).map(folded)
}

/// Without quotes a name is in small letters.
pub(crate) fn folded(ident: &Ident) -> String {
    if ident.quote_style.is_some() { ident.value.clone() } else { ident.value.to_lowercase() }
}

/// The name of a type in PostgreSQL's catalogue.
fn type_name(type_: &DataType) -> Option<String> {
    use DataType as Type;
    let zoned = |zone: &TimezoneInfo, plain: &'static str, zoned: &'static str| match zone {
        TimezoneInfo::WithTimeZone | TimezoneInfo::Tz => zoned,
        _ => plain,
    };
    let float = |info: &ExactNumberInfo| match info {
        ExactNumberInfo::Precision(bits) if *bits <= 24 => "float4",
        _ => "float8",
    };
    Some(
        match type_ {
            Type::SmallInt(_) | Type::Int2(_) => "int2",
            Type::Int(_) | Type::Integer(_) | Type::Int4(_) => "int4",
            Type::BigInt(_) | Type::Int8(_) => "int8",
            Type::Numeric(_) | Type::Decimal(_) | Type::Dec(_) => "numeric",
            Type::Real | Type::Float4 => "float4",
            Type::Double(_) | Type::DoublePrecision | Type::Float8 => "float8",
            Type::Float(info) => float(info),
            Type::Boolean | Type::Bool => "bool",
            Type::Text => "text",
            Type::Varchar(_) | Type::CharacterVarying(_) | Type::CharVarying(_) => "varchar",
            Type::Char(_) | Type::Character(_) => "bpchar",
            Type::Date => "date",
            Type::Time(_, zone) => zoned(zone, "time", "timetz"),
            Type::Timestamp(_, zone) => zoned(zone, "timestamp", "timestamptz"),
            Type::Interval { .. } => "interval",
            Type::Uuid => "uuid",
            Type::Bytea => "bytea",
            Type::JSON => "json",
            Type::JSONB => "jsonb",
            Type::Custom(name, _) => return last(name),
            _ => return None,
        }
        .to_owned(),
    )
}
