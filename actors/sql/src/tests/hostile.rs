//! Texts that are made to hurt: deep, long, unfinished. They run on a stack as small as a tokio
//! worker's, since an overflow would end the process.

use super::*;

/// Runs `work` on a stack of 2 MiB.
fn small<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    std::thread::Builder::new().stack_size(2 << 20).spawn(work).unwrap().join().unwrap()
}

fn outcome(text: String) -> Result<Vec<Statement>> {
    small(move || statements(&text, Dialect::POSTGRESQL, SALES))
}

/// Runs the text through every entry point: none may report an internal error.
fn outcomes(text: String) -> Result<Vec<Statement>> {
    small(move || {
        let found = catalogs(&text);
        let lite = statements(&text, Dialect::SQLITE, SALES);
        assert!(lite.is_ok() || lite.is_err_and(|error| error.kind != Failure::Internal));
        assert!(found.is_ok() || found.is_err_and(|error| error.kind != Failure::Internal));
        statements(&text, Dialect::POSTGRESQL, SALES)
    })
}

/// A start, a repeated opening, a middle, a repeated closing, an end.
const NESTED: &[(&str, &str, &str, &str)] = &[
    ("select ", "(", "1", ")"),
    ("select ", "(select ", "1", ")"),
    ("select * from ", "(select * from ", "t", ") x"),
    ("select * from ", "lateral (select * from ", "t", ") x"),
    ("select ", "f(", "1", ")"),
    ("select array", "[", "1", "]"),
    ("select ", "a[", "1", "]"),
    ("select ", "case when a then ", "1", " end"),
    ("select ", "case when 1 then 2 else ", "1", " end"),
    ("select ", "case ", "a", " when 1 then 2 end"),
    ("select ", "exists(select ", "1", ")"),
    ("select ", "row(", "1", ")"),
    ("select ", "cast(", "1", " as int)"),
    ("select 1 ", "= any (select 1 ", "1", ")"),
    ("select ", "a = all(array[", "1", "])"),
    ("", "with a as (", "select 1", ") select 1"),
    ("select ", "f(x) over (order by ", "1", ")"),
    ("select ", "(1,", "1", ")"),
    ("create rule r as on insert to t do ", "(", "select 1", ")"),
];

#[test]
fn deep_nesting_is_refused_and_ordinary_nesting_is_not() {
    for (start, open, middle, close) in NESTED {
        let nested = |depth: usize| format!("{start}{}{middle}{}", open.repeat(depth), close.repeat(depth));
        for depth in [guard::MAX_DEPTH + 1, 6_000] {
            let error = outcomes(nested(depth)).unwrap_err();
            assert!(matches!(error.kind, Failure::Invalid | Failure::TooLarge), "{open}: {error:?}");
            assert!(error.message.contains("nests deeper"), "{}", error.message);
        }
        for depth in [1, 10, 60] {
            assert!(outcome(nested(depth)).is_ok(), "{open} × {depth}");
        }
        let open_only = outcome(format!("{start}{}", open.repeat(6_000))).unwrap_err();
        assert_eq!(open_only.kind, Failure::Invalid, "{open}");
    }
}

#[test]
fn long_chains_are_scanned_instead_of_parsed() {
    for (start, link, end) in [
        ("select 1", " + 1", ""),
        ("select 1", " || a", ""),
        ("select 1", " = a", ""),
        ("select 1 where a = 1", " and b = 2", ""),
        ("select 1 where a = 1", " or b between 1 and 2", ""),
        ("select a", " between b and c", ""),
        ("select a", "::int", ""),
        ("select a", ".a", ""),
        ("select a", "[1]", ""),
        ("select a", " is null", ""),
        ("select a", " is distinct from b", ""),
        ("select a", " collate x", ""),
        ("select ", "not ", "a"),
        ("select ", "- ", "a"),
        ("select ", "~ ", "a"),
        ("select ", "@ ", "a"),
        ("select ", "a between ", "a"),
        ("select ", "operator(pg_catalog.+) ", "a"),
        ("select 1 ", "+ ", ""),
        ("select 1", " union all select 1", ""),
        ("select 1, 2", " union all select 1, 2", ""),
        ("select * from a", " cross join b", ""),
        ("select * from a", " join b on x = y", ""),
        ("select * from a ", "join b ", ""),
        ("select 1 order by a", ", b", ""),
        ("", "select ", ""),
        ("", "with a as (select 1) ", "select 1"),
        ("select ", "interval ", ""),
        ("select case ", "when a then b ", "end"),
    ] {
        for count in [300, 1_000, 25_000] {
            let text = format!("{start}{}{end}", link.repeat(count));
            if text.len() > guard::MAX_BYTES {
                continue;
            }
            let all = outcome(text).unwrap_or_else(|error| panic!("{link} × {count}: {error:?}"));
            assert_eq!(all[0].class, Class::Select, "{link} × {count}");
        }
    }
    for link in ["explain ", "explain analyze ", "prepare a as ", "declare c cursor for ", "begin atomic "] {
        assert!(outcome(format!("{}select 1", link.repeat(20_000))).is_ok(), "{link}");
    }
}

