//! A call of every routine of the server, with arguments that are not NULL.

use std::collections::HashMap;

use tokio_postgres::Client;

/// Tried in this order: the first that a type takes is its literal.
const CANDIDATES: [&str; 20] = [
    "1",
    "x",
    "{}",
    "[1,2)",
    "(1,1)",
    "2024-01-01",
    "12:00",
    "1 day",
    "0/1",
    "(0,1)",
    "1:2:",
    "10.0.0.1",
    "08:00:2b:01:02:03",
    "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
    "((0,0),(1,1))",
    "{1,2,3}",
    "english",
    "postgres",
    "int4",
    "a=>1",
];

const ROUTINES: &str = "
SELECT quote_ident(n.nspname) || '.' || quote_ident(p.proname), p.prokind::text, p.provolatile::text,
    ARRAY(SELECT format_type(t, NULL) FROM unnest(p.proargtypes) WITH ORDINALITY AS u (t, i) ORDER BY i),
    p.provariadic <> 0
FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace LEFT JOIN pg_aggregate a ON a.aggfnoid = p.oid
WHERE coalesce(a.aggkind, 'n') = 'n' AND NOT EXISTS (SELECT FROM unnest(p.proargtypes) t WHERE t IN ('internal'::regtype, 'trigger'::regtype))
    AND n.nspname !~ '^pg_temp' ORDER BY p.oid";

/// One call.
#[derive(Clone, Debug)]
pub(super) struct Routine {
    pub(super) name: String,
    pub(super) volatile: bool,
    pub(super) text: String,
}

/// Calls of all, in several ways where an argument is a text or a number that could mean something:
/// `{p}` is somebody else's session.
pub(super) async fn calls(admin: &Client, dblink: &str) -> Vec<Routine> {
    let table: u32 = admin.query_one("SELECT 'orders'::regclass::oid", &[]).await.unwrap().get(0);
    let mut literals: HashMap<String, Option<String>> = HashMap::new();
    let mut calls = Vec::new();
    for row in admin.query(ROUTINES, &[]).await.unwrap() {
        let (name, kind, volatility): (String, String, String) = (row.get(0), row.get(1), row.get(2));
        let types: Vec<String> = row.get(3);
        let mut known = true;
        for each in &types {
            if !literals.contains_key(each) {
                let literal = literal(admin, each).await;
                literals.insert(each.clone(), literal);
            }
            known &= special(each, 0, true, table, dblink).is_some() || literals[each].is_some();
        }
        if !known {
            continue;
        }
        let ways = 1 + 3 * usize::from(types.iter().any(|each| special(each, 1, true, table, dblink).is_some()));
        for way in 0..ways {
            let mut texts = 0;
            let arguments = types.iter().map(|each| {
                let first = texts == 0;
                texts += usize::from(is_text(each));
                special(each, way, first, table, dblink).or_else(|| literals[each].clone()).unwrap_or_default()
            });
            let arguments: Vec<String> = arguments.collect();
            let arguments = arguments.join(", ");
            let text = match kind.as_str() {
                "p" => format!("CALL {name}({arguments})"),
                "w" => format!("SELECT {name}({arguments}) OVER ()"),
                _ => format!("SELECT {name}({arguments})"),
            };
            calls.push(Routine { name: name.clone(), volatile: volatility == "v", text });
        }
    }
    calls.dedup_by(|one, other| one.text == other.text);
    calls
}

fn is_text(kind: &str) -> bool {
    matches!(kind, "text" | "character varying" | "cstring" | "name" | "character")
}

/// A value that means something: a table and its large object, a session, a text that is run as SQL,
/// another database and a statement for it, a file.
fn special(kind: &str, way: usize, first: bool, table: u32, dblink: &str) -> Option<String> {
    let quoted = |text: &str| format!("'{}'", text.replace('\'', "''"));
    Some(match kind {
        "oid" => table.to_string(),
        "regclass" if way == 1 => "'ticket_seq'::regclass".to_owned(),
        "regclass" => "'orders'::regclass".to_owned(),
        "integer" if way == 1 => "{p}".to_owned(),
        "integer" => "1".to_owned(),
        kind if is_text(kind) => {
            let words = match (way, first) {
                (0, _) => "x",
                (1, _) => "SELECT pg_notify('attack', 'x')",
                (2, true) => dblink,
                (2, false) => "INSERT INTO orders (note) VALUES ('attack') RETURNING id",
                _ => "/etc/hostname",
            };
            format!("{}::{kind}", quoted(words))
        }
        _ => return None,
    })
}

/// A literal of a type, if one of the candidates is one.
async fn literal(admin: &Client, kind: &str) -> Option<String> {
    let fixed = match kind {
        "\"any\"" | "anyelement" | "anynonarray" | "anycompatible" | "anycompatiblenonarray" => "1",
        "anyarray" | "anycompatiblearray" => "ARRAY[1]",
        "anyrange" | "anycompatiblerange" => "int4range(1, 2)",
        "anymultirange" | "anycompatiblemultirange" => "int4multirange(int4range(1, 2))",
        "anyenum" => return None,
        "record" => "ROW(1)",
        "boolean" => "true",
        "refcursor" => "'x'::refcursor",
        "timestamp with time zone" => "now()",
        _ => "",
    };
    if !fixed.is_empty() {
        return Some(fixed.to_owned());
    }
    for candidate in CANDIDATES {
        let literal = format!("'{candidate}'::{kind}");
        if admin.simple_query(&format!("SELECT {literal}")).await.is_ok() {
            return Some(literal);
        }
    }
    None
}
