//! `@name`.

use super::*;

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn each_name_gets_one_number() {
    for (text, expected, placeholders) in [
        ("select @a, @b, @a", "select $1, $2, $1", names(&["a", "b"])),
        ("select @2, @1", "select $1, $2", names(&["2", "1"])),
        ("select @name, @name2, @name_3, @Name", "select $1, $2, $3, $4", names(&["name", "name2", "name_3", "Name"])),
        ("select * from t where id=@id and n>=@n", "select * from t where id=$1 and n>=$2", names(&["id", "n"])),
        ("select '%'||@x||'%'", "select '%'||$1||'%'", names(&["x"])),
        ("select -@x, 1+@x, (@x), a<>@x, a!=@x", "select -$1, 1+$1, ($1), a<>$1, a!=$1", names(&["x"])),
        ("select a @>@x, a->>@y, @x::int", "select a @>$1, a->>$2, $1::int", names(&["x", "y"])),
        ("select * from f(@a,@b)limit@c", "select * from f($1,$2)limit@c", names(&["a", "b"])),
        ("select @größe", "select $1", names(&["größe"])),
        ("values (@a),(@b)", "values ($1),($2)", names(&["a", "b"])),
        ("select *from t where a like @p escape '@x'", "select *from t where a like $1 escape '@x'", names(&["p"])),
        ("select @e'x'", "select $1'x'", names(&["e"])),
    ] {
        let statement = one(text);
        assert_eq!((statement.text.as_str(), statement.placeholders), (expected, placeholders), "{text}");
    }
}

#[test]
fn strings_comments_names_and_operators_hold_none() {
    for text in [
        "select '@a', E'\\'@a', $$@a$$, $x$ @a $x$, \"@a\", U&'@a' -- @a\n, 1",
        "/* @a */ select /* @a /* @b */ @c */ 1",
        "select a @> b, a <@ b, a<@b, a @@ b, a@@b, a @? b, @ -5, @-5, @ a, a ^@ b, a^@b",
        "select a@b",
        "select E'a'\n'\\'@b'",
        "select x -> '@a'",
        "select a <-> b, a &&& c, @(1), a @ > b",
    ] {
        let statement = one(text);
        assert_eq!((statement.text.as_str(), statement.placeholders.len()), (text, 0));
    }
}

#[test]
fn the_sources_own_parameters_stay_but_do_not_mix() {
    assert_eq!(one("select $1, $2").text, "select $1, $2");
    assert_eq!(lite("select ?, ?2, :a, $b").text, "select ?, ?2, :a, $b");
    for (text, dialect) in [
        ("select $1, @a", Dialect::POSTGRESQL),
        ("select @a, $2", Dialect::POSTGRESQL),
        ("select ?, @a", Dialect::SQLITE),
        ("select :x, @a", Dialect::SQLITE),
    ] {
        let error = statements(text, dialect, SALES).unwrap_err();
        assert_eq!(error.kind, Failure::Invalid, "{text}");
        assert!(error.message.contains("query mixes @a"), "{}", error.message);
    }
    let apart = statements("select $1; select @a", Dialect::POSTGRESQL, SALES).unwrap();
    assert_eq!(apart[1].text, "select $1");
}

#[test]
fn sqlite_knows_names_itself() {
    let statement = lite("select @a, @b, @a, a<@c, `@d`, [@e]");
    assert_eq!(statement.text, "select @a, @b, @a, a<@c, `@d`, [@e]");
    assert_eq!(statement.placeholders, names(&["a", "b", "c"]));
    assert_eq!(lite("select @a(1), @b:: c, (@a)").text, "select @a (1), @b :: c, (@a)");
}

#[test]
fn each_statement_counts_its_own() {
    let all = statements("select @a, @b; select @b", Dialect::POSTGRESQL, SALES).unwrap();
    assert_eq!((all[0].text.as_str(), all[1].text.as_str()), ("select $1, $2", "select $1"));
    assert_eq!(all[1].placeholders, names(&["b"]));
}

#[test]
fn a_dollar_in_front_does_not_open_a_quote() {
    assert_eq!(one("select $@a$ from t").text, "select $ $1$ from t");
}

#[test]
fn what_other_drivers_write_is_ours_where_a_value_is_given() {
    let given = ["a", "b", "1", "2"].map(str::to_owned).into();
    let read = |text: &str, dialect| statements_with(text, dialect, SALES, &given);
    for (text, expected, placeholders) in [
        ("select $2, $1, $2", "select $1, $2, $1", names(&["2", "1"])),
        ("select :a, :b::int, 'x'||:a", "select $1, $2::int, 'x'||$1", names(&["a", "b"])),
        ("select $a, @a, :a", "select $1, $1, $1", names(&["a"])),
        ("select x[1:a], x[a:b], y::a, ':a', \":a\"", "select x[1:a], x[a:b], y::a, ':a', \":a\"", names(&[])),
        ("select $a$ :a $a$, :c, a::text", "select $a$ :a $a$, :c, a::text", names(&[])),
        ("select f(a := 1, x => :b)", "select f(a := 1, x => $1)", names(&["b"])),
        (
            "create function f(int, int) returns int return $2 - $1",
            "create function f(int, int) returns int return $2 - $1",
            names(&[]),
        ),
        ("select * from t where a = :a;", "select * from t where a = $1", names(&["a"])),
    ] {
        let statement = read(text, Dialect::POSTGRESQL).unwrap().remove(0);
        assert_eq!((statement.text.as_str(), statement.placeholders), (expected, placeholders), "{text}");
    }
    for (text, expected, placeholders) in [
        ("select ?, ?", "select @1, @2", names(&["1", "2"])),
        ("select ?2, ?1, ?2and 1", "select @2, @1, @2 and 1", names(&["2", "1"])),
        ("select :a, $b, @a", "select @a, @b, @a", names(&["a", "b"])),
        ("select '?', :c", "select '?', :c", names(&[])),
    ] {
        let statement = read(text, Dialect::SQLITE).unwrap().remove(0);
        assert_eq!((statement.text.as_str(), statement.placeholders), (expected, placeholders), "{text}");
    }
    // They are counted through the whole text.
    let all = read("select ?; select ?", Dialect::SQLITE).unwrap();
    assert_eq!((all[0].text.as_str(), all[1].text.as_str()), ("select @1", "select @2"));
    let error = read("select :a, $3", Dialect::POSTGRESQL).unwrap_err();
    assert!(error.message.contains("query mixes @a with $3"), "{}", error.message);
}

#[test]
fn a_given_name_decides_what_an_operator_is() {
    let given = ["max", "bit"].map(str::to_owned).into();
    let with = |text: &str| statements_with(text, Dialect::POSTGRESQL, SALES, &given).unwrap().remove(0);
    for (text, expected, placeholders) in [
        ("select a<@max", "select a<$1", names(&["max"])),
        ("select a|@bit, b~@max", "select a|$1, b~$2", names(&["bit", "max"])),
        ("select a<@maximum, a<@b, a <@ max", "select a<@maximum, a<@b, a <@ max", names(&[])),
        ("select a@@max, a@@@max", "select a@@max, a@@$1", names(&["max"])),
        ("select '<@max', a<@\"max\"", "select '<@max', a<@\"max\"", names(&[])),
        (
            "select * from t where a between@max and 3 limit@bit",
            "select * from t where a between $1 and 3 limit $2",
            names(&["max", "bit"]),
        ),
        ("select a@b, 1@max", "select a@b, 1 $1", names(&["max"])),
    ] {
        let statement = with(text);
        assert_eq!((statement.text.as_str(), statement.placeholders), (expected, placeholders), "{text}");
    }
}
