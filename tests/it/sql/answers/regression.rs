//! The server's own regression tests (`src/test/regress`), from the folder that `PORTICO_REGRESSION` names: what they
//! read is asked of both. `.ci/run` fetches them as the source of the system's server.

use std::fs;
use std::path::{Path, PathBuf};

use portico_actors::sql::{Dialect, Naming, statements};

use super::said::{NONE, Said, agree, difference};
use super::{by_portico, by_server, service, undone};
use crate::walls::server::say;

/// Files that are tried: types, expressions and queries.
const FILES: [&str; 23] = [
    "aggregates",
    "arrays",
    "bit",
    "boolean",
    "case",
    "char",
    "date",
    "domain",
    "enum",
    "expressions",
    "float4",
    "float8",
    "groupingsets",
    "horology",
    "inet",
    "int2",
    "int4",
    "int8",
    "interval",
    "join",
    "json",
    "jsonb_jsonpath",
    "limit",
];

/// The statements of a regression test: without what is psql's own, in tables that every session sees, and with the
/// rows of the files in `folder`.
fn of_regression(text: &str, folder: &Path) -> Vec<String> {
    let mut kept = String::new();
    let mut data = false;
    let mut rows = String::new();
    for line in text.lines() {
        let is_end = data && line == "\\.";
        data &= !is_end;
        if let Some(file) = line.strip_prefix("\\set filename :abs_srcdir '/") {
            rows = folder.join(file.trim_end_matches('\'')).display().to_string();
        }
        if let Some((head, end)) = line.split_once(":'filename'").filter(|(head, _)| head.starts_with("COPY ")) {
            kept.push_str(&format!("{head}'{rows}'{end}\n"));
            continue;
        }
        if !is_end && !data && !line.starts_with('\\') && !line.starts_with("--") {
            let words: Vec<&str> = line.split(' ').collect();
            let is_own = |word: &&str| matches!(word.to_uppercase().as_str(), "TEMP" | "TEMPORARY");
            let makes = words[0].eq_ignore_ascii_case("create");
            kept.push_str(&words.into_iter().filter(|word| !makes || !is_own(word)).collect::<Vec<_>>().join(" "));
            kept.push('\n');
            let lower = line.to_lowercase();
            data = lower.starts_with("copy ") && lower.contains("from stdin");
        }
    }
    let naming = Naming { connection: "shop", others: &[] };
    let Ok(all) = statements(&kept, Dialect::POSTGRESQL, naming) else { return Vec::new() };
    all.into_iter().map(|statement| statement.text).collect()
}

/// Verbs of what would make the two sessions differ, or ask for more than an answer.
const LEFT_OUT: &[&str] = &[
    "copy",
    "listen",
    "notify",
    "vacuum",
    "reindex",
    "cluster",
    "checkpoint",
    "load",
    "set",
    "reset",
    "begin",
    "start",
    "commit",
    "end",
    "abort",
    "rollback",
    "savepoint",
    "release",
    "prepare",
    "execute",
    "declare",
    "fetch",
    "discard",
];
/// Words of what looks at the session itself, or is another each time.
const OF_SESSIONS: &[&str] = &[
    "pg_stat",
    "pg_backend_pid",
    "current_user",
    "pg_prepared",
    "pg_sleep",
    "currval",
    "lastval",
    "setval",
    "nextval",
    "advisory",
    "current_setting",
    "set_config",
    "random",
    "pg_temp",
    "pg_cursors",
    "pg_my_temp",
    "xmin",
    "ctid",
];

/// Each of the server's own tests: what reads is asked of both, and all else is run by the server.
#[actix_web::test]
async fn the_server_s_own_tests_are_answered_as_by_itself() {
    let Some(folder) = std::env::var_os("PORTICO_REGRESSION").map(PathBuf::from) else {
        say("passed over: PORTICO_REGRESSION names no folder of the server's own regression tests");
        return;
    };
    let of = |name: &str| {
        let file = folder.join("sql").join(name).with_extension("sql");
        let text = fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        of_regression(&text, &folder)
    };
    let setup = of("test_setup");
    let (mut answers, mut refusals, mut wrong) = (0, 0, 0);
    for file in FILES {
        let (app, admin) = service().await;
        let (mut compared, mut differ) = (0, 0);
        for (text, is_asked) in
            setup.iter().map(|text| (text.clone(), false)).chain(of(file).into_iter().map(|text| (text, true)))
        {
            let lower = text.to_lowercase();
            let mut words = lower.trim_start();
            while words.starts_with("--") {
                words = words.split_once('\n').map_or("", |(_, rest)| rest.trim_start());
            }
            let verb = words.split_whitespace().next().unwrap_or_default().trim_start_matches('(');
            let is_filled = verb == "copy" && text.contains("/data/");
            if (LEFT_OUT.contains(&verb) && !is_filled) || text.contains(":'") {
                continue;
            }
            let reads = ["select", "values", "table", "with"].contains(&verb)
                && !lower.contains(" into ")
                && !OF_SESSIONS.iter().any(|word| lower.contains(word));
            if !is_asked || !reads {
                by_server(&admin, &text).await;
                continue;
            }
            let theirs = undone(&admin, &text).await;
            if undone(&admin, &text).await != theirs {
                continue;
            }
            let ours = by_portico(&app, &text, NONE).await;
            compared += 1;
            if agree(&ours, &theirs, lower.contains("order by"), false) {
                *(if matches!(ours, Said::Refused { .. }) { &mut refusals } else { &mut answers }) += 1;
            } else {
                differ += 1;
                say(&format!("{file}: {text}\n    {}", difference(&ours, &theirs)));
            }
        }
        assert!(compared > 0, "{file}: nothing is compared");
        wrong += differ;
        say(&format!("{file}: {compared} compared, {differ} differ"));
    }
    say(&format!("{answers} answers, {refusals} refusals, {wrong} differ"));
    assert!(answers > 2_000, "{answers} answers");
    assert_eq!(wrong, 0);
}
