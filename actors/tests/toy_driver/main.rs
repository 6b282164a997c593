//! Tests that the steps of `docs/extending.md` make a driver: one made by them answers a statement, a listing and
//! the standard queries of a connection, through the directory and the connection's actor.

// Everything here is a test: a failed unwrap fails it.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod planets;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use actix::System;
use futures_util::StreamExt;
use planets::DRIVER;
use portico_actors::budget::Budget;
use portico_actors::call::{
    AllowedStatements, Argument, InstructionsOptions, Limits, MetadataFilter, MetadataKind, Op, RequestId, Sql,
};
use portico_actors::directory::{ConnectionSpec, Directory, Intensity, Start};
use portico_actors::error::{Kind, Result};
use portico_actors::event::Event;
use portico_actors::principal::{Claims, Principal, Rights, Scope, Validity};
use portico_actors::reply::{Cell, Part, Reply};
use portico_actors::source::{Access, ConnectOptions, Exposure, Names, Pooler, Settings, narrow};
use serde_json::value::RawValue;
use uuid::Uuid;

const ID: Uuid = Uuid::from_u128(1);
/// Far longer than any call of these tests takes.
const DEADLINE: Duration = Duration::from_secs(60);

/// A directory with one connection with this exposure.
fn directory(exposure: &Exposure) -> Directory {
    let (base, environment) = (Path::new("."), |_: &str| None);
    let url = DRIVER.example.to_owned();
    assert!((DRIVER.recognizes)(&url));
    let pooler = Pooler::default();
    let location = (DRIVER.locate)(ConnectOptions {
        url,
        password: None,
        pooler,
        base,
        directory: base,
        environment: &environment,
    });
    location.check().unwrap();
    let exposure = exposure.clone();
    let open = move || {
        let source = location.open(Settings {
            name: "planets".into(),
            access: Access::ReadOnly,
            pool: 1,
            connect_timeout: DEADLINE,
            declared: Arc::default(),
            has_roles: false,
            exposure: Arc::new(exposure.clone()),
            budget: Budget::default(),
        })?;
        Ok(narrow(source, exposure.clone(), &DRIVER))
    };
    let connection = ConnectionSpec {
        id: ID,
        name: "planets".into(),
        fingerprint: 0,
        open: Arc::new(open),
        driver: &DRIVER,
        access: Access::ReadOnly,
        permits: 1,
        share: None,
        queue: 1,
        queue_timeout: Duration::from_secs(10),
        reader_timeout: Duration::from_secs(30),
        trace_comments: false,
        cost_limit: None,
        instructions: None,
        refresh: Duration::from_secs(30),
        identity: None,
        start: Start::Lazy,
        idle_timeout: None,
    };
    Directory::start(vec![connection], Intensity::default(), Arc::new(|_: &Event| {}))
}

async fn ask(directory: &Directory, op: Op) -> Result<Reply> {
    let by = Principal {
        subject: "test".to_owned(),
        rights: Rights::all(Scope::Read),
        claims: Claims::default(),
        credential: None,
        validity: Validity::default(),
    };
    let entry = directory.get(ID).expect("the connection is listed");
    let answer = directory.ask(&entry, RequestId::fresh(), Arc::new(by), op, Limits::default());
    tokio::time::timeout(DEADLINE, answer).await.expect("the call was not answered in time")
}

/// The texts and numbers of an answer, row by row.
async fn rows(directory: &Directory, op: Op) -> Result<Vec<Vec<String>>> {
    let Reply::Results(mut results) = ask(directory, op).await? else { panic!("no results") };
    let (mut rows, mut width) = (Vec::new(), 0);
    while let Some(part) = tokio::time::timeout(DEADLINE, results.next()).await.expect("no part came in time") {
        match part? {
            Part::Columns(columns) => width = columns.len(),
            Part::Rows(batch) => rows.extend((0..batch.rows()).map(|row| {
                let cell = |column| match batch.cell(row, column).unwrap() {
                    Cell::Text(text) => text.into_owned(),
                    Cell::Integer(number) => number.to_string(),
                    other => format!("{other:?}"),
                };
                (0..width).map(cell).collect::<Vec<_>>()
            })),
            Part::Done { .. } => {}
        }
    }
    Ok(rows)
}

fn select(text: &str, name: &str) -> Op {
    let value = RawValue::from_string(format!("\"{name}\"")).unwrap();
    let parameters = vec![Argument { name: "name".to_owned(), value, data_type: None }];
    Op::Execute(AllowedStatements::Select, Sql { text: text.to_owned(), parameters, ..Sql::default() })
}

#[test]
fn a_statement_is_answered() {
    System::new().block_on(async {
        let directory = directory(&Exposure::default());
        let text = "SELECT name, moons FROM planets.sky.planets WHERE name = @name";
        assert_eq!(rows(&directory, select(text, "Earth")).await.unwrap(), [["Earth", "1"]]);
        let missing =
            rows(&directory, select("SELECT name FROM planet WHERE name = @name", "Earth")).await.unwrap_err();
        assert_eq!(missing.kind, Kind::NotFound);
        assert_eq!(missing.get_hint(), Some("did you mean planets?"), "{missing:?}");
    });
}

#[test]
fn what_is_there_is_listed_unless_it_is_hidden() {
    System::new().block_on(async {
        let tables = || Op::Describe(MetadataKind::Tables, MetadataFilter::default());
        let all = rows(&directory(&Exposure::default()), tables()).await.unwrap();
        assert_eq!(all, [["planets", "sky", "planets", "TABLE", "Null", "Null"]]);
        let tables_hidden = Names { shown: None, hidden: vec!["planets".to_owned()] };
        let hidden = Exposure { tables: tables_hidden, ..Exposure::default() };
        assert!(rows(&directory(&hidden), tables()).await.unwrap().is_empty());
    });
}

#[test]
fn agents_are_told_what_to_write() {
    System::new().block_on(async {
        let options = Op::Instructions(InstructionsOptions { tokens: 2_000, ..InstructionsOptions::default() });
        let Ok(Reply::Text(text)) = ask(&directory(&Exposure::default()), options).await else { panic!("no text") };
        // A driver that lists no columns still lists its tables.
        for told in ["Planets 1,", "Write Planets SQL", "(in `sky`)", "\nplanets\n"] {
            assert!(text.contains(told), "{told}: {text}");
        }
    });
}
