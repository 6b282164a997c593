//! Finds tables and routines that an agent asks for: by name (in any case, if only one has it), with or without the
//! schema, by pattern, several at once; or by words. The caller passes what it may see; nothing else is found.

use std::collections::HashMap;

use crate::statements::texts::TextRow;
use portico_core::error::Error;
use portico_core::near;
use portico_core::pattern;

/// The maximal number of tables or routines that one call looks up.
pub const MOST_FOUND: usize = 100;

/// The text if no table contains any of the words searched for.
pub const NO_HIT: &str = "no name and no comment of a table or column that you may see has any of these words: try others, \
                          or leave search out to list all tables";

/// Schema and name.
type Known<'a> = (&'a str, &'a str);

/// The result of a search.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Matches {
    /// Schema and name of each, once, in the order in which they were asked for.
    pub objects: Vec<(String, String)>,
    /// A hint about what was not found.
    pub hint: Option<String>,
}

/// The maximal number of names of a call for which similar ones are suggested.
const MOST_NEAR: usize = 5;
/// Octets of all names of one call at most.
const MOST_OCTETS: usize = 16 * 1024;
/// The maximal length in bytes of the words of a search.
const MOST_SEARCHED: usize = 1_024;
/// The maximal number of words of a search.
const MOST_WORDS: usize = 32;

/// Refuses more names, or words to look for, than a listing is worth.
///
/// # Errors
/// [`Kind::Invalid`](portico_core::error::Kind::Invalid), with the bound.
pub fn admit(asked: &[String], search: Option<&str>) -> Result<(), Error> {
    let names: usize = asked.iter().map(|text| text.matches(',').count() + 1).sum();
    if names > MOST_FOUND {
        return Err(Error::invalid(format!("there are {names} names, and a listing takes at most {MOST_FOUND}"))
            .hint("ask for fewer, or use a pattern with %"));
    }
    if asked.iter().map(String::len).sum::<usize>() > MOST_OCTETS {
        return Err(Error::invalid(format!("the names have more than {MOST_OCTETS} octets")).hint("ask for fewer"));
    }
    let words = search.map_or(0, |search| search.split_whitespace().take(MOST_WORDS + 1).count());
    if words > MOST_WORDS || search.is_some_and(|search| search.len() > MOST_SEARCHED) {
        return Err(Error::invalid(format!("search: give at most {MOST_WORDS} words")));
    }
    Ok(())
}

/// Finds what `asked` means among `known`, each of which is a `noun`. `catalog` is the name that may precede a
/// schema.
pub fn find<'a>(asked: &[String], known: &[Known<'a>], catalog: &str, noun: &str) -> Matches {
    let (mut found, mut hints, mut missed): (Vec<Known<'a>>, Vec<String>, usize) = (Vec::new(), Vec::new(), 0);
    let mut add = |tables: Vec<Known<'a>>| {
        for table in tables {
            if !found.contains(&table) {
                found.push(table);
            }
        }
    };
    for text in asked {
        // A name may have a comma in it.
        let whole = exactly(text, known, catalog);
        if !whole.is_empty() {
            add(whole);
            continue;
        }
        for name in split(text) {
            match meant(&name, known, catalog) {
                Ok(tables) => add(tables),
                Err(nothing) if hints.len() < MOST_NEAR => hints.push(nothing.explain(&name, known, noun)),
                Err(_) => missed += 1,
            }
        }
    }
    if missed > 0 {
        hints.push(format!("{missed} more names match nothing that you may see"));
    }
    let more = found.len().saturating_sub(MOST_FOUND);
    if more > 0 {
        found.truncate(MOST_FOUND);
        hints.push(format!("{more} more match: ask for fewer"));
    }
    let objects = found.into_iter().map(|(schema, name)| (schema.to_owned(), name.to_owned())).collect();
    Matches { objects, hint: (!hints.is_empty()).then(|| hints.join("; ")) }
}

