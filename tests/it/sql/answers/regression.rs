//! The server's own regression tests (`src/test/regress/sql`), from the folder that `PORTICO_REGRESSION` names.

use std::fs;
use std::path::PathBuf;

use portico_actors::sql::{Dialect, Naming, statements};
use serde_json::Map;

use super::{Said, agree, by_portico, by_server, difference, service, undone};
use crate::walls::server::say;

/// The statements of a regression test: without what is psql's own, and in tables that every session sees.
fn of_regression(text: &str) -> Vec<String> {
    let mut kept = String::new();
    let mut data = false;
    for line in text.lines() {
        let is_end = data && line == "\\.";
        data &= !is_end;
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
    let Some(folder) = std::env::var_os("PORTICO_REGRESSION").map(PathBuf::from) else { return };
    let mut files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|kind| kind == "sql"));
    files.sort();
    let of = |file: &PathBuf| of_regression(&fs::read_to_string(file).unwrap());
    let setup = files.iter().find(|file| file.ends_with("test_setup.sql")).map(of).unwrap_or_default();
    let (mut answers, mut refusals, mut wrong) = (0, 0, 0);
    for file in &files {
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
            if LEFT_OUT.contains(&verb) || text.contains(":'") {
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
            let ours = by_portico(&app, &text, &Map::new()).await;
            compared += 1;
            if agree(&ours, &theirs, lower.contains("order by"), false) {
                *(if matches!(ours, Said::Refused { .. }) { &mut refusals } else { &mut answers }) += 1;
            } else {
                differ += 1;
                say(&format!("{}: {text}\n    {}", file.display(), difference(&ours, &theirs)));
            }
        }
        wrong += differ;
        say(&format!("{}: {compared} compared, {differ} differ", file.display()));
    }
    say(&format!("{answers} answers, {refusals} refusals, {wrong} differ"));
    assert_eq!(wrong, 0);
}
