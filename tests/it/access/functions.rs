//! The list of PostgreSQL's functions beside the servers at hand: what a server has that is stable
//! or volatile is listed, what is listed is there, and a signature is the same wherever an
//! extension lives and whatever the search path is.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use portico_actors::source::postgres::{functions_listed, functions_query, is_function_listed, is_label_known};
use tokio_postgres::Client;

use crate::support::cluster::Cluster;
use crate::support::postgres::{TestPostgres, connect, newer_programs, programs};

/// The major versions of the server that certainly have a function with this mark, if they have its extension:
/// `16-`, `14-16`, `?` where that depends on the extension's version, nothing where all have it.
fn servers(mark: &str) -> Option<RangeInclusive<u32>> {
    if mark.is_empty() {
        return Some(0..=u32::MAX);
    }
    let (first, last) = mark.split_once('-')?;
    let last = if last.is_empty() { u32::MAX } else { last.parse().ok()? };
    Some(first.parse().ok()?..=last)
}

/// In what the lists differ from a server of a major `version`: its stable and volatile functions of `pg_catalog` that
/// are not listed, and listed functions that it does not have, of the extensions too that are installed. A row is the
/// name of the extension, the signature, and whether the function is immutable.
fn functions_differ(version: u32, rows: &[(Option<String>, String, bool)]) -> Vec<String> {
    let unlisted = rows.iter().filter(|(extension, signature, immutable)| {
        extension.is_none() && !immutable && !is_function_listed(signature)
    });
    let mut found: Vec<String> = unlisted.map(|(_, signature, _)| format!("not listed: {signature}")).collect();
    for [extension, listed, versions] in functions_listed() {
        let of_extension = || rows.iter().filter(|(own, ..)| own.as_deref().unwrap_or_default() == extension);
        let due = servers(versions).is_some_and(|servers| servers.contains(&version));
        let any = listed.strip_suffix("*)");
        let is = |signature: &str| any.map_or(signature == listed, |name| signature.starts_with(name));
        if due && of_extension().next().is_some() && !of_extension().any(|(_, signature, _)| is(signature)) {
            found.push(format!("listed, and not there: {extension} {listed}"));
        }
    }
    found
}

#[test]
fn versions_are_ranges_of_majors() {
    assert_eq!(servers("?"), None);
    assert_eq!(servers(""), Some(0..=u32::MAX));
    assert_eq!(servers("16-"), Some(16..=u32::MAX));
    assert_eq!(servers("14-16"), Some(14..=16));
    for wrong in ["16", "-16", "a-", "14-x"] {
        assert_eq!(servers(wrong), None, "{wrong}");
    }
    for [_, signature, versions] in functions_listed() {
        let servers = servers(versions);
        assert!(versions == "?" || servers.is_some_and(|servers| !servers.is_empty()), "{signature}: {versions}");
    }
}

#[test]
fn a_server_is_compared() {
    let row = |extension: Option<&str>, signature: &str, immutable| {
        (extension.map(str::to_owned), signature.to_owned(), immutable)
    };
    let mut rows: Vec<_> = functions_listed()
        .filter(|[.., versions]| servers(versions).is_some_and(|servers| servers.contains(&15)))
        .map(|[extension, signature, _]| row(Some(extension).filter(|name| !name.is_empty()), signature, false))
        .collect();
    assert_eq!(functions_differ(15, &rows), Vec::<String>::new());
    rows.push(row(None, "brand_new(int4)", false));
    rows.push(row(None, "brand_new(int8)", true));
    rows.retain(|(_, signature, _)| signature != "now()" && signature != "crosstab(*)");
    assert_eq!(
        functions_differ(15, &rows),
        [
            "not listed: brand_new(int4)",
            "listed, and not there:  now()",
            "listed, and not there: tablefunc crosstab(*)"
        ]
    );
}

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
    let Some(server) = Cluster::newer() else { return };
    let client = connect(&server.url("postgres", "postgres")).await;
    compare(&client).await;
    extend(&client).await;
    compare(&client).await;
}

/// The labels of numbers in what a server writes of a statement (`outfuncs.c`), as its program holds them.
fn labels(program: &[u8]) -> BTreeSet<String> {
    let texts = program.split(|octet| *octet == 0).filter_map(|text| text.strip_prefix(b" :")?.strip_suffix(b" %u"));
    let texts = texts.filter_map(|text| std::str::from_utf8(text).ok()).map(|label| format!(":{label}"));
    texts.filter(|label| !label.contains(' ')).collect()
}

#[test]
fn every_number_that_a_server_writes_of_a_statement_is_judged_or_known_to_say_nothing() {
    for programs in [Some(programs()), newer_programs()].into_iter().flatten() {
        let found = labels(&std::fs::read(programs.join("postgres")).unwrap());
        assert!(found.len() > 100 && found.contains(":relid"), "{}: {found:?}", programs.display());
        let unknown: Vec<&String> = found.iter().filter(|label| !is_label_known(label)).collect();
        assert!(unknown.is_empty(), "{}: {unknown:?}", programs.display());
    }
    assert!(!is_label_known(":brandNewId"));
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
