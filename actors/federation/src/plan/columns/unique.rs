//! Gives the columns of joined tables unique names. In physical planning the engine looks up the column of a
//! condition by its bare name, without the table: two columns `id` would be confused.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, Result as EngineResult};
use datafusion::logical_expr::expr::{Exists, InSubquery};
use datafusion::logical_expr::{Expr, Join, LogicalPlan, Projection, Subquery, Union};

/// Renames columns if two sides of a join have the same name. Their positions are unchanged.
pub(crate) fn names(plan: LogicalPlan) -> EngineResult<LogicalPlan> {
    rename(plan, &mut 0, false)
}

/// Renames columns in subqueries: the engine puts them beside those of the outer query, and looks up the column of
/// a condition by its bare name there as well.
pub(crate) fn names_in_subqueries(plan: LogicalPlan) -> EngineResult<LogicalPlan> {
    let mut fresh = 0;
    plan.transform_down(|node| match node {
        LogicalPlan::Subquery(lateral) => {
            Ok(Transformed::yes(LogicalPlan::Subquery(apart_from_outer(lateral, true, &mut fresh)?)))
        }
        node => node.map_expressions(|expr| subqueries(expr, &mut fresh)),
    })
    .data()
}

/// Renames columns if the plan joins two of one name; with `are_all`, every column of every table.
fn rename(plan: LogicalPlan, fresh: &mut usize, are_all: bool) -> EngineResult<LogicalPlan> {
    let before: Vec<_> = plan.inputs().into_iter().map(|input| Arc::clone(input.schema())).collect();
    let plan = plan.map_children(|child| rename(child, fresh, are_all).map(Transformed::yes)).data()?;
    let plan = match plan {
        leaf if are_all && before.is_empty() => {
            let columns = leaf.schema().iter().map(|(relation, field)| {
                *fresh += 1;
                let column = Expr::Column(Column::new(relation.cloned(), field.name()));
                column.alias_qualified(relation.cloned(), format!("{}#{fresh}", field.name()))
            });
            return Projection::try_new(columns.collect(), Arc::new(leaf)).map(LogicalPlan::Projection);
        }
        LogicalPlan::Join(join) => {
            let right = apart(&join, fresh)?;
            LogicalPlan::Join(Join { right, ..join })
        }
        other => other,
    };
    let after: Vec<_> = plan.inputs().into_iter().map(|input| Arc::clone(input.schema())).collect();
    let plan = plan.map_expressions(|expr| subqueries(expr, fresh)).data()?;
    if before == after {
        return Ok(plan);
    }
    match (plan, before.as_slice(), after.as_slice()) {
        (LogicalPlan::Join(join), [left, right], [new_left, new_right]) => {
            let on = join
                .on
                .into_iter()
                .map(|(one, other)| Ok((renamed(one, left, new_left)?, renamed(other, right, new_right)?)));
            let on = on.collect::<EngineResult<Vec<_>>>()?;
            let filter = match join.filter {
                Some(filter) => Some(renamed(filter, &left.join(right)?, &new_left.join(new_right)?)?),
                None => None,
            };
            LogicalPlan::Join(Join { on, filter, ..join }).recompute_schema()
        }
        (plan, [before], [after]) => {
            let plan = plan.map_expressions(|expr| renamed(expr, before, after).map(Transformed::yes)).data()?;
            plan.recompute_schema()
        }
        // A union's columns go by their places, and have the names of the first input.
        (LogicalPlan::Union(union), _, [first, ..]) => {
            let fields = union.schema.iter().zip(first.fields()).map(|((relation, field), first)| {
                (relation.cloned(), Arc::new(field.as_ref().clone().with_name(first.name())))
            });
            let schema = DFSchema::new_with_metadata(fields.collect(), union.schema.metadata().clone())?;
            Ok(LogicalPlan::Union(Union { schema: Arc::new(schema), ..union }))
        }
        (plan, ..) => plan.recompute_schema(),
    }
}

/// The expression over the columns in the same places of another schema.
fn renamed(expr: Expr, before: &DFSchema, after: &DFSchema) -> EngineResult<Expr> {
    let column = |expr| match expr {
        Expr::Column(column) => {
            let place = before.index_of_column(&column)?;
            Ok(Transformed::yes(Expr::Column(Column::from(after.qualified_field(place)))))
        }
        other => of_subquery(other, |subquery| {
            let outer = |expr| match expr {
                Expr::OuterReferenceColumn(field, column) => Ok(match before.maybe_index_of_column(&column) {
                    Some(place) => {
                        let column = Column::from(after.qualified_field(place));
                        Transformed::yes(Expr::OuterReferenceColumn(field, column))
                    }
                    None => Transformed::no(Expr::OuterReferenceColumn(field, column)),
                }),
                other => Ok(Transformed::no(other)),
            };
            let Subquery { subquery, outer_ref_columns, spans } = subquery;
            let plan = Arc::unwrap_or_clone(subquery)
                .transform_down_with_subqueries(|node| node.map_expressions(|expr| expr.transform_up(outer)))
                .data()?;
            let outer_ref_columns = outer_ref_columns.into_iter().map(|expr| expr.transform_up(outer).data());
            Ok(Subquery {
                subquery: Arc::new(plan),
                outer_ref_columns: outer_ref_columns.collect::<EngineResult<_>>()?,
                spans,
            })
        }),
    };
    expr.transform_up(column).data()
}

