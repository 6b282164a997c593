//! What is wrong on PostgreSQL.

use serde_json::json;

use super::call::{Call, Mistake, between, limit_pair, near, query, replace_function, replace_near, select, with};

/// What is wrong on PostgreSQL.
pub(super) fn on_postgres() -> Vec<Mistake> {
    let mistake = |name, call, mend| Mistake { name, call, mend };
    vec![
        mistake("SHOW TABLES", select("SHOW TABLES"), |told, call| with(call, between(told, "here: ", " lists")?)),
        mistake("DESCRIBE", select("DESCRIBE orders"), |told, call| {
            with(call, between(told, "here: ", " lists")?.replace('…', "orders"))
        }),
        mistake("a name with capitals", select("SELECT carrierName FROM shipments"), replace_near),
        mistake("a table with capitals", select("SELECT body FROM ShipmentNotes"), |told, call| {
            with(call, query(call).replacen("ShipmentNotes", near(told)?, 1))
        }),
        mistake(
            "GROUP BY",
            select(
                "SELECT c.city, c.name, count(*) FROM customers c JOIN orders o ON o.customer_id = c.id GROUP BY c.city",
            ),
            |told, call| {
                let column = between(told, "Hint: add ", " to GROUP BY")?;
                with(call, format!("{}, {column}", query(call)))
            },
        ),
        mistake("a number against a text", select("SELECT id FROM shipments WHERE note = 5"), |told, call| {
            let kind = between(told, "left side of = is ", ",")?;
            with(call, query(call).replace("= 5", &format!("= 5::{kind}")))
        }),
        mistake("DATEADD", select("SELECT DATEADD(day, 7, placed) FROM orders"), replace_function),
        mistake("IFNULL", select("SELECT IFNULL(city, 'none') FROM customers"), replace_function),
        mistake("GETDATE", select("SELECT GETDATE() AS now"), replace_function),
        mistake("strftime", select("SELECT strftime('%Y-%m', placed) FROM orders"), replace_function),
        mistake("YEAR", select("SELECT YEAR(placed) FROM orders"), replace_function),
        mistake("LIMIT x, y", select("SELECT name FROM customers ORDER BY id LIMIT 1, 2"), limit_pair),
        mistake("a number beside a text", select("SELECT id FROM customers WHERE name > 5"), |told, call| {
            told.contains("(a_text)::numeric").then(|| with(call, query(call).replace('5', "'5'")))?
        }),
        mistake(
            "a label of an enumeration",
            select("SELECT id FROM shipments WHERE status = 'shiped'"),
            |told, call| with(call, query(call).replace("'shiped'", near(told)?)),
        ),
        mistake("a date in another form", select("SELECT id FROM orders WHERE placed > '31/12/2025'"), |told, call| {
            let form = between(told, "to_date(text, ", ")")?;
            with(call, query(call).replace("'31/12/2025'", &format!("to_date('31/12/2025', {form})")))
        }),
        mistake("division by zero", select("SELECT total / (id - id) FROM orders"), |told, call| {
            told.contains("NULLIF(b, 0)").then_some(())?;
            with(call, query(call).replace("(id - id)", "NULLIF(id - id, 0)"))
        }),
        mistake(
            "a text where a number is due",
            Call(
                "execute_select",
                json!({"query": "SELECT name FROM customers WHERE id = @id", "parameters": {"id": "one"}}),
            ),
            |told, call| {
                let name = between(told, "parameter @", ":")?;
                told.contains("number").then_some(())?;
                Some(Call(call.0, json!({"query": query(call), "parameters": {name: 1}})))
            },
        ),
        mistake(
            "a text in double quotes",
            select("SELECT id FROM customers WHERE city = \"Gdańsk\""),
            |told, call| with(call, query(call).replace("\"Gdańsk\"", between(told, "single quotes: ", "\n")?)),
        ),
        mistake("+ between texts", select("SELECT name + ' of ' + city FROM customers"), |told, call| {
            let sign = between(told, "joined by ", ":")?;
            with(call, query(call).replace('+', sign))
        }),
        mistake("a boolean as a number", select("SELECT id FROM shipments WHERE fragile = 1"), |told, call| {
            told.contains("true or false").then(|| with(call, query(call).replace("= 1", "= true")))?
        }),
        mistake("round", select("SELECT round(weight, 1) FROM shipments"), |told, call| {
            let cast = between(told, "round(value", ",")?;
            with(call, query(call).replace("weight,", &format!("weight{cast},")))
        }),
        mistake("LIKE on a number", select("SELECT id FROM customers WHERE id LIKE '1%'"), |told, call| {
            let cast = between(told, "write value", " LIKE")?;
            with(call, query(call).replace("id LIKE", &format!("id{cast} LIKE")))
        }),
        mistake("an interval", select("SELECT now() - INTERVAL 7 DAY AS then"), |told, call| {
            with(call, query(call).replace("INTERVAL 7 DAY", between(told, "write ", "\n")?))
        }),
        mistake(
            "a subquery of several rows",
            select("SELECT name FROM customers WHERE id = (SELECT customer_id FROM orders)"),
            |told, call| told.contains("use IN").then(|| with(call, query(call).replace("id = (", "id IN (")))?,
        ),
        mistake("an alias in WHERE", select("SELECT total * 2 AS twice FROM orders WHERE twice > 1"), |told, call| {
            let form = between(told, "as a whole: ", " WHERE")?;
            let (inner, condition) = query(call).split_once(" WHERE ")?;
            with(call, format!("{} WHERE {condition}", form.replace('…', inner)))
        }),
        mistake("a schema's name", select("SELECT name FROM publik.customers"), |told, call| {
            with(call, query(call).replacen("publik.customers", near(told)?, 1))
        }),
        mistake("a function's name", select("SELECT wieght_of(1)"), |told, call| {
            with(call, query(call).replace("wieght_of", near(told)?))
        }),
        mistake(
            "a procedure's name",
            Call("execute_procedure", json!({"procedure": "wieght_of", "parameters": {"shipment": 1}})),
            |told, call| Some(Call(call.0, json!({"procedure": near(told)?, "parameters": call.1["parameters"]}))),
        ),
    ]
}
