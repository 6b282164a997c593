//! What `get_instructions` tells of a schema: every fact that the statements of an agent need, within its budget, on
//! PostgreSQL, on SQLite and of a workspace over both. Tokens are counted as four bytes each.

mod found;
mod kept;
mod writes;

use rusqlite::Connection;
use serde_json::json;

use crate::support::app::TestApp;
use crate::support::configuration::Configuration;
use crate::support::postgres::{TestPostgres, connect};
use crate::walls::server::say;

pub(super) const POSTGRES: &str = include_str!("../agents/schema.sql");
pub(super) const SQLITE: &str = include_str!("../agents/schema_sqlite.sql");

/// Tokens of the whole text, and of what stands around the tables.
const BUDGET: usize = 2_000;
const HEAD: usize = 150;

pub(super) async fn database() -> String {
    let url = TestPostgres::shared().database("digest").await;
    connect(&url).await.batch_execute(&format!("{POSTGRES} ANALYZE;")).await.unwrap();
    url
}

pub(super) async fn on_postgres(keys: &str) -> TestApp {
    Configuration::new().connection("trade", &database().await, keys).start().await
}

pub(super) async fn on_sqlite(keys: &str) -> TestApp {
    let configuration = Configuration::new();
    Connection::open(configuration.path().join("trade.db")).unwrap().execute_batch(SQLITE).unwrap();
    configuration.connection("trade", "sqlite:trade.db", keys).start().await
}

pub(super) async fn told(app: &TestApp) -> String {
    let result = app.tool("get_instructions", json!({})).await;
    assert_eq!(result["isError"], false, "{result}");
    result["content"][0]["text"].as_str().unwrap().to_owned()
}

/// The bounds hold, and no table is told by its name alone.
fn within_its_budget(what: &str, text: &str) {
    let head = text.split_once("\n## ").unwrap().0;
    let (all, head) = (text.len() / 4, head.len() / 4);
    say(&format!("{what}: {all} tokens, of these the head {head}"));
    assert!(all <= BUDGET && head <= HEAD, "{what}: {all} tokens, the head {head}:\n{text}");
    assert!(!text.contains("\nAlso"), "{what}: not all of it is told:\n{text}");
}

fn tells(text: &str, facts: &[&str]) {
    let missing: Vec<&&str> = facts.iter().filter(|fact| !text.contains(**fact)).collect();
    assert!(missing.is_empty(), "{missing:#?} are missing in\n{text}");
}

/// What both engines tell alike.
const FACTS: &[&str] = &[
    // Keys and references.
    "customer(id int PK, name text",
    "referred_by int → customer.id",
    "(region_country,region_code) → region(country_code,code)",
    "region(country_code char(2) → country.code, code text, name text; PK(country_code,code))",
    "; PK(order_id,line_no))",
    "order_id int → orders.id",
    "(order_id,line_no) → order_line(order_id,line_no)",
    "ship_to int → address.id",
    "category_id int NOT NULL → category.id",
    // Names that need their quotes.
    "\"CustomerNote\"(\"noteId\" int PK, \"customerId\" int NOT NULL → customer.id",
    "\"select\"(id int PK, \"order\" int NOT NULL → orders.id",
    "\"exchange rate\"(currency",
    "\"valid on\" date",
    // Values.
    "priority text IN ('low','normal','rush')",
    "carrier text IN ('DHL','UPS','own')",
    "rating int IN (1,2,3,4,5)",
    "('draft','placed','paid','shipped','returned')",
    "('web','phone','store')",
    "('EUR','USD','GBP')",
    // Rows of lookup tables.
    "rows: ('AT','Austria',true),('CH','Switzerland',false),('DE','Germany',true),('GB','United Kingdom',false)",
    "rows: (1,'standard',20",
    "rows: ('DMG','Arrived damaged'),('LATE','Arrived late'),('WRNG','Wrong article')",
    "rows: ('kg','Kilogram'),('pc','Piece')",
    // Comments, units among them.
    "/*Set when the customer has left; such rows do not count.*/",
    "price_cents int /*Net price in euro cents.*/",
    "/*Keys: weight_g (number), colour (text).*/",
    "rate numeric(4,2) /*Percent.*/",
    "budget numeric(12,2) /*Thousand euros.*/",
    "/*One basket of one customer.*/",
    "/*Pieces or kilograms, see the product's unit.*/",
    // Views, and numbers of rows.
    "VIEW open_orders(id int, customer_id int",
    "/*Orders that nobody has paid yet.*/",
    " ~4",
];

