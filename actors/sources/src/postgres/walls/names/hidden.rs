//! The names of hidden objects, for three uses: to remove them from the source's texts, to check statements that
//! the server cannot analyse, and to check all statements if the server cannot be asked. Nothing is resolved here:
//! a text that contains such a name, anywhere and in any quotes, is refused, and a name is admitted only if all
//! objects of that name are.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use tokio_postgres::Client;
use tokio_postgres::types::{Oid, Type};

use crate::Exposure;
use crate::postgres::session::internal_query::{ask, get};
use crate::postgres::ttl_cache::TtlCache;
use crate::postgres::walls::callable_functions::{Function, all_functions_query};
use crate::postgres::walls::objects::{
    HiddenTables, NAMING_TYPES, belongings, is_naming_type, is_system, naming_types_query,
};
use crate::postgres::walls::policy::CheckPolicy;
use crate::postgres::walls::refusal::{no_such, refused};
use portico_core::error::{Error, Result};

/// How long the names hold that were read.
const LIFETIME: Duration = Duration::from_secs(30);
/// Octets of a name; the server cuts longer ones off.
const NAME: usize = 63;
/// A shorter name is removed from a text only if it is a whole word.
const PART: usize = 4;
/// The text that replaces a removed name.
const TAKEN_OUT: &str = "(hidden)";
/// Operators of the database's own that call these functions.
const OPERATORS: &str = "SELECT DISTINCT o.oprname::text FROM pg_catalog.pg_operator o \
    JOIN pg_catalog.pg_namespace n ON n.oid = o.oprnamespace \
    WHERE n.nspname <> 'pg_catalog' AND o.oprcode::pg_catalog.oid = ANY ($1)";
/// Relations of the database's own, not the catalogue's.
const OWN_RELATIONS: &str = "SELECT c.oid FROM pg_catalog.pg_class c \
    JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
    WHERE n.nspname !~ '^pg_' AND n.nspname <> 'information_schema' AND c.relkind <> 't'";
/// The names of objects that belong to a relation or refer to one, and are not relations: statistics, which have
/// names of their own in a schema, columns, and foreign keys, which are identified by their table.
const PARTS: &str = "SELECT s.stxname::text, s.stxrelid, 's' FROM pg_catalog.pg_statistic_ext s \
    UNION ALL SELECT a.attname::text, a.attrelid, 'a' FROM pg_catalog.pg_attribute a \
        WHERE a.attrelid = ANY ($1) AND a.attnum > 0 AND NOT a.attisdropped \
    UNION ALL SELECT c.conname::text, c.confrelid, 'c' FROM pg_catalog.pg_constraint c WHERE c.contype = 'f' \
    UNION ALL SELECT c.conname::text, c.conrelid, 'k' FROM pg_catalog.pg_constraint c WHERE c.conrelid = ANY ($1)";
/// Returns which of these names are also the server's own functions, types or keywords: a text that contains them
/// means those.
const BUILT_IN: &str = "SELECT n FROM pg_catalog.unnest($1::text[]) AS n WHERE n IN (
    SELECT p.proname::text FROM pg_catalog.pg_proc p WHERE p.pronamespace = 'pg_catalog'::pg_catalog.regnamespace
    UNION ALL SELECT t.typname::text FROM pg_catalog.pg_type t WHERE t.typnamespace = 'pg_catalog'::pg_catalog.regnamespace
    UNION ALL SELECT k.word FROM pg_catalog.pg_get_keywords() k WHERE k.catcode <> 'U')";
const TYPES: &str = "SELECT t.typname::text, n.nspname::text FROM pg_catalog.pg_type t \
    JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace \
    WHERE n.nspname !~ '^pg_' AND n.nspname <> 'information_schema' AND t.typelem = 0";
/// Counts and sums of all that routines are judged by: a row that is made, changed or dropped changes them.
const VERSION: &str = "SELECT pg_catalog.string_agg(s.part, ';') FROM (
    SELECT pg_catalog.concat_ws(',', pg_catalog.count(*), pg_catalog.sum(oid::pg_catalog.int8), pg_catalog.sum(xmin::pg_catalog.text::pg_catalog.int8)) AS part
        FROM pg_catalog.pg_proc
    UNION ALL SELECT pg_catalog.concat_ws(',', pg_catalog.count(*), pg_catalog.sum(oid::pg_catalog.int8), pg_catalog.sum(xmin::pg_catalog.text::pg_catalog.int8))
        FROM pg_catalog.pg_operator
    UNION ALL SELECT pg_catalog.concat_ws(',', pg_catalog.count(*), pg_catalog.sum(oid::pg_catalog.int8), pg_catalog.sum(xmin::pg_catalog.text::pg_catalog.int8))
        FROM pg_catalog.pg_type WHERE typtype IN ('d', 'r', 'm')) AS s";
