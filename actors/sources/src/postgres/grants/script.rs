//! The statements that make a role's rights those of the configuration: nothing is read here, and nothing
//! is run.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::postgres::grants::inventory::{HeldRights, Inventory, Needed, Relation};
use crate::postgres::grants::shown::{Visibilities, Visibility};
use crate::postgres::grants::state::MARK;
use crate::postgres::grants::state::{DefaultRight, Origin, State};
use crate::postgres::quote::quoted;
use crate::{Access, Exposure, GrantRequest, GrantScript};

fn qualified(schema: &str, name: &str) -> String {
    format!("{}.{}", quoted(schema), quoted(name))
}

/// Names of types are written in full, whatever the path of who runs the statements.
pub(crate) const PATH: &str = "SET LOCAL search_path = pg_catalog, pg_temp";

/// What the statements are made of.
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
    /// What the role owns, which nothing can be taken from.
    owned: usize,
}

/// The statements, and what there is to say about them.
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
        let database = format!("DATABASE {}", quoted(&state.database));
        // TEMP is how the server is asked what it understood; see the module `grants`.
        self.settle(&database, &["CONNECT", "TEMPORARY"], &state.held, &state.owner, false);
        for schema in &self.subject.inventory.schemas {
            let shown = self.subject.exposure.shows_schema(&schema.name);
            let rights: &[&str] = if shown { &["USAGE"] } else { &[] };
            self.settle(&format!("SCHEMA {}", quoted(&schema.name)), rights, &schema.held, &schema.owner, true);
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
        self.tell();
    }

    fn relation(&mut self, relation: &Relation) {
        let sight = self.subject.sights.get(relation.oid);
        let writes = self.subject.access == Access::ReadWrite;
        let needed = writes && self.subject.needed.sequences.contains(&relation.oid);
        let rights: &[&str] = match (sight, relation.kind.as_str(), writes) {
            (Visibility::Shown, "S", true) => &["SELECT", "USAGE", "UPDATE"],
            (Visibility::Shown, "S" | "m", _) | (Visibility::Shown, _, false) => &["SELECT"],
            (Visibility::Shown, _, true) => &["SELECT", "INSERT", "UPDATE", "DELETE"],
            (_, "S", _) if needed => &["USAGE"],
            _ => &[],
        };
        // What is read through its parent is no secret by its own name.
        let tell = sight != Visibility::Through && self.is_within_reach(&relation.schema);
        self.settle(&object(relation), rights, &relation.held, &relation.owner, tell);
    }

    fn routines(&mut self) {
        let (mut borrowed, mut as_caller) = (Vec::new(), 0);
        for routine in &self.subject.inventory.routines {
            let shown = self.subject.exposure.shows_procedure(&routine.schema, &routine.name);
            let needed = self.subject.needed.routines.contains(&routine.oid);
            let name = format!("{}({})", qualified(&routine.schema, &routine.name), routine.arguments);
            if needed && !shown {
                borrowed.push(name.clone());
            }
            as_caller += usize::from(shown && !routine.as_owner);
            let rights: &[&str] = if shown || needed { &["EXECUTE"] } else { &[] };
            let object = format!("{} {name}", if routine.is_procedure { "PROCEDURE" } else { "FUNCTION" });
            let tell = self.is_within_reach(&routine.schema);
            self.settle(&object, rights, &routine.held, &routine.owner, tell);
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

    /// Makes rights on `object` those of `rights`. What everybody may do beyond them is kept apart, if it
    /// is to be told.
    fn settle(&mut self, object: &str, rights: &[&str], held: &HeldRights, owner: &str, tell: bool) {
        if owner == self.subject.wanted.role {
            self.owned += usize::from(rights.is_empty());
            return;
        }
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

    /// Whether the role, or everybody, may look into a schema.
    fn is_within_reach(&self, schema: &str) -> bool {
        let open =
            |found: &crate::postgres::grants::inventory::Schema| found.held.public.iter().any(|right| right == "USAGE");
        self.subject.exposure.shows_schema(schema)
            || self.subject.inventory.schemas.iter().any(|found| found.name == schema && open(found))
    }

    /// What will be made in a schema is exposed only where every name there is.
    fn defaults(&mut self) {
        let writes = self.subject.access == Access::ReadWrite;
        let mut wanted: Vec<DefaultRight> = Vec::new();
        for schema in &self.subject.inventory.schemas {
            let rights = |kind: &str| -> &[&str] {
                match (kind, writes) {
                    ("TABLES", true) => &["SELECT", "INSERT", "UPDATE", "DELETE"],
                    ("SEQUENCES", true) => &["SELECT", "USAGE", "UPDATE"],
                    ("TABLES" | "SEQUENCES", false) => &["SELECT"],
                    _ => &["EXECUTE"],
                }
            };
            let (tables, routines) = self.is_open(&schema.name);
            for owner in self.makers(&schema.name, &schema.owner) {
                for (kind, open) in [("TABLES", tables), ("SEQUENCES", tables), ("FUNCTIONS", routines)] {
                    if open {
                        wanted.push(DefaultRight {
                            owner: owner.clone(),
                            schema: Some(schema.name.clone()),
                            kind: kind.to_owned(),
                            rights: rights(kind).iter().map(|right| (*right).to_owned()).collect(),
                        });
                    }
                }
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

    /// Whether whatever is in a schema, now and later, is exposed: tables, and routines.
    fn is_open(&self, schema: &str) -> (bool, bool) {
        let Subject { exposure, inventory, sights, .. } = *self.subject;
        let hidden = |relation: &&Relation| relation.schema == schema && sights.get(relation.oid) != Visibility::Shown;
        let tables = exposure.shows_every_table(schema) && !inventory.relations.iter().any(|it| hidden(&it));
        (tables, exposure.shows_every_procedure(schema))
    }

    /// Those who make things in a schema: who owns it, and what is in it.
    fn makers(&self, schema: &str, owner: &str) -> BTreeSet<String> {
        let Subject { inventory, state, wanted, .. } = *self.subject;
        let relations = inventory.relations.iter().filter(|it| it.schema == schema).map(|it| &it.owner);
        let routines = inventory.routines.iter().filter(|it| it.schema == schema).map(|it| &it.owner);
        // Nobody can be that role: it stands for the owner of whichever database it is.
        let owner = if owner == "pg_database_owner" { state.owner.as_str() } else { owner };
        let makers = relations.chain(routines).cloned().chain([owner.to_owned()]);
        makers.filter(|maker| *maker != wanted.role).collect()
    }

    fn tell(&mut self) {
        let Subject { connection, wanted, state, .. } = *self.subject;
        if let Some(role) = &state.role {
            let has = |what: &str| format!("the role {} {what}", self.role);
            let mut notes = Vec::new();
            if !role.logs_in {
                notes.push(has("may not log in: ALTER ROLE … LOGIN lets it"));
            }
            if !role.attributes.is_empty() {
                notes.push(has(&format!("has the attributes {}, which no grant bounds", role.attributes.join(", "))));
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
        let routines = inventory.routines.iter().map(|routine| {
            let name = format!("{}({})", qualified(&routine.schema, &routine.name), routine.arguments);
            (
                format!("{} {name}", if routine.is_procedure { "PROCEDURE" } else { "FUNCTION" }),
                &routine.held,
                &routine.owner,
            )
        });
        let relations = inventory.relations.iter().map(|relation| (object(relation), &relation.held, &relation.owner));
        let schemas = inventory.schemas.iter();
        let schemas = schemas.map(|schema| (format!("SCHEMA {}", quoted(&schema.name)), &schema.held, &schema.owner));
        let database = [(format!("DATABASE {}", quoted(&state.database)), &state.held, &state.owner)];
        for (object, held, owner) in routines.chain(relations).chain(schemas).chain(database) {
            // What was given by hand stays where the role is somebody else's.
            let given = |right: &&String| role.origin != Origin::Theirs || GIVEN.contains(&right.as_str());
            let rights: Vec<String> = held.role.iter().filter(given).cloned().collect();
            if !rights.is_empty() && *owner != self.subject.wanted.role {
                self.add(format!("REVOKE {} ON {object} FROM {}", rights.join(", "), self.role));
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

/// The rights that are given here.
const GIVEN: [&str; 8] = ["SELECT", "INSERT", "UPDATE", "DELETE", "USAGE", "EXECUTE", "CONNECT", "TEMPORARY"];

fn object(relation: &Relation) -> String {
    let kind = if relation.is_sequence() { "SEQUENCE" } else { "TABLE" };
    format!("{kind} {}", qualified(&relation.schema, &relation.name))
}

/// All of it for `psql`. The names of types are written as they are found without any search path but
/// the engine's own.
fn text(script: &GrantScript, subject: &Subject<'_>) -> String {
    let verb = if subject.wanted.revoke { "no longer" } else { "exactly" };
    let mut text = String::new();
    comment(
        &mut text,
        &format!(
            "what connection {} exposes, {verb} for the role {}",
            subject.connection,
            quoted(&subject.wanted.role)
        ),
    );
    for note in &script.notes {
        comment(&mut text, &format!("note: {note}"));
    }
    if !subject.wanted.revoke_public {
        for statement in &script.public {
            comment(&mut text, &format!("PUBLIC: {statement};"));
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
        comment(&mut text, &format!("next: {next}"));
    }
    text
}

/// A comment of one or more lines: a name may have line breaks, behind which a statement would begin.
fn comment(text: &mut String, words: &str) {
    text.push_str("-- ");
    for letter in words.chars() {
        text.push(letter);
        if matches!(letter, '\n' | '\r') {
            text.push_str("-- ");
        }
    }
    text.push('\n');
}
