//! Writes the statements that make a role's privileges those of the configuration. Nothing is read or run here.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::postgres::grants::inventory::{Inventory, Needed, Object};
use crate::postgres::grants::shown::{Visibilities, Visibility};
use crate::postgres::grants::state::{DefaultRight, MARK, Origin, State};
use crate::postgres::quote::quoted;
use crate::{Access, Exposure, GrantRequest, GrantScript};

/// Names of types are qualified, whatever the search path of the session that runs the statements.
pub(crate) const PATH: &str = "SET LOCAL search_path = pg_catalog, pg_temp";

/// The input for the statements.
pub(crate) struct Subject<'a> {
    pub(crate) connection: &'a str,
    pub(crate) exposure: &'a Exposure,
    pub(crate) access: Access,
    pub(crate) wanted: &'a GrantRequest,
    pub(crate) state: &'a State,
    pub(crate) inventory: &'a Inventory,
    pub(crate) sights: &'a Visibilities<'a>,
    pub(crate) needed: &'a Needed,
}

struct Writer<'a> {
    subject: &'a Subject<'a>,
    role: String,
    script: GrantScript,
    /// The number of objects that the role owns, from whose owner nothing can be revoked.
    owned: usize,
}

/// Returns the statements, and notes on them.
pub(crate) fn write(subject: &Subject<'_>) -> GrantScript {
    let role = quoted(&subject.wanted.role);
    let mut writer = Writer { subject, role, script: GrantScript::default(), owned: 0 };
    if subject.wanted.revoke {
        writer.revoke();
    } else {
        writer.grant();
    }
    writer.finish()
}

