//! A value at several places of a statement that groups: one parameter where PostgreSQL compares expressions by it, and
//! of the type of its place everywhere else.

use serde_json::json;

use super::parameters::{answer, on_postgres};
use crate::support::dice::{Random, cases};

/// Conditions on a row of `things`, with a string.
const CONDITIONS: &[&str] = &[
    "day >= $",
    "day::timestamp > $",
    "day::timestamptz < $",
    "name <> $",
    "name::char(20) <> $",
    "name || 'x' > $",
    "weight::text < $",
    "$ IS NOT NULL",
    "coalesce(day, $) > '2026-01-01'",
    "greatest(name, $) > 'a'",
    "to_jsonb(day) <> to_jsonb($::text)",
    "EXISTS (SELECT FROM things t WHERE t.day::timestamp = $ OR t.name = name || $ OR t.day > $)",
];
/// What is grouped by.
const GROUPED: &[&str] = &[
    "name || $",
    "day::text || $",
    "day::timestamp > $",
    "day >= $",
    "upper($)",
    "$::text",
    "coalesce(day, $)",
    "coalesce(name, $)",
    "left(name, 1) || $",
    "date_trunc('month', day::timestamp) > $",
];
const STRINGS: &[&str] = &["2026-02-28 10:00", "2026-01-31", "2026-01-31 10:00"];
/// What no literal says: what is sent, what it means, its values.
const OTHERS: &[(&str, &str, &str)] = &[
    ("doc IS DISTINCT FROM @k", "doc IS DISTINCT FROM '5'::jsonb", r#""k": 5"#),
    ("yes IS DISTINCT FROM @k", "yes IS DISTINCT FROM false", r#""k": 0"#),
    ("(@k = id OR doc IS DISTINCT FROM @k)", "(5 = id OR doc IS DISTINCT FROM '5'::jsonb)", r#""k": 5"#),
    ("id < @h + @i", "id < 7.5 + 8", r#""h": {"dataType": 12, "value": "7.5"}, "i": {"dataType": 8, "value": "8"}"#),
    ("id > round(@r)", "id > round(0.5)", r#""r": 0.5"#),
];

/// What is sent, and what it means.
type Written = (String, String);

struct Call {
    random: Random,
    /// Names, what their values are sent as, and the literals.
    values: Vec<(&'static str, String, String)>,
}

impl Call {
    fn new(random: Random) -> Self {
        let mut call = Self { random, values: Vec::new() };
        for name in ["a", "b"] {
            // Two names are two expressions, which two literals that are alike are not.
            let others: Vec<&str> = STRINGS
                .iter()
                .copied()
                .filter(|value| call.values.iter().all(|(.., known)| *known != format!("'{value}'")))
                .collect();
            let value = call.random.one(&others);
            // Clients say of each string that it is one.
            let sent = if call.random.once_in(2) { json!(value) } else { json!({"dataType": 5, "value": value}) };
            call.values.push((name, sent.to_string(), format!("'{value}'")));
        }
        call
    }

    fn place(&mut self, of: &[&str]) -> Written {
        let text = self.random.one(of);
        let (name, _, literal) = self.random.choose(&self.values);
        (text.replace('$', &format!("@{name}")), text.replace('$', literal))
    }

    fn statement(&mut self) -> (Written, String) {
        let grouped: Vec<Written> = (0..=self.random.below(2)).map(|_| self.place(GROUPED)).collect();
        let mut conditions: Vec<Written> = (0..=self.random.below(3)).map(|_| self.place(CONDITIONS)).collect();
        let is_used =
            |name: &str| grouped.iter().chain(&conditions).any(|(text, _)| text.contains(&format!("@{name}")));
        let used = self.values.iter().filter(|(name, ..)| is_used(name));
        let mut sent: Vec<String> = used.map(|(name, sent, _)| format!("\"{name}\": {sent}")).collect();
        if self.random.once_in(2) {
            let (text, meant, values) = self.random.choose(OTHERS);
            let at = self.random.below(conditions.len() + 1);
            conditions.insert(at, ((*text).to_owned(), (*meant).to_owned()));
            sent.push((*values).to_owned());
        }
        let form = self.random.below(6);
        let written = |side: fn(&Written) -> &str| {
            let grouped = grouped.iter().map(side).collect::<Vec<_>>().join(", ");
            let conditions = conditions.iter().map(side).collect::<Vec<_>>().join(" OR ");
            match form {
                0 => format!("SELECT DISTINCT {grouped}, id FROM things WHERE {conditions} ORDER BY {grouped}, id"),
                1 => format!(
                    "SELECT DISTINCT ON ({grouped}) id FROM things WHERE {conditions} ORDER BY {grouped}, id LIMIT 1"
                ),
                2 => format!(
                    "SELECT {grouped}, count(*), sum(id) FROM things WHERE {conditions} GROUP BY {grouped} \
                     ORDER BY {grouped} LIMIT 1"
                ),
                3 => format!(
                    "SELECT {grouped}, grouping({grouped}), count(*) FROM things WHERE {conditions} \
                     GROUP BY ROLLUP ({grouped}) HAVING count(*) < 9 ORDER BY {grouped}, 3 LIMIT 2"
                ),
                4 => format!(
                    "SELECT count(*), {grouped}, name FROM things WHERE {conditions} \
                     GROUP BY GROUPING SETS (({grouped}, name), (name), ()) ORDER BY {grouped}, name LIMIT 2 OFFSET 1"
                ),
                _ => format!(
                    "WITH g AS (SELECT {grouped}, min(id) AS n FROM things GROUP BY {grouped}), \
                     u AS (UPDATE things SET name = name FROM g WHERE id = g.n AND ({conditions}) RETURNING id) \
                     SELECT count(*), sum(id) FROM u"
                ),
            }
        };
        ((written(|(sent, _)| sent), written(|(_, meant)| meant)), format!("{{{}}}", sent.join(", ")))
    }
}

#[actix_web::test]
async fn a_value_that_is_grouped_by_has_the_types_of_its_other_places() {
    let app = on_postgres().await;
    let random = Random::seeded("values that are grouped by");
    let (mut wrong, mut compared) = (Vec::new(), 0);
    let cases = cases(150);
    for place in 0..cases {
        let ((query, meant), values) = Call::new(random.clone().apart(place)).statement();
        let expected = answer(&app, &meant, "{}").await;
        if expected.contains("\"error\"") {
            continue;
        }
        compared += 1;
        let got = answer(&app, &query, &values).await;
        if got != expected {
            wrong.push(format!("{query} with {values}\n  got      {got}\n  expected {expected}\n  of {meant}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {compared} differ:\n{}", wrong.len(), wrong.join("\n"));
    assert!(compared * 3 > cases, "only {compared} of {cases} could be compared");
}
