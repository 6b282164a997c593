//! `[[workspaces]]`: what they come to, and what is wrong with one.

use std::path::Path;

use portico::config::{Config, Problem, Problems};
use portico_actors::principal::{Rights, Scope, WorkspaceGrant};
use portico_actors::workspace::Asset;

const CONNECTIONS: &str = r#"
[[connections]]
id = "11111111-1111-4111-8111-111111111111"
name = "Sales"
url = "sqlite:sales.db"
[[connections]]
id = "22222222-2222-4222-8222-222222222222"
name = "crm"
url = "sqlite:crm.db"
[[workspaces]]
name = "revenue"
"#;

fn read(keys: &str) -> Result<Config, Problems> {
    Config::parse(&format!("{CONNECTIONS}{keys}"), Path::new("/base"), &|_| None)
}

#[test]
fn a_workspace_has_what_its_table_says() {
    let config = read(
        r#"description = "Orders with their customers' regions"
assets = [{ table = "sales.main.orders" }, { table = "crm.main.people", alias = "customers", folder = "people" }, { procedure = "sales.main.close_month" }, { table = "crm.main.%", folder = "everything" }]
views = [{ name = "by_region", folder = "reports", description = "Turnover by region", query = "SELECT c.region, sum(o.amount) AS turnover FROM orders o JOIN people.customers c ON c.id = o.customer_id GROUP BY 1" },
         { name = "best", query = "WITH t AS (SELECT * FROM revenue.reports.by_region) SELECT * FROM t ORDER BY turnover DESC LIMIT 1" }]
relations = [{ from = "orders.customer_id", to = "people.customers.id" }, { from = "everything.anything.x", to = "reports.by_region.region" }]
max_rows = 7
"#,
    )
    .unwrap();
    let workspace = &config.workspaces[0];
    assert_eq!((workspace.max_rows, workspace.max_bytes), (7, 1024 * 1024));
    assert_eq!(workspace.connections().into_iter().collect::<Vec<_>>(), ["Sales", "crm"]);
    let places: Vec<_> = workspace.assets.iter().map(Asset::place).collect();
    assert_eq!(
        places,
        [Some(("main", Some("orders"))), Some(("people", Some("customers"))), None, Some(("everything", None))]
    );
    assert_eq!((workspace.views.len(), workspace.relations.len()), (2, 2));
}

