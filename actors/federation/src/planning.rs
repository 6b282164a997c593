//! From the text to the plan that runs: names, types, what goes to the sources, and in which order.

use std::sync::Arc;

use datafusion::common::{ParamValues, ScalarValue};
use datafusion::execution::SessionState;
use datafusion::logical_expr::{LogicalPlan, LogicalPlanBuilder};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_planner::{DefaultPhysicalPlanner, PhysicalPlanner};
use datafusion::sql::parser::Statement as Parsed;
use futures_util::StreamExt;
use futures_util::future::join_all;

use crate::catalog::{Name, Tables};
use crate::connections::Connections;
use crate::exact;
use crate::failure::told;
use crate::leaf::LeafTable;
use crate::parameters;
use crate::parse::{self, Explain, Query};
use crate::push::Pushing;
use crate::statement::{Deadline, Statement};
use portico_core::call::{Mode, Op, Sql};
use portico_core::error::{Error, Result};
use portico_core::reply::{Cell, Part, Results};

/// What is to be run.
pub(crate) struct Planned {
    pub(crate) plan: Arc<dyn ExecutionPlan>,
    pub(crate) explain: Option<Explain>,
}

/// The plan of `statement`.
pub(crate) async fn plan(
    statement: &Statement,
    state: &Arc<SessionState>,
    tables: &Arc<Tables>,
    connections: Arc<dyn Connections>,
    deadline: Deadline,
    pushdown: bool,
) -> Result<Planned> {
    tables.plan_with(state);
    let given: Vec<&str> = statement.parameters.iter().map(|value| value.name.trim_start_matches('@')).collect();
    let Query { parsed, placeholders, explain } = parse::query(&statement.text, &given, state)?;
    let values = parameters::values(&placeholders, &statement.parameters)?;
    tables.ask(named(&parsed, state)?).await?;
    let plan = state.statement_to_plan(parsed).await.map_err(told)?;
    let plan = with_values(plan, values)?;
    // By one row more its reader sees that there are more.
    let most = statement.limits.rows.and_then(|rows| usize::try_from(rows.saturating_add(1)).ok());
    let plan = match most {
        Some(rows) => {
            LogicalPlanBuilder::from(plan).limit(0, Some(rows)).and_then(LogicalPlanBuilder::build).map_err(told)?
        }
        None => plan,
    };
    let optimized = state.optimize(&plan).and_then(exact::keep_digits).map_err(told)?;
    let mut pushing = Pushing::new(Arc::clone(&connections), pushdown, deadline);
    let pushed = pushing.plan(&optimized).map_err(told)?;
    estimate(&pushing.into_leaves(), connections.as_ref(), deadline).await;
    let planner = DefaultPhysicalPlanner::default();
    let plan = planner.create_physical_plan(&pushed, state.as_ref()).await.map_err(told)?;
    Ok(Planned { plan, explain })
}

/// Catalogue, schema and name of each table of the statement.
fn named(parsed: &Parsed, state: &SessionState) -> Result<Vec<Name>> {
    let options = &state.config_options().catalog;
    let references = state.resolve_table_references(parsed).map_err(told)?;
    let named = references.into_iter().map(|reference| {
        let resolved = reference.resolve(&options.default_catalog, &options.default_schema);
        let (catalog, schema, table) =
            (resolved.catalog.to_string(), resolved.schema.to_string(), resolved.table.to_string());
        if catalog.is_empty() || schema.is_empty() {
            let said = if catalog.is_empty() { "its connection" } else { "its schema" };
            return Err(Error::invalid(format!("query: table {table} is named without {said}"))
                .hint("write connection.schema.table, or give defaultCatalog and defaultSchema"));
        }
        Ok((catalog, schema, table))
    });
    named.collect()
}

/// The plan with values in the places of its parameters, each of the type that is inferred for it.
fn with_values(plan: LogicalPlan, values: Vec<ScalarValue>) -> Result<LogicalPlan> {
    if values.is_empty() {
        return Ok(plan);
    }
    let types = plan.get_parameter_types().map_err(told)?;
    let typed = values.into_iter().enumerate().map(|(place, value)| {
        match types.get(&format!("${}", place + 1)).cloned().flatten() {
            Some(type_) if value.is_null() => ScalarValue::try_from(&type_).map_err(told),
            Some(type_) => value.cast_to(&type_).map_err(told),
            None => Ok(value),
        }
    });
    plan.with_param_values(ParamValues::from(typed.collect::<Result<Vec<_>>>()?)).map_err(told)
}

/// Asks the sources how many rows they expect to send, where there is more than one side to choose from.
async fn estimate(leaves: &[Arc<LeafTable>], connections: &dyn Connections, deadline: Deadline) {
    if leaves.len() < 2 {
        return;
    }
    join_all(leaves.iter().map(|leaf| async {
        let member = connections.members().get(leaf.connection())?;
        let explain = member.driver.pushdown?.explain.as_ref()?;
        let text = (explain.question)(&leaf.sent());
        let op = Op::Script(Mode::Run, Sql { text, ..Sql::default() });
        let results = connections.ask(leaf.connection(), op, deadline.limits().ok()?).await.ok()?;
        leaf.expect((explain.rows)(&first(results).await?)?);
        Some(())
    }))
    .await;
}

/// The first value of the first row.
async fn first(mut results: Results) -> Option<String> {
    while let Some(part) = results.next().await {
        if let Part::Rows(rows) = part.ok()? {
            return match rows.cell(0, 0).ok()? {
                Cell::Text(text) | Cell::Json(text) => Some(text.into_owned()),
                _ => None,
            };
        }
    }
    None
}
