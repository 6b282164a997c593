//! A statement's plan, as a driver asks its engine for it and reads the answer.

/// How an engine is asked for a plan.
#[derive(Debug)]
pub struct Explain {
    /// What stands in front of the query.
    pub prefix: &'static str,
    /// Where the query begins that a statement runs, in bytes; `None` where it runs none, as an EXPLAIN that only plans.
    pub query: fn(&str) -> Option<usize>,
    /// Reads the rows of the answer, as texts.
    pub read: fn(&[Vec<Option<String>>]) -> Option<Estimate>,
}

/// What a plan tells.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimate {
    /// What it costs altogether, in the engine's own units; absent where it knows none.
    pub cost: Option<f64>,
    /// The step that costs most, in words.
    pub costliest: String,
}
