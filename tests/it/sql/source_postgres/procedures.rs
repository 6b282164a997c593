//! Functions and procedures by name.

use portico_actors::error::Kind;
use portico_actors::source::Access::{ReadOnly, ReadWrite};

use super::subject;

/// A routine, its arguments as names and JSON, and the rows it answers with.
type Case<'a> = (&'a str, &'a [(&'a str, &'a str)], &'a [&'a [&'a str]]);

const SETUP: &str = "
CREATE TABLE log (word text);
CREATE FUNCTION add(a int4, b int4 DEFAULT 2) RETURNS int4 LANGUAGE sql IMMUTABLE AS 'SELECT a + b';
CREATE FUNCTION add(a text, c text) RETURNS text LANGUAGE sql IMMUTABLE AS 'SELECT a || c';
CREATE FUNCTION pick(x int4) RETURNS text LANGUAGE sql AS $$ SELECT 'int' $$;
CREATE FUNCTION pick(x text) RETURNS text LANGUAGE sql AS $$ SELECT 'text' $$;
CREATE FUNCTION either(x date) RETURNS text LANGUAGE sql AS $$ SELECT 'date' $$;
CREATE FUNCTION either(x uuid) RETURNS text LANGUAGE sql AS $$ SELECT 'uuid' $$;
CREATE FUNCTION listing(n int4) RETURNS TABLE (id int4, price money) LANGUAGE sql
    AS 'SELECT g, g::numeric::money FROM generate_series(1, n) g';
CREATE FUNCTION total(VARIADIC n int4[]) RETURNS int8 LANGUAGE sql AS 'SELECT sum(u) FROM unnest(n) u';
CREATE FUNCTION nothing() RETURNS void LANGUAGE sql AS '';
CREATE FUNCTION note(word text) RETURNS void LANGUAGE sql AS 'INSERT INTO log VALUES (word)';
CREATE PROCEDURE change(INOUT n numeric, OUT word text, extra int4 DEFAULT 1) LANGUAGE plpgsql
    AS $$ BEGIN n := n + extra; word := 'changed'; END $$;
CREATE PROCEDURE commits(word text) LANGUAGE plpgsql
    AS $$ BEGIN INSERT INTO log VALUES (word); COMMIT; INSERT INTO log VALUES ('more'); END $$;
CREATE SCHEMA shop; CREATE FUNCTION shop.\"Odd name\"(\"Odd arg\" text) RETURNS text LANGUAGE sql AS 'SELECT $1';";

#[tokio::test]
async fn functions_are_called_by_name_and_by_position() {
    let (subject, _admin) = subject(SETUP).await;
    let cases: &[Case<'_>] = &[
        ("add", &[("a", "1"), ("@b", "5")], &[&["6"]]),
        ("add", &[("b", "5"), ("a", "1")], &[&["6"]]),
        ("add", &[("a", "1")], &[&["3"]]),
        ("public.ADD", &[("1", "1"), ("b", "1")], &[&["2"]]),
        ("add", &[("a", "\"x\""), ("c", "\"'y\"")], &[&["\"x'y\""]]),
        ("listing", &[("1", "2")], &[&["1", "\"$1.00\""], &["2", "\"$2.00\""]]),
        ("total", &[("n", "[1, 2, 3]")], &[&["6"]]),
        ("total", &[], &[&["null"]]),
        ("nothing", &[], &[&["null"]]),
        ("shop.Odd name", &[("Odd arg", "\"\\\"; SELECT 1\"")], &[&["\"\\\"; SELECT 1\""]]),
    ];
    for (name, values, rows) in cases {
        let read = subject.call(name, values, ReadOnly).await.unwrap();
        assert_eq!(read.rows, *rows, "{name} {values:?}");
        assert_eq!(read.affected, -1);
    }
}

#[tokio::test]
async fn procedures_answer_with_one_row_and_may_commit() {
    let (subject, admin) = subject(SETUP).await;
    for access in [ReadOnly, ReadWrite] {
        let read = subject.call("change", &[("n", "1.50")], access).await.unwrap();
        assert_eq!(read.rows, [["2.50", "\"changed\""]]);
        assert_eq!(read.columns[1].label, "word");
    }
    subject.call("commits", &[("word", "\"first\"")], ReadWrite).await.unwrap();
    let logged: i64 = admin.query_one("SELECT count(*) FROM log", &[]).await.unwrap().get(0);
    assert_eq!(logged, 2);
    let refused = subject.call("commits", &[("word", "\"first\"")], ReadOnly).await.unwrap_err();
    assert_eq!(refused.kind, Kind::Forbidden);
    assert_eq!(subject.call("note", &[("word", "\"x\"")], ReadOnly).await.unwrap_err().kind, Kind::Forbidden);
    subject.call("note", &[("word", "\"x\"")], ReadWrite).await.unwrap();
    let logged: i64 = admin.query_one("SELECT count(*) FROM log", &[]).await.unwrap().get(0);
    assert_eq!(logged, 3);
}

