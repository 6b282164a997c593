//! Tests of mapping positions back to the caller's text.

use super::*;

/// Every place that survived is found again.
fn check(text: &str) {
    let original: Vec<char> = text.chars().collect();
    for statement in statements(text, Dialect::POSTGRESQL, SALES).unwrap() {
        for mark in ['!', '~', '%'] {
            for (index, _) in statement.text.chars().enumerate().filter(|(_, found)| *found == mark) {
                let position = statement.original_position(index + 1);
                assert_eq!(original.get(position - 1), Some(&mark), "{text}: {index} of {}", statement.text);
            }
        }
    }
}

#[test]
fn positions_map_back_through_edits_and_statements() {
    check("select 1 ! 2");
    check("select @longname ! @b % [c] ~ from sales.public.t ! ");
    check("select 'ä€😀' ! @größe % [x]]y] ~ 1; select '😀' ! sales.public.f(@a) % 2;select ~ 3");
    check("; ; -- é\nselect % @a ! 1");
}

/// The server looks for more behind the comments that fell away, up to the end or to the next `;`.
#[test]
fn what_is_missing_at_the_end_is_missed_behind_what_fell_away() {
    for (text, missed) in [
        ("select 1 + ", vec![12]),
        ("select @a + -- é\n", vec![18]),
        ("select 1 + /* c */ ; select sales.b.f(  ", vec![20, 41]),
        ("select (1", vec![10]),
        (" ; select 1 +", vec![14]),
    ] {
        let all = statements(text, Dialect::POSTGRESQL, SALES).unwrap();
        let ends = all.iter().map(|one| one.original_position(one.text.chars().count() + 1));
        assert_eq!(ends.collect::<Vec<_>>(), missed, "{text}");
    }
}

#[test]
fn positions_inside_an_edit_stay_inside() {
    let text = "select @abc, sales.b.f(1)";
    let statement = one(text);
    assert_eq!(statement.text, "select $1, b.f(1)");
    assert_eq!(statement.original_position(8), 8);
    assert_eq!(statement.original_position(9), 9);
    assert_eq!(statement.original_position(10), 12);
    assert_eq!(statement.original_position(12), 20);
    assert_eq!(statement.original_position(0), 1);
    let grown = one("select [a\"\"\"b] + 1");
    assert_eq!(grown.text, "select \"a\"\"\"\"\"\"b\" + 1");
    for position in 8..=grown.text.chars().count() {
        let original = grown.original_position(position);
        assert!((8..=18).contains(&original), "{position} -> {original}");
    }
    assert_eq!(grown.original_position(19), 16);
}

#[test]
fn edits_are_ranges_of_the_whole_text() {
    let text = "select 1; select @a from sales.b.c";
    let all = statements(text, Dialect::POSTGRESQL, SALES).unwrap();
    let cut: Vec<&str> = all[1].edits.iter().map(|edit| &text[edit.range.clone()]).collect();
    assert_eq!(cut, ["@a", "sales", "."]);
}
