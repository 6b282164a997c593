//! `[x]` beside subscripts, arrays and operators.

use super::*;

#[test]
fn names_in_brackets_get_the_quotes_of_the_standard() {
    for (text, expected) in [
        ("select [a] from [t]", "select \"a\" from \"t\""),
        ("select `a b`, t.`c``\"d` from `t`", "select \"a b\", t.\"c`\"\"d\" from \"t\""),
        ("select `a``b`[1]", "select \"a`b\"[1]"),
        ("select[a],[b]from[t]", "select\"a\",\"b\"from\"t\""),
        (
            "select [Order Details].[Unit Price] from [Order Details]",
            "select \"Order Details\".\"Unit Price\" from \"Order Details\"",
        ),
        ("select t.[a b] as [c d] from s.[t] as [x]", "select t.\"a b\" as \"c d\" from s.\"t\" as \"x\""),
        ("select [a]]b], [a\"b], [größe], [1st]", "select \"a]b\", \"a\"\"b\", \"größe\", \"1st\""),
        ("select max([a]), -[b], [c] + [d], not [e]", "select max(\"a\"), -\"b\", \"c\" + \"d\", not \"e\""),
        ("insert into [t] ([a], [b]) values (1, 2)", "insert into \"t\" (\"a\", \"b\") values (1, 2)"),
        (
            "update [t] set [a] = 1, [b] = [c] where [d] = 1",
            "update \"t\" set \"a\" = 1, \"b\" = \"c\" where \"d\" = 1",
        ),
        ("delete from [t] where [a] in ([b], [c])", "delete from \"t\" where \"a\" in (\"b\", \"c\")"),
        (
            "select * from [a] join [b] on [a].[x] = [b].[x]",
            "select * from \"a\" join \"b\" on \"a\".\"x\" = \"b\".\"x\"",
        ),
        ("select * from t order by [a] desc, [b]", "select * from t order by \"a\" desc, \"b\""),
        ("select count(*) [n] from t [x], (select 1) [y]", "select count(*) \"n\" from t \"x\", (select 1) \"y\""),
        ("select [a] [b] from t", "select \"a\" \"b\" from t"),
        (
            "select 'x' [b], null [c], case when [d] then 1 end [e]",
            "select 'x' \"b\", null \"c\", case when \"d\" then 1 end \"e\"",
        ),
        ("call [p](1)", "call \"p\"(1)"),
        ("select [f](1)", "select \"f\"(1)"),
        ("create table [t] ([a b] int)", "create table \"t\" (\"a b\" int)"),
        ("select a[[i]], array[[i]] from t", "select a[\"i\"], array[[i]] from t"),
        ("select array[1 + [i]]", "select array[1 + \"i\"]"),
        ("select [a]\"b\" from t", "select \"a\" \"b\" from t"),
        ("select [a][1]", "select \"a\"[1]"),
        ("select [it's] from t", "select \"it's\" from t"),
        (
            "select 1 from t group by [a] order by [b] for update of [t]",
            "select 1 from t group by \"a\" order by \"b\" for update of \"t\"",
        ),
        ("drop table if exists [t], [u]", "drop table if exists \"t\", \"u\""),
        (
            "merge into [t] using [u] on t.a = [u].[b] when matched then update set [a] = 1",
            "merge into \"t\" using \"u\" on t.a = \"u\".\"b\" when matched then update set \"a\" = 1",
        ),
        (
            "insert into [t] values (1) on conflict ([a]) do update set [b] = 1",
            "insert into \"t\" values (1) on conflict (\"a\") do update set \"b\" = 1",
        ),
        ("alter table [t] set schema [s]", "alter table \"t\" set schema \"s\""),
        ("select a from t order by [a b], [c]", "select a from t order by \"a b\", \"c\""),
    ] {
        let statement = one(text);
        assert_eq!(statement.text, expected, "{text}");
        assert!(is_parsed(text, Dialect::POSTGRESQL), "only scanned: {text}");
        assert!(is_parsed(&statement.text, Dialect::POSTGRESQL), "not understood: {}", statement.text);
    }
}

#[test]
fn subscripts_arrays_and_operators_are_left_alone() {
    for text in [
        "select a[1], a[1:2], a[:2], a[1:], a[:], a[i], t.a[i], a[b[1]], a[i][j]",
        "select a [1], a [i] from t",
        "select array[[1,2],[3,4]], array[a, b], array [[a], [b]], ARRAY[]::int[]",
        "select '{1,2}'::int[], x::text[][], cast(x as int[3]), y::int []",
        "select (f(x))[1], (array[1,2])[i], (select array[1])[1]",
        "select $1[1], ($1)[i]",
        "create table t (a int[], b text[3][3], c timestamp with time zone[])",
        "select a @> array[1], a <@ array[1], a @@ b, a #> array['x'], a @? '$.x[*]', |/ 25, @ -5, @-5",
        "select a -> 'b' ->> 'c', a #>> '{a,b}', a ? 'b', a ?| array['b'], '[1,2]'::jsonb[1]",
        "select '[a]', E'it\\'s [a]', $$[a]$$, $t$[a]$t$, U&'[a]', \"x[a]\" -- [a]\n, 1",
        "select /* [a] /* [b] */ */ 1",
        "select \"a\"[1], \"a\"[i]",
        "select a[(select 1)], a[1 + b[2]]",
        "select row(a)[1]",
        "update t set a[1] = 2, b[i] = 3",
        "select * from t where a = any(array[1,2]) and b[1] = 2",
        "select index[i], view[1] from t group by index[i] order by index[i], schema[1]",
        "select sum(a) over (partition by index[i] order by view[i]) from t",
        "update t set index[i] = 3, view[i] = 4",
        "with u as (update t as x set index[i] = 3 returning 1) select * from u",
        "insert into t (a) values (1) on conflict (a) do update set index[i] = 3",
        "create table t (a int[], i int, b int generated always as (a[i]) stored)",
        "alter table t add column b int generated always as (a[i]) stored, add c int",
        "select update[i], delete[i], by[i], exists[i], merge[i] from t where update[i] = 1 or by[i] > exists[i]",
        "select case when a then update[i] else delete[i] end from t group by by[i] order by by[i], merge[i]",
        "select * from t where not exists (select by[i] from u) for update of t",
    ] {
        assert_eq!(one(text).text, text);
    }
}

#[test]
fn placeholders_take_subscripts() {
    assert_eq!(one("select @p[1], @p[i]").text, "select $1[1], $1[i]");
}

#[test]
fn a_stray_bracket_stays_and_is_harmless() {
    for text in
        ["select [", "select [a", "select ]", "select []", "select [\n]", "[", "select a[", "select [a\n] from t"]
    {
        assert_eq!(one(text).text, text);
    }
}
