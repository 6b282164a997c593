//! Relations of the catalogue, what they belong to, and whether callers may name them.

use std::collections::{HashMap, HashSet};

use tokio_postgres::Client;
use tokio_postgres::types::{Oid, Type};

use crate::Exposure;
use crate::postgres::session::internal_query::{ask, get};
use crate::postgres::walls::refusal::by_number;
use portico_core::error::{Error, Result};

/// Types whose values name objects of the catalogue, by their fixed OIDs: regproc, regprocedure, regoper,
/// regoperator, regclass, regtype, regcollation, regnamespace and regrole; and aclitem, which names roles. Text
/// search configurations and dictionaries (regconfig, regdictionary) are left out: they are never hidden.
pub(crate) const NAMING_TYPES: [Oid; 10] = [24, 2202, 2203, 2204, REGCLASS, REGTYPE, 4191, 4089, 4096, 1033];

pub(crate) const REGCLASS: Oid = 2205;
pub(crate) const REGTYPE: Oid = 2206;

/// Whether this is the name of one of [`NAMING_TYPES`].
pub(crate) fn is_naming_type(name: &str) -> bool {
    NAMING_TYPES.iter().any(|oid| Type::from_oid(*oid).is_some_and(|type_| type_.name() == name))
}

/// The OID of the multirange type of a `pg_range r`; servers before 14 have none.
const MULTIRANGE: &str = "(pg_catalog.to_jsonb(r) OPERATOR(pg_catalog.->>) 'rngmultitypid')::pg_catalog.oid";

/// A part of a query: `held (asked, oid)`, the types that values of the types `asked` contain, including
/// themselves: elements, base types of domains and ranges, and columns. `begin` selects each requested type twice.
pub(crate) fn held(begin: &str) -> String {
    format!(
        "held (asked, oid) AS (
    {begin}
    UNION
    SELECT h.asked, u.oid FROM held h JOIN pg_catalog.pg_type t ON t.oid = h.oid CROSS JOIN LATERAL (
        SELECT t.typelem WHERE t.typelem <> 0
        UNION ALL SELECT t.typbasetype WHERE t.typbasetype <> 0
        UNION ALL SELECT r.rngsubtype FROM pg_catalog.pg_range r
            WHERE t.typtype IN ('r', 'm') AND t.oid IN (r.rngtypid, {MULTIRANGE})
        UNION ALL SELECT a.atttypid FROM pg_catalog.pg_attribute a
            WHERE t.typrelid <> 0 AND a.attrelid = t.typrelid AND a.attnum > 0 AND NOT a.attisdropped
    ) AS u (oid)
)"
    )
}

/// A relation and what it belongs to: its parents, the table of an index, of a TOAST table and of a sequence that a
/// column owns.
const RELATIONS: &str = "\
WITH RECURSIVE belongs (asked, oid, step) AS (
    SELECT o, o, 0 FROM pg_catalog.unnest($1::pg_catalog.oid[]) AS o
    UNION
    SELECT b.asked, u.oid, b.step + 1 FROM belongs b CROSS JOIN LATERAL (
        SELECT i.inhparent FROM pg_catalog.pg_inherits i WHERE i.inhrelid = b.oid
        UNION ALL SELECT x.indrelid FROM pg_catalog.pg_index x WHERE x.indexrelid = b.oid
        UNION ALL SELECT t.oid FROM pg_catalog.pg_class t WHERE t.reltoastrelid = b.oid
            AND (SELECT k.relkind FROM pg_catalog.pg_class k WHERE k.oid = b.oid) = 't'
        UNION ALL SELECT d.refobjid FROM pg_catalog.pg_depend d
            WHERE d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass AND d.objid = b.oid
                AND d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass AND d.deptype IN ('a', 'i')
                AND EXISTS (SELECT FROM pg_catalog.pg_class s WHERE s.oid = b.oid AND s.relkind = 'S')
    ) AS u (oid) WHERE b.step < 32
)
SELECT b.asked, b.step, n.nspname::text, c.relname::text, c.relkind::text, n.oid = pg_catalog.pg_my_temp_schema()
FROM belongs b
LEFT JOIN pg_catalog.pg_class c ON c.oid = b.oid
LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
ORDER BY b.asked, b.step";

/// A part of a query: `naming (oid)`, the types `$1` and all that contain them: arrays, domains, ranges and row
/// types.
pub(crate) fn naming() -> String {
    format!(
        "naming (oid) AS (
    SELECT o FROM pg_catalog.unnest($1::pg_catalog.oid[]) AS o
    UNION
    SELECT e.whole FROM naming g JOIN (
        SELECT t.typelem, t.oid FROM pg_catalog.pg_type t WHERE t.typelem <> 0
        UNION ALL SELECT t.typbasetype, t.oid FROM pg_catalog.pg_type t WHERE t.typbasetype <> 0
        UNION ALL SELECT r.rngsubtype, r.rngtypid FROM pg_catalog.pg_range r
        UNION ALL SELECT r.rngsubtype, {MULTIRANGE} FROM pg_catalog.pg_range r
        UNION ALL SELECT a.atttypid, c.reltype
            FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_class c ON c.oid = a.attrelid
            WHERE c.reltype <> 0 AND a.attnum > 0 AND NOT a.attisdropped
    ) AS e (part, whole) ON e.part = g.oid
)"
    )
}

