//! "Did you mean …?": finds names similar to one that was not found. Pure.

/// The maximal number of names to suggest.
const OFFERED: usize = 3;

/// Returns the names most similar to `word`, the nearest first; empty if there are none. `word` itself is left out:
/// it was not found, so suggesting it does not help.
pub fn nearest<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let sought = start(word).to_lowercase();
    let mut scored: Vec<(f64, &str)> = names
        .into_iter()
        .filter(|name| *name != word)
        .filter_map(|name| {
            let candidate = start(name).to_lowercase();
            let likeness = strsim::jaro_winkler(&sought, &candidate);
            if has_words(&candidate, &sought) {
                return Some((likeness.max(AS_WORDS), name));
            }
            let contained = (sought.len() >= 3 && 2 * sought.len() >= candidate.len() && candidate.contains(&sought))
                || (candidate.len() >= 3 && sought.contains(&candidate));
            (likeness > 0.8 || contained).then_some((likeness, name))
        })
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    scored.dedup_by(|a, b| a.1 == b.1);
    scored.into_iter().take(OFFERED).map(|(_, name)| name).collect()
}

/// How near a name is that contains what was sought as words of its own.
const AS_WORDS: f64 = 0.95;

/// Whether `name` contains `sought`, in the singular or not, between its beginning, its end, and what separates words.
fn has_words(name: &str, sought: &str) -> bool {
    let singular = sought.strip_suffix('s').unwrap_or(sought);
    [sought, singular].into_iter().filter(|words| words.len() >= 4).any(|words| {
        name.match_indices(words).any(|(at, _)| {
            let is_edge = |beside: Option<char>| beside.is_none_or(|beside| !beside.is_alphanumeric());
            let (before, behind) = name.split_at(at);
            let behind = behind.get(words.len()..).unwrap_or_default();
            is_edge(before.chars().next_back()) && is_edge(behind.chars().next())
        })
    })
}

/// Returns the qualified names most similar to one that was not found, the nearest first: first those with `name`
/// in another schema, then those with a similar name. Among equal names, those in `schema` or in a similar one come
/// first. `schema` is where the name was looked up, if known.
pub fn nearest_qualified<'a>(
    schema: Option<&str>,
    name: &str,
    known: &[(&'a str, &'a str)],
) -> Vec<(&'a str, &'a str)> {
    let like = nearest(name, known.iter().map(|(_, name)| *name));
    let rank = |candidate: &str| {
        if candidate == name { Some(0) } else { like.iter().position(|near| *near == candidate).map(|at| at + 1) }
    };
    let schema_start = schema.map(start);
    let distance =
        |candidate: &str| schema_start.map_or(0.0, |schema| 1.0 - strsim::jaro_winkler(schema, start(candidate)));
    let mut ranked: Vec<(usize, f64, (&str, &str))> = known
        .iter()
        .filter(|(in_schema, candidate)| *candidate != name || Some(*in_schema) != schema)
        .filter_map(|known| Some((rank(known.1)?, distance(known.0), *known)))
        .collect();
    ranked.sort_by(|a, b| a.0.cmp(&b.0).then_with(|| a.1.total_cmp(&b.1)).then_with(|| a.2.cmp(&b.2)));
    ranked.dedup_by(|a, b| a.2 == b.2);
    ranked.into_iter().take(OFFERED).map(|(.., known)| known).collect()
}

/// The number of bytes of a name that are compared: a client's text can have megabytes, and is compared with every
/// name.
const COMPARED: usize = 256;

fn start(name: &str) -> &str {
    name.get(..name.floor_char_boundary(COMPARED)).unwrap_or(name)
}

/// Returns a hint that suggests `names`; `None` if there are none.
pub fn did_you_mean(names: &[impl AsRef<str>]) -> Option<String> {
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    (!names.is_empty()).then(|| format!("did you mean {}?", names.join(", ")))
}

/// Returns a hint that suggests the names most similar to `word`; `None` if there are none.
pub fn suggestion<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> Option<String> {
    did_you_mean(&nearest(word, names))
}

/// Returns a hint that suggests the names most similar to `word`. If there are none, it lists `names` behind `title`.
pub fn suggestion_or_list(word: &str, title: &str, names: &[impl AsRef<str>]) -> String {
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    suggestion(word, names.iter().copied()).unwrap_or_else(|| format!("{title}{}", names.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_in_another_schema_comes_before_one_like_it() {
        let known = [
            ("archive", "customers"),
            ("other", "invoices"),
            ("other", "customers"),
            ("public", "customers"),
            ("public", "customers"),
            ("public", "orders"),
        ];
        for (schema, name, first) in [
            (Some("public"), "invoices", Some(("other", "invoices"))),
            (None, "invoices", Some(("other", "invoices"))),
            (Some("public"), "invoice", Some(("other", "invoices"))),
            (Some("publik"), "customers", Some(("public", "customers"))),
            (Some("public"), "custmers", Some(("public", "customers"))),
            (Some("archive"), "custmers", Some(("archive", "customers"))),
            (Some("public"), "orders", None),
            (Some("public"), "zzz", None),
        ] {
            assert_eq!(nearest_qualified(schema, name, &known).first().copied(), first, "{schema:?} {name}");
        }
        assert_eq!(nearest_qualified(Some("public"), "custmers", &known).len(), 3, "each of them once");
    }

    #[test]
    fn near_names_come_first_and_far_ones_not_at_all() {
        let names = ["customers", "orders", "order_lines", "payments"];
        assert_eq!(nearest("custmers", names), ["customers"]);
        assert_eq!(nearest("order", names), ["orders", "order_lines"]);
        assert_eq!(nearest("orders", names), ["order_lines"], "it was not found by that name");
        assert_eq!(nearest("Orders", names), ["orders", "order_lines"], "quoted, it is another name");
        assert_eq!(nearest("zzz", names), [] as [&str; 0]);
        let others = ["sales_set_status", "erp_sales_stats", "Do It Now", "tbl_2024_invoice", "voice"];
        assert_eq!(nearest("sales_stats", others).first(), Some(&"erp_sales_stats"));
        assert_eq!(nearest("invoices", others).first(), Some(&"tbl_2024_invoice"));
        assert_eq!(nearest("now", others), [] as [&str; 0]);
        assert_eq!(suggestion("paymets", names).as_deref(), Some("did you mean payments?"));
        assert_eq!(did_you_mean(&[] as &[&str]), None);
        assert_eq!(suggestion_or_list("paymets", "tables: ", &names), "did you mean payments?");
        assert_eq!(suggestion_or_list("zzz", "tables: ", &names[..2]), "tables: customers, orders");
    }

    #[test]
    fn of_a_long_text_its_beginning_is_compared() {
        let long = "customers".to_owned() + &"é".repeat(2_000_000);
        assert_eq!(nearest(&long, ["customers", "orders"]), ["customers"]);
        assert!(nearest(&("é".repeat(2_000_000) + "customers"), ["customers"]).is_empty());
    }
}
