//! From the text to the physical plan: names, types, pushdown, and the order of joins.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::{Field, Fields, Schema};
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{JoinType, ParamValues, Result as EngineResult, ScalarValue, resources_err};
use datafusion::execution::{SessionState, TaskContext};
use datafusion::logical_expr::{LogicalPlan, LogicalPlanBuilder};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::joins::SortMergeJoinExec;
use datafusion::physical_plan::joins::utils::JoinFilter;
use datafusion::physical_plan::limit::{GlobalLimitExec, LocalLimitExec};
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::sql::parser::Statement as Parsed;

use crate::connections::Connections;
use crate::failure::{engine_error, rule_error};
use crate::functions::bounded_text;
use crate::functions::types::categories::is_interval;
use crate::plan::columns::labels;
use crate::plan::columns::origin;
use crate::plan::columns::unique;
use crate::plan::correlated;
use crate::plan::estimates::{Estimates, Estimating};
use crate::plan::exact;
use crate::plan::groups::dependencies;
use crate::plan::groups::distinct_on;
use crate::plan::groups::grouping_sets;
use crate::plan::groups::negative_zero;
use crate::plan::joins::{exists, order, sources};
use crate::plan::plan_deadline;
use crate::plan::sorted;
use crate::plan::text::parse::{self, Explain, Query, Written};
use crate::plan::text::{bounds, parameters};
use crate::plan::volatile;
use crate::push::Pushing;
use crate::run::leaf::Leaf;
use crate::run::unordered;
use crate::statement::{Deadline, Statement};
use crate::tables::catalog::{Tables, named};
use portico_core::error::{Error, Result};

/// A plan to run.
pub(crate) struct Planned {
    pub(crate) plan: Arc<dyn ExecutionPlan>,
    /// The columns of its rows, with the marks of where they come from.
    pub(crate) schema: Schema,
    pub(crate) explain: Option<Explain>,
    /// The context that it runs with.
    pub(crate) context: TaskContext,
    /// The plan to run where memory is short.
    pub(crate) low_memory: LowMemoryPlan,
}

/// Makes a plan whose joins sort both sides and spill to disk: the engine's hash joins keep one side in memory.
pub(crate) struct LowMemoryPlan {
    pushed: LogicalPlan,
    state: SessionState,
}

/// The batch size of such a plan: some batches of each sort are in memory at the same time.
const LOW_MEMORY_BATCH: usize = 512;

impl LowMemoryPlan {
    /// Returns the plan, and the context that it runs with.
    pub(crate) async fn plan(mut self) -> Result<(Arc<dyn ExecutionPlan>, TaskContext)> {
        let config = self.state.config().clone();
        let rows = config.batch_size().min(LOW_MEMORY_BATCH);
        *self.state.config_mut() = config.with_batch_size(rows);
        let options = self.state.config_mut().options_mut();
        options.optimizer.prefer_hash_join = false;
        options.optimizer.repartition_sorts = false;
        // With one alone the planner takes the hash join all the same.
        options.execution.target_partitions = 2;
        let plan = unordered::in_order(&self.pushed, &mut self.state).await;
        let plan = plan.and_then(sort_whole).and_then(none_kept).and_then(may_be_null).map_err(engine_error)?;
        Ok((plan, TaskContext::from(&self.state)))
    }
}

