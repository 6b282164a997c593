//! Whether what a statement uses may be used here: its relations, functions and types are looked up by
//! their numbers, on the session that the statement will run on, and held against what is exposed and
//! against the list of functions.

use std::collections::{BTreeSet, HashMap};

use futures_util::future::join4;
use tokio_postgres::types::{Oid, ToSql, Type};
use tokio_postgres::{Client, Row};

use crate::error::{Error, Result};
use crate::identity::SETTINGS;
use crate::source::Exposure;
use crate::source::postgres::session::own::{ask, get};
use crate::source::postgres::walls::check::Guard;
use crate::source::postgres::walls::functions;
use crate::source::postgres::walls::functions::{EXTENSION, Effect, SIGNATURE};
use crate::source::postgres::walls::tree::Uses;

/// Types whose values name objects of the catalogue, by their fixed numbers: regproc, regprocedure,
/// regoper, regoperator, regclass, regtype, regcollation, regnamespace and regrole; and aclitem, which
/// names roles. A text search
/// configuration or dictionary (regconfig, regdictionary) is none that anybody hides.
pub(crate) const NAMING_TYPES: [Oid; 10] = [24, 2202, 2203, 2204, REGCLASS, REGTYPE, 4191, 4089, 4096, 1033];
/// Numbers from here on are given to what is made in a database (`FirstNormalObjectId`).
const FIRST_NORMAL: Oid = 16_384;
const REGCLASS: Oid = 2205;
const REGTYPE: Oid = 2206;

/// A relation and what it belongs to: its parents, the table of an index, of a TOAST table and of a
/// sequence that a column owns.
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

/// The relations whose row types these types hold, and whether a value of the type may name an object.
const TYPES: &str = "\
WITH RECURSIVE held (asked, oid, step) AS (
    SELECT o, o, 0 FROM pg_catalog.unnest($1::pg_catalog.oid[]) AS o
    UNION
    SELECT h.asked, u.oid, h.step + 1 FROM held h JOIN pg_catalog.pg_type t ON t.oid = h.oid CROSS JOIN LATERAL (
        SELECT t.typelem WHERE t.typelem <> 0
        UNION ALL SELECT t.typbasetype WHERE t.typbasetype <> 0
        UNION ALL SELECT r.rngsubtype FROM pg_catalog.pg_range r WHERE t.oid IN (r.rngtypid, r.rngmultitypid)
        UNION ALL SELECT a.atttypid FROM pg_catalog.pg_attribute a
            WHERE t.typrelid <> 0 AND a.attrelid = t.typrelid AND a.attnum > 0 AND NOT a.attisdropped
    ) AS u (oid) WHERE h.step < 16
)
SELECT h.asked, t.typrelid, t.oid = ANY ($2::pg_catalog.oid[]), pg_catalog.format_type(h.asked, NULL), n.nspname::text,
    EXISTS (SELECT FROM pg_catalog.pg_depend d WHERE d.classid = 'pg_catalog.pg_type'::pg_catalog.regclass
        AND d.objid = t.oid AND d.deptype = 'e')
FROM held h JOIN pg_catalog.pg_type t ON t.oid = h.oid JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace";

/// The functions that `which` selects, in the order of [`Function::read`]; `$1` are the types that name
/// objects.
pub(crate) fn functions_query(which: &str) -> String {
    format!(
        "\
SELECT n.nspname::text, p.proname::text, {SIGNATURE}, p.provolatile::text, {EXTENSION},
    p.proargtypes::pg_catalog.oid[] && $1::pg_catalog.oid[],
    n.oid = pg_catalog.pg_my_temp_schema(), p.oid,
    p.prorettype = 2278 OR NOT EXISTS (SELECT FROM pg_catalog.pg_language l
        WHERE l.oid = p.prolang AND l.lanname IN ('c', 'internal', 'sql'))
FROM pg_catalog.pg_proc p
JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
WHERE {which}"
    )
}

