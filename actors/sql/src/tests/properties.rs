//! Properties of any text.

use proptest::prelude::*;

use super::*;
use crate::parsed::mask;

/// Words and signs that the lexer, the guard and the parser care about.
fn soup() -> impl Strategy<Value = String> {
    prop::collection::vec(word(), 0..200).prop_map(|words| words.join(" "))
}

/// A few words, repeated many times: chains and nesting.
fn refrain() -> impl Strategy<Value = String> {
    (word(), prop::collection::vec(word(), 1..6), 1_usize..3_000)
        .prop_map(|(start, words, count)| format!("{start} {}", format!("{} ", words.join(" ")).repeat(count)))
}

fn word() -> impl Strategy<Value = &'static str> {
    prop::sample::select(WORDS.split(' ').collect::<Vec<_>>())
}

const WORDS: &str = "select from where ( ) [ ] case when then else end not - + || = and or between union join on with \
                     as a b.c sales.b.c @p $1 'x' \"y\" [z] , ; :: int array any exists insert into values update set \
                     delete merge using matched explain create function begin atomic is distinct in interval over \
                     order by limit . * @ @> cross lateral row cast 1 2.5 --\n /* */ ' $$ E' \n returning for prepare \
                     declare cursor grouping sets json_table columns table partition references view call f( collate \
                     operator( { natural like escape within group filter window rows graph_table match schema rule do \
                     instead trigger analyze copy to grant all default check constraint generated ~ <@ -> similar null \
                     isnull only tablesample xmlelement json_object : ? ~* << recursive materialized intersect except";

/// Statements with marks where names and placeholders go.
fn templates() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "select {p} from {n} where a = {p}",
        "select x.a, {n}.a from {n} x join {n} on x.a = {p}",
        "insert into {n} (a) values ({p})",
        "insert into {n} select * from {n} returning a",
        "update {n} set a = {p} where b in (select b from {n})",
        "delete from {n} where a = {p}",
        "with w as (delete from {n} where a = {p} returning *) select * from w",
        "merge into {n} t using {n} s on t.a = {p} when not matched then insert values (1)",
        "create view {n} as select * from {n}",
        "truncate {n}",
        "call {n}({p})",
        "select {n}({p}) from {n} for update",
        "explain analyze delete from {n} where a > {p}",
    ])
}

fn connections() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["sales", "SALES", "\"sales\"", "[sales]", "sales ", "sales/* c */"])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_text_is_answered(text in any::<String>(), lite in any::<bool>()) {
        let dialect = if lite { Dialect::SQLITE } else { Dialect::POSTGRESQL };
        let _ = catalogs(&text);
        let _ = procedure_name(&text);
        if let Ok(all) = statements(&text, dialect, SALES) {
            prop_assert!(!all.is_empty());
            for statement in all {
                let last = statement.original_position(statement.text.chars().count());
                prop_assert!(last <= text.chars().count(), "{last} in {text:?}");
            }
        }
    }

    #[test]
    fn any_soup_is_answered_on_a_small_stack(text in prop_oneof![soup(), refrain()], lite in any::<bool>()) {
        let dialect = if lite { Dialect::SQLITE } else { Dialect::POSTGRESQL };
        let outcome = std::thread::Builder::new()
            .stack_size(2 << 20)
            .spawn(move || {
                let _ = catalogs(&text);
                statements(&text, dialect, SALES).map(|all| all.len())
            })
            .unwrap()
            .join();
        match outcome {
            Ok(Ok(count)) => prop_assert!(count > 0),
            Ok(Err(error)) => prop_assert!(error.kind != Failure::Internal),
            Err(_) => prop_assert!(false, "panicked"),
        }
    }

    #[test]
    fn tokens_cover_the_text(text in "(?s).{0,60}|[a'\"$@\\[\\]`/*;.eE\\\\-]{0,40}", lite in any::<bool>()) {
        let dialect = if lite { Dialect::SQLITE } else { Dialect::POSTGRESQL };
        let tokens = lexer::tokens(&text, dialect);
        let together: String = tokens.iter().map(|token| token.text(&text)).collect();
        prop_assert_eq!(&together, &text);
        let masked = mask::mask(&text, &tokens, dialect);
        prop_assert_eq!(masked.len(), text.len());
    }

    #[test]
    fn names_lose_the_connection_once_and_the_class_stays(template in templates(), connection in connections()) {
        let written = template.replace("{n}", &format!("{connection}.b.c")).replace("{p}", "@p");
        let plain = template.replace("{n}", "b.c").replace("{p}", "1");
        let first = one(&written);
        prop_assert_eq!(catalogs(&written).unwrap(), ["sales"]);
        prop_assert!(catalogs(&first.text).unwrap().is_empty(), "{}", &first.text);
        let second = one(&first.text);
        prop_assert_eq!(&second.text, &first.text);
        prop_assert_eq!((first.class, first.returns_rows), (second.class, second.returns_rows));
        let other = one(&plain);
        prop_assert_eq!((first.class, first.returns_rows), (other.class, other.returns_rows));
    }

    #[test]
    fn placeholders_never_change_the_class(text in soup()) {
        prop_assume!(!text.contains("$1"));
        let literal = text.replace("@p", "$7");
        let (with, without) = (
            statements(&text, Dialect::POSTGRESQL, SALES),
            statements(&literal, Dialect::POSTGRESQL, SALES),
        );
        if let (Ok(with), Ok(without)) = (with, without) {
            let classes = |all: &[Statement]| all.iter().map(|one| (one.class, one.returns_rows)).collect::<Vec<_>>();
            prop_assert_eq!(classes(&with), classes(&without));
        }
    }
}
