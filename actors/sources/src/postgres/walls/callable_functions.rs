//! Functions of the catalogue, and whether a caller may call them.

use tokio_postgres::Row;
use tokio_postgres::types::Oid;

use crate::Exposure;
use crate::postgres::failure;
use crate::postgres::session::internal_query::get;
use crate::postgres::walls::functions::{self, EXTENSION, Effect, SIGNATURE};
use crate::postgres::walls::objects::naming;
use crate::postgres::walls::policy::CheckPolicy;
use crate::postgres::walls::refusal::{by_number, refused};
use portico_core::error::{Error, Result};

/// OIDs from here on belong to objects created in a database (`FirstNormalObjectId`).
pub(crate) const FIRST_NORMAL: Oid = 16_384;

/// The functions that `which` selects, in the order of [`Function::read`]; `$1` are the types that name
/// objects.
pub(crate) fn functions_query(which: &str) -> String {
    query("", "$1::pg_catalog.oid[]", which)
}

/// The query for all functions, with those that take names if the type of an argument contains one of `$1`. For the
/// functions of one statement the tree tells the types, which is cheaper.
pub(crate) fn all_functions_query() -> String {
    query(&format!("WITH RECURSIVE {}\n", naming()), "ARRAY(SELECT oid FROM naming)", "true")
}

fn query(with: &str, naming: &str, which: &str) -> String {
    format!(
        "{with}\
SELECT n.nspname::text, p.proname::text, {SIGNATURE}, p.provolatile::text, {EXTENSION},
    p.proargtypes::pg_catalog.oid[] && {naming},
    n.oid = pg_catalog.pg_my_temp_schema(), p.oid,
    p.prorettype = 2278 OR NOT EXISTS (SELECT FROM pg_catalog.pg_language l
        WHERE l.oid = p.prolang AND l.lanname IN ('c', 'internal', 'sql'))
FROM pg_catalog.pg_proc p
JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
WHERE {which}"
    )
}

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
    /// Whether it came with the server, and was not added to the system schemas later.
    original: bool,
    /// Whether an argument's type is one of [`NAMING_TYPES`](crate::postgres::walls::objects::NAMING_TYPES), or, of all of
    /// them, holds one.
    pub(crate) takes_names: bool,
    pub(crate) temporary: bool,
    /// Whether it returns nothing, or is written in a language that can run any text.
    returns_nothing: bool,
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

    /// Returns true for `current_setting`, which returns what its argument names.
    pub(crate) fn reads_setting(&self) -> bool {
        self.is_builtin() && self.name == "current_setting"
    }

    /// Returns true if a call has no side effect.
    pub(crate) fn leaves_nothing(&self) -> bool {
        match self.effect() {
            Some(Effect::Plain) => true,
            Some(_) => false,
            None => self.is_builtin() && self.volatility == "i" && !self.returns_nothing && !self.takes_names,
        }
    }

    fn is_builtin(&self) -> bool {
        self.original && self.extension.is_none() && matches!(self.schema.as_str(), "pg_catalog" | "information_schema")
    }

    pub(crate) fn effect(&self) -> Option<Effect> {
        if self.is_builtin() || self.extension.is_some() {
            functions::effect(self.extension.as_deref(), &self.signature)
        } else {
            None
        }
    }

    /// Why a caller may not call it, if so.
    pub(crate) fn refusal(&self, guard: CheckPolicy, exposure: &Exposure) -> Option<Error> {
        let refused = |why: &str| {
            let refusal = refused(&format!("the function {}, which {why},", self.signature));
            // Whoever may write can call it.
            let is_write = guard.read_only && !guard.hides && !guard.identity && !self.temporary;
            Some(if is_write { refusal.sqlstate(failure::READ_ONLY) } else { refusal })
        };
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
            return refused("shows what was prepared for others");
        }
        match self.effect() {
            Some(Effect::Plain | Effect::Chance) => None,
            Some(Effect::Acts) => refused("does more than return a result, or runs a text as SQL"),
            Some(Effect::Tells) if guard.hides => refused("shows parts of the catalogue"),
            Some(Effect::Tells | Effect::Relation | Effect::Sequence) => None,
            // A function that returns nothing is called for a side effect.
            None if self.volatility == "i" && !self.returns_nothing && !(self.takes_names && guard.hides) => None,
            None => refused("is not known to be harmless"),
        }
    }
}