/// The plan of `statement`.
pub(crate) async fn plan(
    statement: &Statement,
    state: SessionState,
    tables: &Arc<Tables>,
    connections: Arc<dyn Connections>,
    deadline: Deadline,
    pushdown: bool,
    estimates: &Estimates,
) -> Result<Planned> {
    let principal = statement.principal.as_str();
    let estimating = Estimating { estimates, principal, connections: connections.as_ref(), deadline };
    let state = Arc::new(state);
    tables.plan_with(&state);
    let given: Vec<&str> = statement.parameters.iter().map(|value| value.name.trim_start_matches('@')).collect();
    let Query { mut parsed, placeholders, explain, written } = parse::query(&statement.text, &given)?;
    let values = parameters::values(&placeholders, &statement.parameters)?;
    tables.say_main_folder(&mut parsed, &state);
    parse::qualify_wildcards(&mut parsed);
    tables.ask(named(&parsed, &state)?).await?;
    tables.say_determined(&mut parsed, &state);
    if let Parsed::Statement(statement) = &parsed {
        bounds::check_size(statement, tables.widest())?;
    }
    // By one row more its reader sees that there are more.
    let most = statement.limits.rows.and_then(|rows| usize::try_from(rows.saturating_add(1)).ok());
    let plan = logical(parsed, &written, values, most, &state).await.map_err(|error| written.failure(error))?;
    admit(plan.schema().fields())?;
    let planned = Arc::clone(plan.schema());
    let plan = sorted::where_it_counts(plan).and_then(grouping_sets::of_columns).and_then(dependencies::forgotten);
    let plan = plan.and_then(unique::names_in_subqueries);
    let optimized = plan.and_then(|plan| state.optimize(&plan));
    let optimized = optimized.and_then(exact::keep_digits).map_err(rule_error)?;
    let pushed = pushed(&optimized, &connections, pushdown, &estimating).await?;
    let pushed = order::by_estimates(pushed).and_then(unique::names).and_then(negative_zero::as_one);
    let pushed = pushed.and_then(|pushed| plan_deadline::in_joins(pushed, deadline)).map_err(engine_error)?;
    let rows = bounded_text::batch_size(&pushed).map_err(engine_error)?.min(state.config().batch_size());
    // Views are planned: this is the only reference left.
    let mut state = Arc::unwrap_or_clone(state);
    if rows != state.config().batch_size() {
        *state.config_mut() = state.config().clone().with_batch_size(rows);
    }
    let run = unordered::in_order(&pushed, &mut state).await.map_err(|error| written.failure(error))?;
    let schema = marked(run.schema().fields(), planned.fields(), &optimized);
    Ok(Planned {
        plan: run,
        schema,
        explain,
        context: TaskContext::from(&state),
        low_memory: LowMemoryPlan { pushed, state },
    })
}

/// Returns the plan with its pushed-down parts, whose leaves have estimates of their rows.
async fn pushed(
    plan: &LogicalPlan,
    connections: &Arc<dyn Connections>,
    pushdown: bool,
    estimating: &Estimating<'_>,
) -> Result<LogicalPlan> {
    let mut pushing = Pushing::new(Arc::clone(connections), pushdown, estimating.deadline);
    let pushed = if pushdown {
        let is_done = |plan: &LogicalPlan| pushing.is_whole(plan);
        let asked = exists::at_their_tables(plan.clone(), &is_done);
        let together = asked.and_then(|asked| sources::together(asked, &is_done)).map_err(engine_error)?;
        let repeated = pushing.repeated(&together).map_err(engine_error)?;
        pushing.share(estimating.small(repeated).await);
        pushing.plan(&together).map_err(engine_error)?
    } else {
        pushing.plan(plan).map_err(engine_error)?
    };
    estimating.all(&pushing.into_leaves(), order::is_chosen(&pushed)).await;
    Ok(pushed)
}

/// Refuses results that PostgreSQL would write otherwise.
fn admit(columns: &Fields) -> Result<()> {
    let odd = |column: &&Arc<Field>| is_interval(column.data_type());
    match columns.iter().find(odd) {
        Some(column) => {
            let name = labels::shown(column.name());
            Err(Error::invalid(format!(
                "query: column {name} is an interval, which is not supported over several connections"
            ))
                .hint("extract(epoch FROM (a - b)) is the seconds between two times, which avg and sum take too; dates are days apart"))
        }
        None => Ok(()),
    }
}

/// Makes sorts spill to disk even if only their first rows are needed: the engine keeps these in memory.
fn sort_whole(plan: Arc<dyn ExecutionPlan>) -> EngineResult<Arc<dyn ExecutionPlan>> {
    plan.transform_up(|node| {
        let Some((sort, fetch)) = node.downcast_ref::<SortExec>().and_then(|sort| Some((sort, sort.fetch()?))) else {
            return Ok(Transformed::no(node));
        };
        let whole: Arc<dyn ExecutionPlan> = Arc::new(sort.with_fetch(None));
        Ok(Transformed::yes(if sort.preserve_partitioning() {
            Arc::new(LocalLimitExec::new(whole, fetch))
        } else {
            Arc::new(GlobalLimitExec::new(whole, 0, Some(fetch)))
        }))
    })
    .data()
}

