//! Typical mistakes of agents, on a real PostgreSQL and on SQLite. Of each the second call is made by code, from the words
//! of the failure alone, and has to run right.

use serde_json::{Value, json};

use crate::support::app::TestApp;
use crate::support::fixture;
use crate::support::postgres::connect;

const POSTGRES: &str = r#"
CREATE TYPE order_status AS ENUM ('new', 'paid', 'shipped');
CREATE TABLE shipments (
    id int PRIMARY KEY, order_id int NOT NULL REFERENCES orders, status order_status NOT NULL, "carrierName" text,
    sent date, weight double precision, fragile boolean NOT NULL DEFAULT false, note text
);
CREATE TABLE "ShipmentNotes" (id int PRIMARY KEY, body text);
INSERT INTO shipments VALUES (1, 1, 'shipped', 'DHL', '2026-01-03', 1.25, true, '5'), (2, 2, 'new', 'UPS', '2026-01-04', 2.5, false, NULL);
INSERT INTO "ShipmentNotes" VALUES (1, 'left at the door');
CREATE FUNCTION weight_of(shipment int) RETURNS double precision LANGUAGE sql STABLE
    AS 'SELECT weight FROM shipments WHERE id = shipment';
"#;

const SQLITE: &str = "
CREATE TABLE shipments (
    id INTEGER PRIMARY KEY, order_id INTEGER NOT NULL REFERENCES orders, status TEXT CHECK (status IN ('new', 'paid', 'shipped')),
    carrierName TEXT, sent DATE, weight REAL
);
INSERT INTO shipments VALUES (1, 1, 'shipped', 'DHL', '2026-01-03', 1.25), (2, 2, 'new', 'UPS', '2026-01-04', 2.5);
";

/// A call of a tool.
#[derive(Clone, Debug)]
struct Call(&'static str, Value);

/// A mistake, and what code makes of it and of the failure's words.
struct Mistake {
    name: &'static str,
    call: Call,
    mend: fn(&str, &Call) -> Option<Call>,
}

/// What stands between two pieces of a text.
fn between<'t>(text: &'t str, before: &str, behind: &str) -> Option<&'t str> {
    let (_, rest) = text.split_once(before)?;
    Some(rest.split_once(behind).map_or(rest, |(piece, _)| piece).trim())
}

/// The first name that is offered.
fn near(told: &str) -> Option<&str> {
    Some(between(told, "did you mean ", "?")?.split(", ").next()?.trim())
}

#[expect(clippy::unnecessary_wraps, reason = "it ends what may find nothing in a failure's words")]
/// The same call with another text in the place of its statement.
fn with(call: &Call, query: impl Into<String>) -> Option<Call> {
    let mut arguments = call.1.clone();
    arguments["query"] = Value::from(query.into());
    Some(Call(call.0, arguments))
}

fn query(call: &Call) -> &str {
    call.1["query"].as_str().unwrap_or_default()
}

/// The name that is said to be missing, as the statement has it: what the failure quotes, or what stands at its position.
fn at_position(told: &str, call: &Call) -> Option<String> {
    let position: usize = between(told, "Position: ", "\n")?.parse().ok()?;
    let rest: String = query(call).chars().skip(position - 1).collect();
    if let Some(quoted) = rest.strip_prefix('"') {
        return Some(format!("\"{}\"", quoted.split_once('"')?.0));
    }
    let end = rest.find(|c: char| !(c.is_alphanumeric() || "_.".contains(c))).unwrap_or(rest.len());
    Some(rest[..end].to_owned())
}

/// Puts what is offered in the place of what is at the position.
fn replace_near(told: &str, call: &Call) -> Option<Call> {
    let missing = at_position(told, call)?;
    with(call, query(call).replacen(&missing, near(told)?, 1))
}

/// Puts the words behind "write" in the place of a function's call, with its first argument for what they leave open.
fn replace_function(told: &str, call: &Call) -> Option<Call> {
    let name = between(told, "Hint: ", " is not known here")?;
    let instead = between(told, "write ", "\n")?.split(", which").next()?;
    let text = query(call);
    let start = text.to_uppercase().find(&format!("{name}("))?;
    let inside = between(&text[start..], "(", ")")?;
    let arguments: Vec<&str> = inside.split(',').map(str::trim).collect();
    let mut filled = instead.to_owned();
    for open in ["a_date", "a_time"] {
        let given = arguments.iter().find(|given| given.contains("placed") || given.contains("sent"));
        filled = filled.replace(open, given.unwrap_or(&""));
    }
    if let Some(open) = between(&filled, "COALESCE(", ")").map(str::to_owned).filter(|open| open == "a, b") {
        filled = filled.replace(&open, inside);
    }
    if let Some(open) = between(&filled, "ifnull(", ")").map(str::to_owned).filter(|open| open == "a, b") {
        filled = filled.replace(&open, inside);
    }
    let end = start + name.len() + inside.len() + 2;
    with(call, format!("{}{filled}{}", &text[..start], &text[end..]))
}

