//! Budgets, and what is said where one is not kept.

use std::io::Write;

use super::caller::Scenario;

/// The part of a budget that has to be used: one that is far above what is measured notices nothing.
const USED: f64 = 0.7;

/// What was measured, each beside its budget.
pub(crate) struct Report {
    /// Where the budgets stand.
    place: &'static str,
    /// A line for each scenario.
    said: Vec<(&'static str, String)>,
    broken: Vec<String>,
}

impl Report {
    pub(crate) const fn new(place: &'static str) -> Self {
        Self { place, said: Vec::new(), broken: Vec::new() }
    }

    /// Compares what one call cost, on the average, with its budget: more breaks it, and so does far less.
    pub(crate) fn compare(&mut self, scenario: Scenario, what: &str, measured: f64, budget: f64) {
        self.bound(scenario, what, measured, budget);
        if measured < budget * USED {
            let place = self.place;
            let name = scenario.name();
            self.broken.push(format!(
                "one {name}: {what}: {measured:.2}, far below its budget of {budget}; lower that in {place}, or it notices nothing"
            ));
        }
    }

    /// The same of what may be less: how calls fall together in time decides it too.
    pub(crate) fn bound(&mut self, scenario: Scenario, what: &str, measured: f64, budget: f64) {
        let (place, name) = (self.place, scenario.name());
        let words = format!("{what} {measured:.2} of {budget}");
        match self.said.last_mut() {
            Some((of, said)) if *of == name => said.push_str(&format!(", {words}")),
            _ => self.said.push((name, words)),
        }
        if measured > budget {
            self.broken.push(format!(
                "one {name}: {what}: {measured:.2}, over its budget of {budget}; find what asks for more or, where that is \
                 worth it, raise the budget in {place}"
            ));
        }
    }

    /// Says what was measured, also where all is well, and fails where a budget is not kept.
    pub(crate) fn close(self) {
        for (name, words) in self.said {
            say(&format!("one {name}: {words}"));
        }
        assert!(self.broken.is_empty(), "{}", self.broken.join("\n"));
    }
}

/// Writes a line for people. What a test prints is shown only where it fails.
pub(crate) fn say(words: &str) {
    std::io::stderr().write_all(format!("{words}\n").as_bytes()).unwrap();
}

#[test]
fn a_budget_that_is_broken_or_far_too_large_fails() {
    let broken = |compare: fn(&mut Report, Scenario, &str, f64, f64), measured, budget| {
        let mut report = Report::new("here");
        compare(&mut report, Scenario::ToolsList, "allocations", measured, budget);
        report.broken.join("\n")
    };
    assert_eq!(broken(Report::compare, 10.0, 11.0), "");
    assert!(broken(Report::compare, 11.01, 11.0).contains("over its budget of 11; "));
    assert!(broken(Report::compare, 7.0, 11.0).contains("lower that in here"));
    assert!(broken(Report::compare, 0.0, 11.0).contains("lower that in here"));
    assert_eq!(broken(Report::bound, 0.0, 1.0), "");
    assert!(broken(Report::bound, 1.01, 1.0).contains("raise the budget in here"));
}
