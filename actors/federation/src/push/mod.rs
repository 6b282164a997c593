//! Pushes parts of a plan down to its sources. One pass over the optimised plan finds the largest parts that one
//! source can execute (`relations`), renders each as one SELECT (`select`, `expressions`), and replaces it by a
//! leaf with the same columns; the plan above does not change. What cannot be rendered stays with the engine.

mod expressions;
mod groups;
mod relations;
mod select;
mod shared;

pub(crate) use self::expressions::type_of;
pub(crate) use self::relations::Pushing;
pub(crate) use self::select::Select;
pub(crate) use self::shared::SharedGroups;