#[actix_web::test]
async fn every_fact_of_a_schema_is_told_within_the_budget_on_postgres() {
    let app = on_postgres("").await;
    let text = told(&app).await;
    within_its_budget("PostgreSQL", &text);
    tells(&text, FACTS);
    tells(
        &text,
        &[
            "status order_status('draft','placed','paid','shipped','returned')",
            "currency currency('EUR','USD','GBP')",
            "PARTITION BY RANGE (moved_on) 2 partitions",
            "-- hr: People who work here.",
            "hr.employee(id int PK, name text, manager_id int → hr.employee.id, department_id int NOT NULL → hr.department.id",
            "customer_turnover(customer integer, since date = default) → numeric: Net turnover in euros",
            "kind text IN ('sick','leave')",
        ],
    );
    assert!(!text.contains("stock_move_2024"), "a partition is a part of its table:\n{text}");
    // What a type's values are is told once.
    assert_eq!(text.matches("'EUR','USD','GBP'").count(), 1, "{text}");
    let writer = told(&on_postgres("access = \"read-write\"").await).await;
    within_its_budget("PostgreSQL, to write", &writer);
    tells(&writer, &["since date NOT NULL", "you may read and write"]);
    assert!(!text.contains("since date NOT NULL"), "who only reads need not know it:\n{text}");
}

#[actix_web::test]
async fn every_fact_of_a_schema_is_told_within_the_budget_on_sqlite() {
    let text = told(&on_sqlite("").await).await;
    within_its_budget("SQLite", &text);
    tells(&text, FACTS);
    tells(&text, &["hr_employee(id int PK, name text, manager_id int → hr_employee.id"]);
    within_its_budget("SQLite, to write", &told(&on_sqlite("access = \"read-write\"").await).await);
}

const WORKSPACE: &str = r#"
[[workspaces]]
name = "market"
assets = [
    { table = "trade.public.%" },
    { table = "depot.main.warehouse", folder = "depot" },
    { table = "depot.main.stock", folder = "depot", alias = "shelf" },
]
relations = [{ from = "depot.shelf.product_id", to = "product.id" }]
"#;

#[actix_web::test]
async fn a_workspace_over_both_is_told_alike_with_its_relations() {
    let configuration = Configuration::new();
    Connection::open(configuration.path().join("depot.db")).unwrap().execute_batch(SQLITE).unwrap();
    let configuration = configuration.connection("trade", &database().await, "");
    let configuration = configuration.connection("depot", "sqlite:depot.db", "").with(WORKSPACE);
    let app = configuration.start().await.at("/mcp/workspaces/market");
    let text = told(&app).await;
    within_its_budget("a workspace over both", &text);
    let facts: Vec<&str> = FACTS.iter().copied().filter(|fact| !fact.contains("true")).collect();
    tells(&text, &facts);
    tells(
        &text,
        &[
            "depot.shelf(warehouse_id int → depot.warehouse.id, product_id int → product.id",
            "rows: ('AT','Austria',true)",
            "stock_move(id bigint",
        ],
    );
    assert_eq!(told(&app).await, text, "clients cache prompts by prefix");
}

#[actix_web::test]
async fn what_does_not_fit_is_told_by_name_and_what_is_referred_to_most_stays_whole() {
    for app in [on_postgres("instructions_tokens = 500").await, on_sqlite("instructions_tokens = 500").await] {
        let text = told(&app).await;
        assert!(text.len() <= 500 * 4, "{}: {text}", text.len());
        tells(&text, &["customer(id int PK", "\nAlso (get_columns tells them, get_tables with search finds more): "]);
        let rest = text.split_once("\nAlso").unwrap().1;
        tells(rest, &["\"CustomerNote\"", "setting"]);
        assert!(!text.contains("setting("), "nothing refers to it: {text}");
    }
}
