//! Creates what is exposed of a file's schema in an empty database: names and columns, and nothing computed. What
//! cannot be created there is missing there, and so is refused.

use rusqlite::Connection;

use crate::sqlite::schema::lossy;
use crate::sqlite::walls::hidden_objects::{HiddenObjects, Object, ObjectKind};
use portico_sql::Dialect;

/// Virtual tables that are there without being made, and that read their arguments alone.
pub(crate) const MODULES: &[&str] = &["json_each", "json_tree", "jsonb_each", "jsonb_tree"];

/// Creates in `visible_schema` what is exposed of `objects`, the schema of `file`.
///
/// # Errors
/// SQLite's error for an object that must be created or dropped.
pub(crate) fn create(
    file: &Connection,
    visible_schema: &Connection,
    objects: &[Object],
    hiding: &HiddenObjects,
) -> rusqlite::Result<()> {
    let creation = Creation { file, visible_schema, objects, hiding };
    let tables = || creation.objects(ObjectKind::Table, true);
    visible_schema.execute_batch("BEGIN")?;
    for table in tables().filter(|table| !hiding.behind.has(&table.name)) {
        creation.create_table(table);
    }
    creation.create_virtual_tables()?;
    // Most are made with the virtual table that they belong to.
    for table in tables().filter(|table| hiding.behind.has(&table.name)) {
        creation.run(&table.sql);
    }
    for view in creation.objects(ObjectKind::View, true) {
        creation.create_view(view);
    }
    for index in creation.objects(ObjectKind::Index, true) {
        creation.run(&index.sql);
    }
    for trigger in creation.objects(ObjectKind::Trigger, true) {
        creation.create_trigger(trigger);
    }
    creation.hide_modules()?;
    visible_schema.execute_batch("COMMIT")
}

/// A visible schema that is being made.
struct Creation<'a> {
    file: &'a Connection,
    visible_schema: &'a Connection,
    objects: &'a [Object],
    hiding: &'a HiddenObjects,
}

impl<'a> Creation<'a> {
    /// Returns the objects of a kind whose tables are shown, or those whose tables are hidden.
    fn objects(&self, what: ObjectKind, shown: bool) -> impl Iterator<Item = &'a Object> {
        let Self { objects, hiding, .. } = *self;
        objects.iter().filter(move |object| object.what == what && hiding.shown.has(&object.table) == shown)
    }

    /// Runs a statement in the visible schema; whether it could run.
    fn run(&self, sql: &str) -> bool {
        self.visible_schema.execute_batch(sql).is_ok()
    }

    /// Creates a table from its text, or one with its columns if the text needs what does not exist here: a
    /// function, a collation, a hidden table.
    fn create_table(&self, table: &Object) {
        if !self.run(&table.sql) {
            let columns = columns(self.file, &table.name);
            let _missing = columns.and_then(|columns| plain(self.visible_schema, &table.name, &columns)).is_err();
        }
    }

    /// Makes the virtual tables.
    fn create_virtual_tables(&self) -> rusqlite::Result<()> {
        let failed: Vec<&Object> =
            self.objects(ObjectKind::Virtual, true).filter(|object| !self.run(&object.sql)).collect();
        if failed.is_empty() {
            return Ok(());
        }
        // One that indexes a hidden table needs it to be made, and not afterwards.
        let made: Vec<&Object> =
            self.objects(ObjectKind::Table, false).filter(|object| self.run(&object.sql)).collect();
        for table in failed {
            self.create_table(table);
        }
        for table in made {
            self.visible_schema.execute_batch(&format!("DROP TABLE main.{}", quoted(&table.name)))?;
        }
        Ok(())
    }

    /// Creates a view with the columns of the original, which can be written to and has no rows.
    fn create_view(&self, view: &Object) {
        // A view over a missing table has no columns.
        let Ok(columns) = columns(self.file, &view.name) else { return };
        let name = quoted(&view.name);
        let listed: Vec<String> = columns.iter().map(|column| quoted(&column.0)).collect();
        let nothing = vec!["NULL"; listed.len()].join(", ");
        let mut make = format!("CREATE VIEW {name} ({}) AS SELECT {nothing};", listed.join(", "));
        for event in ["INSERT", "UPDATE", "DELETE"] {
            let trigger = quoted(&format!("{event} on {}", view.name));
            make += &format!("CREATE TRIGGER {trigger} INSTEAD OF {event} ON {name} BEGIN SELECT 1; END;");
        }
        self.run(&make);
    }

    /// Creates a trigger of that name that does nothing.
    fn create_trigger(&self, trigger: &Object) {
        let is_view = |it: &Object| it.what == ObjectKind::View && it.name.eq_ignore_ascii_case(&trigger.table);
        let moment = if self.objects.iter().any(is_view) { "INSTEAD OF" } else { "AFTER" };
        let (name, table) = (quoted(&trigger.name), quoted(&trigger.table));
        self.run(&format!("CREATE TRIGGER {name} {moment} INSERT ON {table} BEGIN SELECT 1; END"));
    }

    /// Removes the modules whose names hidden tables have: such a name means the table.
    fn hide_modules(&self) -> rusqlite::Result<()> {
        for table in self.objects.iter().filter(|object| self.hiding.hidden.has(&object.name)) {
            if MODULES.iter().any(|module| module.eq_ignore_ascii_case(&table.name)) {
                self.visible_schema.execute_batch(&format!("CREATE TABLE {} (a)", quoted(&table.name)))?;
            }
        }
        Ok(())
    }
}

/// Name, declared type, place in the key, and whether it is computed.
type Column = (String, String, i64, bool);

fn columns(file: &Connection, table: &str) -> rusqlite::Result<Vec<Column>> {
    let mut statement =
        file.prepare_cached("SELECT name, type, pk, hidden > 0 FROM pragma_table_xinfo(?1, 'main') ORDER BY cid")?;
    let rows = statement.query_map([table], |row| Ok((lossy(row, 0)?, lossy(row, 1)?, row.get(2)?, row.get(3)?)))?;
    rows.collect()
}

/// Creates a table with the names and the key of another one.
fn plain(visible_schema: &Connection, table: &str, columns: &[Column]) -> rusqlite::Result<()> {
    let mut parts: Vec<String> = Vec::new();
    for (name, declared, _, computed) in columns {
        let integer = if declared.eq_ignore_ascii_case("INTEGER") { " INTEGER" } else { "" };
        let value = if *computed { " AS (NULL)" } else { "" };
        parts.push(format!("{}{integer}{value}", quoted(name)));
    }
    let mut key: Vec<&Column> = columns.iter().filter(|column| column.2 > 0).collect();
    key.sort_by_key(|column| column.2);
    if !key.is_empty() {
        let key: Vec<String> = key.iter().map(|column| quoted(&column.0)).collect();
        parts.push(format!("PRIMARY KEY ({})", key.join(", ")));
    }
    visible_schema.execute_batch(&format!("CREATE TABLE {} ({})", quoted(table), parts.join(", ")))
}

fn quoted(name: &str) -> String {
    Dialect::SQLITE.quoted(name)
}
