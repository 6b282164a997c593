//! `config.toml`: own tools, switches, lists and prompts, and what is wrong with them.

use std::path::Path;

use portico::config::{Completes, Config, Role};
use portico_actors::sql::Class;

const HEAD: &str =
    "[[connections]]\nid = \"6f0b1a52-8d0e-4c57-9d1b-6a7f3f0c2b11\"\nname = \"shop\"\nurl = \"sqlite:x.db\"\n";

fn parse(more: &str) -> Result<Config, Vec<(String, String)>> {
    Config::parse(&format!("{HEAD}{more}"), Path::new("/base"), &|_| None).map_err(|problems| {
        problems.0.into_iter().map(|it| (it.key, format!("{}; {}", it.message, it.remedy))).collect()
    })
}

fn tool(members: &str) -> String {
    format!("[[connections.tools]]\nname = \"t\"\ndescription = \"d\"\n{members}\n")
}

fn procedure(members: &str) -> String {
    tool(members).replace("connections.tools", "connections.procedures")
}

#[test]
fn each_problem_of_a_tool_names_its_key_and_remedy() {
    for (text, key, words) in [
        (tool("sql = \"SELECT @a\""), "tools[0].sql", "@a is not a parameter of this tool; add a [[connections.tools"),
        (tool("sql = \"SELECT 1\"\n[[connections.tools.parameters]]\nname = \"a\""), "tools[0].sql", "does not use @a"),
        (tool("sql = \"SELECT 1; SELECT 2\""), "tools[0].sql", "holds 2 statements"),
        (tool("sql = \"COMMIT\""), "tools[0].sql", "class transaction cannot be a tool"),
        (tool("sql = \"\""), "tools[0].sql", "holds no statement"),
        (procedure("sql = \"DELETE FROM a; DELETE FROM b\""), "procedures[0].sql", "each procedure runs one"),
        (procedure("sql = \"PRAGMA user_version = 3\""), "procedures[0].sql", "class session cannot be a procedure"),
        (procedure("sql = \"SELECT @b\""), "procedures[0].sql", "add a [[connections.procedures.parameters]]"),
        (tool("sql = \"SELECT * FROM other.main.t\""), "tools[0].sql", "other is not one of your connections"),
        (tool("sql = \"DELETE FROM t\"\nread_only = true"), "tools[0].read_only", "of class update"),
        (tool("sql = \"SELECT 1\"").replace("\"t\"", "\"a b\""), "tools[0].name", "cannot be the name of a tool"),
        (tool("sql = \"SELECT 1\"").replace("\"t\"", "\"get_tables\""), "tools[0].name", "another tool"),
        (tool("sql = \"SELECT 1\"") + &tool("sql = \"SELECT 1\""), "tools[1].name", "give it another name"),
        (
            tool(
                "sql = \"SELECT @a\"\n[[connections.tools.parameters]]\nname = \"a\"\ntype = \"integer\"\ndefault = \
                 \"x\"",
            ),
            "tools[0].parameters[0].default",
            "is not of type integer",
        ),
        ("[connections.disabled]\ntypes = [\"sqll\"]\n".to_owned(), "disabled.types", "did you mean sql?"),
        (
            "[connections.disabled]\noperations = [\"get_table\"]\n".to_owned(),
            "disabled.operations",
            "did you mean get_tables",
        ),
        (
            "[connections.disabled]\ntools = [\"execute_selct\"]\n".to_owned(),
            "disabled.tools",
            "did you mean execute_select",
        ),
        ("[connections.exposed]\ntabels = []\n".to_owned(), "exposed.tabels", "did you mean tables?"),
        ("[connections.hidden]\ntables = [\"\"]\n".to_owned(), "hidden.tables", "LIKE pattern"),
        ("[[connections.prompts]]\nname = \"p\"\n".to_owned(), "prompts[0].text", "add text"),
        (
            "[[connections.prompts]]\nname = \"p\"\ntext = \"about \
             {{tabel}}\"\n[[connections.prompts.arguments]]\nname = \"table\"\n"
                .to_owned(),
            "prompts[0].text",
            "{{tabel}} is not an argument of this prompt; did you mean table?",
        ),
    ] {
        let problems = parse(&text).unwrap_err();
        let [(found, said)] = problems.as_slice() else { panic!("{text}: {problems:?}") };
        assert_eq!(found, &format!("connections[0].{key}"), "{text}: {said}");
        assert!(said.contains(words), "{text}: {said}");
    }
}