/// Splits a comma list into names. Text in double quotes is one name.
fn split(text: &str) -> Vec<String> {
    let (mut names, mut name, mut is_quoted) = (Vec::new(), String::new(), false);
    for each in text.chars() {
        match each {
            '"' => {
                is_quoted = !is_quoted;
                name.push(each);
            }
            ',' if !is_quoted => names.push(std::mem::take(&mut name)),
            _ => name.push(each),
        }
    }
    names.push(name);
    names.into_iter().map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect()
}

/// A name without its quotes.
fn unquoted(name: &str) -> String {
    match name.strip_prefix('"').and_then(|name| name.strip_suffix('"')) {
        Some(inner) if !inner.is_empty() => inner.replace("\"\"", "\""),
        _ => name.to_owned(),
    }
}

/// Returns each way to read a name: alone, after its schema, and after its schema and the catalogue.
fn ways<'a>(name: &'a str, catalog: &str) -> Vec<(Option<&'a str>, &'a str)> {
    let rest = name.split_once('.').filter(|(first, _)| first.eq_ignore_ascii_case(catalog)).map(|(_, rest)| rest);
    let behind = |text: &'a str| text.match_indices('.').map(move |(at, _)| (Some(&text[..at]), &text[at + 1..]));
    let mut ways = vec![(None, name)];
    ways.extend(behind(name));
    ways.extend(rest.into_iter().flat_map(behind));
    ways
}

fn exactly<'a>(name: &str, known: &[Known<'a>], catalog: &str) -> Vec<Known<'a>> {
    by(name, known, catalog, |asked, name| unquoted(asked) == name)
}

fn by<'a>(name: &str, known: &[Known<'a>], catalog: &str, is_it: impl Fn(&str, &str) -> bool) -> Vec<Known<'a>> {
    let ways = ways(name, catalog);
    let fits = |(schema, table): &Known<'_>| {
        ways.iter().any(|(in_schema, named)| is_it(named, table) && in_schema.is_none_or(|it| is_it(it, schema)))
    };
    known.iter().copied().filter(fits).collect()
}

/// Why a name matches none of the known ones.
enum Nothing {
    Unclear(String),
    NoMatch,
    NotThere,
}

impl Nothing {
    fn explain(self, name: &str, known: &[Known<'_>], noun: &str) -> String {
        match self {
            Self::Unclear(which) => format!("{name} is not clear: there are {which}"),
            Self::NoMatch => format!("no {noun} that you may see matches {name}{}", near_of(name, known)),
            Self::NotThere => format!("there is no {noun} {name} that you may see{}", near_of(name, known)),
        }
    }
}

/// Returns what `name` means, or why it matches nothing.
fn meant<'a>(name: &str, known: &[Known<'a>], catalog: &str) -> Result<Vec<Known<'a>>, Nothing> {
    let found = exactly(name, known, catalog);
    if !found.is_empty() {
        return Ok(found);
    }
    let found = by(name, known, catalog, |asked, name| unquoted(asked).eq_ignore_ascii_case(name));
    if found.len() > 1 && found.iter().any(|(_, table)| *table != found[0].1) {
        return Err(Nothing::Unclear(written(&found)));
    }
    if !found.is_empty() {
        return Ok(found);
    }
    if name.contains(['%', '_']) {
        let found = by(name, known, catalog, |asked, name| pattern::matches(Some(asked), name));
        if !found.is_empty() {
            return Ok(found);
        }
        if name.contains('%') {
            return Err(Nothing::NoMatch);
        }
    }
    Err(Nothing::NotThere)
}

