//! The list of PostgreSQL's functions beside the servers at hand: what a server has that is stable
//! or volatile is listed, what is listed is there, and a signature is the same wherever an
//! extension lives and whatever the search path is.

use portico_actors::source::postgres::{functions_differ, functions_query};
use tokio_postgres::Client;

use crate::support::cluster::Cluster;
use crate::support::postgres::{TestPostgres, connect, newer_programs};

async fn compare(client: &Client) {
    let number: i32 = client.query_one("SELECT current_setting('server_version_num')::int", &[]).await.unwrap().get(0);
    let version = u32::try_from(number / 10_000).unwrap();
    let rows = client.query(&functions_query(), &[]).await.unwrap();
    let rows: Vec<(Option<String>, String, bool)> =
        rows.iter().map(|row| (row.get(0), row.get(1), row.get(2))).collect();
    assert!(rows.len() > 3000, "PostgreSQL {version}: the catalogue was not read");
    let found = functions_differ(version, &rows);
    assert!(found.is_empty(), "PostgreSQL {version}:\n{}", found.join("\n"));
}

/// Installs what the server has. Languages may lack the library of theirs.
async fn extend(client: &Client) {
    let names = "SELECT name FROM pg_available_extensions WHERE installed_version IS NULL ORDER BY name";
    let mut installed = 0;
    for row in client.query(names, &[]).await.unwrap() {
        let name: String = row.get(0);
        let statement = format!("CREATE EXTENSION IF NOT EXISTS \"{name}\" CASCADE");
        installed += usize::from(client.batch_execute(&statement).await.is_ok());
    }
    assert!(installed >= 20, "of contrib only {installed} were installed");
}

#[actix_web::test]
async fn every_function_of_the_server_is_listed() {
    let client = connect(&TestPostgres::shared().database("functions").await).await;
    compare(&client).await;
    extend(&client).await;
    compare(&client).await;
}

/// Where a newer server is at hand.
#[actix_web::test]
async fn every_function_of_a_newer_server_is_listed() {
    let Some(programs) = newer_programs() else { return };
    let server = Cluster::of(&programs);
    server.obey("start");
    let client = connect(&server.url("postgres", "postgres")).await;
    compare(&client).await;
    extend(&client).await;
    compare(&client).await;
}

/// A caller may have types, functions and operators of its own stand before those of the catalogue.
#[actix_web::test]
async fn a_signature_does_not_depend_on_the_session() {
    let client = connect(&TestPostgres::shared().database("signatures").await).await;
    client
        .batch_execute(
            r#"CREATE SCHEMA "odd place";
               CREATE EXTENSION citext SCHEMA "odd place";
               CREATE EXTENSION hstore SCHEMA "odd place";
               CREATE SCHEMA decoy;
               CREATE TYPE decoy.text AS ENUM ('a');
               CREATE TYPE decoy.int4 AS ENUM ('a');
               CREATE TYPE decoy.regclass AS ENUM ('a');
               CREATE FUNCTION decoy.concat(VARIADIC "any") RETURNS pg_catalog.text LANGUAGE internal AS 'text_concat';
               CREATE FUNCTION decoy.never(oid, oid) RETURNS bool LANGUAGE sql AS 'SELECT false';
               CREATE OPERATOR decoy.= (LEFTARG = oid, RIGHTARG = oid, FUNCTION = decoy.never);
               CREATE TABLE decoy.pg_proc (oid oid);
               CREATE TABLE decoy.pg_type (oid oid);"#,
        )
        .await
        .unwrap();
    let read = async || {
        let mut rows: Vec<(Option<String>, String)> =
            client.query(&functions_query(), &[]).await.unwrap().iter().map(|row| (row.get(0), row.get(1))).collect();
        rows.sort();
        rows
    };
    let plain = read().await;
    client.batch_execute(r#"SET search_path = decoy, "odd place", pg_catalog"#).await.unwrap();
    assert_eq!(read().await, plain);
    client.batch_execute("SET search_path = ''").await.unwrap();
    assert_eq!(read().await, plain);
    let of_citext = (Some("citext".to_owned()), "citext_eq(citext,citext)".to_owned());
    let of_hstore = (Some("hstore".to_owned()), "slice(hstore,text[])".to_owned());
    let built_in = (None, "string_to_array(text,text)".to_owned());
    for known in [of_citext, of_hstore, built_in] {
        assert!(plain.contains(&known), "{known:?}");
    }
}