/// What a caller with a role may not name, or not write, among these relations: the view of what was
/// prepared on a session, for whichever caller had it before; and `pg_settings`, itself or behind views, to
/// update which is to set.
const SETTING: &str = "\
WITH RECURSIVE reads (oid) AS (
    SELECT o FROM pg_catalog.unnest($1::pg_catalog.oid[]) AS o
    UNION
    SELECT d.refobjid FROM reads s
    JOIN pg_catalog.pg_rewrite r ON r.ev_class = s.oid
    JOIN pg_catalog.pg_depend d ON d.classid = 'pg_catalog.pg_rewrite'::pg_catalog.regclass AND d.objid = r.oid
        AND d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass
)
SELECT 'pg_catalog.pg_prepared_statements'::pg_catalog.regclass::pg_catalog.oid = ANY ($1),
    EXISTS (SELECT FROM reads WHERE oid = 'pg_catalog.pg_settings'::pg_catalog.regclass)";

/// A function as the catalogue has it.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "four independent facts, each true or not")]
pub(crate) struct Function {
    pub(crate) schema: String,
    pub(crate) name: String,
    pub(crate) signature: String,
    /// `i`, `s` or `v`.
    pub(crate) volatility: String,
    pub(crate) extension: Option<String>,
    /// Whether it came with the server, not with somebody who added to its schemas.
    original: bool,
    /// Whether an argument's type is one of [`NAMING_TYPES`].
    pub(crate) takes_names: bool,
    pub(crate) temporary: bool,
    /// Whether it gives nothing back, or is written in a language that can run any text.
    returns_nothing: bool,
}

/// Holds `uses` against the guard. What has to be known for that is asked for in one round trip, but for
/// relations that only types lead to.
///
/// # Errors
/// What is not available, and why; [`Kind::Internal`](crate::error::Kind::Internal) when the catalogue cannot be read.
pub(crate) async fn judge(client: &Client, uses: &Uses, guard: Guard, exposure: &Exposure) -> Result<()> {
    let mut relations = uses.relations.clone();
    relations.extend(uses.constants.iter().filter(|(type_, _)| *type_ == REGCLASS).map(|(_, oid)| oid));
    let (called, held, belong, setting) = join4(
        called(client, uses),
        held(client, uses, guard),
        found(client, guard, &relations),
        setting(client, uses, guard),
    )
    .await;
    functions(&called?, uses, guard, exposure)?;
    if guard.hides {
        constants(uses)?;
        let behind = types(&held?, uses, exposure)?;
        shown(&relations, belong?, exposure)?;
        let behind: BTreeSet<Oid> = behind.difference(&relations).copied().collect();
        shown(&behind, found(client, guard, &behind).await?, exposure)?;
    }
    match setting?.first() {
        Some(row) if get(row, 0)? => Err(refused("pg_prepared_statements")),
        Some(row) if get(row, 1)? && !uses.only_reads() => Err(refused("a change of pg_settings")),
        _ => Ok(()),
    }
}

type Arrays<'a> = [(&'a (dyn ToSql + Sync), Type)];

async fn setting(client: &Client, uses: &Uses, guard: Guard) -> Result<Vec<Row>> {
    if !guard.identity || uses.relations.is_empty() {
        return Ok(Vec::new());
    }
    let relations: Vec<Oid> = uses.relations.iter().copied().collect();
    ask(client, SETTING, &[(&relations, Type::OID_ARRAY)]).await
}

/// Found by the index on their numbers.
const CALLED: &str = "p.oid = ANY ($2::pg_catalog.oid[] OPERATOR(pg_catalog.||) ARRAY(\
    SELECT o.oprcode::pg_catalog.oid FROM pg_catalog.pg_operator o WHERE o.oid = ANY ($3)))";

async fn called(client: &Client, uses: &Uses) -> Result<Vec<Row>> {
    if uses.functions.is_empty() && uses.operators.is_empty() {
        return Ok(Vec::new());
    }
    let functions: Vec<Oid> = uses.functions.iter().copied().collect();
    let operators: Vec<Oid> = uses.operators.iter().copied().collect();
    let naming = NAMING_TYPES.to_vec();
    let arrays: &Arrays<'_> =
        &[(&naming, Type::OID_ARRAY), (&functions, Type::OID_ARRAY), (&operators, Type::OID_ARRAY)];
    ask(client, &functions_query(CALLED), arrays).await
}