fn written(tables: &[Known<'_>]) -> String {
    tables.iter().map(|(schema, name)| format!("{schema}.{name}")).collect::<Vec<_>>().join(", ")
}

/// Returns names similar to `name`.
fn near_of(name: &str, known: &[Known<'_>]) -> String {
    let bare = unquoted(name.rsplit('.').next().unwrap_or(name)).replace('%', "");
    let mut near = near::nearest_qualified(None, &bare, known);
    if near.is_empty() {
        // Plurals, prefixes and parts of names are near too.
        let lower = bare.to_lowercase();
        let stem = lower.strip_suffix("ies").or_else(|| lower.strip_suffix('s')).unwrap_or(&lower);
        let has = |(_, table): &&Known<'_>| stem.len() > 2 && table.to_lowercase().contains(stem);
        near = known.iter().filter(has).take(3).copied().collect();
    }
    match near.as_slice() {
        [] => match known {
            [] => ": there is none at all".to_owned(),
            _ => format!("; among those there are {}", written(&known[..known.len().min(5)])),
        },
        near => format!("; did you mean {}?", written(near)),
    }
}

/// A thing that words are looked for in.
#[derive(Debug, Default)]
struct Document {
    name: String,
    remarks: String,
    columns: String,
}

/// Ranks tables by `words`: first those whose names contain them, then those whose comments and columns do.
/// `tables` are rows of the metadata of tables, `columns` of that of columns. Returns the indexes of the rows.
pub fn search(words: &str, tables: &[TextRow], columns: &[TextRow]) -> Vec<usize> {
    let text = |row: &TextRow, at: usize| row.get(at).cloned().flatten().unwrap_or_default().to_lowercase();
    let mut of_columns: HashMap<(String, String), String> = HashMap::new();
    for row in columns {
        let all = of_columns.entry((text(row, 1), text(row, 2))).or_default();
        for cell in [text(row, 3), text(row, 9)] {
            all.push_str(&cell);
            all.push(' ');
        }
    }
    let words: Vec<String> = words
        .to_lowercase()
        .split(|it: char| !(it.is_alphanumeric() || it == '_'))
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect();
    let mut ranked: Vec<(usize, usize)> = Vec::new();
    for (at, row) in tables.iter().enumerate() {
        let (schema, name) = (text(row, 1), text(row, 2));
        let columns = of_columns.get(&(schema.clone(), name.clone())).cloned().unwrap_or_default();
        let document = Document { name: format!("{schema}.{name}"), remarks: text(row, 4), columns };
        let scores: Vec<usize> = words.iter().map(|word| document.score(&name, word)).collect();
        // All words, and then as many as may be.
        let hit = scores.iter().filter(|score| **score > 0).count();
        if hit > 0 {
            ranked.push((hit * 1_000 + scores.iter().sum::<usize>(), at));
        }
    }
    ranked.sort_by_key(|(score, at)| (std::cmp::Reverse(*score), *at));
    ranked.into_iter().map(|(_, at)| at).collect()
}

impl Document {
    fn score(&self, name: &str, word: &str) -> usize {
        let stem = word.strip_suffix("ies").or_else(|| word.strip_suffix('s')).filter(|stem| stem.len() > 2);
        let has = |text: &str| text.contains(word) || stem.is_some_and(|stem| text.contains(stem));
        if name == word {
            100
        } else if has(&self.name) {
            50 + usize::from(name.starts_with(word)) * 10
        } else if has(&self.remarks) {
            20
        } else if has(&self.columns) {
            10
        } else {
            0
        }
    }
}

/// Ranks names for a typed prefix: those that start with it, then those that contain it, then similar ones.
pub fn completions(begun: &str, names: Vec<String>) -> Vec<String> {
    let lower = begun.to_lowercase();
    let near: Vec<String> =
        near::nearest(begun, names.iter().map(String::as_str)).into_iter().map(str::to_owned).collect();
    let rank = |name: &String| {
        let it = name.to_lowercase();
        if it.starts_with(&lower) {
            Some(0)
        } else if it.contains(&lower) {
            Some(1)
        } else {
            near.iter().position(|near| near == name).map(|at| at + 2)
        }
    };
    let mut ranked: Vec<(usize, String)> = names.iter().filter_map(|name| Some((rank(name)?, name.clone()))).collect();
    ranked.sort();
    ranked.dedup();
    ranked.into_iter().map(|(_, name)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: [Known<'static>; 8] = [
        ("crm", "orders"),
        ("public", "Customer"),
        ("public", "customers"),
        ("public", "CUSTOMERS"),
        ("public", "order_lines"),
        ("public", "orders"),
        ("public", "a, b"),
        ("public", "x.y"),
    ];

    fn found(asked: &[&str]) -> (String, Option<String>) {
        let asked: Vec<String> = asked.iter().map(|it| (*it).to_owned()).collect();
        let found = find(&asked, &KNOWN, "sales", "table or view");
        (
            found.objects.iter().map(|(schema, name)| format!("{schema}.{name}")).collect::<Vec<_>>().join(" "),
            found.hint,
        )
    }

    #[test]
    fn tables_are_found_as_agents_write_them() {
        for (asked, tables) in [
            (&["orders"][..], "crm.orders public.orders"),
            (&["crm.orders"], "crm.orders"),
            (&["sales.public.orders"], "public.orders"),
            (&["customer"], "public.Customer"),
            (&["ORDER_LINES"], "public.order_lines"),
            (&["Public.Orders"], "public.orders"),
            (&["order_lines, customers"], "public.order_lines public.customers"),
            (&["order_lines", "\"Customer\""], "public.order_lines public.Customer"),
            (&["order%"], "crm.orders public.order_lines public.orders"),
            (&["public.order%,crm.%"], "public.order_lines public.orders crm.orders"),
            (&["a, b"], "public.a, b"),
            (&["\"a, b\""], "public.a, b"),
            (&["x.y"], "public.x.y"),
            (&["order_line_"], "public.order_lines"),
        ] {
            assert_eq!(found(asked), (tables.to_owned(), None), "{asked:?}");
        }
    }

    #[test]
    fn what_is_not_found_is_told_with_what_is_near() {
        for (asked, tables, hint) in [
            (&["Customers"][..], "", "Customers is not clear: there are public.customers, public.CUSTOMERS"),
            (
                &["ordrs"],
                "",
                "there is no table or view ordrs that you may see; did you mean crm.orders, public.orders",
            ),
            (&["orders,nothing"], "crm.orders public.orders", "there is no table or view nothing that you may see"),
            (&["%zzz%"], "", "no table or view that you may see matches %zzz%"),
        ] {
            let (told, said) = found(asked);
            assert_eq!(told, tables, "{asked:?}");
            assert!(said.as_deref().is_some_and(|said| said.starts_with(hint)), "{asked:?}: {said:?}");
        }
        assert_eq!(
            find(&["a".to_owned()], &[], "s", "table or view").hint.unwrap(),
            "there is no table or view a that you may see: there is none at all"
        );
    }

    #[test]
    fn words_are_ranked_by_where_they_are() {
        let row = |cells: &[&str]| cells.iter().map(|cell| Some((*cell).to_owned())).collect::<TextRow>();
        let tables = [
            row(&["c", "s", "invoice_lines", "TABLE", "Lines."]),
            row(&["c", "s", "ledger", "TABLE", "Every invoice and its tax."]),
            row(&["c", "s", "invoices", "TABLE", ""]),
            row(&["c", "s", "people", "TABLE", ""]),
        ];
        let columns = [row(&["c", "s", "people", "tax_number", "", "", "", "", "", "For an invoice."])];
        assert_eq!(search("invoices", &tables, &columns), [2, 0, 1, 3]);
        assert_eq!(search("tax, invoice", &tables, &columns), [1, 3, 0, 2]);
        assert!(search("nothing", &tables, &columns).is_empty() && search(" ,", &tables, &columns).is_empty());
    }

    #[test]
    fn completions_begin_with_what_was_typed_first() {
        let names = ["orders", "sales_orders", "customers", "order_lines"].map(str::to_owned).to_vec();
        assert_eq!(completions("ord", names.clone()), ["order_lines", "orders", "sales_orders"]);
        assert_eq!(completions("custmers", names.clone()), ["customers"]);
        assert_eq!(completions("", names).len(), 4);
    }
}