#[test]
fn every_problem_has_its_line_its_key_and_a_remedy() {
    let orders = "assets = [{ table = \"sales.main.orders\" }]\n";
    for (keys, key, words) in [
        ("", "assets", "there is nothing in it"),
        ("assets = []", "assets", "there is nothing in it"),
        ("assets = [{ alias = \"x\" }]", "assets[0].table", "add table or procedure"),
        ("assets = [{ table = \"a.b.c\", procedure = \"a.b.c\" }]", "assets[0].procedure", "there is a table too"),
        ("assets = [{ table = \"sales.orders\" }]", "assets[0].table", "write connection.schema.name"),
        ("assets = [{ table = \"sales..orders\" }]", "assets[0].table", "write connection.schema.name"),
        ("assets = [{ table = \"sale.main.orders\" }]", "assets[0].table", "did you mean Sales?"),
        ("assets = [{ procedure = \"x.main.y\" }]", "assets[0].procedure", "connections: Sales, crm"),
        ("assets = [{ procedure = \"crm.main.y%\" }]", "assets[0].procedure", "one by one"),
        ("assets = [{ procedure = \"crm.main.y\", alias = \"z\" }]", "assets[0].alias", "remove this key"),
        ("assets = [{ table = \"crm.main.%\", alias = \"z\" }]", "assets[0].alias", "keeps its name"),
        ("assets = [{ table = \"crm.main.a\", alias = \"Z\" }]", "assets[0].alias", "small letters"),
        ("assets = [{ table = \"crm.main.a\", alias = \"order\" }]", "assets[0].alias", "no keyword of SQL"),
        ("assets = [{ table = \"crm.main.a\", folder = \"values\" }]", "assets[0].folder", "no keyword of SQL"),
        ("assets = [{ table = \"crm.main.a\" }, { table = \"sales.main.A\" }]", "assets[1].table", "another \"A\""),
        ("assets = [{ table = \"crm.main.or%\" }, { table = \"sales.main.%s\" }]", "assets[1].table", "may match both"),
        (
            "assets = [{ procedure = \"crm.main.a\" }, { procedure = \"crm.main.a\" }]",
            "assets[1].procedure",
            "the same",
        ),
        (
            &format!("{orders}views = [{{ name = \"orders\", query = \"SELECT 1\" }}]"),
            "views[0].name",
            "main has another",
        ),
        (
            &format!("{orders}views = [{{ name = \"v\", query = \"DELETE FROM orders\" }}]"),
            "views[0].query",
            "one SELECT",
        ),
        (
            &format!("{orders}views = [{{ name = \"v\", query = \"SELECT 1; SELECT 2\" }}]"),
            "views[0].query",
            "one SELECT",
        ),
        (
            &format!("{orders}views = [{{ name = \"v\", query = \"EXPLAIN SELECT 1\" }}]"),
            "views[0].query",
            "one SELECT",
        ),
        (
            &format!("{orders}views = [{{ name = \"v\", query = \"SELECT FROM WHERE (\" }}]"),
            "views[0].query",
            "one SELECT",
        ),
        (&format!("{orders}views = [{{ name = \"v\", query = \"\" }}]"), "views[0].query", "one SELECT"),
        (&format!("{orders}views = [{{ name = \"v\", query = \"SELECT @x\" }}]"), "views[0].query", "@x has no value"),
        (
            &format!("{orders}views = [{{ name = \"v\", query = \"SELECT * FROM crm.main.people\" }}]"),
            "views[0].query",
            "crm is another connection",
        ),
        (&format!("{orders}views = [{{ name = \"v\", query = \"SELECT * FROM v\" }}]"), "views[0].query", "v -> v"),
        (
            &format!("{orders}views = [{{ name = \"v\", query = \"WITH v AS (SELECT * FROM v) SELECT * FROM v\" }}]"),
            "views[0].query",
            "what WITH names needs a name of its own",
        ),
        (
            &format!("{orders}relations = [{{ from = \"ordrs.id\", to = \"orders.id\" }}]"),
            "relations[0].from",
            "did you mean orders?",
        ),
        (&format!("{orders}relations = [{{ from = \"id\", to = \"orders.id\" }}]"), "relations[0].from", "no column"),
        (&format!("{orders}max_rows = 0"), "max_rows", "from 1 to"),
    ] {
        let problems = read(keys).unwrap_err().0;
        let [Problem { line, key: told, message, remedy, .. }] = problems.as_slice() else {
            panic!("{keys}: {problems:?}")
        };
        assert_eq!(told, &format!("workspaces[0].{key}"), "{keys}");
        assert!(format!("{message}; {remedy}").contains(words), "{keys}: {message}; {remedy}");
        assert!(*line >= 10 && !remedy.is_empty(), "{keys}: line {line}");
    }
    let circle = format!(
        "{orders}views = [{{ name = \"a\", query = \"SELECT * FROM f.b\" }},\n{{ name = \"b\", folder = \"f\", query = \"SELECT * FROM main.c\" }},\n\
         {{ name = \"c\", query = \"SELECT (SELECT 1 FROM a)\" }}]"
    );
    let problems = read(&circle).unwrap_err().0;
    let told: Vec<_> = problems.iter().map(|it| (it.line, it.key.as_str(), it.message.as_str())).collect();
    assert_eq!(
        told,
        [
            (13, "workspaces[0].views[0].query", "it reads itself: a -> b -> c -> a"),
            (14, "workspaces[0].views[1].query", "it reads itself: b -> c -> a -> b"),
            (15, "workspaces[0].views[2].query", "it reads itself: c -> a -> b -> c"),
        ]
    );
    for (name, words) in [
        ("crm", "a connection has this name"),
        ("sales", "a connection has this name"),
        ("revenue", "another workspace is named"),
        ("select", "no keyword of SQL"),
        ("a-b", "small letters"),
    ] {
        let problems = read(&format!("{orders}[[workspaces]]\nname = \"{name}\"\n{orders}")).unwrap_err();
        assert!(problems.to_string().starts_with("line 14: workspaces[1].name: "), "{problems}");
        assert!(problems.to_string().contains(words), "{problems}");
    }
}

#[test]
fn an_issuer_is_bounded_by_workspaces_too() {
    let issuer = |keys: &str| {
        read(&format!(
            "assets = [{{ table = \"sales.main.orders\" }}]\n[[issuers]]\nissuer = \"https://id.example.org\"\n\
             jwks_url = \"https://id.example.org/jwks\"\n{keys}"
        ))
    };
    let reach = |keys: &str| issuer(keys).unwrap().issuers.remove(0).reach;
    assert_eq!(reach(""), Rights::ALL);
    let given = Rights::each([]).with_workspaces([("revenue".into(), WorkspaceGrant::Given(Scope::Read))]);
    assert_eq!(reach("workspaces = [\"revenue:read\"]"), given);
    assert_eq!(reach("workspaces = []"), Rights::each([]));
    assert_eq!(reach("connections = [\"crm\"]\nworkspaces = [\"revenue:read\"]").workspaces(), given.workspaces());
    let problems = issuer("workspaces = [\"revenu\"]").unwrap_err();
    assert!(problems.to_string().contains("there is no workspace \"revenu\"; workspaces: revenue"), "{problems}");
}
