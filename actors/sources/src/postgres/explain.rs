//! Reads PostgreSQL's plans: the total cost, and the node with the highest cost of its own (PostgreSQL, §14.1).

use portico_sql::{StatementForm, statement_form};
use serde_json::Value;

use crate::statements::explain::{Estimate, Explain};

/// Asks for a plan as JSON.
pub(crate) static EXPLAIN: Explain = Explain { prefix: "EXPLAIN (FORMAT JSON) ", query, read };

fn query(statement: &str) -> Option<usize> {
    match statement_form(statement) {
        (StatementForm::Explain { query, runs, .. }, plain) => {
            // Where comments were left out, as many characters stand in their place, and not as many octets.
            let before = plain.as_deref().unwrap_or(statement).get(..query.start)?.chars().count();
            runs.then(|| statement.char_indices().nth(before).map_or(statement.len(), |(at, _)| at))
        }
        (StatementForm::Show(_), _) => None,
        _ => Some(0),
    }
}

/// Returns the total cost of a plan in JSON: the root node's cost precedes those of the other nodes.
pub(crate) fn root_cost(text: &str) -> Option<f64> {
    let (_, behind) = text.split_once("\"Total Cost\":")?;
    behind.split([',', '\n', '}']).next()?.trim().parse().ok()
}

fn read(rows: &[Vec<Option<String>>]) -> Option<Estimate> {
    let lines: Vec<&str> = rows.iter().filter_map(|row| row.first()?.as_deref()).collect();
    let text = lines.join("\n");
    let Ok(plans) = serde_json::from_str::<Value>(&text) else {
        let costliest = "its plan has too many steps below each other".to_owned();
        return root_cost(&text).map(|cost| Estimate { cost: Some(cost), costliest });
    };
    let root = plans.get(0)?.get("Plan")?;
    let mut costliest = (f64::MIN, root);
    let mut nodes = vec![root];
    while let Some(node) = nodes.pop() {
        let below = node.get("Plans").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let own = cost(node) - below.iter().map(cost).sum::<f64>();
        if own > costliest.0 {
            costliest = (own, node);
        }
        nodes.extend(below);
    }
    let (own, node) = costliest;
    let text = |member: &str| node.get(member).and_then(Value::as_str);
    let kind = text("Node Type").unwrap_or("a step");
    let of = text("Relation Name").or_else(|| text("Index Name")).map(|name| format!(" on {name}")).unwrap_or_default();
    let rows = node.get("Plan Rows").and_then(Value::as_f64).unwrap_or_default();
    let words =
        format!("the costliest step of its plan is {kind}{of}: cost {own:.0} of {:.0}, {rows:.0} rows", cost(root));
    Some(Estimate { cost: Some(cost(root)), costliest: words })
}

/// Returns the cost of a node including all nodes below it.
fn cost(node: &Value) -> f64 {
    node.get("Total Cost").and_then(Value::as_f64).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_costliest_node_is_the_one_that_costs_most_by_itself() {
        let plan = r#"[{"Plan": {"Node Type": "Sort", "Total Cost": 120.5, "Plan Rows": 10, "Plans": [
            {"Node Type": "Hash Join", "Total Cost": 119.0, "Plan Rows": 10, "Plans": [
                {"Node Type": "Seq Scan", "Relation Name": "orders", "Total Cost": 90.0, "Plan Rows": 5000},
                {"Node Type": "Hash", "Total Cost": 5.0, "Plan Rows": 3}]}]}}]"#;
        let estimate = read(&[vec![Some(plan.to_owned())]]).unwrap();
        assert_eq!(estimate.cost, Some(120.5));
        assert_eq!(
            estimate.costliest,
            "the costliest step of its plan is Seq Scan on orders: cost 90 of 120, 5000 rows"
        );
        assert_eq!(read(&[vec![Some("no plan".to_owned())]]), None);
    }
}
