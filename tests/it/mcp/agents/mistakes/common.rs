//! What is wrong alike on both.

use serde_json::json;

use super::call::{Call, Mistake, between, near, query, replace_near, select, top, use_tool, with};

/// What is wrong alike on both.
pub(super) fn common() -> Vec<Mistake> {
    let mistake = |name, call, mend| Mistake { name, call, mend };
    vec![
        mistake("a fence of Markdown", select("```sql\nSELECT name FROM customers\n```"), |told, call| {
            let alone = query(call).lines().filter(|line| !line.starts_with("```")).collect::<Vec<_>>().join("\n");
            with(call, told.contains("without the fence").then_some(alone)?)
        }),
        mistake(
            "quotes of a word processor",
            select("SELECT id FROM customers WHERE name = ‘Ada’"),
            |told, call| {
                let straight = query(call).replace(['‘', '’'], "'");
                with(call, told.contains("straight quotes").then_some(straight)?)
            },
        ),
        mistake("line breaks that were escaped twice", select(r"SELECT name\nFROM customers"), |told, call| {
            with(call, told.contains("without a backslash").then(|| query(call).replace(r"\n", "\n"))?)
        }),
        mistake("spaces of a page", select("SELECT name FROM customers\u{a0}ORDER BY id"), |told, call| {
            with(call, told.contains("plain spaces").then(|| query(call).replace('\u{a0}', " "))?)
        }),
        mistake("a table's name", select("SELECT name FROM custmers"), |told, call| {
            with(call, query(call).replacen("custmers", near(told)?, 1))
        }),
        mistake("a column's name", select("SELECT nme FROM customers"), replace_near),
        mistake(
            "a column of the other table",
            select("SELECT o.city FROM orders o JOIN customers c ON c.id = o.customer_id"),
            |told, call| with(call, query(call).replacen("o.city", near(told)?, 1)),
        ),
        mistake(
            "an ambiguous column",
            select("SELECT id FROM orders o JOIN customers c ON c.id = o.customer_id"),
            |told, call| with(call, query(call).replacen("id", between(told, "which one is meant: ", " or")?, 1)),
        ),
        mistake("TOP", select("SELECT TOP 2 name FROM customers ORDER BY id"), top),
        mistake(
            "an aggregate in WHERE",
            select("SELECT customer_id FROM orders WHERE count(*) > 1 GROUP BY customer_id"),
            |told, call| {
                told.contains("HAVING, behind GROUP BY").then_some(())?;
                let (start, rest) = query(call).split_once("WHERE ")?;
                let (condition, group) = rest.split_once(" GROUP BY")?;
                with(call, format!("{start}GROUP BY{group} HAVING {condition}"))
            },
        ),
        mistake("a missing parameter", select("SELECT name FROM customers WHERE id = @id"), |told, call| {
            let name = between(told, "no value for @", "\n")?.split([';', ',', ' ']).next()?;
            Some(Call(call.0, json!({"query": query(call), "parameters": {name: 1}})))
        }),
        mistake("another tool's statement", select("UPDATE customers SET city = 'x' WHERE id = 2"), use_tool),
        mistake(
            "too many rows",
            Call("execute_select", json!({"query": "SELECT name FROM customers", "maxRows": 50_000})),
            |told, call| {
                let most: u64 = between(told, "at most ", " rows")?.parse().ok()?;
                Some(Call(call.0, json!({"query": query(call), "maxRows": most})))
            },
        ),
        mistake(
            "an unknown argument",
            Call("execute_select", json!({"sql": "x", "qurey": "SELECT name FROM customers"})),
            |told, call| {
                // What is missing is told first, and then what is not known.
                let name = near(told).or_else(|| between(told, "", ": this member is missing"))?;
                Some(Call(call.0, json!({name: call.1["qurey"]})))
            },
        ),
        mistake("two statements", select("SELECT 1; SELECT name FROM customers"), |told, call| {
            told.contains("each statement in a call of its own").then_some(())?;
            with(call, query(call).split_once("; ")?.1)
        }),
        mistake(
            "no WHERE",
            Call("execute_update", json!({"query": "UPDATE orders SET total = total + 1"})),
            |told, call| {
                told.contains("all: true").then_some(())?;
                Some(Call(call.0, json!({"query": query(call), "all": true})))
            },
        ),
        mistake(
            "a NULL that must be none",
            Call("execute_insert", json!({"query": "INSERT INTO customers (id, city) VALUES (77, 'x')"})),
            |told, call| {
                let column = between(told, "give a value for ", ",")?;
                with(
                    call,
                    query(call).replace("(id, city)", &format!("(id, city, {column})")).replace("'x')", "'x', 'y')"),
                )
            },
        ),
        mistake(
            "a key that is taken",
            Call("execute_insert", json!({"query": "INSERT INTO customers (id, name) VALUES (1, 'x')"})),
            |told, call| {
                told.contains("ON CONFLICT DO NOTHING").then_some(())?;
                with(call, format!("{} ON CONFLICT DO NOTHING", query(call)))
            },
        ),
        mistake("another connection's name", select("SELECT name FROM shp.public.customers"), |told, call| {
            let name = between(told, "this call addresses ", "\n").or_else(|| near(told))?;
            let schema = if told.contains("SQLite") { "main" } else { "public" };
            let _ = (name, schema);
            with(call, query(call).replacen("shp.public.", "", 1))
        }),
        mistake(
            "a timeout out of bounds",
            Call("execute_select", json!({"query": "SELECT 1", "timeout": 9000})),
            |told, call| {
                let most: u64 = between(told, " to ", "\n")?.parse().ok()?;
                Some(Call(call.0, json!({"query": query(call), "timeout": most})))
            },
        ),
    ]
}