#[tokio::test]
async fn the_server_chooses_among_overloads_as_for_literals() {
    let (subject, admin) = subject(SETUP).await;
    admin
        .batch_execute(
            "CREATE FUNCTION size(n numeric) RETURNS text LANGUAGE sql AS $$ SELECT 'numeric' $$;
            CREATE FUNCTION size(n boolean) RETURNS text LANGUAGE sql AS $$ SELECT 'boolean' $$;
            CREATE PROCEDURE told(x int, INOUT y text) LANGUAGE plpgsql AS $$ BEGIN y := 'int ' || x; END $$;
            CREATE PROCEDURE told(x text, INOUT y text) LANGUAGE plpgsql AS $$ BEGIN y := 'text ' || x; END $$",
        )
        .await
        .unwrap();
    for (value, literal) in
        [("1", "1"), ("2.5", "2.5"), ("9223372036854775808", "9223372036854775808"), ("true", "true")]
    {
        let called = subject.call("size", &[("n", value)], ReadOnly).await.unwrap();
        let written: String = admin.query_one(&format!("SELECT size({literal})"), &[]).await.unwrap().get(0);
        assert_eq!(called.rows, [[format!("\"{written}\"")]], "{value}");
    }
    for (value, expected) in [("1", "int 1"), ("\"1\"", "text 1")] {
        let called = subject.call("told", &[("x", value), ("y", "null")], ReadOnly).await.unwrap();
        assert_eq!(called.rows, [[format!("\"{expected}\"")]], "{value}");
    }
    let (integer, text) = (("x", "1"), ("x", "\"1\""));
    assert_eq!(subject.call("pick", &[integer], ReadOnly).await.unwrap().rows, [["\"int\""]]);
    assert_eq!(subject.call("pick", &[text], ReadOnly).await.unwrap().rows, [["\"text\""]]);
    // An overload that came later is chosen at once, where it is the nearest one.
    admin.batch_execute("CREATE FUNCTION size(n int) RETURNS text LANGUAGE sql AS $$ SELECT 'int' $$").await.unwrap();
    assert_eq!(subject.call("size", &[("n", "1")], ReadOnly).await.unwrap().rows, [["\"int\""]]);
    admin.batch_execute("DROP FUNCTION size(int), size(numeric)").await.unwrap();
    admin
        .batch_execute("CREATE FUNCTION size(n float8) RETURNS text LANGUAGE sql AS $$ SELECT 'float' $$")
        .await
        .unwrap();
    assert_eq!(subject.call("size", &[("n", "1")], ReadOnly).await.unwrap().rows, [["\"float\""]]);
}