/// The query for the names of user-defined types whose values may name objects, as those of `$1` do.
pub(crate) fn naming_types_query() -> String {
    format!(
        "WITH RECURSIVE {}
SELECT DISTINCT t.typname::text FROM naming g JOIN pg_catalog.pg_type t ON t.oid = g.oid
JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace
WHERE n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'",
        naming()
    )
}

/// Whether `schema` is one of the server's own.
pub(crate) fn is_system(schema: &str) -> bool {
    schema == "information_schema" || schema.starts_with("pg_")
}

/// Returns the relations with these OIDs, each with what it belongs to.
pub(crate) async fn belongings(client: &Client, asked: Vec<Oid>) -> Result<HashMap<Oid, Belonging>> {
    let mut found: HashMap<Oid, Belonging> = HashMap::new();
    for row in &ask(client, RELATIONS, &[(&asked, Type::OID_ARRAY)]).await? {
        let relation = Relation {
            schema: get::<Option<String>>(row, 2)?.unwrap_or_default(),
            name: get::<Option<String>>(row, 3)?.unwrap_or_default(),
            composite: get::<Option<String>>(row, 4)?.is_some_and(|kind| kind == "c"),
            temporary: get::<Option<bool>>(row, 5)?.unwrap_or(false),
        };
        found.entry(get(row, 0)?).or_default().0.push(relation);
    }
    Ok(found)
}

/// Relations that callers do not see, each with its schema.
pub(crate) type HiddenTables = HashSet<(String, String)>;

/// Tables that inherit from others, partitions among them.
const CHILDREN: &str = "SELECT DISTINCT i.inhrelid FROM pg_catalog.pg_inherits i \
    JOIN pg_catalog.pg_class c ON c.oid = i.inhrelid WHERE c.relkind IN ('r', 'p', 'f')";

/// Returns the tables that `exposure` shows by their own names but that are hidden all the same, because what they
/// inherit from is hidden; each with its schema.
pub(crate) async fn hidden_children(client: &Client, exposure: &Exposure) -> Result<HiddenTables> {
    let rows = ask(client, CHILDREN, &[]).await?;
    let children: Vec<Oid> = rows.iter().map(|row| get(row, 0)).collect::<Result<_>>()?;
    if children.is_empty() {
        return Ok(HiddenTables::new());
    }
    let hidden = belongings(client, children).await?.into_values().filter(|belonging| !belonging.is_shown(exposure));
    Ok(hidden.filter_map(|belonging| belonging.0.into_iter().next()).map(|it| (it.schema, it.name)).collect())
}

/// A relation by name.
#[derive(Debug)]
pub(crate) struct Relation {
    pub(crate) schema: String,
    pub(crate) name: String,
    /// A composite type of its own, which the lists do not name.
    pub(crate) composite: bool,
    /// Made by the caller on this very session.
    pub(crate) temporary: bool,
}

/// A relation, followed by what it belongs to.
#[derive(Debug, Default)]
pub(crate) struct Belonging(pub(crate) Vec<Relation>);

impl Belonging {
    /// Returns true if callers may name it: nothing that it belongs to is hidden, and one of them is shown.
    pub(crate) fn is_shown(&self, exposure: &Exposure) -> bool {
        let mut shown = false;
        for relation in &self.0 {
            if relation.temporary {
                return true;
            }
            match relation.schema.as_str() {
                // What belongs to a table may be there.
                "pg_toast" => {}
                "" | "pg_catalog" | "information_schema" => return false,
                schema if schema.starts_with("pg_temp_") || schema.starts_with("pg_toast_temp_") => return false,
                schema if exposure.hides_table(schema, &relation.name) => return false,
                schema if relation.composite => shown |= exposure.shows_schema(schema),
                schema => shown |= exposure.shows_table(schema, &relation.name),
            }
        }
        shown
    }

    /// The refusal of a relation that callers may not name.
    pub(crate) fn refusal(&self) -> Error {
        match self.0.first() {
            Some(Relation { schema, name, .. }) if is_system(schema) => {
                Error::not_found(format!("relation \"{schema}.{name}\" does not exist"))
                    .sqlstate("42P01")
                    .hint("the catalogue is not shown on this connection: use get_tables, get_columns and the other metadata tools, or the metadata endpoints of the SQL API")
                    .judged()
            }
            _ => by_number(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_type_that_names_objects_is_known_by_its_name() {
        let names =
            "regproc regprocedure regoper regoperator regclass regtype regcollation regnamespace regrole aclitem";
        assert_eq!(names.split(' ').filter(|name| is_naming_type(name)).count(), NAMING_TYPES.len());
        assert!(!is_naming_type("regconfig") && !is_naming_type("regdictionary") && !is_naming_type("text"));
    }
}
