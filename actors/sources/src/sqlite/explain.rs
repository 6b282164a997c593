//! SQLite's plans: it knows no costs, but says which tables are read as a whole (eqp.html).

use crate::statements::explain::{Estimate, Explain};

/// Asks for a plan.
pub(crate) static EXPLAIN: Explain = Explain { prefix: "EXPLAIN QUERY PLAN ", query: |_| Some(0), read };

/// The place of a line's words behind its numbers.
const DETAIL: usize = 3;

fn read(rows: &[Vec<Option<String>>]) -> Option<Estimate> {
    let details: Vec<&str> = rows.iter().filter_map(|row| row.get(DETAIL)?.as_deref()).collect();
    let scans: Vec<&str> = details.iter().filter(|detail| detail.starts_with("SCAN ")).copied().collect();
    let costliest = match scans.as_slice() {
        [] => format!("its plan begins with {}", details.first()?),
        scans => format!("its plan reads without an index: {}", scans.join(", ")),
    };
    Some(Estimate { cost: None, costliest })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_without_an_index_is_told() {
        let line = |detail: &str| vec![Some("2".to_owned()), Some("0".to_owned()), None, Some(detail.to_owned())];
        let told = |lines: &[&str]| read(&lines.iter().map(|detail| line(detail)).collect::<Vec<_>>());
        let both = told(&["SCAN o", "SEARCH c USING INTEGER PRIMARY KEY (rowid=?)"]).unwrap();
        assert_eq!((both.cost, both.costliest.as_str()), (None, "its plan reads without an index: SCAN o"));
        assert_eq!(told(&["SEARCH c"]).unwrap().costliest, "its plan begins with SEARCH c");
        assert_eq!(told(&[]), None);
    }
}
