//! Macros for what our nodes with a single input have in common.

/// The methods of [`ExecutionPlan`](datafusion::physical_plan::ExecutionPlan) that put a node with the field
/// `input` over another input: `$over` makes the new node. With a name, also those of a node without expressions;
/// with `in order`, those of one that passes its input's rows on in their order.
macro_rules! unary_node {
    ($name:literal, $over:expr) => {
        fn name(&self) -> &'static str {
            $name
        }

        fn apply_expressions(
            &self,
            _: &mut dyn FnMut(
                &::std::sync::Arc<dyn ::datafusion::physical_expr::PhysicalExpr>,
            ) -> ::datafusion::common::Result<::datafusion::common::tree_node::TreeNodeRecursion>,
        ) -> ::datafusion::common::Result<::datafusion::common::tree_node::TreeNodeRecursion> {
            Ok(::datafusion::common::tree_node::TreeNodeRecursion::Continue)
        }

        unary_node!($over);
    };
    ($name:literal in order, $over:expr) => {
        fn properties(&self) -> &::std::sync::Arc<::datafusion::physical_plan::PlanProperties> {
            self.input.properties()
        }

        fn maintains_input_order(&self) -> Vec<bool> {
            vec![true]
        }

        unary_node!($name, $over);
    };
    ($over:expr) => {
        fn children(&self) -> Vec<&::std::sync::Arc<dyn ::datafusion::physical_plan::ExecutionPlan>> {
            vec![&self.input]
        }

        fn replace_children(
            self: ::std::sync::Arc<Self>,
            children: Vec<::std::sync::Arc<dyn ::datafusion::physical_plan::ExecutionPlan>>,
            _: ::datafusion::physical_plan::execution_plan::ReplaceChildrenOptions,
        ) -> ::datafusion::common::Result<::std::sync::Arc<dyn ::datafusion::physical_plan::ExecutionPlan>> {
            match <[_; 1]>::try_from(children) {
                Ok([input]) => Ok(::std::sync::Arc::new($over(&*self, input))),
                Err(_) => ::datafusion::common::internal_err!("bug: the node must have one input"),
            }
        }

        fn with_new_children(
            self: ::std::sync::Arc<Self>,
            children: Vec<::std::sync::Arc<dyn ::datafusion::physical_plan::ExecutionPlan>>,
        ) -> ::datafusion::common::Result<::std::sync::Arc<dyn ::datafusion::physical_plan::ExecutionPlan>> {
            use ::datafusion::physical_plan::execution_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions};

            self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
        }
    };
}

/// A node that is shown by its name alone.
macro_rules! shown_as {
    ($node:ty, $name:literal) => {
        impl ::datafusion::physical_plan::DisplayAs for $node {
            fn fmt_as(
                &self,
                _: ::datafusion::physical_plan::DisplayFormatType,
                f: &mut ::std::fmt::Formatter<'_>,
            ) -> ::std::fmt::Result {
                f.write_str($name)
            }
        }
    };
}

pub(super) use {shown_as, unary_node};
