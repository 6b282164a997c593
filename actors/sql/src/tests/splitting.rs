//! Where statements end.

use super::*;

#[test]
fn a_vertical_tab_is_white_space_to_postgresql() {
    let text = "insert into t values (1); \u{b}commit;\u{b}";
    let found: Vec<_> = statements(text, Dialect::POSTGRESQL, SALES).unwrap();
    let classes: Vec<_> = found.iter().map(|statement| statement.class).collect();
    assert_eq!(classes, [Class::Insert, Class::Transaction]);
    for verb in ["delete from t", "with x as (select 1) \u{b}delete from t", "\u{b}delete\u{b}from t"] {
        let found = statements(&format!("\u{b}{verb}"), Dialect::POSTGRESQL, SALES).unwrap();
        assert_eq!(found.iter().map(|statement| statement.class).collect::<Vec<_>>(), [Class::Update], "{verb:?}");
    }
    // A literal also continues on the next line with a vertical tab in between.
    assert_eq!(
        split("select E'a'\u{b}\n'\\' || [x] || '", Dialect::POSTGRESQL),
        ["select E'a'\u{b}\n'\\' || [x] || '"]
    );
    assert_eq!(split("delete from t \u{b}", Dialect::POSTGRESQL), ["delete from t"]);
    // A vertical tab alone is not white space to SQLite.
    assert_eq!(split("select 1;\u{b}", Dialect::SQLITE).len(), 2);
}

fn split(text: &str, dialect: Dialect) -> Vec<String> {
    statements(text, dialect, SALES).unwrap().into_iter().map(|statement| statement.text).collect()
}

#[test]
fn semicolons_end_statements_where_they_are_their_own() {
    for (text, expected) in [
        ("select 1", vec!["select 1"]),
        (" select 1 ; ", vec!["select 1"]),
        (";;select 1;; ;select 2;-- end", vec!["select 1", "select 2"]),
        ("select ';'; select \";\"", vec!["select ';'", "select \";\""]),
        ("select $$;$$; select $a$;$$;$a$", vec!["select $$;$$", "select $a$;$$;$a$"]),
        ("select E'\\';'; select 2", vec!["select E'\\';'", "select 2"]),
        ("select '\\'; select 2", vec!["select '\\'", "select 2"]),
        ("select 1 /* ; /* ; */ ; */; select 2", vec!["select 1", "select 2"]),
        ("select 1 -- ;\n; select 2", vec!["select 1", "select 2"]),
        ("select a[1]; select [b;c]", vec!["select a[1]", "select \"b;c\""]),
        (
            "create rule r as on insert to t do also (select 1; select 2); select 3",
            vec!["create rule r as on insert to t do also (select 1; select 2)", "select 3"],
        ),
        (
            "create or replace function f() returns int begin atomic select case when a then 1 end; select 2; end; select 3",
            vec![
                "create or replace function f() returns int begin atomic select case when a then 1 end; select 2; end",
                "select 3",
            ],
        ),
        (
            "create procedure p() begin atomic delete from t; end",
            vec!["create procedure p() begin atomic delete from t; end"],
        ),
        (
            "create function f() returns int language sql as $$ select 1; $$; select 2",
            vec!["create function f() returns int language sql as $$ select 1; $$", "select 2"],
        ),
        ("begin; select 1; end; select 2", vec!["begin", "select 1", "end", "select 2"]),
        (
            "create function f() returns int begin atomic select 1 as end; select 2 as case; select 3 end; end; select 4",
            vec![
                "create function f() returns int begin atomic select 1 as end; select 2 as case; select 3 end; end",
                "select 4",
            ],
        ),
        ("create function f(begin atomic) as ''; select 1", vec!["create function f(begin atomic) as ''", "select 1"]),
        ("create procedure p() begin atomic end; select 1", vec!["create procedure p() begin atomic end", "select 1"]),
        (
            "create trigger t after insert on begin execute function f(); select 1",
            vec!["create trigger t after insert on begin execute function f()", "select 1"],
        ),
    ] {
        assert_eq!(split(text, Dialect::POSTGRESQL), expected, "{text}");
    }
}

#[test]
fn triggers_of_sqlite_stay_whole() {
    let trigger = "create temp trigger r after update on t when new.a > 1 begin \
                   update u set x = case when 1 then 2 end; delete from v; end";
    assert_eq!(split(&format!("{trigger}; select 1"), Dialect::SQLITE), [trigger, "select 1"]);
    assert_eq!(split("select 1 /* ; /* */; select 2", Dialect::SQLITE), ["select 1 /* ; /* */", "select 2"]);
    assert_eq!(split("select `;`, [;]; select 2", Dialect::SQLITE), ["select `;`, [;]", "select 2"]);
}

/// The server must see what it refuses: if it were cut off, `where id = 1` would be lost.
#[test]
fn what_is_open_at_the_end_stays() {
    for open in ["/* old: /* nested */ where id = 1", "/*", "/* /* */", "'x", "\"x", "$$x", "$q$ $$", "E'\\'", "u&\"x"]
    {
        for text in [format!("delete from t {open}"), format!("delete from t {open} ; \n")] {
            assert_eq!(split(&text, Dialect::POSTGRESQL), [text.as_str()], "{text}");
            assert_eq!(split(&format!("select 1; {text}"), Dialect::POSTGRESQL), ["select 1", &text], "{text}");
        }
    }
    // To SQLite a comment may run to the end of the text, needs a letter to be one, and is a part of a label.
    for comment in ["/* where; id", "/* where */", "-- where"] {
        let text = format!("delete from t {comment}");
        assert_eq!(split(&format!("{text}\n"), Dialect::SQLITE)[0].trim_end(), text);
        assert_eq!(split(&format!("select 1; {comment}"), Dialect::SQLITE), ["select 1"]);
    }
    assert_eq!(split("select 1 -- a\n; select 2 /* b */;", Dialect::SQLITE), ["select 1 -- a", "select 2 /* b */"]);
    assert_eq!(split("delete from t /*", Dialect::SQLITE), ["delete from t /*"]);
    assert_eq!(split("delete from t\u{b}; select 1 \u{b}", Dialect::SQLITE), ["delete from t\u{b}", "select 1"]);
}

#[test]
fn nothing_to_run_is_refused() {
    for text in ["", " \n", ";", " ; ;", "-- a", "/* a */", "; -- a"] {
        let error = statements(text, Dialect::POSTGRESQL, SALES).unwrap_err();
        assert_eq!(error.kind, Failure::Invalid, "{text}");
        assert!(error.message.contains("query"), "{}", error.message);
    }
}

#[test]
fn a_token_tells_the_name_that_it_stands_for() {
    let names = |text: &str| -> Vec<String> {
        let all = tokens(text, Dialect::SQLITE).into_iter();
        all.filter_map(|token| token.name(text).map(std::borrow::Cow::into_owned)).collect()
    };
    assert_eq!(names("a, \"b\"\"c\" [d] `e` 'f''g' Łąka -- h"), ["a", "b\"c", "d", "e", "f'g", "Łąka"]);
    // A token that is never closed stands for itself, or for nothing.
    for (text, expected) in
        [("\"open", &["\"open"][..]), ("[open", &["[open"]), ("'open", &[]), ("'", &[]), ("''", &[""])]
    {
        assert_eq!(names(text), expected, "{text}");
    }
}
