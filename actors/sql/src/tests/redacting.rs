//! Tests of redaction: no value, or no secret is left.

use proptest::prelude::*;

use crate::lexing::lexer;
use crate::scans::redact::{hidden_ranges, is_closed, without};
use crate::{Dialect, Redact, redacted};

fn secrets(text: &str, dialect: Dialect) -> String {
    redacted(text, &[dialect], Redact::Secrets).into_owned()
}

proptest! {
    /// A text without a mark of a secret is skipped, and must contain none.
    #[test]
    fn a_text_without_a_mark_has_no_secret(pieces in prop::collection::vec(piece(), 0..12)) {
        let text = pieces.concat();
        for dialect in [Dialect::POSTGRESQL, Dialect::SQLITE] {
            let tokens = lexer::tokens(&text, dialect);
            let whole = tokens.iter().all(|token| is_closed(*token, &text, dialect));
            let redact = if whole { Redact::Secrets } else { Redact::Literals };
            let ranges = hidden_ranges(&text, &tokens, dialect, redact);
            prop_assert_eq!(secrets(&text, dialect), without(&text, ranges), "{}", text);
        }
    }
}

/// Pieces of statements: each word that matters, each kind of quote, and words unrelated to secrets.
fn piece() -> impl Strategy<Value = String> {
    let words = "SELECT INSERT VALUES SET PRAGMA ATTACH CREATE ALTER ROLE USER GROUP SYSTEM DATABASE SUBSCRIPTION OPTIONS \
                 password token pass pwd api_key conninfo key rekey Secret dblink_x crypt hmac set_config decrypt \
                 sqlite3_key pgp_sym_encrypt a b c 1 2.5 , ; . = ( ) [ ] : @ $1";
    let signs = "' ' \" ` $$ $a$ '' /* */ -- \n E' U&' \\ \\x41 \\' :// @ ptc_ eyJ .b.c key= pwd= x'";
    let listed = |text: &'static str| prop::sample::select(text.split_ascii_whitespace().collect::<Vec<_>>());
    prop_oneof![
        4 => listed(words).prop_map(|word| format!("{word} ")),
        4 => listed(words).prop_map(|word| format!("'{word}' ")),
        2 => listed(words).prop_map(|word| format!("\"{word}\"")),
        3 => listed(signs).prop_map(str::to_owned),
        1 => "[a-zA-Z'\"= ä\u{212a}]{1,12}",
    ]
}

#[test]
fn what_is_a_literal_in_one_of_several_dialects_is_left_out() {
    let both = [Dialect::SQLITE, Dialect::POSTGRESQL];
    for text in [
        "SELECT E'ab\\' hunter2 top'",
        "SELECT $x$ hunter2 $x$",
        "SELECT 'a\\', 'hunter2', 'b'",
        "SELECT U&'x' 'hunter2'",
    ] {
        for (dialects, redact) in [(both, Redact::Literals), ([both[1], both[0]], Redact::Literals)] {
            let left = redacted(text, &dialects, redact);
            assert!(!left.contains("hunter2"), "{text}: {left}");
        }
    }
    assert_eq!(redacted("SELECT a FROM t WHERE b = 'x'", &both, Redact::Literals), "SELECT a FROM t WHERE b = ***");
}

#[test]
fn a_shape_has_no_value_and_a_text_no_secret() {
    let cases = [
        ("SELECT a, 'x', 1.5 FROM t1 WHERE b = $$y$$", "SELECT a, ***, *** FROM t1 WHERE b = ***", None),
        ("ALTER ROLE ann PASSWORD 'hunter2'", "ALTER ROLE ann PASSWORD ***", Some("ALTER ROLE ann PASSWORD ***")),
        (
            "CREATE USER MAPPING FOR ann SERVER s OPTIONS (user 'ann', password 'x')",
            "CREATE USER MAPPING FOR ann SERVER s OPTIONS (user ***, password ***)",
            Some("CREATE USER MAPPING FOR ann SERVER s OPTIONS (user 'ann', password ***)"),
        ),
        ("SELECT 'postgres://u:p@h/d', 'http://h/a:b@c'", "SELECT ***, ***", Some("SELECT ***, 'http://h/a:b@c'")),
        ("SELECT f('host=h Password = x')", "SELECT f(***)", Some("SELECT f(***)")),
        ("SELECT 'ptc_pat_abc' -- ptc_pat_abc", "SELECT *** ***", Some("SELECT *** ***")),
        ("SELECT 'never closed", "SELECT ***", Some("SELECT ***")),
        ("SELECT 'a', $x$never closed", "SELECT ***, ***", Some("SELECT ***, ***")),
        ("SELECT 'a', 7 /* never closed", "SELECT ***, *** ***", Some("SELECT ***, *** ***")),
    ];
    for (text, shape, safe) in cases {
        assert_eq!(redacted(text, &[Dialect::POSTGRESQL], Redact::Literals), shape);
        assert_eq!(secrets(text, Dialect::POSTGRESQL), safe.unwrap_or(text));
    }
}

