//! Declared procedures.

use crate::sqlite::execute::procedure;
use crate::sqlite::tests::{Fixture, Options, argument, fixture, whole};
use crate::{Access, DeclaredProcedure, Direction, Invocation, Parameter, Plan, Procedure, Task};
use portico_core::call::{Argument, MetadataFilter, MetadataKind};
use portico_core::error::{Error, Kind};
use portico_core::reply::DataType;

fn parameter(name: &str, type_name: &str, data_type: DataType, optional: bool) -> Parameter {
    Parameter {
        name: name.to_owned(),
        direction: Direction::In,
        data_type,
        type_name: type_name.to_owned(),
        optional,
        remarks: Some(format!("The {name}.")),
        default: None,
        labels: Vec::new(),
    }
}

fn declared() -> Vec<DeclaredProcedure> {
    let orders_of = Procedure {
        schema: "main".to_owned(),
        name: "orders_of".to_owned(),
        remarks: Some("A customer's orders.".to_owned()),
        reads_only: true,
        parameters: vec![
            parameter("customer_id", "INTEGER", DataType::BigInt, false),
            parameter("least", "DECIMAL(10,2)", DataType::Decimal, true),
        ],
        roles: None,
    };
    let rename = Procedure {
        schema: "main".to_owned(),
        name: "add_order".to_owned(),
        remarks: None,
        reads_only: false,
        parameters: vec![parameter("customer_id", "INTEGER", DataType::BigInt, false)],
        roles: None,
    };
    vec![
        DeclaredProcedure {
            procedure: orders_of,
            sql: "SELECT id, total FROM orders WHERE customer_id = @customer_id AND (@least IS NULL OR total >= @least)
                  ORDER BY id"
                .to_owned(),
        },
        DeclaredProcedure {
            procedure: rename,
            sql: "INSERT INTO orders (customer_id, total) VALUES (@customer_id, 1) RETURNING id".to_owned(),
        },
    ]
}

const SCRIPT: &str = "
    CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER, total DECIMAL(10,2));
    INSERT INTO orders VALUES (1, 7, 10), (2, 7, 99.9), (3, 8, 5);";

fn shop() -> Fixture {
    fixture(SCRIPT, Options { declared: declared(), ..Options::default() })
}

fn invocation(schema: Option<&str>, name: &str, arguments: &[(&str, &str)]) -> Invocation {
    Invocation {
        schema: schema.map(str::to_owned),
        name: name.to_owned(),
        arguments: arguments.iter().map(|(name, json)| argument(name, json)).collect(),
        default_schema: None,
        overload: None,
    }
}

fn ordered(name: &str, given: &[(&str, &str)]) -> Result<Vec<Argument>, Error> {
    let all = declared();
    let found = procedure::find(&all, &invocation(None, name, given))?;
    let names: Vec<String> = found.procedure.parameters.iter().map(|parameter| parameter.name.clone()).collect();
    let given: Vec<Argument> = given.iter().map(|(name, json)| argument(name, json)).collect();
    procedure::arguments(&found.procedure, &given, &names)
}

#[test]
fn arguments_go_by_name_or_by_position_and_optional_ones_may_stay_away() {
    for given in [
        &[("customer_id", "7"), ("least", "50")][..],
        &[("@least", "50"), ("@Customer_ID", "7")],
        &[("1", "7"), ("@2", "50")],
        &[("2", "50"), ("customer_id", "7")],
    ] {
        let values: Vec<_> = ordered("orders_of", given).unwrap().iter().map(|a| a.value.get().to_owned()).collect();
        assert_eq!(values, ["7", "50"], "{given:?}");
    }
    let alone = ordered("ORDERS_OF", &[("1", "7")]).unwrap();
    assert_eq!(alone[1].value.get(), "null");
}

#[test]
fn wrong_arguments_are_told_with_the_signature() {
    for (given, named) in [
        (&[][..], "@customer_id"),
        (&[("least", "1")], "@customer_id"),
        (&[("customer_id", "7"), ("colour", "1")], "@colour"),
        (&[("customer_id", "7"), ("3", "1")], "@3"),
        (&[("customer_id", "7"), ("0", "1")], "@0"),
        (&[("customer_id", "7"), ("1", "8")], "@1"),
    ] {
        let error = ordered("orders_of", given).unwrap_err();
        assert_eq!(error.kind, Kind::Invalid);
        assert!(error.message.contains(named), "{} {named}", error.message);
        assert_eq!(error.get_hint(), Some("it is orders_of(@customer_id INTEGER, [@least DECIMAL(10,2)])"));
    }
}

#[test]
fn unknown_names_get_near_ones() {
    let all = declared();
    let error = procedure::find(&all, &invocation(None, "order_of", &[])).unwrap_err();
    assert_eq!((error.kind, error.get_hint()), (Kind::NotFound, Some("did you mean orders_of?")));
    let error = procedure::find(&all, &invocation(Some("public"), "orders_of", &[])).unwrap_err();
    assert_eq!((error.kind, error.get_hint()), (Kind::NotFound, Some("did you mean main.orders_of?")));
    assert!(procedure::find(&all, &invocation(Some("MAIN"), "orders_of", &[])).is_ok());
}

