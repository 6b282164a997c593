//! Limits the size of a statement after its common table expressions were inlined, as the engine does: a few lines
//! that each name the previous one twice would fill the memory before anything runs.

use std::collections::HashMap;
use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, ObjectName, Query, Select, SelectItem, Statement, Visit, Visitor,
};

use crate::plan::text::syntax::is_subquery;
use portico_core::error::{Error, Kind, Result};

/// The maximal number of tables and subqueries after inlining: planning time grows with its third power.
const MOST_RELATIONS: usize = 200;
/// Subqueries inside each other where values stand (`EXISTS`, `IN`, a value): each level doubles the time that planning
/// takes.
const MOST_NESTED: usize = 12;
/// Operators and calls inside each other, through all the queries that hand a column on. Of each that it walks over, the
/// engine asks for the type and the name of all that is inside: the time grows with the third power of them.
const MOST_DEEP: usize = 200;
/// The maximal sum of the squares of their sizes: two and a half of the deepest.
const MOST_WORK: usize = 6_000_000;
/// The maximal factor by which the names and literals of an expression are repeated: the engine repeats some
/// values, and with nesting the number doubles at each level.
const MOST_REPEATED: usize = 4_000;
/// Constants in a list that the engine says one by one.
const MOST_ALTERNATIVES: usize = 3;
/// Columns of one of them.
const MOST_COLUMNS: usize = 100_000;
/// The maximal number of elements of a CUBE, as in PostgreSQL: each of them doubles the grouping sets.
const MOST_IN_CUBE: usize = 12;

/// Refuses a statement beyond the limits; `widest` is the number of columns of its widest table.
///
/// # Errors
/// [`Kind::TooLarge`].
pub(crate) fn check_size(statement: &Statement, widest: usize) -> Result<()> {
    let mut expansion = Expansion { widest, ..Expansion::default() };
    if let ControlFlow::Break(refused) = statement.visit(&mut expansion) {
        return Err(refused);
    }
    let whole = expansion.size(statement);
    let refused = |most: usize, what: &str| {
        let message = format!("query: it comes to more than {most} {what}, with its common table expressions put in");
        Err(Error::new(Kind::TooLarge, message).hint("name each of them fewer times, or select fewer columns"))
    };
    match whole {
        Size { deep, work, .. } if deep > MOST_DEEP || work > MOST_WORK => {
            let message = format!("query: it has more than {MOST_DEEP} operators and calls inside each other");
            let hint = "divide long chains of operators, or compute them in a connection of their own";
            Err(Error::new(Kind::TooLarge, message).hint(hint))
        }
        Size { repeated, .. } if repeated > MOST_REPEATED => {
            let message =
                "query: an expression has too many of COALESCE, NULLIF, CONCAT, BETWEEN and IN inside each other";
            let hint = "compute the inner ones in a subquery, or on their table's own connection";
            Err(Error::new(Kind::TooLarge, message).hint(hint))
        }
        Size { relations, .. } if relations > MOST_RELATIONS => refused(MOST_RELATIONS, "tables"),
        Size { columns, .. } if columns > MOST_COLUMNS => refused(MOST_COLUMNS, "columns"),
        Size { nested, .. } if nested > MOST_NESTED => refused(MOST_NESTED, "subqueries inside each other"),
        _ => Ok(()),
    }
}

/// The size of a query after inlining: an upper bound.
#[derive(Clone, Copy, Default)]
struct Size {
    relations: usize,
    columns: usize,
    nested: usize,
    /// Operators and calls inside each other.
    deep: usize,
    /// The sum of the squares of the sizes inside.
    work: usize,
    /// The largest number of repetitions in an expression.
    repeated: usize,
}

/// Finds the sizes of common table expressions, inner and earlier ones first.
#[derive(Default)]
struct Expansion {
    widest: usize,
    /// The name of the expression that a query is the body of.
    bodies: HashMap<*const Query, String>,
    /// The largest of each name: which one a name means is the planner's to say.
    known: HashMap<String, Size>,
}

impl Expansion {
    fn size(&self, of: &impl Visit) -> Size {
        let mut sum = Sum {
            expansion: self,
            size: Size::default(),
            wildcards: 1,
            inside: 0,
            depths: vec![Depth::default()],
            around: Vec::new(),
        };
        let _ = of.visit(&mut sum);
        let deep = sum.depths.pop().map_or(0, Depth::sum);
        Size { columns: sum.size.columns.saturating_mul(sum.wildcards), deep, ..sum.size }
    }
}