/// Leaves TOP out and puts the LIMIT that is told at the end.
fn top(told: &str, call: &Call) -> Option<Call> {
    let limit = between(told, "write LIMIT ", " at the end")?;
    with(call, format!("{} LIMIT {limit}", query(call).replacen(&format!("TOP {limit} "), "", 1)))
}

fn limit_pair(told: &str, call: &Call) -> Option<Call> {
    let (before, _) = query(call).split_once("LIMIT")?;
    with(call, format!("{before}{}", between(told, "write ", "\n")?))
}

fn use_tool(told: &str, call: &Call) -> Option<Call> {
    let name = between(told, "Hint: use ", "\n")?;
    let known = ["execute_select", "execute_insert", "execute_update", "execute_sql", "execute_procedure"];
    Some(Call(known.into_iter().find(|known| *known == name)?, call.1.clone()))
}

fn select(query: &str) -> Call {
    Call("execute_select", json!({"query": query}))
}

/// What is wrong alike on both.
fn common() -> Vec<Mistake> {
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

/// What is wrong on PostgreSQL.
fn on_postgres() -> Vec<Mistake> {
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
        mistake("backticks", select("SELECT `name` FROM `customers`"), |told, call| {
            told.contains("double quotes").then(|| with(call, query(call).replace('`', "\"")))?
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

/// What is wrong on SQLite.
fn on_sqlite() -> Vec<Mistake> {
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

/// The words of a call's failure; `None` where it succeeded.
async fn told(app: &TestApp, Call(tool, arguments): &Call) -> Option<String> {
    let call = json!({"name": tool, "arguments": arguments});
    let (_, body) = app.mcp(&app.writer, "tools/call", call).await;
    if body.get("error").is_some() {
        return Some(body["error"]["message"].as_str().unwrap().to_owned());
    }
    let text = body["result"]["content"][0]["text"].as_str().unwrap().to_owned();
    (body["result"]["isError"] == true).then_some(text)
}

/// Makes each mistake, mends it by the failure's words, and says how many run right then.
async fn mend(app: &TestApp, mistakes: Vec<Mistake>) {
    let (all, mut bytes, mut unmended) = (mistakes.len(), 0, Vec::new());
    for Mistake { name, call, mend } in mistakes {
        let Some(words) = told(app, &call).await else { panic!("{name}: {call:?} is no mistake here") };
        bytes += words.len();
        match mend(&words, &call) {
            None => unmended.push(format!("{name}: {words:?} does not lead on")),
            Some(second) => {
                if let Some(again) = told(app, &second).await {
                    unmended.push(format!("{name}: {words:?} leads to {second:?}, and that to {again:?}"));
                }
            }
        }
    }
    for one in &unmended {
        println!("not mended: {one}");
    }
    println!("{} of {all} mistakes mended; a failure has {} bytes on average", all - unmended.len(), bytes / all);
    assert!(all >= 26 && unmended.len() * 13 <= all, "{} of {all}:\n{}", unmended.len(), unmended.join("\n"));
}

#[actix_web::test]
async fn on_postgres_the_second_call_is_right() {
    let url = fixture::postgres().await;
    connect(&url).await.batch_execute(POSTGRES).await.unwrap();
    let app = fixture::with_postgres(&url, "access = \"read-write\"").await;
    mend(&app, common().into_iter().chain(on_postgres()).collect()).await;
}

#[actix_web::test]
async fn on_sqlite_the_second_call_is_right() {
    let app = fixture::on_sqlite().await;
    for statement in SQLITE.split_inclusive(";\n").filter(|statement| !statement.trim().is_empty()) {
        app.rows(statement.trim().trim_end_matches(';')).await;
    }
    mend(&app, common().into_iter().chain(on_sqlite()).collect()).await;
}

#[actix_web::test]
async fn what_is_hidden_is_in_no_hint() {
    let hidden = "access = \"read-write\"\n[connections.hidden]\ntables = [\"customers\"]";
    let url = fixture::postgres().await;
    for app in [fixture::with_sqlite(hidden).await, fixture::with_postgres(&url, hidden).await] {
        // A column that only the hidden table has, one like it, and one of a table that is shown.
        for (query, offered) in [
            ("SELECT city FROM orders", None),
            ("SELECT nme FROM orders", None),
            ("SELECT totl FROM orders", Some("total")),
        ] {
            let words = app.tool_error("execute_select", json!({"query": query})).await;
            assert!(!words.contains("customers"), "{query}: {words}");
            assert_eq!(near(&words), offered, "{query}: {words}");
        }
    }
}