impl Writer<'_> {
    fn grant(&mut self) {
        let Subject { state, wanted, .. } = *self.subject;
        if state.role.is_none() {
            self.add(format!("CREATE ROLE {} LOGIN", self.role));
            self.add(format!("COMMENT ON ROLE {} IS '{MARK}'", self.role));
        }
        // TEMP is needed to ask the server how it understood a statement; see the module `grants`.
        self.settle(&state.database, &["CONNECT", "TEMPORARY"], false);
        for schema in &self.subject.inventory.schemas {
            let shown = self.subject.exposure.shows_schema(&schema.name);
            self.settle(schema, if shown { &["USAGE"] } else { &[] }, true);
        }
        for relation in &self.subject.inventory.relations {
            self.relation(relation);
        }
        self.routines();
        self.defaults();
        if wanted.revoke_public {
            let statements = self.script.public.clone();
            self.script.statements.extend(statements);
        }
        self.add_notes();
    }

    fn relation(&mut self, relation: &Object) {
        let sight = self.subject.sights.get(relation.oid);
        let writes = self.subject.access == Access::ReadWrite;
        let needed = writes && self.subject.needed.sequences.contains(&relation.oid);
        let rights: &[&str] = match sight {
            Visibility::Shown => rights(&relation.kind, writes),
            _ if needed && relation.is_sequence() => &["USAGE"],
            _ => &[],
        };
        // A relation that is read through its parent need not be hidden under its own name.
        let tell = sight != Visibility::Through && self.is_within_reach(relation.schema());
        self.settle(relation, rights, tell);
    }

    fn routines(&mut self) {
        let (mut borrowed, mut as_caller) = (Vec::new(), 0);
        for routine in &self.subject.inventory.routines {
            let shown = self.subject.exposure.shows_procedure(routine.schema(), &routine.name);
            let needed = self.subject.needed.routines.contains(&routine.oid);
            if needed && !shown {
                borrowed.push(routine.signature());
            }
            as_caller += usize::from(shown && !routine.as_owner);
            let tell = self.is_within_reach(routine.schema());
            self.settle(routine, if shown || needed { &["EXECUTE"] } else { &[] }, tell);
        }
        if !borrowed.is_empty() {
            self.script.notes.push(format!(
                "hidden, and yet the role may execute them, because exposed views, defaults, constraints or policies \
                 do so with the rights of their caller: {}",
                borrowed.join(", ")
            ));
        }
        if as_caller > 0 && !self.subject.exposure.is_everything() {
            self.script.notes.push(format!(
                "{as_caller} exposed functions run with the rights of their caller: one that is to use what is hidden \
                 has to be SECURITY DEFINER, with a search_path of its own"
            ));
        }
    }

    /// Makes the privileges on `object` equal to `rights`. What PUBLIC may do beyond them is kept apart, if it is
    /// to be reported.
    fn settle(&mut self, object: &Object, rights: &[&str], tell: bool) {
        if object.owner == self.subject.wanted.role {
            self.owned += usize::from(rights.is_empty());
            return;
        }
        let (held, object) = (&object.held, object.object());
        let beyond = |held: &[String]| -> Vec<String> {
            held.iter().filter(|right| !rights.contains(&right.as_str())).cloned().collect()
        };
        if !rights.is_empty() {
            self.add(format!("GRANT {} ON {object} TO {}", rights.join(", "), self.role));
        }
        let excess = beyond(&held.role);
        if !excess.is_empty() {
            self.add(format!("REVOKE {} ON {object} FROM {}", excess.join(", "), self.role));
        }
        let loose = beyond(&held.public);
        if tell && !loose.is_empty() {
            self.script.public.push(format!("REVOKE {} ON {object} FROM PUBLIC", loose.join(", ")));
        }
    }

    /// Returns true if the role, or PUBLIC, may use a schema.
    fn is_within_reach(&self, schema: &str) -> bool {
        let open = |found: &Object| found.held.public.iter().any(|right| right == "USAGE");
        self.subject.exposure.shows_schema(schema)
            || self.subject.inventory.schemas.iter().any(|found| found.name == schema && open(found))
    }

    /// Future objects of a schema are exposed only if all names in it are.
    fn defaults(&mut self) {
        let writes = self.subject.access == Access::ReadWrite;
        let mut wanted: Vec<DefaultRight> = Vec::new();
        for schema in &self.subject.inventory.schemas {
            let (tables, routines) = self.is_open(&schema.name);
            for owner in self.makers(&schema.name, &schema.owner) {
                let kinds = [("TABLE", tables), ("SEQUENCE", tables), ("FUNCTION", routines)];
                wanted.extend(kinds.into_iter().filter(|(_, open)| *open).map(|(kind, _)| DefaultRight {
                    owner: owner.clone(),
                    schema: Some(schema.name.clone()),
                    kind: format!("{kind}S"),
                    rights: rights(kind, writes).iter().map(|right| (*right).to_owned()).collect(),
                }));
            }
        }
        for default in &wanted {
            self.add(default.statement("GRANT", &default.rights, "TO", &self.role));
        }
        for known in &self.subject.state.defaults {
            let same = |other: &&DefaultRight| {
                (&other.owner, &other.schema, &other.kind) == (&known.owner, &known.schema, &known.kind)
            };
            let kept = wanted.iter().find(same).map(|default| default.rights.as_slice()).unwrap_or_default();
            let excess: Vec<String> = known.rights.iter().filter(|right| !kept.contains(right)).cloned().collect();
            if !excess.is_empty() {
                self.add(known.statement("REVOKE", &excess, "FROM", &self.role));
            }
        }
    }

    /// Returns whether everything in a schema, now and later, is exposed: tables, and routines.
    fn is_open(&self, schema: &str) -> (bool, bool) {
        let Subject { exposure, inventory, sights, .. } = *self.subject;
        let hidden = |it: &Object| it.schema() == schema && sights.get(it.oid) != Visibility::Shown;
        let tables = exposure.shows_every_table(schema) && !inventory.relations.iter().any(hidden);
        (tables, exposure.shows_every_procedure(schema))
    }

    /// Returns the roles that create objects in a schema: its owner, and the owners of the objects in it.
    fn makers(&self, schema: &str, owner: &str) -> BTreeSet<String> {
        let Subject { inventory, state, wanted, .. } = *self.subject;
        let inside = inventory.relations.iter().chain(&inventory.routines).filter(|it| it.schema() == schema);
        // No user can be that role: it stands for the owner of the current database.
        let owner = if owner == "pg_database_owner" { state.database.owner.as_str() } else { owner };
        let makers = inside.map(|it| it.owner.clone()).chain([owner.to_owned()]);
        makers.filter(|maker| *maker != wanted.role).collect()
    }

    fn add_notes(&mut self) {
        let Subject { connection, wanted, state, .. } = *self.subject;
        if let Some(role) = &state.role {
            let has = |what: &str| format!("the role {} {what}", self.role);
            let mut notes = Vec::new();
            if !role.logs_in {
                notes.push(has("may not log in: ALTER ROLE … LOGIN lets it"));
            }
            if !role.attributes.is_empty() {
                notes.push(has(&format!("has the attributes {}, which no grant limits", role.attributes.join(", "))));
            }
            if !role.memberships.is_empty() {
                let roles: Vec<String> = role.memberships.iter().map(|name| quoted(name)).collect();
                notes.push(has(&format!("is a member of {}, and has their rights too", roles.join(", "))));
            }
            if self.owned > 0 {
                notes.push(has(&format!("owns {} things that are hidden: give them to another owner", self.owned)));
            }
            self.script.notes.extend(notes);
        }
        if !self.script.public.is_empty() && !wanted.revoke_public {
            self.script.notes.push(format!(
                "everybody (PUBLIC) may do more than the configuration exposes, this role too; --revoke-public takes it \
                 away, from all other roles as well ({} statements)",
                self.script.public.len()
            ));
        }
        let role = &self.role;
        self.script.next.extend([
            format!("give the role a password: \\password {role} in psql, or ALTER ROLE {role} PASSWORD '…'; or a client certificate"),
            "let pg_hba.conf (and for certificates pg_ident.conf) admit the role to the database".to_owned(),
            format!("write the role as the user in url of connection {connection}, its password in password_file or password_command, and run portico check"),
        ]);
    }

    fn revoke(&mut self) {
        let Subject { state, inventory, .. } = *self.subject;
        let Some(role) = &state.role else {
            self.script.notes.push(format!("there is no role {}: nothing has to be revoked", self.role));
            return;
        };
        for default in &state.defaults {
            self.add(default.statement("REVOKE", &default.rights, "FROM", &self.role));
        }
        let objects = inventory.routines.iter().chain(&inventory.relations).chain(&inventory.schemas);
        for object in objects.chain([&state.database]) {
            // Privileges granted by hand stay if the role was created by somebody else.
            let given = |right: &&String| role.origin != Origin::Theirs || GIVEN.contains(&right.as_str());
            let rights: Vec<String> = object.held.role.iter().filter(given).cloned().collect();
            if !rights.is_empty() && object.owner != self.subject.wanted.role {
                self.add(format!("REVOKE {} ON {} FROM {}", rights.join(", "), object.object(), self.role));
            }
        }
        let stays = match role.origin {
            Origin::Theirs => "portico grants did not make it",
            Origin::OursInUse => "it owns something, or has rights in another database of this server",
            Origin::Ours => return self.add(format!("DROP ROLE {}", self.role)),
        };
        self.script.notes.push(format!("the role {} stays: {stays}", self.role));
    }

    fn add(&mut self, statement: String) {
        self.script.statements.push(statement);
    }

    fn finish(mut self) -> GrantScript {
        self.script.text = text(&self.script, self.subject);
        self.script
    }
}

