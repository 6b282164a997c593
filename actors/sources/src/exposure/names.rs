//! Decides which schemas, tables and procedures of a source are exposed to callers, by the administrator's lists.
//! They are enforced in `exposure/source`.

use std::sync::Arc;

use portico_core::pattern;
use portico_core::workspace::{Asset, Workspace};

/// What is exposed to callers: everything, unless lists restrict it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exposure {
    /// Schemas.
    pub schemas: Names,
    /// Tables and views, by `table` or `schema.table`.
    pub tables: Names,
    /// Procedures and functions, by `procedure` or `schema.procedure`.
    pub procedures: Names,
    /// A further exposure that must show the object too.
    pub within: Option<Arc<Exposure>>,
}

/// Names, or patterns in which `%` matches anything, in any case. `_` is literal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    /// What is shown; `None` shows everything, an empty list nothing.
    pub shown: Option<Vec<String>>,
    /// What is hidden, even if it is shown.
    pub hidden: Vec<String>,
}

impl Names {
    /// Whether every name passes.
    pub fn pass_all(&self) -> bool {
        let all_shown = self.shown.as_ref().is_none_or(|shown| shown.iter().any(|pattern| pattern == "%"));
        all_shown && self.hidden.is_empty()
    }

    /// Returns true if every name in `schema` passes, as far as that can be decided without the names.
    fn pass_all_of(&self, schema: &str) -> bool {
        // A pattern with a literal schema in front applies to that schema alone.
        let schema_of = |pattern: &String| {
            let (schema, rest) = pattern.split_once('.')?;
            (!schema.contains(['%', '\\'])).then(|| (schema.to_owned(), rest.to_owned()))
        };
        let all = |pattern: &String| {
            pattern == "%"
                || schema_of(pattern).is_some_and(|(named, rest)| named.eq_ignore_ascii_case(schema) && rest == "%")
        };
        let other = |pattern: &String| schema_of(pattern).is_some_and(|(named, _)| !named.eq_ignore_ascii_case(schema));
        self.shown.as_ref().is_none_or(|shown| shown.iter().any(all)) && self.hidden.iter().all(other)
    }

    fn pass(&self, schema: Option<&str>, name: &str) -> bool {
        self.shown.as_ref().is_none_or(|shown| any_fits(shown, schema, name)) && !self.hides(schema, name)
    }

    fn hides(&self, schema: Option<&str>, name: &str) -> bool {
        any_fits(&self.hidden, schema, name)
    }
}

fn any_fits(entries: &[String], schema: Option<&str>, name: &str) -> bool {
    entries.iter().any(|entry| speaks_of(entry, schema, name))
}

/// Returns true if an entry of a list matches `name`, which is in `schema` unless it is a schema itself.
pub fn speaks_of(entry: &str, schema: Option<&str>, name: &str) -> bool {
    // Only an entry with a dot speaks of the schema.
    let qualified = || schema.is_some_and(|schema| pattern::speaks_of(entry, &format!("{schema}.{name}")));
    pattern::speaks_of(entry, name) || (entry.contains('.') && qualified())
}

impl Exposure {
    /// Makes the exposure of exactly what `workspace` contains of the connection of that name.
    pub fn of_workspace(workspace: &Workspace, connection: &str) -> Self {
        let (mut schemas, mut tables, mut procedures) = (Vec::new(), Vec::new(), Vec::new());
        for asset in workspace.assets.iter().filter(|asset| asset.connection().eq_ignore_ascii_case(connection)) {
            schemas.push(asset.schema().to_owned());
            match asset {
                Asset::Table { schema, table, .. } => tables.push(format!("{schema}.{table}")),
                Asset::Procedure { schema, name, .. } => procedures.push(format!("{schema}.{name}")),
            }
        }
        let only = |shown: Vec<String>| Names { shown: Some(shown), hidden: Vec::new() };
        Self { schemas: only(schemas), tables: only(tables), procedures: only(procedures), within: None }
    }

    /// Restricts `other` to what this exposure shows.
    #[must_use]
    pub fn intersection(self: &Arc<Self>, other: &Self) -> Self {
        if self.is_everything() { other.clone() } else { Self { within: Some(Arc::clone(self)), ..other.clone() } }
    }

    /// Returns true if the condition holds for both, if there is a second exposure.
    fn both(&self, says: impl Fn(&Self) -> bool) -> bool {
        says(self) && self.within.as_deref().is_none_or(says)
    }

    /// Returns true if nothing is hidden.
    pub fn is_everything(&self) -> bool {
        self.both(|it| it.schemas.pass_all() && it.tables.pass_all() && it.procedures.pass_all())
    }

    /// Returns true if the schema is exposed.
    pub fn shows_schema(&self, schema: &str) -> bool {
        self.both(|it| it.schemas.pass(None, schema))
    }

    /// Returns true if the table or view is exposed.
    pub fn shows_table(&self, schema: &str, table: &str) -> bool {
        self.shows_schema(schema) && self.both(|it| it.tables.pass(Some(schema), table))
    }

    /// Whether the lists hide this table or view by its own name, or by its schema's.
    pub fn hides_table(&self, schema: &str, table: &str) -> bool {
        !self.both(|it| !(it.schemas.hides(None, schema) || it.tables.hides(Some(schema), table)))
    }

    /// Returns true if the administrator's list of shown procedures names this procedure or function.
    pub fn names_procedure(&self, schema: &str, procedure: &str) -> bool {
        self.procedures.shown.is_some() && self.shows_procedure(schema, procedure)
    }

    /// Returns true if every table of `schema`, whatever its name, is exposed.
    pub fn shows_every_table(&self, schema: &str) -> bool {
        self.shows_schema(schema) && self.both(|it| it.tables.pass_all_of(schema))
    }

    /// Returns true if every procedure and function of `schema`, whatever its name, is exposed.
    pub fn shows_every_procedure(&self, schema: &str) -> bool {
        self.shows_schema(schema) && self.both(|it| it.procedures.pass_all_of(schema))
    }

    /// Returns true if the procedure or function is exposed.
    pub fn shows_procedure(&self, schema: &str, procedure: &str) -> bool {
        self.shows_schema(schema) && self.both(|it| it.procedures.pass(Some(schema), procedure))
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
            within: None,
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

    #[test]
    fn a_schema_shows_every_name_only_where_no_list_could_hide_one() {
        let every = |shown, hidden: &[&str], schema| {
            let tables = names(shown, hidden);
            Exposure { tables, ..Exposure::default() }.shows_every_table(schema)
        };
        assert!(every(None, &[], "public") && every(Some(&["%"]), &[], "public"));
        assert!(every(Some(&["Public.%"]), &[], "public") && !every(Some(&["public.%"]), &[], "crm"));
        assert!(every(None, &["audit.%"], "public") && !every(None, &["audit.log"], "audit"));
        assert!(!every(None, &["secret"], "public") && !every(Some(&["o%"]), &[], "public"));
        assert!(
            !every(None, &["a%dit.%"], "audit")
                && every(None, &["a_dit.%"], "audit")
                && !every(Some(&[]), &[], "public")
        );
    }
}
