//! What a statement comes to once its common table expressions stand in the places of their names, which is how the
//! engine plans it: a few lines that each name the one before them twice would fill the memory before anything runs.

use std::collections::HashMap;
use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{Expr, ObjectName, Query, Select, SelectItem, Statement, Visit, Visitor};

use portico_core::error::{Error, Kind, Result};

/// Tables and subqueries that a statement comes to: the time that planning takes grows with the third power of them.
const MOST_RELATIONS: usize = 200;
/// Subqueries inside each other where values stand (`EXISTS`, `IN`, a value): each level doubles the time that planning
/// takes.
const MOST_NESTED: usize = 12;
/// Columns of one of them.
const MOST_COLUMNS: usize = 100_000;
/// Elements of a CUBE, as many as PostgreSQL takes: each of them doubles what is grouped by.
const MOST_IN_CUBE: usize = 12;

/// Refuses a statement that comes to more than is planned; `widest` is how many columns its widest table has.
///
/// # Errors
/// [`Kind::TooLarge`].
pub(crate) fn admit(statement: &Statement, widest: usize) -> Result<()> {
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
        Size { relations, .. } if relations > MOST_RELATIONS => refused(MOST_RELATIONS, "tables"),
        Size { columns, .. } if columns > MOST_COLUMNS => refused(MOST_COLUMNS, "columns"),
        Size { nested, .. } if nested > MOST_NESTED => refused(MOST_NESTED, "subqueries inside each other"),
        _ => Ok(()),
    }
}

/// How much a query comes to, at most.
#[derive(Clone, Copy, Default)]
struct Size {
    relations: usize,
    columns: usize,
    nested: usize,
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
        let mut sum = Sum { expansion: self, size: Size::default(), wildcards: 1, inside: 0 };
        let _ = of.visit(&mut sum);
        Size { columns: sum.size.columns.saturating_mul(sum.wildcards), ..sum.size }
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

/// The size of one query, from what is known of the names in it.
struct Sum<'a> {
    expansion: &'a Expansion,
    size: Size,
    /// How often a column may be repeated by wildcards, at all levels together.
    wildcards: usize,
    /// How many subqueries stand around what is visited.
    inside: usize,
}

const fn is_subquery(expr: &Expr) -> bool {
    matches!(expr, Expr::Exists { .. } | Expr::InSubquery { .. } | Expr::Subquery(_))
}

impl Visitor for Sum<'_> {
    type Break = ();

    fn pre_visit_relation(&mut self, name: &ObjectName) -> ControlFlow<()> {
        let named = match name.0.as_slice() {
            [only] => only.as_ident().and_then(|name| self.expansion.known.get(&name.value.to_lowercase())),
            _ => None,
        };
        let table = Size { relations: 1, columns: self.expansion.widest, nested: 0 };
        let Size { relations, columns, nested } = named.copied().unwrap_or(table);
        self.size.nested = self.size.nested.max(self.inside + nested);
        self.size.relations = self.size.relations.saturating_add(relations);
        self.size.columns = self.size.columns.saturating_add(columns);
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
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        self.inside -= usize::from(is_subquery(expr));
        ControlFlow::Continue(())
    }
}
