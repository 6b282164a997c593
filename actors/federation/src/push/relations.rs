//! Relations in a source's SQL: which nodes of a plan one source can do by itself, and the leaves that take their
//! places.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_schema::Schema;
use datafusion::common::{DFSchemaRef, JoinType, NullEquality, Result, tree_node::Transformed};
use datafusion::datasource::{provider_as_source, source_as_provider};
use datafusion::logical_expr::expr::Sort as SortKey;
use datafusion::logical_expr::utils::{conjunction, split_conjunction};
use datafusion::logical_expr::{
    Aggregate, Distinct, Expr, ExprSchemable, FetchType, Filter, Join, Limit, LogicalPlan, LogicalPlanBuilder,
    Projection, SkipType, Sort, TableScan,
};

use super::expressions::{NameScope, type_of};
use super::groups::{Groups, group};
use super::select::{Output, Raw, Select};
use super::shared::{self, SharedGroups};
use crate::connections::Connections;
use crate::run::leaf::LeafTable;
use crate::statement::Deadline;
use crate::tables::table::Table;
use portico_core::reply::{Collation, TextType};
use portico_sources::pushdown::{Type, Use};

/// The name of a leaf within a plan.
const LEAF: &str = "leaf";

/// The pass over one statement's plan.
pub(crate) struct Pushing {
    connections: Arc<dyn Connections>,
    /// Whether sources do more than hand over their columns.
    pushes: bool,
    deadline: Deadline,
    leaves: Vec<Arc<LeafTable>>,
    /// Groups that several leaves read.
    shared: Vec<SharedGroups>,
}

/// The result for a part of a plan.
enum PlanPart {
    /// One source does all of it.
    Source(Select),
    /// The engine does it, over leaves.
    Engine(LogicalPlan),
}

impl Pushing {
    pub(crate) fn new(connections: Arc<dyn Connections>, pushes: bool, deadline: Deadline) -> Self {
        Self { connections, pushes, deadline, leaves: Vec::new(), shared: Vec::new() }
    }

    /// Returns the groups that several leaves of `plan` would read, each from a statement of its own.
    ///
    /// # Errors
    /// The engine's errors for a plan that it made itself.
    pub(crate) fn repeated(&self, plan: &LogicalPlan) -> Result<Vec<SharedGroups>> {
        if !shared::has_several_groupings(plan) {
            return Ok(Vec::new());
        }
        let mut tried = Self::new(Arc::clone(&self.connections), self.pushes, self.deadline);
        let mut whole = HashSet::new();
        shared::read_whole(&tried.plan(plan)?, false, &mut whole)?;
        let leaves = tried
            .leaves
            .iter()
            .enumerate()
            .map(|(place, leaf)| (leaf.select().groupings.as_slice(), whole.contains(&format!("{LEAF}{place}"))));
        let leaves: Vec<_> = leaves.collect();
        Ok(shared::repeated(&leaves, &|select, fields| self.table(select, fields)))
    }

    /// Has these groups made once, for all leaves that read them.
    pub(crate) fn share(&mut self, shared: Vec<SharedGroups>) {
        self.shared = shared;
    }

    /// The plan over leaves.
    pub(crate) fn plan(&mut self, plan: &LogicalPlan) -> Result<LogicalPlan> {
        let part = self.part(plan)?;
        self.engine(part, plan.schema())
    }

    /// Whether one source does all of `plan`.
    pub(crate) fn is_whole(&self, plan: &LogicalPlan) -> bool {
        let mut tried = Self::new(Arc::clone(&self.connections), self.pushes, self.deadline);
        matches!(tried.part(plan), Ok(PlanPart::Source(_)))
    }

    /// The leaves, in the order in which they were made.
    pub(crate) fn into_leaves(self) -> Vec<Arc<LeafTable>> {
        self.leaves
    }

    fn part(&mut self, plan: &LogicalPlan) -> Result<PlanPart> {
        if let LogicalPlan::TableScan(scan) = plan
            && let Some(select) = self.scan(scan)?
        {
            return Ok(PlanPart::Source(select));
        }
        let parts = plan.inputs().into_iter().map(|input| self.part(input)).collect::<Result<Vec<_>>>()?;
        if self.pushes
            && let Some(select) = pushed(plan, &parts)
        {
            return Ok(PlanPart::Source(select));
        }
        if let (LogicalPlan::Aggregate(aggregate), [PlanPart::Source(select)]) = (plan, parts.as_slice())
            && self.pushes
            && let Some(groups) = group(aggregate, select)
        {
            return self.groups(aggregate, groups);
        }
        if let (LogicalPlan::Filter(filter), [PlanPart::Source(select)]) = (plan, parts.as_slice())
            && self.pushes
        {
            return self.filter(filter, select.clone());
        }
        if let ([PlanPart::Source(select)], true) = (parts.as_slice(), self.pushes)
            && let Some(fewer) = fewer(plan, select)
        {
            return self.above(plan, vec![PlanPart::Source(fewer)]);
        }
        self.above(plan, parts)
    }

