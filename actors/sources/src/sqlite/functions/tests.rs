//! The same results as the engine's own, of any arguments; and an end when the switch says so.

use std::time::{Duration, Instant};

use proptest::prelude::*;
use rusqlite::Connection;
use rusqlite::types::Value;
use tokio_util::sync::CancellationToken;

use crate::sqlite::functions::replace;
use crate::sqlite::functions::stop::StopSwitch;
use crate::sqlite::session::cancel_flag::CancelFlag;

const CALLS: &[(&str, usize)] = &[
    ("instr", 2),
    ("replace", 3),
    ("trim", 1),
    ("trim", 2),
    ("ltrim", 2),
    ("rtrim", 2),
    ("unhex", 2),
    ("glob", 2),
    ("like", 2),
    ("like", 3),
    ("json_patch", 2),
    ("json_extract", 6),
    ("json_remove", 7),
    ("json_set", 11),
    ("hex", 1),
];

fn engines() -> (Connection, Connection) {
    let (plain, ours) = (Connection::open_in_memory().unwrap(), Connection::open_in_memory().unwrap());
    replace(&ours, &StopSwitch::default()).unwrap();
    (plain, ours)
}

fn answer(engine: &Connection, call: &str, arguments: &[Value]) -> Result<(Value, String), String> {
    let marks: Vec<String> = (1..=arguments.len()).map(|at| format!("?{at}")).collect();
    let call = format!("SELECT r, typeof(r) FROM (SELECT {call}({}) AS r)", marks.join(", "));
    let mut statement = engine.prepare_cached(&call).map_err(|error| error.to_string())?;
    let bound = rusqlite::params_from_iter(arguments);
    statement.query_row(bound, |row| Ok((row.get::<_, Value>(0)?, row.get(1)?))).map_err(|error| error.to_string())
}

/// Texts of few characters, so that they match often; some are not UTF-8, which only CAST can make.
fn value() -> impl Strategy<Value = Value> {
    let text = "[abAB%_*?\\[\\]^\\\\é本-]{0,12}";
    prop_oneof![
        8 => text.prop_map(Value::Text),
        2 => "[0-9a-fA-F ,-]{0,10}".prop_map(Value::Text),
        2 => prop::collection::vec(prop::sample::select(vec![0_u8, b'a', b'b', 0x80, 0xc3, 0xa9, 0xff, 0xf0]), 0..8)
            .prop_map(Value::Blob),
        1 => any::<i64>().prop_map(Value::Integer),
        1 => any::<f64>().prop_map(Value::Real),
        1 => Just(Value::Null),
        2 => prop::sample::select(vec!["{}", "{\"a\":1,\"b\":[1,2]}", "[1,{\"a\":null}]", "{\"a\":{\"c\":\"é\"}}", "{"])
            .prop_map(|json| Value::Text(json.to_owned())),
        2 => prop::sample::select(vec!["$", "$.a", "$.b[1]", "$[#-1]", "$.a.c", "\\", "%", "_"])
            .prop_map(|path| Value::Text(path.to_owned())),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn results_are_the_engines_own(call in prop::sample::select(CALLS), values in prop::collection::vec(value(), 11)) {
        thread_local!(static ENGINES: (Connection, Connection) = engines());
        let values = &values[..call.1];
        ENGINES.with(|(plain, ours)| {
            let (expected, found) = (answer(plain, call.0, values), answer(ours, call.0, values));
            let alike = match (&expected, &found) {
                (Ok(a), Ok(b)) => format!("{a:?}") == format!("{b:?}"),
                (Err(_), Err(_)) => true,
                // Texts that are not UTF-8 fail in both when they are read.
                _ => false,
            };
            prop_assert!(alike, "{}({values:?}): {expected:?} / {found:?}", call.0);
            Ok(())
        })?;
    }
}

#[test]
fn operators_and_literals_are_the_engines_own() {
    let (plain, ours) = engines();
    for expression in [
        "'AbC' LIKE 'a%'",
        "'a_c' LIKE 'a\\_c' ESCAPE '\\'",
        "'abc' LIKE 'a\\_c' ESCAPE '\\'",
        "'abc' NOT GLOB '[a-b]*'",
        "12.5 LIKE '12%'",
        "x'6162' LIKE 'ab'",
        "instr(1.0e20, '+')",
        "instr(x'c3a9', 'é')",
        "instr(CAST(x'80' AS TEXT), CAST(x'80' AS TEXT))",
        "hex(trim(CAST(x'e9c3a9' AS TEXT), 'é'))",
        "replace('aaa', 'a', 'aa')",
        "replace(123, 2, NULL)",
        "trim('  x ')",
        "hex(ltrim(CAST(x'c3c3a9' AS TEXT), CAST(x'c3' AS TEXT)))",
        "json_set('{}', '$.a', json('[1]'), '$.b', '[1]', '$.c', 1, '$.d', 2, '$.e', json_array(3))",
        "json_array(json_patch('{\"a\": 1}', '{\"b\": 2}'))",
        "json_array(json_remove('{\"a\": 1}', '$.b', '$.c', '$.d', '$.e', '$.f'))",
        "hex(jsonb_patch('{\"a\": 1}', '{\"b\": 2}'))",
    ] {
        let value = |engine: &Connection| -> Value {
            engine.query_row(&format!("SELECT {expression}"), [], |row| row.get(0)).unwrap()
        };
        assert_eq!(value(&ours), value(&plain), "{expression}");
    }
}

#[test]
fn each_ends_when_its_statement_does() {
    let engine = Connection::open_in_memory().unwrap();
    let switch = StopSwitch::default();
    replace(&engine, &switch).unwrap();
    let long = |octets: usize| format!("CAST(zeroblob({octets}) AS TEXT)");
    let text = |octets: usize| format!("replace(hex(zeroblob({octets} / 2)), '00', 'aa')");
    for call in [
        format!("instr({}, {} || 'b')", text(20_000_000), text(1_000_000)),
        format!("replace({}, {} || 'b', 'c')", text(20_000_000), text(1_000_000)),
        format!("trim({}, {} || 'a')", text(10_000_000), text(1_000_000)),
        format!("unhex({}, {} || '-')", "replace(hex(zeroblob(5000000)), '0', '-')", text(1_000_000)),
        format!("{} LIKE '%' || {} || 'b'", text(20_000_000), text(900)),
        format!("{} GLOB '*' || {} || 'b'", text(20_000_000), text(900)),
        format!("like('%' || {} || 'b', {})", text(900), text(20_000_000)),
        format!("length({})", long(20_000_000)),
    ] {
        let cancel = CancelFlag::new(Instant::now() + Duration::from_millis(200), CancellationToken::new());
        switch.set(Some(cancel));
        let began = Instant::now();
        let answer = engine.query_row(&format!("SELECT {call}"), [], |row| row.get::<_, Value>(0));
        let interrupted = answer
            .as_ref()
            .is_err_and(|error| error.sqlite_error_code() == Some(rusqlite::ErrorCode::OperationInterrupted));
        assert!(interrupted || answer.is_ok(), "{call}: {answer:?}");
        // Generous: the bug that this test is for took minutes.
        assert!(began.elapsed() < Duration::from_secs(20), "{call}: {:?}", began.elapsed());
    }
    let big = "'{' || substr(replace(hex(zeroblob(2000000)), '00', ',\"a\":1'), 2) || '}'";
    let refused = engine.query_row(&format!("SELECT length(json_patch({big}, {big}))"), [], |row| row.get::<_, i64>(0));
    assert_eq!(refused.unwrap_err().sqlite_error_code(), Some(rusqlite::ErrorCode::TooBig));
}
