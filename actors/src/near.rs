//! "Did you mean …?": names near to one that was not found. Pure.

/// How many names are offered at most.
const OFFERED: usize = 3;

/// The names most like `word`, the nearest first; none when nothing is near. `word` itself is none
/// of them: where it was not found, saying it again does not help.
pub fn nearest<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let sought = word.to_lowercase();
    let mut scored: Vec<(f64, &str)> = names
        .into_iter()
        .filter(|name| *name != word)
        .filter_map(|name| {
            let candidate = name.to_lowercase();
            let likeness = strsim::jaro_winkler(&sought, &candidate);
            let contained = sought.len() >= 3
                && (candidate.contains(&sought) || (candidate.len() >= 3 && sought.contains(&candidate)));
            (likeness > 0.8 || contained).then_some((likeness, name))
        })
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    scored.dedup_by(|a, b| a.1 == b.1);
    scored.into_iter().take(OFFERED).map(|(_, name)| name).collect()
}

/// A hint that offers `names`, or `None` when there is nothing to offer.
pub fn did_you_mean(names: &[&str]) -> Option<String> {
    (!names.is_empty()).then(|| format!("did you mean {}?", names.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_come_first_and_far_ones_not_at_all() {
        let names = ["customers", "orders", "order_lines", "payments"];
        assert_eq!(nearest("custmers", names), ["customers"]);
        assert_eq!(nearest("order", names), ["orders", "order_lines"]);
        assert_eq!(nearest("orders", names), ["order_lines"], "it was not found by that name");
        assert_eq!(nearest("Orders", names), ["orders", "order_lines"], "quoted, it is another name");
        assert_eq!(nearest("zzz", names), [] as [&str; 0]);
        assert_eq!(did_you_mean(&nearest("paymets", names)).as_deref(), Some("did you mean payments?"));
        assert_eq!(did_you_mean(&[]), None);
    }
}