/// Makes leaves not keep rows for each other.
fn none_kept(plan: Arc<dyn ExecutionPlan>) -> EngineResult<Arc<dyn ExecutionPlan>> {
    plan.transform_up(|node| {
        let alone = node.downcast_ref::<Leaf>().filter(|leaf| leaf.is_shared()).map(Leaf::alone);
        Ok(alone.map_or_else(|| Transformed::no(node), |leaf| Transformed::yes(Arc::new(leaf) as _)))
    })
    .data()
}

/// Marks the columns in the conditions of merge joins as nullable: the engine evaluates them for rows without a
/// partner too.
fn may_be_null(plan: Arc<dyn ExecutionPlan>) -> EngineResult<Arc<dyn ExecutionPlan>> {
    plan.transform_up(|node| {
        let join = node.downcast_ref::<SortMergeJoinExec>();
        let Some((join, filter)) = join.and_then(|join| Some((join, join.filter().as_ref()?))) else {
            return Ok(Transformed::no(node));
        };
        // It keeps unmatched rows of both sides outside of the counted memory.
        if join.join_type() == JoinType::Full {
            return resources_err!("a full join with a condition beside its keys");
        }
        let fields = filter.schema().fields().iter().map(|field| Field::clone(field).with_nullable(true));
        let schema = Arc::new(Schema::new(fields.collect::<Fields>()));
        let filter = JoinFilter::new(Arc::clone(filter.expression()), filter.column_indices().to_vec(), schema);
        let (left, right, on) = (Arc::clone(join.left()), Arc::clone(join.right()), join.on().to_vec());
        let order = join.sort_options().to_vec();
        let join =
            SortMergeJoinExec::try_new(left, right, on, Some(filter), join.join_type(), order, join.null_equality())?;
        Ok(Transformed::yes(Arc::new(join) as _))
    })
    .data()
}

/// Returns the schema of the result: the planned names, and the marks of the tables that pass columns on.
fn marked(run: &Fields, planned: &Fields, optimized: &LogicalPlan) -> Schema {
    let marked = run.iter().zip(planned).enumerate().map(|(place, (run, planned))| {
        Field::clone(run).with_name(labels::shown(planned.name())).with_metadata(origin::marks(optimized, place))
    });
    Schema::new(marked.collect::<Fields>())
}

/// Makes the logical plan of a statement, limited to `most` rows.
async fn logical(
    parsed: Parsed,
    written: &Written,
    values: Vec<ScalarValue>,
    most: Option<usize>,
    state: &SessionState,
) -> EngineResult<LogicalPlan> {
    let plan = written.checked(state.statement_to_plan(parsed).await?)?;
    let plan = correlated::by_columns(distinct_on::first_rows(with_values(plan, values)?)?)?;
    correlated::check(&plan)?;
    volatile::check(&plan)?;
    match most {
        Some(rows) => LogicalPlanBuilder::from(plan).limit(0, Some(rows))?.build(),
        None => Ok(plan),
    }
}

/// Replaces the parameters of a plan by values: the value of the same literal, and NULL of the inferred type.
fn with_values(plan: LogicalPlan, values: Vec<ScalarValue>) -> EngineResult<LogicalPlan> {
    if values.is_empty() {
        return Ok(plan);
    }
    let types = if values.iter().any(ScalarValue::is_null) { plan.get_parameter_types()? } else { HashMap::new() };
    let typed = values.into_iter().enumerate().map(|(place, value)| {
        match types.get(&format!("${}", place + 1)).cloned().flatten() {
            Some(type_) if value.is_null() => ScalarValue::try_from(&type_),
            _ => Ok(value),
        }
    });
    plan.with_param_values(ParamValues::from(typed.collect::<EngineResult<Vec<_>>>()?))
}