#[tokio::test]
async fn types_decide_before_defaults_do_and_the_routine_speaks_for_itself() {
    let (subject, admin) = subject(SETUP).await;
    admin
        .batch_execute(
            "CREATE TABLE kept (a int);
            CREATE FUNCTION o1(a int, b int DEFAULT 0) RETURNS text LANGUAGE sql AS $$ SELECT 'int' $$;
            CREATE FUNCTION o1(a text) RETURNS text LANGUAGE sql AS $$ SELECT 'text' $$;
            CREATE PROCEDURE calls(a int) LANGUAGE plpgsql
                AS $$ BEGIN INSERT INTO kept VALUES (a); COMMIT; PERFORM nosuch(a); END $$;
            CREATE PROCEDURE calls(a text) LANGUAGE plpgsql AS $$ BEGIN END $$;
            CREATE FUNCTION listed(VARIADIC xs int[]) RETURNS text LANGUAGE sql AS $$ SELECT xs::text $$;
            CREATE FUNCTION case_of(\"X\" int DEFAULT 5, OUT x int) LANGUAGE sql AS $$ SELECT \"X\" $$",
        )
        .await
        .unwrap();
    for (values, expected) in [
        (&[("a", "1")][..], "\"int\""),
        (&[("1", "1")], "\"int\""),
        (&[("a", "\"x\"")], "\"text\""),
        (&[("a", "1"), ("b", "2")], "\"int\""),
    ] {
        assert_eq!(subject.call("o1", values, ReadOnly).await.unwrap().rows, [[expected]], "{values:?}");
    }
    let error = subject.call("calls", &[("a", "1")], ReadWrite).await.unwrap_err();
    assert!(error.message.contains("nosuch"), "{error:?}");
    let kept: i64 = admin.query_one("SELECT count(*) FROM kept", &[]).await.unwrap().get(0);
    assert_eq!(kept, 1, "it ran once");
    for (values, expected) in [
        (&[("1", "[1,2]")][..], "\"{1,2}\""),
        (&[("xs", "[1,2]")], "\"{1,2}\""),
        (&[("1", "null"), ("2", "5")], "\"{NULL,5}\""),
        (&[("1", "null")], "\"{NULL}\""),
        (&[("1", "1"), ("2", "2"), ("3", "null")], "\"{1,2,NULL}\""),
        (&[("xs", "null")], "null"),
    ] {
        assert_eq!(subject.call("listed", values, ReadOnly).await.unwrap().rows, [[expected]], "{values:?}");
    }
    for values in [&[("1", "[1,2]"), ("2", "3")][..], &[("1", "1"), ("3", "3")], &[("2", "1"), ("4", "3")]] {
        subject.call("listed", values, ReadOnly).await.unwrap_err();
    }
    admin
        .batch_execute(
            "CREATE FUNCTION counted(VARIADIC \"any\") RETURNS int LANGUAGE internal AS 'pg_num_nulls';
            CREATE FUNCTION rv(a int) RETURNS text LANGUAGE sql AS $$ SELECT 'one' $$;
            CREATE FUNCTION rv(a int, b int) RETURNS text LANGUAGE sql AS $$ SELECT 'two' $$;
            CREATE FUNCTION rv(a int, VARIADIC b int[]) RETURNS text LANGUAGE sql AS $$ SELECT 'list' $$;
            CREATE FUNCTION mx(VARIADIC anycompatiblearray) RETURNS text LANGUAGE sql
                AS $$ SELECT max(u) || pg_typeof($1)::text FROM unnest($1) u $$;
            CREATE FUNCTION ae(a anyelement) RETURNS text LANGUAGE sql AS $$ SELECT pg_typeof(a)::text || a::text $$;
            CREATE FUNCTION ap(a anyarray, b anyelement) RETURNS text LANGUAGE sql
                AS $$ SELECT pg_typeof(a)::text || array_append(a, b)::text $$;
            CREATE FUNCTION ao(a int[]) RETURNS text LANGUAGE sql AS $$ SELECT 'integers' $$;
            CREATE FUNCTION ao(a text[]) RETURNS text LANGUAGE sql AS $$ SELECT 'texts' $$;
            CREATE FUNCTION al(a int) RETURNS text LANGUAGE sql AS $$ SELECT 'one' $$;
            CREATE FUNCTION al(VARIADIC a int[]) RETURNS text LANGUAGE sql AS $$ SELECT 'list' $$;
            CREATE FUNCTION aj(a jsonb) RETURNS text LANGUAGE sql AS $$ SELECT 'json' $$;
            CREATE FUNCTION aj(a text) RETURNS text LANGUAGE sql AS $$ SELECT 'text' $$;
            CREATE PROCEDURE outs(a int, OUT b int) LANGUAGE plpgsql AS $$ BEGIN b := a + 1; END $$;
            CREATE FUNCTION ar(a anyarray) RETURNS text LANGUAGE sql AS $$ SELECT pg_typeof(a)::text || a::text $$;
            CREATE FUNCTION kept_default(a int DEFAULT 1, VARIADIC b int[] DEFAULT '{5,6}') RETURNS text LANGUAGE sql
                AS $$ SELECT a || b::text $$;
            CREATE FUNCTION rd(a numeric, b jsonb) RETURNS text LANGUAGE sql AS $$ SELECT 'numeric' $$;
            CREATE FUNCTION rd(a float8, b jsonb) RETURNS text LANGUAGE sql AS $$ SELECT 'float' $$;
            CREATE FUNCTION ri(a int, b jsonb) RETURNS text LANGUAGE sql AS $$ SELECT 'int' $$;
            CREATE FUNCTION ri(a bigint, b jsonb) RETURNS text LANGUAGE sql AS $$ SELECT 'bigint' $$",
        )
        .await
        .unwrap();
    for (routine, values, expected) in [
        ("counted", &[("1", "1"), ("2", "null"), ("3", "\"x\"")][..], "1"),
        ("counted", &[("1", "1")], "0"),
        ("mx", &[("1", "9"), ("2", "10")], "\"10integer[]\""),
        ("mx", &[("1", "[9, 10.5]")], "\"10.5numeric[]\""),
        ("ar", &[("a", "[1, null, 3000000000]")], "\"bigint[]{1,NULL,3000000000}\""),
        ("ar", &[("a", "[[\"x\"], [null]]")], "\"text[]{{x},{NULL}}\""),
        ("ar", &[("a", "[true]")], "\"boolean[]{t}\""),
        ("ar", &[("a", "[]")], "\"text[]{}\""),
        ("ae", &[("a", "[1.5, 2]")], "\"numeric[]{1.5,2}\""),
        ("ap", &[("a", "[]"), ("b", "1")], "\"integer[]{1}\""),
        ("ao", &[("a", "[1, 2]")], "\"integers\""),
        ("ao", &[("a", "[\"x\"]")], "\"texts\""),
        ("aj", &[("a", "[1, 2]")], "\"json\""),
        ("al", &[("a", "[1, 2]")], "\"list\""),
        ("al", &[("1", "1")], "\"one\""),
        ("aj", &[("a", "\"x\"")], "\"text\""),
        ("outs", &[("1", "4"), ("2", "null")], "5"),
        ("kept_default", &[("1", "3")], "\"3{5,6}\""),
        ("kept_default", &[], "\"1{5,6}\""),
        ("kept_default", &[("1", "3"), ("2", "4")], "\"3{4}\""),
        ("rv", &[("1", "1")], "\"one\""),
        ("rv", &[("1", "1"), ("2", "2")], "\"two\""),
        ("rv", &[("a", "1"), ("b", "2")], "\"two\""),
        ("rv", &[("1", "1"), ("2", "2"), ("3", "3")], "\"list\""),
        ("rd", &[("a", "2.5"), ("b", "5")], "\"numeric\""),
        ("rd", &[("a", "2.5"), ("b", "{}")], "\"numeric\""),
        ("ri", &[("a", "3"), ("b", "5")], "\"int\""),
        ("ri", &[("a", "3000000000"), ("b", "5")], "\"bigint\""),
    ] {
        assert_eq!(subject.call(routine, values, ReadOnly).await.unwrap().rows, [[expected]], "{routine} {values:?}");
    }
    assert_eq!(subject.call("case_of", &[("X", "null")], ReadOnly).await.unwrap().rows, [["null"]]);
}

#[tokio::test]
async fn what_does_not_fit_is_told_with_the_candidates() {
    let (subject, admin) = subject(SETUP).await;
    let wrong = subject.call("add", &[("z", "1")], ReadOnly).await.unwrap_err();
    assert_eq!(wrong.kind, Kind::Invalid);
    assert!(wrong.message.contains("public.add(a integer, b integer = default)"), "{}", wrong.message);
    assert!(wrong.message.contains("public.add(a text, c text)"), "{}", wrong.message);
    let either = subject.call("either", &[("x", "\"2026-01-01\"")], ReadOnly).await.unwrap_err();
    assert_eq!((either.kind, either.get_hint()), (Kind::Invalid, Some("say with dataType which type is meant")));
    assert!(either.message.contains("more than one overload"), "{}", either.message);
    let text = subject.call_overload("pick", Some(&["text"]), &[("x", "\"1\"")], ReadOnly).await.unwrap();
    assert_eq!(text.rows, [["\"text\""]]);
    let gone = subject.call_overload("pick", Some(&["bigint"]), &[("x", "1")], ReadOnly).await.unwrap_err();
    assert_eq!(gone.kind, Kind::Invalid);
    assert!(gone.message.contains("no longer there; candidates: public.pick(x integer)"), "{}", gone.message);
    let missing = subject.call("lsting", &[], ReadOnly).await.unwrap_err();
    assert_eq!((missing.kind, missing.get_hint()), (Kind::NotFound, Some("did you mean public.listing?")));
    let value = subject.call("add", &[("a", "[1]"), ("b", "1")], ReadOnly).await.unwrap_err();
    assert_eq!((value.kind, value.message.as_str()), (Kind::Invalid, "parameter @a: int4 expects a whole number"));
    // Made after the last ping.
    admin.batch_execute("CREATE FUNCTION fresh() RETURNS int4 LANGUAGE sql AS 'SELECT 1'").await.unwrap();
    assert_eq!(subject.call("fresh", &[], ReadOnly).await.unwrap().rows, [["1"]]);
}