const SCHEMAS: &str = "SELECT nspname::text FROM pg_catalog.pg_namespace \
    WHERE nspname !~ '^pg_' AND nspname <> 'information_schema'";

/// The names of one moment.
#[derive(Debug, Default)]
pub(crate) struct HiddenNames {
    /// The names of hidden relations, schemas and routines; without those that something visible has too.
    hidden: HashSet<String>,
    /// The names of hidden relations, schemas and routines, including those that something visible has too.
    denied: HashSet<String>,
    /// Relations that callers do not see, each with its schema.
    relations: HiddenTables,
    /// The names of columns and constraints of hidden relations, and of foreign keys to them; without those that
    /// something visible has too. They are looked for only in the source's own texts.
    parts: HashSet<String>,
    /// The names of columns, foreign keys and statistics of what is shown.
    shown_parts: HashSet<String>,
    /// The denied ones in small letters: the server folds letters as its locale has it.
    folded: HashSet<String>,
    routines: Arc<Routines>,
}

/// Names of routines. A caller whose statements are checked cannot create any, so these are cached for longer than
/// the others.
#[derive(Debug, Default)]
struct Routines {
    /// The names of those that are not admitted, in lower case.
    refused: HashSet<String>,
    /// The names in `refused` of routines that callers do not see.
    hidden: HashSet<String>,
    /// The names of user-defined operators that call one of them.
    operators: HashSet<String>,
    /// The names of user-defined types whose values may name objects, in lower case.
    types: HashSet<String>,
    /// What the catalogue had in all before they were read.
    version: String,
}

impl Routines {
    /// Returns a text that differs where routines, operators or types have changed. Much cheaper than to read them.
    async fn version(client: &Client) -> Result<String> {
        let rows = ask(client, VERSION, &[]).await?;
        rows.first().map_or_else(|| Ok(String::new()), |row| get(row, 0))
    }

    /// Whether they are those of the catalogue now.
    async fn is_current(&self, client: &Client) -> Result<bool> {
        Ok(self.version == Self::version(client).await?)
    }

    async fn read(client: &Client, guard: CheckPolicy, exposure: &Exposure) -> Result<Self> {
        let version = Self::version(client).await?;
        let (mut routines, mut refused) = (Self { version, ..Self::default() }, Vec::new());
        let naming = NAMING_TYPES.to_vec();
        for row in &ask(client, &all_functions_query(), &[(&naming, Type::OID_ARRAY)]).await? {
            let function = Function::read(row)?;
            // A name does not show whether the function's required literal is given.
            if function.refusal(guard, exposure).is_none() && !(guard.hides && function.needs_literal()) {
                continue;
            }
            if guard.hides && !is_system(&function.schema) && function.extension.is_none() {
                routines.hidden.insert(function.name.clone());
            }
            routines.refused.insert(function.name.to_lowercase());
            refused.push(get::<Oid>(row, 7)?);
        }
        for row in &ask(client, OPERATORS, &[(&refused, Type::OID_ARRAY)]).await? {
            routines.operators.insert(get(row, 0)?);
        }
        if guard.hides {
            for row in &ask(client, &naming_types_query(), &[(&naming, Type::OID_ARRAY)]).await? {
                routines.types.insert(get::<String>(row, 0)?.to_lowercase());
            }
        }
        Ok(routines)
    }
}

impl HiddenNames {
    /// Reads them from the catalogue, but for routines that are `known`.
    async fn read(
        client: &Client,
        guard: CheckPolicy,
        exposure: &Exposure,
        known: Option<Arc<Routines>>,
    ) -> Result<Self> {
        let mut names = Self::default();
        let mut shown = if guard.hides { names.read_exposed(client, exposure).await? } else { HashSet::new() };
        names.routines = match known {
            Some(known) => known,
            None => Arc::new(Routines::read(client, guard, exposure).await?),
        };
        names.denied.extend(names.routines.hidden.iter().cloned());
        names.folded = names.denied.iter().map(|name| cut(&name.to_lowercase()).to_owned()).collect();
        if !names.denied.is_empty() {
            let denied: Vec<&str> = names.denied.iter().map(String::as_str).collect();
            for row in &ask(client, BUILT_IN, &[(&denied, Type::TEXT_ARRAY)]).await? {
                shown.insert(get(row, 0)?);
            }
        }
        names.hidden = names.denied.difference(&shown).cloned().collect();
        Ok(names)
    }