/// Returns the privileges on what is exposed.
fn rights(kind: &str, writes: bool) -> &'static [&'static str] {
    match (kind, writes) {
        ("TABLE", true) => &["SELECT", "INSERT", "UPDATE", "DELETE"],
        ("SEQUENCE", true) => &["SELECT", "USAGE", "UPDATE"],
        ("TABLE" | "SEQUENCE" | "MATERIALIZED VIEW", _) => &["SELECT"],
        _ => &["EXECUTE"],
    }
}

/// The rights that are given here.
const GIVEN: [&str; 8] = ["SELECT", "INSERT", "UPDATE", "DELETE", "USAGE", "EXECUTE", "CONNECT", "TEMPORARY"];

/// All of it for `psql`. The names of types are written as they are found without any search path but
/// the engine's own.
fn text(script: &GrantScript, subject: &Subject<'_>) -> String {
    let verb = if subject.wanted.revoke { "no longer" } else { "exactly" };
    let (connection, role) = (subject.connection, quoted(&subject.wanted.role));
    let mut text = comment(&format!("what connection {connection} exposes, {verb} for the role {role}"));
    for note in &script.notes {
        text += &comment(&format!("note: {note}"));
    }
    if !subject.wanted.revoke_public {
        for statement in &script.public {
            text += &comment(&format!("PUBLIC: {statement};"));
        }
    }
    if script.statements.is_empty() {
        return text;
    }
    text.push_str("BEGIN;\n");
    if !script.statements.iter().all(|statement| statement.is_ascii()) {
        text.push_str("SET LOCAL client_encoding = 'UTF8';\n");
    }
    let _ = writeln!(text, "{PATH};");
    for statement in &script.statements {
        let _ = writeln!(text, "{statement};");
    }
    text.push_str("COMMIT;\n");
    for next in &script.next {
        text += &comment(&format!("next: {next}"));
    }
    text
}

/// A comment of one or more lines: a name may have line breaks, behind which a statement would begin.
fn comment(words: &str) -> String {
    format!("-- {}\n", words.replace('\n', "\n-- ").replace('\r', "\r-- "))
}
