//! Functions and procedures of every kind, made at random and called by name and by position, beside the same call as
//! a statement; rows that a batch writes and changes, beside the same values as literals.
//!
//! `PORTICO_SEED` repeats a run, `PORTICO_CASES` makes it longer.

use serde_json::{Value, json};
use tokio_postgres::{Client, SimpleQueryMessage};

use super::objects::{literal, quoted};
use crate::support::app::TestApp;
use crate::support::dice::{Random, cases};
use crate::support::fixture;
use crate::support::postgres::connect;
use crate::walls::server::say;

/// Types whose values a caller gives as JSON, and such values.
const VALUES: &[(&str, &[&str])] = &[
    ("int4", &["0", "-7", "2147483647", "null"]),
    ("int8", &["9007199254740993", "1", "null"]),
    ("numeric", &["1.50", "12345678901234567890.5", "3", "null"]),
    ("text", &["\"\"", "\"it's\"", "\"a\\\\b\"", "\"1\"", "\"NULL\"", "\"{}\"", "null"]),
    ("bool", &["true", "false", "null"]),
    ("date", &["\"2024-02-29\"", "null"]),
    ("jsonb", &["\"{\\\"a\\\": [1, null]}\"", "null"]),
    ("float8", &["0.1", "-1e300", "7", "null"]),
    ("timestamptz", &["\"2024-02-29T01:02:03.5Z\"", "\"infinity\"", "null"]),
    ("uuid", &["\"6f0b1a52-8d0e-4c57-9d1b-6a7f3f0c2b11\"", "null"]),
    ("int4[]", &["[1, null, 3]", "[]", "\"{4,5}\"", "null"]),
    ("mood", &["\"ok\"", "null"]),
    ("positive", &["7.50", "\"1\"", "null"]),
    ("varchar(3)", &["\"abc\"", "null"]),
];

/// The literal of a value that stands in JSON.
fn of_json(json: &str) -> String {
    match serde_json::from_str(json).unwrap() {
        Value::String(text) => literal(&text),
        Value::Array(_) => literal(&json.replace('[', "{").replace(']', "}")),
        _ => json.to_owned(),
    }
}

/// Sets of values for these types, as JSON.
fn values(dice: &mut Random, types: &[&str]) -> Vec<&'static str> {
    let of = |type_: &&str| VALUES.iter().find(|(name, _)| name == type_).unwrap().1;
    types.iter().map(|type_| dice.one(of(type_))).collect()
}

fn parameters(named: &[(String, &str)]) -> String {
    let members: Vec<String> = named.iter().map(|(name, json)| format!("{}: {json}", json!(name))).collect();
    format!("{{{}}}", members.join(", "))
}

/// `body`, which numbers stand in with all their digits.
async fn sent(app: &TestApp, path: &str, body: String) -> Value {
    let request = app.post(path).header("content-type", "application/json").body(body);
    request.send().await.unwrap().json().await.unwrap()
}

/// The last rows of a statement that the server runs, as it prints them.
async fn direct(admin: &Client, text: &str) -> Result<Vec<Vec<Option<String>>>, String> {
    let told =
        |error: tokio_postgres::Error| error.code().unwrap_or_else(|| panic!("{text}: {error}")).code().to_owned();
    let messages = admin.simple_query(text).await.map_err(told)?;
    let rows = messages.iter().filter_map(|message| match message {
        SimpleQueryMessage::Row(row) => Some((0..row.len()).map(|at| row.get(at).map(str::to_owned)).collect()),
        _ => None,
    });
    Ok(rows.collect())
}

/// The rows of one result, numbers as they are printed.
fn rows(result: &Value) -> Vec<Vec<Option<String>>> {
    let cell = |cell: &Value| match cell {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    };
    let rows = result["rows"].as_array().unwrap_or_else(|| panic!("{result}"));
    rows.iter().map(|row| row.as_array().unwrap().iter().map(cell).collect()).collect()
}

