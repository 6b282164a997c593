//! A statement's plan, as a driver asks its engine for it and reads the answer.

/// How an engine is asked for a plan.
#[derive(Debug)]
pub struct Explain {
    /// What stands in front of the statement.
    pub prefix: &'static str,
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