fn functions(called: &[Row], uses: &Uses, guard: Guard, exposure: &Exposure) -> Result<()> {
    if called.len() < uses.functions.len() {
        return Err(Error::internal("a function of an analysed statement is not in the catalogue"));
    }
    for row in called {
        let function = Function::read(row)?;
        if let Some(refusal) = function.refusal(guard, exposure) {
            let oid: Oid = get(row, 7)?;
            let mut settings = uses.literals_of(oid).peekable();
            let harmless = function.reads_setting()
                && settings.peek().is_some()
                && uses.calls(oid) == uses.literals_of(oid).count()
                && settings.all(|name| functions::is_harmless_setting(name) || SETTINGS.contains(&name));
            if !harmless {
                return Err(refusal);
            }
        }
        // A stored value of such a type is somebody else's choice, not a literal.
        let tells = matches!(function.effect(), Some(Effect::Relation | Effect::Sequence)) && function.takes_names;
        if guard.hides && tells && uses.names_stored() {
            return Err(refused(&format!("the function {} of anything but a literal", function.name))
                .hint("write the table's name as a literal: pg_relation_size('orders')"));
        }
    }
    Ok(())
}

impl Function {
    /// Reads a row of [`functions_query`].
    pub(crate) fn read(row: &Row) -> Result<Self> {
        Ok(Self {
            schema: get(row, 0)?,
            name: get(row, 1)?,
            signature: get(row, 2)?,
            volatility: get(row, 3)?,
            extension: get(row, 4)?,
            takes_names: get(row, 5)?,
            temporary: get::<Option<bool>>(row, 6)?.unwrap_or(false),
            original: get::<Oid>(row, 7)? < FIRST_NORMAL,
            returns_nothing: get(row, 8)?,
        })
    }

    /// Whether it is admitted by the literal that it takes.
    pub(crate) fn needs_literal(&self) -> bool {
        self.takes_names || matches!(self.effect(), Some(Effect::Relation | Effect::Sequence))
    }

    /// Whether it is `current_setting`, which tells of what its argument names.
    fn reads_setting(&self) -> bool {
        self.is_builtin() && self.name == "current_setting"
    }

    fn is_builtin(&self) -> bool {
        self.original && self.extension.is_none() && matches!(self.schema.as_str(), "pg_catalog" | "information_schema")
    }

    fn effect(&self) -> Option<Effect> {
        if self.is_builtin() || self.extension.is_some() {
            functions::effect(self.extension.as_deref(), &self.signature)
        } else {
            None
        }
    }

    /// Why a caller may not call it, if so.
    pub(crate) fn refusal(&self, guard: Guard, exposure: &Exposure) -> Option<Error> {
        let refused = |why: &str| Some(refused(&format!("the function {}, which {why},", self.signature)));
        if self.temporary {
            return refused("is temporary");
        }
        if !self.is_builtin() && self.extension.is_none() {
            let shown = exposure.shows_procedure(&self.schema, &self.name);
            return (!shown).then(by_number);
        }
        if self.extension.is_some() && exposure.names_procedure(&self.schema, &self.name) {
            return None;
        }
        if guard.identity && self.name == "pg_prepared_statement" {
            return refused("tells what was prepared for others");
        }
        match self.effect() {
            Some(Effect::Plain) => None,
            Some(Effect::Acts) => refused("acts beside its result, or runs a text as SQL"),
            Some(Effect::Tells) if guard.hides => refused("tells of the catalogue"),
            Some(Effect::Tells | Effect::Relation | Effect::Sequence) => None,
            // What gives nothing back does something.
            None if self.volatility == "i" && !self.returns_nothing && !(self.takes_names && guard.hides) => None,
            None => refused("is not known to be harmless"),
        }
    }
}

/// Refuses values that name objects, unless they are literals that are looked up here.
fn constants(uses: &Uses) -> Result<()> {
    let naming = |oid: &Oid| NAMING_TYPES.contains(oid);
    if uses.casts.iter().any(naming) {
        return Err(refused("a cast to a type that names objects, such as regclass, of anything but a literal")
            .hint("write the name as a literal: 'orders'::regclass"));
    }
    for (type_, object) in &uses.constants {
        if naming(type_) && (!matches!(*type_, REGCLASS | REGTYPE) || *object == 0) {
            return Err(refused("a literal of a type that names objects other than tables and types"));
        }
    }
    Ok(())
}

/// What the types hold that the statement names, makes or reads.
async fn held(client: &Client, uses: &Uses, guard: Guard) -> Result<Vec<Row>> {
    if !guard.hides {
        return Ok(Vec::new());
    }
    // A column of such a type shows what its owner wrote; what holds such values is taken apart.
    let read = uses.columns.iter().filter(|type_| !NAMING_TYPES.contains(type_)).copied();
    let asked: Vec<Oid> = written(uses).into_iter().chain(read).collect();
    let naming = NAMING_TYPES.to_vec();
    ask(client, TYPES, &[(&asked, Type::OID_ARRAY), (&naming, Type::OID_ARRAY)]).await
}

