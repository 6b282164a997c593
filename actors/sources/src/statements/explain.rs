//! A statement's plan, as a driver asks its engine for it and reads the answer.

/// How an engine is asked for a plan.
#[derive(Debug)]
pub struct Explain {
    /// The text before the query.
    pub prefix: &'static str,
    /// Returns the start of the query that a statement runs, in bytes; `None` if it runs none, as an EXPLAIN that
    /// only plans.
    pub query: fn(&str) -> Option<usize>,
    /// Reads the rows of the answer, as texts.
    pub read: fn(&[Vec<Option<String>>]) -> Option<Estimate>,
}

/// The estimates of a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimate {
    /// The total cost, in the database's own units; absent if it has none.
    pub cost: Option<f64>,
    /// The step that costs most, in words.
    pub costliest: String,
}