    /// Returns the node for the engine, over the results of its inputs.
    fn above(&mut self, plan: &LogicalPlan, parts: Vec<PlanPart>) -> Result<PlanPart> {
        let schemas: Vec<DFSchemaRef> = plan.inputs().into_iter().map(|input| Arc::clone(input.schema())).collect();
        let inputs = parts.into_iter().zip(&schemas).map(|(part, schema)| self.engine(part, schema));
        let inputs = inputs.collect::<Result<Vec<_>>>()?;
        let plan = if inputs.is_empty() { plan.clone() } else { plan.with_new_exprs(plan.expressions(), inputs)? };
        let plan = plan.map_subqueries(|subquery| self.plan(&subquery).map(Transformed::yes))?;
        Ok(PlanPart::Engine(plan.data))
    }

    /// Pushes down the conditions of a filter that the source can evaluate; the rest stays above.
    fn filter(&mut self, filter: &Filter, select: Select) -> Result<PlanPart> {
        let schema = filter.input.schema();
        let select = select.wrapped();
        let mut left = Vec::new();
        let mut conditions = Vec::new();
        for condition in split_conjunction(&filter.predicate) {
            match NameScope::new(&select, schema).and_then(|scope| scope.condition(condition)) {
                Some(sql) => conditions.push(sql),
                None => left.push(condition.clone()),
            }
        }
        let mut select = select;
        select.filters.extend(conditions);
        let input = self.engine(PlanPart::Source(select), schema)?;
        let Some(predicate) = conjunction(left) else { return Ok(PlanPart::Engine(input)) };
        let plan = LogicalPlan::Filter(Filter::try_new(predicate, Arc::new(input))?);
        let plan = plan.map_subqueries(|subquery| self.plan(&subquery).map(Transformed::yes))?;
        Ok(PlanPart::Engine(plan.data))
    }

    fn scan(&self, scan: &TableScan) -> Result<Option<Select>> {
        let provider = source_as_provider(&scan.source)?;
        let Some(table) = (provider.as_ref() as &dyn std::any::Any).downcast_ref::<Table>() else { return Ok(None) };
        let Some(member) = self.connections.members().get(table.connection) else { return Ok(None) };
        let quoted = |name: &str| member.driver.dialect.quoted(name);
        let dialect = member.driver.pushdown;
        let all: Vec<usize> = (0..table.columns.len()).collect();
        let places = scan.projection.as_ref().unwrap_or(&all);
        let outputs = places.iter().filter_map(|place| table.columns.get(*place)).map(|column| {
            let own = format!("t.{}", quoted(&column.name));
            let (unique, exact) = (column.unique, column.collation == Collation::Deterministic);
            match (column.type_, dialect) {
                (Some(Type::Text), Some(dialect)) => {
                    let sql = format!("{own}{}", dialect.by_octets);
                    let raw = Some(Raw { sql: own, type_: Type::Text, exact });
                    Output { sql, raw, type_: column.type_, unique }
                }
                (type_, Some(dialect)) if column.text == TextType::Padded => match (dialect.type_name)(Type::Text) {
                    Some(text) => {
                        let sql = format!("CAST({own} AS {text}){}", dialect.by_octets);
                        let raw = Some(Raw { sql: own, type_: Type::Padded, exact });
                        Output { sql, raw, type_: Some(Type::Text), unique }
                    }
                    None => Output { sql: own, raw: None, type_, unique },
                },
                (type_, dialect) => Output { sql: own, raw: None, type_: type_.filter(|_| dialect.is_some()), unique },
            }
        });
        let from = format!("{}.{} AS t", quoted(&table.schema), quoted(&table.name));
        let select = Select::over(table.connection, dialect, from, outputs.collect());
        Ok(Some(Select { limit: scan.fetch.filter(|_| self.pushes), ..select }))
    }

    /// Returns the part as a plan of the engine: a leaf under a projection that restores the columns' names.
    fn engine(&mut self, part: PlanPart, schema: &DFSchemaRef) -> Result<LogicalPlan> {
        let select = match part {
            PlanPart::Engine(plan) => return Ok(plan),
            PlanPart::Source(select) => select,
        };
        let scan = self.leaf(self.table(select, schema.as_arrow()))?;
        named(columns_of(&scan), scan, schema)
    }