#[test]
fn long_but_flat_is_ordinary() {
    let list = "1,".repeat(20_000);
    let all = outcome(format!("select * from sales.b.c where a in ({list}1)")).unwrap();
    assert!(all[0].text.starts_with("select * from b.c where"));
    assert_eq!((all[0].class, all[0].calls_functions), (Class::Select, false));

    let rows = "(1, 'a', now()),".repeat(10_000);
    let all = outcome(format!("insert into sales.b.c values {rows}(2, 'b', null) returning a")).unwrap();
    assert!(all[0].text.starts_with("insert into b.c values"));
    assert_eq!((all[0].class, all[0].returns_rows), (Class::Insert, true));

    let rows = "(@a, @b),".repeat(10_000);
    let all = outcome(format!("insert into t values {rows}(@a, @c)")).unwrap();
    assert_eq!(all[0].placeholders, ["a", "b", "c"]);
}

/// PostgreSQL reads a run of signs again at each operator and comment in it, and cannot be cancelled meanwhile.
#[test]
fn runs_of_signs_that_a_source_reads_for_long_are_refused() {
    for run in ["/*", "/**/", "*/", "+", "+-", "?/**/", "/**/||", "`/*", "/*/", "/*-- ", "/**//*", "@/**/"] {
        for text in ["select 1 #", "select '#' /* # */, # 1", "select 1; -- a\n#"] {
            let text = text.replace('#', &run.repeat(120_000 / run.len()));
            let refused = outcome(text);
            // Blanks end a run.
            let is_harmless = run.contains(' ');
            assert_eq!(refused.is_err(), !is_harmless, "{run}: {refused:?}");
        }
    }
    let banner = format!("/*{0}*/\n--{0}\n/{0}/ /*{1}*/ -- {1}\n", "*".repeat(2_000), "=-".repeat(1_000));
    for text in [
        format!("{banner} select 1 {banner}"),
        format!("select {} x from t {}", "a+b*-c, ".repeat(20_000), "-- a - b -> c\n".repeat(5_000)),
        format!("select '{}', \"{0}\", $a${0}$a$", "/**/+-".repeat(20_000)),
        "select - - - + + 1".to_owned() + &" /* a */ /* b */".repeat(10_000),
    ] {
        let admitted = outcome(text.clone());
        assert!(admitted.is_ok(), "{}: {admitted:?}", text.chars().take(60).collect::<String>());
    }
}

#[test]
fn what_never_ends_is_read_to_the_end() {
    let opening = [
        "'",
        "\"",
        "`",
        "[",
        "$$",
        "$a$",
        "E'",
        "U&'",
        "u&\"",
        "x'",
        "/*",
        "--",
        "(",
        "@",
        "@a",
        "$",
        "$1",
        ".",
        "::",
        "e'\\",
        "/*/*",
        "[[",
        "{",
        "\\",
        "begin atomic ",
        "case ",
        "\u{0}",
        "0x",
        "1e",
        "1e+",
        "🙂",
        "?",
        ":",
    ];
    for open in opening {
        for text in [open.to_owned(), format!("select {open}"), format!("select a{open}; b"), open.repeat(10_000)] {
            if let Err(error) = outcomes(text) {
                assert_ne!(error.kind, Failure::Internal, "{open}");
            }
        }
    }
}

/// Each name is looked up once: a search through those before it would take minutes.
#[test]
fn very_many_names_are_each_found_once() {
    const NAMES: usize = 60_000;
    let names: Vec<String> = (0..NAMES).map(|number| format!("n{number}")).collect();
    let statement = one(&format!("select {0} from t order by {0}", names.join(",")));
    assert!(statement.names.len() > NAMES && statement.names.len() < NAMES + 10, "{}", statement.names.len());
    let relations: Vec<String> = names.iter().map(|name| format!("{name}.a.b")).collect();
    assert_eq!(catalogs(&format!("select * from {}", relations.join(","))).unwrap(), names);
}

#[test]
fn bounds_have_names() {
    let long = outcome(format!("select '{}'", "a".repeat(guard::MAX_BYTES))).unwrap_err();
    assert_eq!(long.kind, Failure::TooLarge);
    assert!(long.message.contains("1048576 bytes"), "{}", long.message);
    let many = outcome("a ".repeat(guard::MAX_TOKENS + 1)).unwrap_err();
    assert_eq!(many.kind, Failure::TooLarge);
    assert!(many.message.contains("words and signs"), "{}", many.message);
    let statements = outcome("a;".repeat(guard::MAX_STATEMENTS + 1)).unwrap_err();
    assert_eq!(statements.kind, Failure::TooLarge);
    assert!(statements.message.contains("statements"), "{}", statements.message);
    let nul = outcome("select '\0'".to_owned()).unwrap_err();
    assert_eq!(nul.kind, Failure::Invalid);
}