/// The expression with another subquery, where it has one.
fn of_subquery(expr: Expr, other: impl FnOnce(Subquery) -> EngineResult<Subquery>) -> EngineResult<Transformed<Expr>> {
    Ok(Transformed::yes(match expr {
        Expr::ScalarSubquery(subquery) => Expr::ScalarSubquery(other(subquery)?),
        Expr::Exists(Exists { subquery, negated }) => Expr::Exists(Exists { subquery: other(subquery)?, negated }),
        Expr::InSubquery(InSubquery { expr, subquery, negated }) => {
            Expr::InSubquery(InSubquery { expr, subquery: other(subquery)?, negated })
        }
        none => return Ok(Transformed::no(none)),
    }))
}

/// The expression with renamed columns within its subqueries.
fn subqueries(expr: Expr, fresh: &mut usize) -> EngineResult<Transformed<Expr>> {
    expr.transform_up(|expr| {
        let (is_value, is_listed) = (matches!(expr, Expr::ScalarSubquery(_)), matches!(expr, Expr::InSubquery(_)));
        of_subquery(expr, |subquery| {
            let subquery = apart_from_outer(subquery, is_value, fresh)?;
            if is_listed { listed_apart(subquery, fresh) } else { Ok(subquery) }
        })
    })
}

/// Names the list of an IN subquery if it is correlated: the engine adds the columns of its conditions to the list,
/// and casts the listed one under its own name.
fn listed_apart(of: Subquery, fresh: &mut usize) -> EngineResult<Subquery> {
    let LogicalPlan::Projection(list) = of.subquery.as_ref() else { return Ok(of) };
    if of.outer_ref_columns.is_empty() {
        return Ok(of);
    }
    let listed = list.expr.iter().map(|expr| {
        *fresh += 1;
        expr.clone().unalias().alias(format!("listed#{fresh}"))
    });
    let list = Projection::try_new(listed.collect(), Arc::clone(&list.input))?;
    Ok(Subquery { subquery: Arc::new(LogicalPlan::Projection(list)), ..of })
}

/// Renames the columns of a subquery. Names that the subquery is addressed by are kept.
fn apart_from_outer(of: Subquery, are_kept: bool, fresh: &mut usize) -> EngineResult<Subquery> {
    let Subquery { subquery, outer_ref_columns, spans } = of;
    let schema = Arc::clone(subquery.schema());
    let are_all = has_misleading_name(&subquery)?;
    let mut renamed = rename(Arc::unwrap_or_clone(subquery), fresh, are_all)?;
    if are_kept && renamed.schema().field_names() != schema.field_names() {
        let columns = renamed.schema().columns().into_iter().zip(schema.iter());
        let named =
            columns.map(|(column, (of, field))| Expr::Column(column).alias_qualified(of.cloned(), field.name()));
        renamed = LogicalPlan::Projection(Projection::try_new(named.collect(), Arc::new(renamed))?);
    }
    Ok(Subquery { subquery: Arc::new(renamed), outer_ref_columns, spans })
}

/// Returns true if the query returns a column under the name of another column of its tables. The engine adds the
/// columns of its conditions to the result, and then looks them up by that name.
fn has_misleading_name(query: &LogicalPlan) -> EngineResult<bool> {
    let mut names: HashMap<String, usize> = HashMap::new();
    query.apply(|node| {
        if node.inputs().is_empty() {
            for field in node.schema().fields() {
                *names.entry(field.name().clone()).or_default() += 1;
            }
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    let LogicalPlan::Projection(answers) = query else { return Ok(true) };
    Ok(answers.expr.iter().zip(answers.schema.fields()).any(|(expr, field)| {
        let is_itself = matches!(expr, Expr::Column(column) if column.name == *field.name());
        names.get(field.name()).is_some_and(|times| *times > usize::from(is_itself))
    }))
}

/// Returns the right side of the join, renaming columns whose names the left side has too.
fn apart(join: &Join, fresh: &mut usize) -> EngineResult<Arc<LogicalPlan>> {
    let mut taken: HashSet<String> = join.left.schema().fields().iter().map(|field| field.name().clone()).collect();
    let mut is_apart = true;
    let columns: Vec<Expr> = (join.right.schema().iter())
        .map(|(relation, field)| {
            let column = Expr::Column(Column::new(relation.cloned(), field.name()));
            if taken.insert(field.name().clone()) {
                return column;
            }
            is_apart = false;
            let name = loop {
                *fresh += 1;
                let name = format!("{}#{fresh}", field.name());
                if taken.insert(name.clone()) {
                    break name;
                }
            };
            column.alias_qualified(relation.cloned(), name)
        })
        .collect();
    let right = Arc::clone(&join.right);
    Ok(if is_apart { right } else { Arc::new(LogicalPlan::Projection(Projection::try_new(columns, right)?)) })
}