    /// Reads which relations, parts of them, types and schemas are hidden. Returns the names of those that are
    /// shown.
    async fn read_exposed(&mut self, client: &Client, exposure: &Exposure) -> Result<HashSet<String>> {
        let mut shown = HashSet::new();
        let rows = ask(client, OWN_RELATIONS, &[]).await?;
        let own: Vec<Oid> = rows.iter().map(|row| get(row, 0)).collect::<Result<_>>()?;
        let mut hidden_relations = HashSet::new();
        for (oid, belonging) in belongings(client, own.clone()).await? {
            let is_shown = belonging.is_shown(exposure);
            let Some(relation) = belonging.0.into_iter().next() else { continue };
            if is_shown {
                shown.insert(relation.name);
            } else {
                hidden_relations.insert(oid);
                self.relations.insert((relation.schema, relation.name.clone()));
                self.denied.insert(relation.name);
            }
        }
        for row in &ask(client, PARTS, &[(&own, Type::OID_ARRAY)]).await? {
            let (name, kind): (String, String) = (get(row, 0)?, get(row, 2)?);
            match hidden_relations.contains(&get::<Oid>(row, 1)?) {
                true if kind == "s" => self.denied.insert(name),
                true => self.parts.insert(name),
                // A foreign key is identified by the table that it refers to.
                false if kind == "k" => continue,
                false => self.shown_parts.insert(name),
            };
        }
        self.parts.retain(|name| !self.shown_parts.contains(name) && !shown.contains(name));
        for row in &ask(client, TYPES, &[]).await? {
            if !exposure.shows_schema(&get::<String>(row, 1)?) {
                self.denied.insert(get(row, 0)?);
            }
        }
        for row in &ask(client, SCHEMAS, &[]).await? {
            let schema: String = get(row, 0)?;
            if exposure.shows_schema(&schema) {
                shown.insert(schema)
            } else {
                self.denied.insert(schema)
            };
        }
        Ok(shown)
    }

    /// Refuses a text with any word that could name a hidden object or one that is not admitted.
    pub(crate) fn admit(&self, text: &str, guard: CheckPolicy) -> Result<()> {
        if has_escapes(text) {
            return Err(escapes());
        }
        if let Some(operator) = self.routines.operators.iter().find(|operator| text.contains(operator.as_str())) {
            return Err(refused(&format!("the operator {operator}")));
        }
        for word in words(text) {
            let folded = word.to_lowercase();
            // An array's type has its element's name behind an underscore.
            for form in [folded.as_str(), folded.trim_start_matches('_')] {
                let cut = cut(form);
                if self.folded.contains(cut) || (guard.hides && is_system(cut)) {
                    return Err(no_such(word));
                }
                if self.routines.refused.contains(cut) {
                    return Err(refused(&format!("the function {cut}")));
                }
                if (guard.hides && (is_naming_type(cut) || self.routines.types.contains(cut)))
                    || (guard.identity && cut == "pg_settings")
                {
                    return Err(refused(cut));
                }
            }
        }
        // Names of other characters than a word's stand in quotes; long ones are cut.
        let text = text.to_lowercase();
        for name in self.folded.iter().filter(|name| !is_word(name) || name.len() + 2 >= NAME) {
            if text.contains(&begin(name, NAME - 2).replace('"', "\"\"")) {
                return Err(no_such(name));
            }
        }
        for name in self.routines.refused.iter().chain(&self.routines.types).filter(|name| !is_word(name)) {
            if text.contains(&name.replace('"', "\"\"")) {
                return Err(refused(&format!("the name \"{name}\"")));
            }
        }
        Ok(())
    }

    /// Returns true if `word`, as written in a text, may be the name of a hidden object; with `alone` only if no
    /// visible object has the name.
    pub(crate) fn is_one(&self, word: &str, alone: bool) -> bool {
        let folded = word.to_lowercase();
        // An array's type has its element's name behind an underscore.
        [word, folded.as_str(), folded.trim_start_matches('_')]
            .into_iter()
            .map(cut)
            .any(|form| if alone { self.hidden.contains(form) } else { self.folded.contains(form) })
    }

    /// Returns the names that are not words, and so are always quoted.
    pub(crate) fn odd(&self, alone: bool) -> impl Iterator<Item = &str> {
        let names = if alone { &self.hidden } else { &self.denied };
        names.iter().map(String::as_str).filter(|name| !is_word(name))
    }

    /// Whether callers do not see this relation.
    pub(crate) fn hides(&self, relation: &(String, String)) -> bool {
        self.relations.contains(relation)
    }