/// Each place of a secret, with each way to write one.
#[test]
fn a_secret_is_left_out_wherever_it_stands_and_however_it_is_quoted() {
    let places = [
        "ALTER ROLE ann PASSWORD @",
        "alter user ann with encrypted\n password /* x */ @ valid until '2030-01-01'",
        "CREATE ROLE ann LOGIN PASSWORD @",
        "CREATE USER ann UNENCRYPTED PASSWORD @",
        "CREATE USER MAPPING FOR ann SERVER s OPTIONS (user 'a', password @)",
        "ALTER USER MAPPING FOR ann SERVER s OPTIONS (SET password @)",
        "CREATE SERVER s FOREIGN DATA WRAPPER w OPTIONS (ADD host 'h', ssl_password @)",
        "CREATE SERVER s FOREIGN DATA WRAPPER w OPTIONS (U&\"p\\0061ssword\" @)",
        "CREATE FOREIGN TABLE t (a int) SERVER s OPTIONS (bearer @)",
        "CREATE SUBSCRIPTION s CONNECTION @ PUBLICATION p",
        "ALTER SUBSCRIPTION s CONNECTION @",
        "SELECT * FROM dblink(@, 'SELECT 1') AS t(a int)",
        "SELECT public.\"dblink_connect\"('c', @)",
        "SELECT dblink_exec ( @ )",
        "ALTER SYSTEM SET primary_conninfo = @",
        "SET my.password = @",
        "SELECT set_config('my.x', @, false)",
        "SELECT crypt(@, gen_salt('bf'))",
        "UPDATE users SET a = 1, password = lower(@) WHERE id = 1",
        "INSERT INTO users (name, password) VALUES ('a', @)",
        "INSERT INTO users (name, api_key) SELECT 'a', @",
        "SELECT * FROM users WHERE \"Password\" = @",
        "SELECT * FROM users WHERE password IN ('a', @)",
        "DO $do$ BEGIN ALTER ROLE ann PASSWORD @; END $do$",
        "SELECT 1; ALTER ROLE ann PASSWORD @; SELECT 2",
        "SELECT format('ALTER ROLE %I PASSWORD %L', 'ann', @)",
        "DO $do$ BEGIN EXECUTE format('ALTER ROLE ann PASSWORD %L', @); END $do$",
        "UPDATE t SET doc = doc || jsonb_build_object('password', @)",
    ];
    let ways = ["'S3same'", "E'S3same'", "U&'S3same'", "$$S3same$$", "$a$S3same$a$", "'x'\n'S3same'", "N'S3same'"];
    for place in places {
        for way in ways {
            let text = place.replace('@', way);
            assert!(!secrets(&text, Dialect::POSTGRESQL).contains("S3same"), "{text}");
            // A statement within a text of another statement.
            let within = format!("SELECT f('{}')", text.replace('\'', "''"));
            assert!(!secrets(&within, Dialect::POSTGRESQL).contains("S3same"), "{within}");
            // The literal is never closed.
            let open = text.trim_end_matches([')', '\'', '$']);
            assert!(!secrets(open, Dialect::POSTGRESQL).contains("S3same"), "{open}");
        }
    }
    for text in [
        "ATTACH 'f.db' AS a KEY 'S3same'",
        "ATTACH 'f.db' AS a KEY \"S3same\"",
        "PRAGMA key = 'S3same'",
        "PRAGMA main.rekey(\"S3same\")",
        "PRAGMA key = S3same",
        "PRAGMA hexkey = x'S3same'",
        "SELECT * FROM users WHERE password = \"S3same\"",
        "ATTACH 'file:f.db?password=S3same' AS a",
        "ATTACH 'file:f.db?key=S3same' AS a",
        "INSERT INTO t VALUES ('{\"password\": \"S3same\"}', '<secret>S3same</secret>')",
    ] {
        assert!(!secrets(text, Dialect::SQLITE).contains("S3same"), "{text}");
    }
}

#[test]
fn what_is_no_secret_stays() {
    for text in [
        "SELECT name FROM customers WHERE city = 'Paris' AND id > 7 ORDER BY 1",
        "INSERT INTO orders (id, note) VALUES (1, 'it''s paid'), (2, E'two\\nlines')",
        "UPDATE t SET a = 'x' WHERE b = 'plain' -- all of them",
        "CREATE TABLE t (a text DEFAULT 'x', PRIMARY KEY (a))",
        "SELECT password, name FROM users WHERE name = 'ann'",
        "PRAGMA table_info('t')",
        "ATTACH 'f.db' AS other",
        "CREATE SERVER s FOREIGN DATA WRAPPER w OPTIONS (host 'h', dbname 'd', port '5432')",
    ] {
        for dialect in [Dialect::POSTGRESQL, Dialect::SQLITE] {
            assert_eq!(secrets(text, dialect), text);
        }
    }
}