    /// The rows that the source is asked for, with names of their own.
    fn leaf(&mut self, leaf: LeafTable) -> Result<LogicalPlan> {
        let name = format!("{LEAF}{}", self.leaves.len());
        let leaf = Arc::new(leaf);
        self.leaves.push(Arc::clone(&leaf));
        LogicalPlanBuilder::scan(name, provider_as_source(leaf), None)?.build()
    }

    fn table(&self, select: Select, schema: &Schema) -> LeafTable {
        LeafTable::new(select, schema, Arc::clone(&self.connections), self.deadline)
    }

    /// Returns the groups, with the rest of the computation for the engine.
    fn groups(&mut self, aggregate: &Aggregate, groups: Groups) -> Result<PlanPart> {
        let fields = groups.fields(aggregate.schema.as_arrow());
        let select = groups.select.clone().grouping(fields.clone());
        let shared = self.shared.iter().find_map(|shared| shared.part(&select));
        if groups.is_complete() && shared.is_none() {
            return Ok(PlanPart::Source(select));
        }
        let scan = self.leaf(self.table(select, &fields).reading(shared))?;
        named(groups.columns(&columns_of(&scan)), scan, &aggregate.schema).map(PlanPart::Engine)
    }
}

fn columns_of(plan: &LogicalPlan) -> Vec<Expr> {
    plan.schema().columns().into_iter().map(Expr::Column).collect()
}

/// Projects these expressions over `plan`, under the names of `schema`.
fn named(exprs: Vec<Expr>, plan: LogicalPlan, schema: &DFSchemaRef) -> Result<LogicalPlan> {
    let named = (exprs.into_iter().zip(schema.iter()))
        .map(|(expr, (qualifier, field))| expr.alias_qualified(qualifier.cloned(), field.name()));
    let projection = Projection::try_new_with_schema(named.collect(), Arc::new(plan), Arc::clone(schema))?;
    Ok(LogicalPlan::Projection(projection))
}

/// Returns a node that is pushed down together with its input, or to the one source of both its inputs.
fn pushed(plan: &LogicalPlan, parts: &[PlanPart]) -> Option<Select> {
    match (plan, parts) {
        (LogicalPlan::SubqueryAlias(_), [PlanPart::Source(select)]) => Some(select.clone()),
        (LogicalPlan::Projection(projection), [PlanPart::Source(select)]) => project(projection, select),
        (LogicalPlan::Filter(filter), [PlanPart::Source(select)]) => {
            let mut select = select.clone().wrapped();
            let condition = |expr| NameScope::new(&select, filter.input.schema())?.condition(expr);
            let conditions: Option<Vec<String>> =
                split_conjunction(&filter.predicate).into_iter().map(condition).collect();
            select.filters.extend(conditions?);
            Some(select)
        }
        (LogicalPlan::Limit(limit), [PlanPart::Source(select)]) => {
            let most = most(limit)?;
            matches!(limit.get_skip_type(), Ok(SkipType::Literal(0))).then_some(())?;
            limited(select, most)
        }
        (LogicalPlan::Distinct(Distinct::All(input)), [PlanPart::Source(select)]) => {
            let mut select = select.clone().wrapped();
            let does = select.dialect?.does;
            let compares = |output: &Output| output.type_.is_some_and(|type_| does(type_, Use::Compare));
            (!input.schema().fields().is_empty() && select.outputs.iter().all(compares)).then_some(())?;
            select.distinct = true;
            Some(select)
        }
        (LogicalPlan::Join(joined), [PlanPart::Source(left), PlanPart::Source(right)]) => join(joined, left, right),
        _ => None,
    }
}

/// Returns what a source can leave out although the engine executes the node too: rows beyond a limit.
fn fewer(plan: &LogicalPlan, select: &Select) -> Option<Select> {
    match plan {
        LogicalPlan::Limit(limit) => limited(select, most(limit)?),
        LogicalPlan::Sort(Sort { expr, input, fetch: Some(fetch) }) => {
            let mut select = select.clone().wrapped_for_keys();
            let scope = NameScope::new(&select, input.schema())?;
            let key = |SortKey { expr, asc, nulls_first }: &SortKey| {
                let key = scope.render(expr)?;
                let (order, nulls) = (if *asc { "ASC" } else { "DESC" }, if *nulls_first { "FIRST" } else { "LAST" });
                Some(format!("{} {order} NULLS {nulls}", key.sql))
            };
            select.order = expr.iter().map(key).collect::<Option<_>>()?;
            select.limit = Some(*fetch);
            Some(select)
        }
        _ => None,
    }
}