#[test]
fn a_tool_is_classified_when_the_file_is_read() {
    let class = |members: &str| parse(&tool(members)).unwrap().connections[0].tools[0].class;
    assert_eq!(class("sql = \"SELECT 1\""), Class::Select);
    assert_eq!(
        class("sql = \"SELECT write_something()\"\nread_only = false"),
        Class::Other,
        "the administrator says so"
    );
    assert_eq!(class("sql = \"WITH a AS (SELECT 1) INSERT INTO t SELECT * FROM a\""), Class::Insert);
    assert_eq!(class("sql = \"UPDATE t SET a = 1\""), Class::Update);
    assert_eq!(class("sql = \"CREATE TABLE t (a)\""), Class::Ddl);
}

#[test]
fn a_list_that_is_not_there_shows_all_and_an_empty_one_nothing() {
    let exposure = |text: &str| parse(text).unwrap().connections[0].exposure.clone();
    assert!(exposure("").is_everything());
    assert!(exposure("[connections.exposed]\n").shows_table("main", "t"));
    assert!(!exposure("[connections.exposed]\ntables = []\n").shows_table("main", "t"));
}

#[test]
fn prompts_have_arguments_and_messages() {
    let text = r#"[[connections.prompts]]
name = "p"
[[connections.prompts.arguments]]
name = "table"
required = true
completes = "tables"
[[connections.prompts.messages]]
role = "user"
text = "About {{ table }}."
[[connections.prompts.messages]]
role = "assistant"
text = "Yes?"
"#;
    let config = parse(text).unwrap();
    let prompt = &config.connections[0].prompts[0];
    assert_eq!((prompt.messages.len(), prompt.messages[1].role), (2, Role::Assistant));
    assert_eq!(prompt.arguments[0].completes, Some(Completes::Tables));
}

#[test]
fn roles_of_callers_are_understood_and_what_cannot_be_one_is_told() {
    let postgres = |more: &str| {
        let head = HEAD.replace("sqlite:x.db", "postgres://app@localhost/x");
        Config::parse(&format!("{head}{more}"), Path::new("/base"), &|_| None)
    };
    let config = postgres(
        "[connections.identity]\nclaim = \"team\"\npattern = \"app_{subject}\"\n\
         [connections.identity.principals]\n\"Ann@example.org\" = \"north\"\n\
         [connections.identity.claim_roles]\nemea = \"sales\"\n",
    );
    let config = config.unwrap();
    let mapping = config.connections[0].identity.as_ref().unwrap();
    let claim = mapping.claim.as_ref().unwrap();
    assert_eq!((claim.name.as_str(), mapping.principals["ann@example.org"].as_str()), ("team", "north"));
    assert!(mapping.pattern.is_some() && claim.roles.as_ref().unwrap()["emea"] == "sales");
    for (text, key, words) in [
        ("[connections.identity]\n", "identity", "no caller would have a role"),
        (
            "[connections.identity]\npattern = \"app\"\n",
            "identity.pattern",
            "the same role for everybody; put {subject}",
        ),
        ("[connections.identity]\npattern = \"app_{\"\n", "identity.pattern", "not closed"),
        ("[connections.identity.principals]\nann = \"none\"\n", "identity.principals", "keeps for itself; name a role"),
        ("[connections.identity.principals]\nann = 5\n", "identity.principals", "a table of texts"),
        ("[connections.identity]\nclaim = \"a\"\nclaims = 1\n", "identity.claims", "did you mean claim, claim_roles?"),
        (
            "[connections.identity]\nclaim = \"\"\npattern = \"app_{subject}\"\n",
            "identity.claim",
            "a claim must have a name; write the claim's name",
        ),
        (
            "[connections.identity]\nclaim = \"\"\n[connections.identity.claim_roles]\na = \"b\"\n",
            "identity.claim",
            "or leave it out",
        ),
        (
            "[connections.identity]\npattern = \"{email}\"\n[connections.identity.claim_roles]\na = \"b\"\n",
            "identity.claim_roles",
            "the claim is not given",
        ),
    ] {
        let problems = postgres(text).unwrap_err().0;
        let [problem] = problems.as_slice() else { panic!("{text}: {problems:?}") };
        assert_eq!(problem.key, format!("connections[0].{key}"), "{text}");
        assert!(format!("{}; {}", problem.message, problem.remedy).contains(words), "{text}: {problem}");
    }
    let (key, said) = &parse("[connections.identity]\npattern = \"{email}\"\n").unwrap_err()[0];
    assert!(key == "connections[0].identity" && said.contains("SQLite database has no roles"), "{said}");
}
