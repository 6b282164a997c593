//! What is wrong on SQLite.

use serde_json::json;

use super::call::{Call, Mistake, between, query, replace_function, select, with};

/// What is wrong on SQLite.
pub(super) fn on_sqlite() -> Vec<Mistake> {
    let mistake = |name, call, mend| Mistake { name, call, mend };
    vec![
        mistake("TO_CHAR", select("SELECT TO_CHAR(placed, 'YYYY-MM') FROM orders"), replace_function),
        mistake("NOW", select("SELECT NOW() AS now"), replace_function),
        mistake("NVL", select("SELECT NVL(city, 'none') FROM customers"), replace_function),
        mistake("YEAR", select("SELECT YEAR(placed) FROM orders"), replace_function),
        mistake("DATEADD", select("SELECT DATEADD(day, 7, placed) FROM orders"), replace_function),
        mistake("DATE_TRUNC", select("SELECT DATE_TRUNC('month', placed) FROM orders"), replace_function),
        mistake("ILIKE", select("SELECT name FROM customers WHERE name ILIKE '%a%'"), |told, call| {
            let word = between(told, "write ", ",")?;
            with(call, query(call).replace("ILIKE", word))
        }),
        mistake("a cast by ::", select("SELECT total::INTEGER FROM orders"), |told, call| {
            let form = between(told, "write ", "\n")?;
            with(
                call,
                query(call).replace("total::INTEGER", &form.replace("value", "total").replace("type", "INTEGER")),
            )
        }),
        mistake(
            "a value that CHECK refuses",
            Call("execute_update", json!({"query": "UPDATE shipments SET status = 'sent' WHERE id = 1"})),
            |told, call| {
                let last = between(told, "IN (", ")")?.split(", ").last()?.to_owned();
                with(call, query(call).replace("'sent'", &last))
            },
        ),
        mistake(
            "a list in IN",
            Call(
                "execute_select",
                json!({"query": "SELECT name FROM customers WHERE id IN (@ids)", "parameters": {"ids": [1, 2]}}),
            ),
            |told, call| {
                let form = between(told, "write ", "\n")?;
                with(call, query(call).replace("IN (@ids)", form))
            },
        ),
        mistake(
            "= ANY of a list",
            Call(
                "execute_select",
                json!({"query": "SELECT name FROM customers WHERE id = ANY(@ids)", "parameters": {"ids": [1, 2]}}),
            ),
            |told, call| {
                let form = between(told, "write ", "\n")?.replace("list", "@ids");
                with(call, query(call).replace("= ANY(@ids)", &form))
            },
        ),
        mistake("the extract of a date", select("SELECT EXTRACT(year FROM placed) FROM orders"), |told, call| {
            let form = between(told, "write ", "\n")?.replace("a_date", "placed");
            with(call, query(call).replace("EXTRACT(year FROM placed)", &form))
        }),
    ]
}