/// How a routine returns what it was given, `#`: its kind, what follows its arguments, what it returns, its body, and
/// how it is called as a statement.
type Kind = (&'static str, &'static str, &'static str, &'static str, &'static str);
const KINDS: &[Kind] = &[
    ("FUNCTION", "", "RETURNS text LANGUAGE sql", "SELECT #", "SELECT * FROM made.f(&)"),
    ("FUNCTION", "", "RETURNS SETOF text LANGUAGE sql", "SELECT # UNION ALL SELECT NULL", "SELECT * FROM made.f(&)"),
    (
        "FUNCTION",
        "",
        "RETURNS TABLE (nth int4, told text) LANGUAGE sql",
        "SELECT g, # FROM generate_series(1, 2) AS g",
        "SELECT * FROM made.f(&)",
    ),
    ("FUNCTION", "OUT told text, OUT \"Two words\" int4", "LANGUAGE sql", "SELECT #, 7", "SELECT * FROM made.f(&)"),
    ("PROCEDURE", "OUT told text", "LANGUAGE plpgsql", "BEGIN told := #; END", "CALL made.f(&, told => NULL)"),
];

/// A routine, its arguments, and a table with columns of the same names and types.
struct Made {
    routine: String,
    words: Vec<String>,
    types: Vec<&'static str>,
    call: &'static str,
    /// Whether the last argument may be left out.
    is_defaulted: bool,
    /// Whether another routine has the same name.
    has_other: bool,
}

impl Made {
    async fn make(admin: &Client, dice: &mut Random, number: usize) -> Self {
        let width = 1 + dice.below(5);
        let types: Vec<&str> = (0..width).map(|_| VALUES[dice.below(VALUES.len())].0).collect();
        let words: Vec<String> =
            ["a", "b", "Mixed", "order", "n 1"][..width].iter().map(|name| (*name).to_owned()).collect();
        let (kind, out, returns, body, call) = *dice.choose(KINDS);
        // Another routine each time, or the function before with other arguments. A procedure that is no longer there
        // is told as such once, as it may have committed.
        let routine = if kind == "PROCEDURE" { format!("p{number}") } else { format!("f{}", number / 2) };
        let is_defaulted = kind == "FUNCTION" && dice.once_in(2);
        let declared = words.iter().zip(&types).map(|(name, type_)| format!("{} {type_}", quoted(name)));
        let columns = declared.collect::<Vec<_>>().join(", ");
        let default = if is_defaulted { " DEFAULT NULL" } else { "" };
        let outs = if out.is_empty() { String::new() } else { format!(", {out}") };
        let told: Vec<String> = words.iter().map(|name| format!("coalesce({}::text, 'NULL')", quoted(name))).collect();
        let body = body.replace('#', &format!("concat_ws('|', {})", told.join(", ")));
        let has_other = dice.once_in(3);
        let other = if has_other {
            format!(
                "CREATE FUNCTION made.{routine} (other cidr, a int4) RETURNS text LANGUAGE sql AS $$ SELECT 'other' $$;"
            )
        } else {
            String::new()
        };
        let text = format!(
            "DO $do$ DECLARE one regprocedure; BEGIN
                FOR one IN SELECT oid FROM pg_proc WHERE pronamespace = 'made'::regnamespace LOOP
                    EXECUTE 'DROP ROUTINE ' || one; END LOOP; END $do$;
            DROP TABLE IF EXISTS made.rows;
            CREATE {kind} made.{routine} ({columns}{default}{outs}) {returns} AS $$ {body} $$; {other}
            CREATE TABLE made.rows (number serial, {columns})"
        );
        admin.batch_execute(&text).await.unwrap_or_else(|error| panic!("{text}: {error:?}"));
        Self { routine, words, types, call, is_defaulted, has_other }
    }

    /// Calls it, beside the server; whether it answers.
    async fn called(&self, app: &TestApp, admin: &Client, dice: &mut Random) -> bool {
        let set = values(dice, &self.types);
        let mut named: Vec<(String, &str)> = self.words.iter().cloned().zip(set.iter().copied()).collect();
        if self.is_defaulted && dice.once_in(2) {
            named.pop();
        }
        let given = named.iter().map(|(name, json)| format!("{} => {}", quoted(name), of_json(json)));
        let given = given.collect::<Vec<_>>().join(", ");
        let meant = self.call.replace("made.f(", &format!("made.{}(", self.routine)).replace('&', &given);
        let theirs = direct(admin, &meant).await;
        // In whatever order they are named.
        if dice.once_in(2) {
            named.reverse();
        }
        let by_position = named.len() == set.len() && !self.has_other && dice.once_in(3);
        let positions = set.iter().enumerate().map(|(at, json)| (format!("@{}", at + 1), *json));
        let given = parameters(&if by_position { positions.collect() } else { named });
        let body = format!("{{\"procedure\": \"made.{}\", \"parameters\": {given}}}", self.routine);
        let ours = sent(app, "/api/exec", body).await;
        let is_answered = theirs.is_ok();
        match theirs {
            Ok(theirs) => {
                assert!(ours.get("error").is_none(), "{meant}: {given}: {ours}");
                assert_eq!(rows(&ours["results"][0]), theirs, "{meant}: {given}: {ours}");
            }
            Err(code) => assert_eq!(ours["error"]["sqlState"], code, "{meant}: {given}: {ours}"),
        }
        is_answered
    }

    /// Sets of values, beside the same statements with literals; how many.
    async fn batched(&self, app: &TestApp, admin: &Client, dice: &mut Random) -> usize {
        let sets: Vec<Vec<&str>> = (0..=dice.below(8)).map(|_| values(dice, &self.types)).collect();
        let names: Vec<String> = self.words.iter().map(|name| quoted(name)).collect();
        let marks: Vec<String> = (0..names.len()).map(|at| format!("@p{at}")).collect();
        let texts: Vec<String> = names.iter().map(|name| format!("{name}::text")).collect();
        let (listed, marks, texts) = (names.join(", "), marks.join(", "), texts.join(", "));
        let (first, type_) = (&names[0], self.types[0]);
        let insert = format!("INSERT INTO made.rows ({listed}) VALUES ({marks}) RETURNING {texts}");
        let update =
            format!("UPDATE made.rows SET {first} = @p0 WHERE {first}::text IS DISTINCT FROM (@p0)::{type_}::text");
        for (query, width) in [(&insert, names.len()), (&update, 1)] {
            admin.batch_execute("BEGIN").await.unwrap();
            let (mut theirs, mut given) = (Vec::new(), Vec::new());
            for set in &sets {
                let text =
                    (0..width).fold(query.clone(), |text, at| text.replace(&format!("@p{at}"), &of_json(set[at])));
                if width > 1 || query.starts_with("INSERT") {
                    theirs.push((direct(admin, &text).await.unwrap_or_else(|code| panic!("{text}: {code}")), 1));
                } else {
                    let changed = admin.execute(&text, &[]).await.unwrap_or_else(|error| panic!("{text}: {error:?}"));
                    theirs.push((Vec::new(), changed));
                }
                let named = set[..width].iter().enumerate().map(|(at, json)| (format!("p{at}"), *json));
                given.push(parameters(&named.collect::<Vec<_>>()));
            }
            // The service changes the same rows.
            let is_kept = query.starts_with("INSERT");
            admin.batch_execute("ROLLBACK").await.unwrap();
            let body = format!("{{\"query\": {}, \"parameters\": [{}]}}", json!(query), given.join(", "));
            let document = sent(app, "/api/batch", body).await;
            assert!(document.get("error").is_none(), "{query}: {given:?}: {document}");
            let results = document["results"].as_array().unwrap();
            assert_eq!(results.len(), sets.len(), "{query}: {document}");
            for ((theirs, changed), result) in theirs.into_iter().zip(results) {
                let ours = if is_kept { rows(result) } else { Vec::new() };
                let told = (ours, &result["affectedRows"]);
                assert_eq!(told, (theirs, &json!(changed)), "{query}: {given:?}: {result}");
            }
        }
        sets.len() * 2
    }
}

#[actix_web::test]
async fn routines_and_batches_take_values_as_statements_take_literals() {
    let url = fixture::postgres().await;
    let admin = connect(&url).await;
    let types = "CREATE SCHEMA made; SET extra_float_digits = 1; SET DateStyle = 'ISO'; SET TimeZone = 'UTC';
        CREATE TYPE public.mood AS ENUM ('sad', 'ok'); CREATE DOMAIN public.positive AS numeric CHECK (VALUE > 0);
        DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET TimeZone = ''UTC''', current_database()); END $$";
    admin.batch_execute(types).await.unwrap();
    let app = fixture::with_postgres(&url, "access = \"read-write\"").await;
    let (mut dice, count) = (Random::seeded("calls"), cases(60));
    let (mut answers, mut refusals) = (0, 0);
    for number in 0..count {
        let made = Made::make(&admin, &mut dice, number).await;
        for _ in 0..2 {
            *(if made.called(&app, &admin, &mut dice).await { &mut answers } else { &mut refusals }) += 1;
        }
        answers += made.batched(&app, &admin, &mut dice).await;
    }
    say(&format!("{answers} answers, {refusals} refusals"));
    assert!(answers > count);
}