    /// Returns true if a column, foreign key or statistics object of what is shown has this name.
    pub(crate) fn is_shown_part(&self, word: &str) -> bool {
        self.shown_parts.contains(word) || self.shown_parts.contains(&word.to_lowercase())
    }

    /// Returns the text without the names of hidden objects.
    pub(crate) fn without<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut places: Vec<Range<usize>> =
            words_at(text).filter(|(_, word)| self.is_hidden(word)).map(|(at, word)| at..at + word.len()).collect();
        for name in self.hidden.iter().chain(&self.parts).filter(|name| !name.is_empty() && !is_word(name)) {
            places.extend(text.match_indices(name.as_str()).map(|(at, name)| at..at + name.len()));
        }
        if places.is_empty() {
            return Cow::Borrowed(text);
        }
        places.sort_by_key(|place| (place.start, Reverse(place.end)));
        let (mut out, mut told) = (String::with_capacity(text.len()), 0);
        for place in places {
            if place.start >= told {
                out.push_str(text.get(told..place.start).unwrap_or_default());
                out.push_str(TAKEN_OUT);
            }
            told = told.max(place.end);
        }
        out.push_str(text.get(told..).unwrap_or_default());
        Cow::Owned(out)
    }

    /// Returns true for a word that is a hidden name, or derived from one, as names of indexes and constraints are.
    fn is_hidden(&self, word: &str) -> bool {
        self.hidden.contains(word)
            || self.parts.contains(word)
            || (word.len() > PART && self.hidden.iter().any(|name| name.len() >= PART && word.contains(name.as_str())))
    }
}

/// Whether a name or a text may be written with U& in `text`.
pub(crate) fn has_escapes(text: &str) -> bool {
    text.to_ascii_lowercase().contains("u&")
}

/// Returns the refusal of a text with escapes, which is not read.
pub(crate) fn escapes() -> Error {
    Error::invalid("query: write names without U& escapes on this connection").judged()
}

fn is_word(name: &str) -> bool {
    !name.is_empty() && name.chars().all(in_word)
}

/// As the server's lexer has it: every octet beyond ASCII may stand in a name.
pub(crate) fn in_word(each: char) -> bool {
    each.is_ascii_alphanumeric() || each == '_' || each == '$' || !each.is_ascii()
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    words_at(text).map(|(_, word)| word)
}

/// The words of a text, each with its place.
pub(crate) fn words_at(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut next = 0;
    let words = text.split(|each: char| !in_word(each)).map(move |word| {
        let at = next;
        // Everything between words is ASCII.
        next += word.len() + 1;
        (at, word)
    });
    words.filter(|(_, word)| !word.is_empty())
}

/// The name as the server cuts it.
fn cut(name: &str) -> &str {
    begin(name, NAME)
}

/// So many octets of a text, to the last whole character.
pub(crate) fn begin(text: &str, octets: usize) -> &str {
    text.get(..text.floor_char_boundary(octets)).unwrap_or_default()
}

/// The names as last read, for each guard.
pub(crate) struct NameCache {
    names: TtlCache<CheckPolicy, Arc<HiddenNames>>,
    routines: TtlCache<CheckPolicy, Arc<Routines>>,
}

impl Default for NameCache {
    fn default() -> Self {
        Self {
            names: TtlCache::new(LIFETIME, CheckPolicy::KINDS),
            routines: TtlCache::new(LIFETIME, CheckPolicy::KINDS),
        }
    }
}

impl NameCache {
    /// The names for `guard`, if they were read lately.
    pub(crate) fn get(&self, guard: CheckPolicy) -> Option<Arc<HiddenNames>> {
        self.names.get(&guard)
    }

    /// Reads the names for `guard`, and keeps them. Routines that were read lately are taken again; with `anew` only if
    /// none has changed since.
    pub(crate) async fn read(
        &self,
        client: &Client,
        guard: CheckPolicy,
        exposure: &Exposure,
        anew: bool,
    ) -> Result<Arc<HiddenNames>> {
        let known = match self.routines.get(&guard) {
            Some(known) if !anew || known.is_current(client).await? => Some(known),
            _ => None,
        };
        let is_known = known.is_some();
        let names = Arc::new(HiddenNames::read(client, guard, exposure, known).await?);
        self.names.insert(guard, Arc::clone(&names));
        if !is_known {
            self.routines.insert(guard, Arc::clone(&names.routines));
        }
        Ok(names)
    }

    /// Forgets names of relations: the catalogue may have changed.
    pub(crate) fn forget(&self) {
        self.names.clear();
    }
}
