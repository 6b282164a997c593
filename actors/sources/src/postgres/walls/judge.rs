//! Decides whether a statement may use what it uses: its relations, functions and types are looked up by OID, on
//! the session that the statement will run on, and compared with the exposure and with the list of functions.

use std::collections::{BTreeSet, HashMap};
use std::sync::LazyLock;

use futures_util::future::join4;
use tokio_postgres::types::{Oid, ToSql, Type};
use tokio_postgres::{Client, Row};

use crate::Exposure;
use crate::postgres::session::internal_query::{ask, get};
use crate::postgres::walls::callable_functions::{Function, functions_query};
use crate::postgres::walls::functions::{self, Effect};
use crate::postgres::walls::objects::{self, Belonging, NAMING_TYPES, REGCLASS, REGTYPE, belongings, is_system};
use crate::postgres::walls::policy::CheckPolicy;
use crate::postgres::walls::refusal::{by_number, refused};
use crate::postgres::walls::tree::Uses;
use portico_core::error::{Error, Result};
use portico_core::identity::SETTINGS;

/// The relations whose row types these types contain, and whether a value of the type may name an object.
static TYPES: LazyLock<String> = LazyLock::new(|| {
    format!(
        "WITH RECURSIVE {}
SELECT h.asked, t.typrelid, t.oid = ANY ($2::pg_catalog.oid[]), pg_catalog.format_type(h.asked, NULL), n.nspname::text,
    EXISTS (SELECT FROM pg_catalog.pg_depend d WHERE d.classid = 'pg_catalog.pg_type'::pg_catalog.regclass
        AND d.objid = t.oid AND d.deptype = 'e')
FROM held h JOIN pg_catalog.pg_type t ON t.oid = h.oid JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace",
        objects::held("SELECT o, o FROM pg_catalog.unnest($1::pg_catalog.oid[]) AS o")
    )
});

/// What a caller with a role may not read or write, among these relations: the view of prepared statements, which
/// may belong to another caller; and `pg_settings`, itself or through views, since updating it changes settings.
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

/// Checks `uses` against the policy. The catalogue is read in one round trip, except for relations that are found
/// only through types. Returns the rows of the functions that it calls.
///
/// # Errors
/// What is not available, and why; [`Kind::Internal`](portico_core::error::Kind::Internal) if the catalogue cannot
/// be read.
pub(crate) async fn judge(client: &Client, uses: &Uses, guard: CheckPolicy, exposure: &Exposure) -> Result<Vec<Row>> {
    let mut relations = uses.relations.clone();
    relations.extend(uses.constants.iter().filter(|(type_, _)| *type_ == REGCLASS).map(|(_, oid)| oid));
    let (called, held, belong, setting) = join4(
        called(client, uses),
        held(client, uses, guard),
        found(client, guard, &relations),
        setting(client, uses, guard),
    )
    .await;
    let called = called?;
    functions(&called, uses, guard, exposure)?;
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
        _ => Ok(called),
    }
}

type Arrays<'a> = [(&'a (dyn ToSql + Sync), Type)];

async fn setting(client: &Client, uses: &Uses, guard: CheckPolicy) -> Result<Vec<Row>> {
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

fn functions(called: &[Row], uses: &Uses, guard: CheckPolicy, exposure: &Exposure) -> Result<()> {
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
        // A stored value of such a type was chosen by somebody else, and is not a literal.
        let tells = matches!(function.effect(), Some(Effect::Relation | Effect::Sequence)) && function.takes_names;
        if guard.hides && tells && uses.names_stored() {
            return Err(refused(&format!("the function {} of anything but a literal", function.name))
                .hint("write the table's name as a literal: pg_relation_size('orders')"));
        }
    }
    Ok(())
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

/// Returns what is contained in the types that the statement names, creates or reads.
async fn held(client: &Client, uses: &Uses, guard: CheckPolicy) -> Result<Vec<Row>> {
    if !guard.hides {
        return Ok(Vec::new());
    }
    // A column of such a type shows what its owner wrote; types that contain such values are decomposed.
    let read = uses.columns.iter().filter(|type_| !NAMING_TYPES.contains(type_)).copied();
    let asked: Vec<Oid> = written(uses).into_iter().chain(read).collect();
    let naming = NAMING_TYPES.to_vec();
    ask(client, &TYPES, &[(&asked, Type::OID_ARRAY), (&naming, Type::OID_ARRAY)]).await
}

/// The types that the statement itself names, also as constants.
fn written(uses: &Uses) -> BTreeSet<Oid> {
    uses.types.iter().copied().chain(named_types(uses)).collect()
}

fn named_types(uses: &Uses) -> impl Iterator<Item = Oid> {
    uses.constants.iter().filter(|(type_, _)| *type_ == REGTYPE).map(|(_, oid)| *oid)
}

/// Returns the relations whose row types these types contain.
fn types(held: &[Row], uses: &Uses, exposure: &Exposure) -> Result<BTreeSet<Oid>> {
    let literals: BTreeSet<Oid> = uses.constants.iter().map(|(type_, _)| *type_).collect();
    let written = written(uses);
    let mut missing: BTreeSet<Oid> = named_types(uses).collect();
    let mut relations = BTreeSet::new();
    for row in held {
        let asked: Oid = get(row, 0)?;
        missing.remove(&asked);
        let (relation, names): (Oid, bool) = (get(row, 1)?, get(row, 2)?);
        // A plain literal of such a type was checked on its own.
        if names && !(NAMING_TYPES.contains(&asked) && literals.contains(&asked)) {
            let name: String = get(row, 3)?;
            return Err(refused(&format!("a value of type {name}, which may name what is not shown,")));
        }
        if !written.contains(&asked) {
            continue;
        }
        let (schema, extension): (String, bool) = (get(row, 4)?, get(row, 5)?);
        if !extension && !is_system(&schema) && !exposure.shows_schema(&schema) {
            return Err(by_number());
        }
        if relation != 0 {
            relations.insert(relation);
        }
    }
    // An OID of no object is reported like one of a hidden object.
    if missing.is_empty() { Ok(relations) } else { Err(by_number()) }
}

/// Refuses relations that are not shown, given what they belong to.
fn shown(relations: &BTreeSet<Oid>, mut found: HashMap<Oid, Belonging>, exposure: &Exposure) -> Result<()> {
    for oid in relations {
        let belonging = found.remove(oid).unwrap_or_default();
        if !belonging.is_shown(exposure) {
            return Err(belonging.refusal());
        }
    }
    Ok(())
}

async fn found(client: &Client, guard: CheckPolicy, relations: &BTreeSet<Oid>) -> Result<HashMap<Oid, Belonging>> {
    if !guard.hides || relations.is_empty() {
        return Ok(HashMap::new());
    }
    belongings(client, relations.iter().copied().collect()).await
}