/// How many rows a limit needs in all.
fn most(limit: &Limit) -> Option<usize> {
    match (limit.get_skip_type().ok()?, limit.get_fetch_type().ok()?) {
        (SkipType::Literal(skip), FetchType::Literal(Some(fetch))) => skip.checked_add(fetch),
        _ => None,
    }
}

fn limited(select: &Select, most: usize) -> Option<Select> {
    select.dialect?;
    let mut select = select.clone();
    select.limit = Some(select.limit.map_or(most, |limit| limit.min(most)));
    Some(select)
}

fn project(projection: &Projection, select: &Select) -> Option<Select> {
    let select = select.clone().wrapped();
    let schema = projection.input.schema();
    let scope = NameScope { dialect: select.dialect?, outputs: &select.outputs, schema };
    let output = |expr: &Expr| match scope.column(expr) {
        Some(output) => Some(output.clone()),
        None => {
            let rendered = scope.render(expr)?;
            // The same type as in the engine, digit for digit.
            (type_of(&expr.get_type(schema).ok()?)? == rendered.type_).then_some(())?;
            Some(Output { sql: rendered.sql, raw: None, type_: Some(rendered.type_), unique: false })
        }
    };
    let outputs = projection.expr.iter().map(output).collect::<Option<Vec<_>>>()?;
    let has_constants = select.has_constants || projection.expr.iter().any(|expr| expr.column_refs().is_empty());
    Some(Select { outputs, has_constants, ..select })
}

fn join(join: &Join, left: &Select, right: &Select) -> Option<Select> {
    if left.connection != right.connection || join.null_aware || join.on.is_empty() {
        return None;
    }
    let dialect = left.dialect?;
    let (of_left, left_outputs) = left.derived("l");
    let (of_right, right_outputs) = right.derived("r");
    let equality = match join.null_equality {
        NullEquality::NullEqualsNothing => "=",
        NullEquality::NullEqualsNull => dialect.null_safe_equality,
    };
    let at_left = NameScope { dialect, outputs: &left_outputs, schema: join.left.schema() };
    let at_right = NameScope { dialect, outputs: &right_outputs, schema: join.right.schema() };
    let mut conditions = Vec::new();
    for (one, other) in &join.on {
        let (one, other) = (at_left.render(one)?, at_right.render(other)?);
        one.type_.compares_with(other.type_).then_some(())?;
        conditions.push(format!("{} {equality} {}", one.sql, other.sql));
    }
    // A row that may find several partners is there several times.
    let is_key = |scope: &NameScope<'_>, expr| scope.column(expr).is_some_and(|output| output.unique);
    let is_inner = join.join_type == JoinType::Inner;
    let left_once = is_inner && join.on.iter().any(|(_, other)| is_key(&at_right, other));
    let right_once = is_inner && join.on.iter().any(|(one, _)| is_key(&at_left, one));
    let often = |output: &Output, once: bool| Output { unique: output.unique && once, ..output.clone() };
    let both: Vec<Output> = left_outputs
        .iter()
        .map(|output| often(output, left_once))
        .chain(right_outputs.iter().map(|output| often(output, right_once)))
        .collect();
    if let Some(filter) = &join.filter {
        let schema = join.left.schema().join(join.right.schema()).ok()?;
        let scope = NameScope { dialect, outputs: &both, schema: &schema };
        conditions.push(scope.condition(filter)?);
    }
    let plain = join.filter.is_none() && join.null_equality == NullEquality::NullEqualsNothing;
    let conditions = conditions.join(" AND ");
    let exists = |not: &str, other: &str| vec![format!("{not}EXISTS (SELECT 1 FROM {other} WHERE {conditions})")];
    let (from, filters, outputs) = match join.join_type {
        JoinType::Inner => (format!("{of_left} JOIN {of_right} ON {conditions}"), Vec::new(), both),
        JoinType::Left => (format!("{of_left} LEFT JOIN {of_right} ON {conditions}"), Vec::new(), both),
        JoinType::Right => (format!("{of_left} RIGHT JOIN {of_right} ON {conditions}"), Vec::new(), both),
        // Other conditions cannot be merged or hashed there.
        JoinType::Full if plain => (format!("{of_left} FULL JOIN {of_right} ON {conditions}"), Vec::new(), both),
        JoinType::LeftSemi => (of_left, exists("", &of_right), left_outputs),
        JoinType::LeftAnti => (of_left, exists("NOT ", &of_right), left_outputs),
        JoinType::RightSemi => (of_right, exists("", &of_left), right_outputs),
        JoinType::RightAnti => (of_right, exists("NOT ", &of_left), right_outputs),
        _ => return None,
    };
    Some(Select { filters, ..Select::over(left.connection, Some(dialect), from, outputs) })
}