#[tokio::test]
async fn procedures_and_their_parameters_are_listed() {
    let fixture = shop();
    let describe = async |metadata, narrow| {
        let plan = Plan::alone(Task::Describe(metadata, narrow), Access::ReadOnly);
        whole(fixture.source.run(plan).await.unwrap()).await.unwrap().words()
    };
    assert_eq!(
        describe(MetadataKind::Procedures, MetadataFilter::default()).await,
        ["shop|main|add_order|NULL|1", "shop|main|orders_of|A customer's orders.|1",]
    );
    assert_eq!(
        describe(MetadataKind::ProcedureParameters, MetadataFilter::default()).await,
        [
            "shop|main|add_order|customer_id|1|9|INTEGER|19|19|NULL|The customer_id.|false|1",
            "shop|main|orders_of|customer_id|1|9|INTEGER|19|19|NULL|The customer_id.|false|1",
            "shop|main|orders_of|least|1|12|DECIMAL|10|10|2|The least.|true|2",
        ]
    );
    let narrow = MetadataFilter {
        procedure: Some("orders%".to_owned()),
        param: Some("least".to_owned()),
        ..MetadataFilter::default()
    };
    assert_eq!(describe(MetadataKind::ProcedureParameters, narrow).await.len(), 1);
    let profile = fixture.source.ping().await.unwrap();
    assert!(profile.product.starts_with("SQLite 3."), "{}", profile.product);
    assert_eq!(profile.default_schema.as_deref(), Some("main"));
    let names: Vec<_> = profile.procedures.iter().map(|procedure| procedure.name.as_str()).collect();
    assert_eq!(names, ["add_order", "orders_of"]);
}

async fn call(
    fixture: &Fixture,
    access: Access,
    name: &str,
    given: &[(&str, &str)],
) -> Result<crate::sqlite::tests::Whole, Error> {
    let plan = Plan::alone(Task::Procedure(invocation(None, name, given)), access);
    whole(fixture.source.run(plan).await?).await
}

#[tokio::test]
async fn a_procedure_runs_its_statement() {
    let fixture = shop();
    let all = call(&fixture, Access::ReadOnly, "orders_of", &[("customer_id", "7")]).await.unwrap();
    assert_eq!(all.words(), ["1|10.00", "2|99.90"]);
    let some = call(&fixture, Access::ReadOnly, "orders_of", &[("1", "7"), ("2", "50.5")]).await.unwrap();
    assert_eq!(some.words(), ["2|99.90"]);
    let refused = call(&fixture, Access::ReadOnly, "add_order", &[("1", "8")]).await.unwrap_err();
    assert_eq!(refused.kind, Kind::Forbidden);
    let added = call(&fixture, Access::ReadWrite, "add_order", &[("1", "8")]).await.unwrap();
    assert_eq!((added.words(), added.affected), (vec!["4".to_owned()], Some(1)));
    let missing = call(&fixture, Access::ReadWrite, "nothing", &[]).await.unwrap_err();
    assert_eq!(missing.kind, Kind::NotFound);
}

#[test]
fn a_value_is_of_the_type_that_was_declared() {
    let types = [
        ("whole", "integer", DataType::BigInt),
        ("number", "number", DataType::Double),
        ("truth", "boolean", DataType::Boolean),
        ("day", "date", DataType::Date),
        ("id", "uuid", DataType::Uuid),
        ("word", "text", DataType::Varchar),
    ];
    let mut procedure = declared().remove(0).procedure;
    procedure.parameters = types.map(|(name, words, of)| parameter(name, words, of, true)).to_vec();
    for (name, value, fits) in [
        ("whole", "7", true),
        ("whole", "\"7\"", true),
        ("whole", "7.0", true),
        ("whole", "-1e3", true),
        ("whole", "0.0", true),
        ("whole", "null", true),
        ("whole", "-9223372036854775808", true),
        ("whole", "9223372036854775808", false),
        ("whole", "1e30", false),
        ("whole", "1.5", false),
        ("whole", "\"x\"", false),
        ("whole", "\"\"", false),
        ("whole", "true", false),
        ("whole", "[7]", false),
        ("number", "1.5", true),
        ("number", "\"1.5\"", true),
        ("number", "\"x\"", false),
        ("number", "false", false),
        ("truth", "true", true),
        ("truth", "\"false\"", true),
        ("truth", "1", true),
        ("truth", "2", false),
        ("truth", "\"maybe\"", false),
        ("day", "\"2026-01-02\"", true),
        ("day", "20260102", false),
        ("id", "\"6f0b1a52-8d0e-4c57-9d1b-6a7f3f0c2b11\"", true),
        ("id", "\"6f0b1a52\"", false),
        ("word", "\"x\"", true),
        ("word", "7", true),
        ("word", "{\"a\": 1}", true),
        ("word", "\"\\ud800\"", false),
    ] {
        let given = procedure::arguments(&procedure, &[argument(name, value)], &[name.to_owned()]);
        assert_eq!(given.is_ok(), fits, "{name} {value}: {given:?}");
        if let Err(error) = given {
            assert_eq!(error.kind, Kind::Invalid);
            assert!(error.message.starts_with(&format!("parameter @{name}: ")), "{}", error.message);
        }
    }
}

#[tokio::test]
async fn a_schema_that_is_not_there_is_told() {
    let fixture = shop();
    for (schema, expected) in [("nothing", Some(Kind::NotFound)), ("MAIN", None)] {
        let mut invocation = invocation(None, "orders_of", &[("1", "7")]);
        invocation.default_schema = Some(schema.to_owned());
        let answer = fixture.source.run(Plan::alone(Task::Procedure(invocation), Access::ReadOnly)).await;
        assert_eq!(answer.err().map(|error| error.kind), expected, "{schema}");
    }
}