impl Visitor for Expansion {
    type Break = Error;

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<Error> {
        for cte in query.with.iter().flat_map(|with| &with.cte_tables) {
            self.bodies.insert(std::ptr::from_ref(&*cte.query), cte.alias.name.value.to_lowercase());
        }
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, query: &Query) -> ControlFlow<Error> {
        if let Some(name) = self.bodies.remove(&std::ptr::from_ref(query)) {
            let size = self.size(query);
            let known = self.known.entry(name).or_default();
            known.relations = known.relations.max(size.relations);
            known.columns = known.columns.max(size.columns);
            known.nested = known.nested.max(size.nested);
            known.deep = known.deep.max(size.deep);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<Error> {
        match expr {
            Expr::Cube(elements) if elements.len() > MOST_IN_CUBE => ControlFlow::Break(
                Error::new(Kind::TooLarge, format!("query: CUBE is limited to {MOST_IN_CUBE} elements"))
                    .sqlstate("54001"),
            ),
            _ => ControlFlow::Continue(()),
        }
    }
}

/// The size of one query, computed from the sizes of the names in it.
struct Sum<'a> {
    expansion: &'a Expansion,
    size: Size,
    /// How often wildcards may repeat a column, at all levels together.
    wildcards: usize,
    /// The number of subqueries around the current node.
    inside: usize,
    /// Of the queries that stand around it.
    depths: Vec<Depth>,
    /// The state of each enclosing expression.
    around: Vec<Inside>,
}

/// The content of an expression.
#[derive(Default)]
struct Inside {
    /// Operators and calls inside each other.
    height: usize,
    /// Names and literals, as they are written.
    written: usize,
    /// Names and literals, as often as the engine says them.
    said: usize,
    /// How many of these are in the first of its parts.
    said_first: Option<usize>,
}

impl Inside {
    /// Returns how often the engine repeats the content of `expr`.
    fn said(&self, expr: &Expr) -> usize {
        let (all, first) = (self.said.max(1), self.said_first.unwrap_or(0));
        let is_constant = |of: &Expr| matches!(of, Expr::Value(_));
        let more = match expr {
            Expr::Between { .. } => first,
            Expr::InList { list, .. } if list.iter().all(is_constant) => {
                first.saturating_mul(list.len().min(MOST_ALTERNATIVES).saturating_sub(1))
            }
            Expr::InList { list, .. } => first.saturating_mul(list.len().saturating_sub(1)),
            Expr::Function(call) => match call.name.to_string().to_lowercase().as_str() {
                "coalesce" | "nullif" => all,
                // A condition is said for each of its values.
                "concat" | "concat_ws" => all.saturating_mul(3),
                _ => 0,
            },
            _ => 0,
        };
        all.saturating_add(more)
    }
}

/// How deep the expressions of a query are.
#[derive(Default)]
struct Depth {
    own: usize,
    /// The depth in its FROM clause, whose columns are expanded into its own expressions.
    inner: usize,
}

impl Depth {
    const fn sum(self) -> usize {
        self.own.saturating_add(self.inner)
    }
}

/// Returns true if the engine looks inside for a type or a name. A condition has the same type whatever is inside.
const fn is_deeper(expr: &Expr) -> bool {
    let is_condition = matches!(expr, Expr::BinaryOp { op: BinaryOperator::And | BinaryOperator::Or, .. });
    !is_condition
        && !matches!(expr, Expr::Nested(_) | Expr::Identifier(_) | Expr::CompoundIdentifier(_) | Expr::Value(_))
}

impl Visitor for Sum<'_> {
    type Break = ();

    fn pre_visit_relation(&mut self, name: &ObjectName) -> ControlFlow<()> {
        let named = match name.0.as_slice() {
            [only] => only.as_ident().and_then(|name| self.expansion.known.get(&name.value.to_lowercase())),
            _ => None,
        };
        let table = Size { relations: 1, columns: self.expansion.widest, ..Size::default() };
        let Size { relations, columns, nested, deep, .. } = named.copied().unwrap_or(table);
        if let Some(depth) = self.depths.last_mut() {
            depth.inner = depth.inner.max(deep);
        }
        self.size.nested = self.size.nested.max(self.inside + nested);
        self.size.relations = self.size.relations.saturating_add(relations);
        self.size.columns = self.size.columns.saturating_add(columns);
        ControlFlow::Continue(())
    }

    fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        self.depths.push(Depth::default());
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        let inner = self.depths.pop().map_or(0, Depth::sum);
        if let Some(outer) = self.depths.last_mut() {
            outer.inner = outer.inner.max(inner);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        let is_wildcard =
            |item: &&SelectItem| matches!(item, SelectItem::Wildcard(..) | SelectItem::QualifiedWildcard(..));
        let wildcards = select.projection.iter().filter(is_wildcard).count();
        self.wildcards = self.wildcards.saturating_mul(wildcards.max(1));
        self.size.columns = self.size.columns.saturating_add(select.projection.len());
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        self.inside += usize::from(is_subquery(expr));
        self.size.nested = self.size.nested.max(self.inside);
        self.around.push(Inside::default());
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        self.inside -= usize::from(is_subquery(expr));
        let inside = self.around.pop().unwrap_or_default();
        let height = inside.height + usize::from(is_deeper(expr));
        let (written, said) = (inside.written.max(1), inside.said(expr));
        self.size.repeated = self.size.repeated.max(said - written);
        self.size.work = self.size.work.saturating_add(height.saturating_mul(height));
        if let Some(depth) = self.depths.last_mut() {
            depth.own = depth.own.max(height);
        }
        if let Some(outer) = self.around.last_mut() {
            outer.height = outer.height.max(height);
            outer.written = outer.written.saturating_add(written);
            outer.said = outer.said.saturating_add(said);
            outer.said_first.get_or_insert(said);
        }
        ControlFlow::Continue(())
    }
}