/// The types that the statement itself names, also as constants.
fn written(uses: &Uses) -> BTreeSet<Oid> {
    uses.types.iter().copied().chain(named_types(uses)).collect()
}

fn named_types(uses: &Uses) -> impl Iterator<Item = Oid> {
    uses.constants.iter().filter(|(type_, _)| *type_ == REGTYPE).map(|(_, oid)| *oid)
}

/// The relations whose row types these types hold.
fn types(held: &[Row], uses: &Uses, exposure: &Exposure) -> Result<BTreeSet<Oid>> {
    let literals: BTreeSet<Oid> = uses.constants.iter().map(|(type_, _)| *type_).collect();
    let written = written(uses);
    let mut missing: BTreeSet<Oid> = named_types(uses).collect();
    let mut relations = BTreeSet::new();
    for row in held {
        let asked: Oid = get(row, 0)?;
        missing.remove(&asked);
        let (relation, names): (Oid, bool) = (get(row, 1)?, get(row, 2)?);
        // A plain literal of such a type was looked at by itself.
        if names && !(NAMING_TYPES.contains(&asked) && literals.contains(&asked)) {
            let name: String = get(row, 3)?;
            return Err(refused(&format!("a value of type {name}, which may name what is not shown,")));
        }
        if !written.contains(&asked) {
            continue;
        }
        let (schema, extension): (String, bool) = (get(row, 4)?, get(row, 5)?);
        if !extension
            && !crate::source::postgres::walls::names::hidden::is_system(&schema)
            && !exposure.shows_schema(&schema)
        {
            return Err(by_number());
        }
        if relation != 0 {
            relations.insert(relation);
        }
    }
    // A number that is nothing's is told like one of what is hidden.
    if missing.is_empty() { Ok(relations) } else { Err(by_number()) }
}

/// Refuses relations that are not shown, of which it was found what they belong to.
fn shown(relations: &BTreeSet<Oid>, mut found: HashMap<Oid, Belonging>, exposure: &Exposure) -> Result<()> {
    for oid in relations {
        let belonging = found.remove(oid).unwrap_or_default();
        if !belonging.is_shown(exposure) {
            return Err(belonging.refusal());
        }
    }
    Ok(())
}

async fn found(client: &Client, guard: Guard, relations: &BTreeSet<Oid>) -> Result<HashMap<Oid, Belonging>> {
    if !guard.hides || relations.is_empty() {
        return Ok(HashMap::new());
    }
    belongings(client, relations.iter().copied().collect()).await
}

/// The relations with these numbers, each with what it belongs to.
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

/// A relation, and behind it what it belongs to.
#[derive(Debug, Default)]
pub(crate) struct Belonging(pub(crate) Vec<Relation>);

impl Belonging {
    /// Whether callers may name it: nothing that it belongs to is hidden, and one of them is shown.
    pub(crate) fn is_shown(&self, exposure: &Exposure) -> bool {
        let mut shown = false;
        for relation in &self.0 {
            if relation.temporary {
                return true;
            }
            match relation.schema.as_str() {
                // What belongs to a table may lie there.
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

    fn refusal(&self) -> Error {
        match self.0.first() {
            Some(Relation { schema, name, .. }) if crate::source::postgres::walls::names::hidden::is_system(schema) => {
                Error::not_found(format!("relation \"{schema}.{name}\" does not exist"))
                    .sqlstate("42P01")
                    .hint("the catalogue is not shown on this connection: use get_tables, get_columns and the other metadata tools, or the metadata endpoints of the SQL API")
                    .judged()
            }
            _ => by_number(),
        }
    }
}

/// The refusal of what is not shown and what is not there at all, where the statement names neither.
fn by_number() -> Error {
    refused("what this statement uses without its name, by a number or an operator,")
}

/// The refusal of something that may not be used on this connection.
pub(crate) fn refused(what: &str) -> Error {
    Error::forbidden(format!("{what} is not available on this connection"))
        .sqlstate("42501")
        .hint("write the statement with tables and functions that this connection shows; an administrator can offer the rest as a procedure or a tool")
        .judged()
}
