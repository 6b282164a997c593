//! The deadline of a statement's planning and execution. Code that computes without yielding checks it itself: a
//! cancelled task ends only when it awaits.

use std::any::Any;
use std::time::Instant;

use arrow_schema::DataType as ArrowType;
use datafusion::common::config::{ConfigEntry, ConfigExtension, ConfigOptions, ExtensionOptions};
use datafusion::common::tree_node::{Transformed, TransformedResult};
use datafusion::common::{Result, not_impl_err};
use datafusion::logical_expr::{
    ColumnarValue, Expr, LogicalPlan, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

use crate::external_error::external;
use crate::statement::{Deadline, timed_out};

/// The deadline of a statement, among the options that it is planned with.
#[derive(Clone, Debug)]
pub(crate) struct PlanDeadline(pub(crate) Deadline);

impl PlanDeadline {
    /// Refuses to go on behind the deadline.
    ///
    /// # Errors
    /// [`Kind::TimedOut`](portico_core::error::Kind::TimedOut).
    pub(crate) fn check(options: &ConfigOptions) -> Result<()> {
        match options.extensions.get::<Self>() {
            Some(Self(deadline)) if Instant::now() > deadline.instant() => Err(external(timed_out())),
            _ => Ok(()),
        }
    }
}

impl ConfigExtension for PlanDeadline {
    const PREFIX: &'static str = "deadline";
}

impl ExtensionOptions for PlanDeadline {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }

    fn cloned(&self) -> Box<dyn ExtensionOptions> {
        Box::new(self.clone())
    }

    fn set(&mut self, key: &str, _: &str) -> Result<()> {
        not_impl_err!("set {key}")
    }

    fn entries(&self) -> Vec<ConfigEntry> {
        Vec::new()
    }
}

/// Makes joins check the deadline when they evaluate their conditions: a join that finds no rows would otherwise
/// run as long as it has input.
pub(crate) fn in_joins(plan: LogicalPlan, deadline: Deadline) -> Result<LogicalPlan> {
    let function = ScalarUDF::new_from_impl(InTime {
        until: deadline.instant(),
        signature: Signature::any(1, Volatility::Immutable),
    });
    plan.transform_up_with_subqueries(|node| match node {
        LogicalPlan::Join(mut join) if join.filter.is_some() => {
            join.filter = join.filter.map(|filter: Expr| function.call(vec![filter]));
            Ok(Transformed::yes(LogicalPlan::Join(join)))
        }
        node => Ok(Transformed::no(node)),
    })
    .data()
}

/// A condition, until the deadline.
#[derive(Debug, PartialEq, Eq, Hash)]
struct InTime {
    until: Instant,
    signature: Signature,
}

impl ScalarUDFImpl for InTime {
    fn name(&self) -> &'static str {
        "in_time"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[ArrowType]) -> Result<ArrowType> {
        Ok(ArrowType::Boolean)
    }

    fn invoke_with_args(&self, mut args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        if Instant::now() > self.until {
            return Err(external(timed_out()));
        }
        match args.args.pop() {
            Some(condition) => Ok(condition),
            None => not_impl_err!("{} of nothing", self.name()),
        }
    }
}
