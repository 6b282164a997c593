//! Which schemas, tables and procedures of a source exist for callers: the administrator's lists,
//! and what they say of a name. How they are kept is in `exposed`.

use crate::pattern;

/// What exists for callers. Everything, unless lists say otherwise.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exposure {
    /// Schemas.
    pub schemas: Names,
    /// Tables and views, by `table` or `schema.table`.
    pub tables: Names,
    /// Procedures and functions, by `procedure` or `schema.procedure`.
    pub procedures: Names,
}

/// Names, or patterns in which `%` stands for anything, in any case. `_` is itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    /// What is shown; `None` shows all, an empty list nothing.
    pub shown: Option<Vec<String>>,
    /// What is hidden, also of what is shown.
    pub hidden: Vec<String>,
}

impl Names {
    /// Whether every name passes.
    pub fn pass_all(&self) -> bool {
        let all_shown = self.shown.as_ref().is_none_or(|shown| shown.iter().any(|pattern| pattern == "%"));
        all_shown && self.hidden.is_empty()
    }

    fn pass(&self, schema: Option<&str>, name: &str) -> bool {
        let fits = |entry: &String| speaks_of(entry, schema, name);
        self.shown.as_ref().is_none_or(|shown| shown.iter().any(fits)) && !self.hidden.iter().any(fits)
    }
}

/// Whether the entry of a list speaks of `name`, which is in `schema` if it is no schema itself.
pub fn speaks_of(entry: &str, schema: Option<&str>, name: &str) -> bool {
    // Only an entry with a dot speaks of the schema.
    let qualified = || schema.is_some_and(|schema| pattern::speaks_of(entry, &format!("{schema}.{name}")));
    pattern::speaks_of(entry, name) || (entry.contains('.') && qualified())
}

impl Exposure {
    /// Whether nothing is hidden.
    pub fn is_everything(&self) -> bool {
        self.schemas.pass_all() && self.tables.pass_all() && self.procedures.pass_all()
    }

    /// Whether there is such a schema for callers.
    pub fn shows_schema(&self, schema: &str) -> bool {
        self.schemas.pass(None, schema)
    }

    /// Whether there is such a table or view for callers.
    pub fn shows_table(&self, schema: &str, table: &str) -> bool {
        self.shows_schema(schema) && self.tables.pass(Some(schema), table)
    }

    /// Whether there is such a procedure or function for callers.
    pub fn shows_procedure(&self, schema: &str, procedure: &str) -> bool {
        self.shows_schema(schema) && self.procedures.pass(Some(schema), procedure)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(shown: Option<&[&str]>, hidden: &[&str]) -> Names {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Names { shown: shown.map(owned), hidden: owned(hidden) }
    }

    #[test]
    fn what_is_hidden_is_hidden_also_when_it_is_shown() {
        let exposure = Exposure {
            schemas: names(None, &["audit"]),
            tables: names(Some(&["order%", "crm.people", "pub_x"]), &["%_secret", "old.orders"]),
            procedures: names(Some(&[]), &[]),
        };
        for (schema, table, expected) in [
            ("public", "orders", true),
            ("public", "ORDERS", true),
            ("old", "orders", false),
            ("audit", "orders", false),
            ("public", "order_secret", false),
            ("public", "people", false),
            ("crm", "people", true),
            ("public", "pub_x", true),
            ("public", "pubax", false),
            ("public", "order1secret", true),
        ] {
            assert_eq!(exposure.shows_table(schema, table), expected, "{schema}.{table}");
        }
        assert!(!exposure.shows_procedure("public", "any"), "an empty list shows nothing");
        assert!(Exposure::default().is_everything() && !exposure.is_everything());
    }

    #[test]
    fn a_pattern_for_every_name_hides_nothing() {
        let everything = |shown, hidden| {
            let tables = names(Some(shown), hidden);
            Exposure { tables, ..Exposure::default() }.is_everything()
        };
        assert!(everything(&["orders", "%"], &[]));
        assert!(!everything(&["%"], &["orders"]) && !everything(&["%_"], &[]) && !everything(&[], &[]));
    }
}
