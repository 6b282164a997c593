//! The metadata of the catalogue and the profile.

use portico_actors::call::{MetadataFilter, MetadataKind};
use portico_actors::source::catalog::labels;
use portico_actors::source::{Direction, catalog};

use super::subject;
use crate::support::results::Read;

const SETUP: &str = "
CREATE DOMAIN code AS varchar(8); CREATE DOMAIN fine_code AS code;
CREATE TABLE item (id int4 GENERATED ALWAYS AS IDENTITY PRIMARY KEY, gone int4, price numeric(12,2) NOT NULL,
    code fine_code, double int8 GENERATED ALWAYS AS (1 + 1) STORED, serial bigserial);
ALTER TABLE item DROP COLUMN gone;
COMMENT ON TABLE item IS 'what we sell'; COMMENT ON COLUMN item.price IS 'in euros';
CREATE TABLE parts (k int4) PARTITION BY LIST (k);
CREATE VIEW dear AS SELECT * FROM item WHERE price > 100;
CREATE MATERIALIZED VIEW frozen AS SELECT 1 AS one;
CREATE SCHEMA shop; CREATE TABLE shop.order_line (n int4); CREATE TABLE shop.\"orderXline\" (n int4);
CREATE FUNCTION add(a int4, b int4 DEFAULT 2) RETURNS int4 LANGUAGE sql IMMUTABLE AS 'SELECT a + b';
COMMENT ON FUNCTION add(int4, int4) IS 'a sum';
CREATE FUNCTION listing(code fine_code) RETURNS TABLE (id int4, name text) LANGUAGE sql AS $$ SELECT 1, 'x' $$;
CREATE PROCEDURE shop.change(INOUT n numeric, OUT word text) LANGUAGE plpgsql AS $$ BEGIN word := 'w'; END $$;
CREATE FUNCTION noted() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
CREATE EXTENSION citext;";

fn column(read: &Read, label: &str) -> Vec<String> {
    let index = read.columns.iter().position(|column| column.label == label).unwrap();
    read.rows.iter().map(|row| row[index].clone()).collect()
}

#[tokio::test]
async fn metadata_have_the_columns_of_the_contract() {
    let (subject, _admin) = subject(SETUP).await;
    for metadata in [
        MetadataKind::Catalogs,
        MetadataKind::Schemas,
        MetadataKind::Tables,
        MetadataKind::Columns,
        MetadataKind::Procedures,
        MetadataKind::ProcedureParameters,
    ] {
        let read = subject.describe(metadata, MetadataFilter::default()).await.unwrap();
        assert_eq!(read.columns, catalog::columns(metadata));
        assert!(!read.rows.is_empty());
        assert!(read.rows.iter().all(|row| row.len() == labels(metadata).len() && row[0] == "\"test\""));
        let elsewhere = MetadataFilter { catalog: Some("other".into()), ..MetadataFilter::default() };
        assert!(subject.describe(metadata, elsewhere).await.unwrap().rows.is_empty(), "{metadata:?}");
        let here = MetadataFilter { catalog: Some("te%".into()), ..MetadataFilter::default() };
        assert_eq!(subject.describe(metadata, here).await.unwrap().rows, read.rows, "{metadata:?}");
    }
}

#[tokio::test]
async fn tables_are_listed_and_narrowed() {
    let (subject, _admin) = subject(SETUP).await;
    let schemas = subject.describe(MetadataKind::Schemas, MetadataFilter::default()).await.unwrap();
    assert_eq!(column(&schemas, "TABLE_SCHEMA"), ["\"public\"", "\"shop\""]);
    let tables = subject.describe(MetadataKind::Tables, MetadataFilter::default()).await.unwrap();
    let named: Vec<_> = column(&tables, "TABLE_NAME")
        .into_iter()
        .zip(column(&tables, "TABLE_TYPE"))
        .map(|(n, t)| format!("{n} {t}"))
        .collect();
    assert_eq!(
        named,
        [
            "\"dear\" \"VIEW\"",
            "\"frozen\" \"MATERIALIZED VIEW\"",
            "\"item\" \"TABLE\"",
            "\"parts\" \"PARTITIONED TABLE\"",
            "\"orderXline\" \"TABLE\"",
            "\"order_line\" \"TABLE\"",
        ]
    );
    assert_eq!(column(&tables, "REMARKS")[2], "\"what we sell\"");
    let narrow = |schema: Option<&str>, table: Option<&str>, table_type: Option<&str>| MetadataFilter {
        schema: schema.map(Into::into),
        table: table.map(Into::into),
        table_type: table_type.map(Into::into),
        ..MetadataFilter::default()
    };
    for (narrow, count) in [
        (narrow(Some("shop"), None, None), 2),
        (narrow(None, Some("%e%"), Some("VIEW")), 1),
        (narrow(None, None, Some("%VIEW")), 2),
        (narrow(None, Some("item' OR true --"), None), 0),
        (narrow(Some("pg_%"), Some("pg_class"), None), 0),
        (narrow(Some("pg_catalog"), Some("pg_class"), None), 1),
    ] {
        let found = subject.describe(MetadataKind::Tables, narrow.clone()).await.unwrap();
        assert_eq!(found.rows.len(), count, "{narrow:?}");
    }
}

#[tokio::test]
async fn columns_are_described() {
    let (subject, _admin) = subject(SETUP).await;
    let narrow = MetadataFilter { table: Some("item".into()), ..MetadataFilter::default() };
    let read = subject.describe(MetadataKind::Columns, narrow.clone()).await.unwrap();
    let rows: Vec<String> = read.rows.iter().map(|row| row[3..].join(" ")).collect();
    assert_eq!(
        rows,
        [
            r#""id" 8 "integer" 10 10 0 null 1 false true true false null null"#,
            r#""price" 13 "numeric" 12 12 2 "in euros" 2 false false false false null null"#,
            r#""code" 5 "fine_code" 8 0 0 null 3 true false false false null null"#,
            r#""double" 9 "bigint" 19 19 0 null 4 true false false true null null"#,
            r#""serial" 9 "bigint" 19 19 0 null 5 false false true false null null"#,
        ]
    );
    let one = subject
        .describe(MetadataKind::Columns, MetadataFilter { column: Some("ser%".into()), ..narrow })
        .await
        .unwrap();
    assert_eq!(column(&one, "ORDINAL_POSITION"), ["5"]);
}

#[tokio::test]
async fn routines_are_listed_with_their_parameters() {
    let (subject, _admin) = subject(SETUP).await;
    let read = subject.describe(MetadataKind::Procedures, MetadataFilter::default()).await.unwrap();
    let rows: Vec<String> = read.rows.iter().map(|row| row[1..].join(" ")).collect();
    assert_eq!(
        rows,
        [r#""public" "add" "a sum" 2"#, r#""public" "listing" null 2"#, r#""shop" "change" null 1"#],
        "no trigger function, nothing of an extension"
    );
    let read = subject.describe(MetadataKind::ProcedureParameters, MetadataFilter::default()).await.unwrap();
    let rows: Vec<String> =
        read.rows.iter().map(|row| format!("{} {} {}", row[2..7].join(" "), row[7], row[12])).collect();
    assert_eq!(
        rows,
        [
            r#""add" "returnValue" 5 8 "integer" 10 0"#,
            r#""add" "a" 1 8 "integer" 10 1"#,
            r#""add" "b" 1 8 "integer" 10 2"#,
            r#""listing" "code" 1 5 "fine_code" 8 1"#,
            r#""listing" "id" 5 8 "integer" 10 2"#,
            r#""listing" "name" 5 5 "text" 0 3"#,
            r#""change" "n" 2 13 "numeric" 0 1"#,
            r#""change" "word" 4 5 "text" 0 2"#,
        ]
    );
}

#[tokio::test]
async fn only_what_the_user_may_see_is_listed() {
    let (_subject, admin) = subject(SETUP).await;
    let database: String = admin.query_one("SELECT current_database()::text", &[]).await.unwrap().get(0);
    admin
        .batch_execute(&format!(
            "CREATE ROLE {database}_guest LOGIN; GRANT SELECT (id) ON item TO {database}_guest;
            REVOKE EXECUTE ON FUNCTION add(int4, int4) FROM PUBLIC"
        ))
        .await
        .unwrap();
    let url = crate::support::postgres::TestPostgres::shared().url_as(&format!("{database}_guest"), &database);
    let guest = crate::support::results::Subject::open(&url, 1);
    let tables = guest.describe(MetadataKind::Tables, MetadataFilter::default()).await.unwrap();
    assert_eq!(column(&tables, "TABLE_NAME"), ["\"item\""]);
    let columns = guest.describe(MetadataKind::Columns, MetadataFilter::default()).await.unwrap();
    assert_eq!(column(&columns, "COLUMN_NAME"), ["\"id\""]);
    let procedures = guest.describe(MetadataKind::Procedures, MetadataFilter::default()).await.unwrap();
    assert_eq!(column(&procedures, "PROCEDURE_NAME"), ["\"listing\""]);
    assert_eq!(guest.source.ping().await.unwrap().procedures.len(), 1);
}

#[tokio::test]
async fn the_profile_tells_the_product_and_the_routines() {
    let (subject, _admin) = subject(SETUP).await;
    let profile = subject.source.ping().await.unwrap();
    assert!(profile.product.starts_with("PostgreSQL 1"), "{}", profile.product);
    assert!(!profile.product.contains('('), "{}", profile.product);
    assert_eq!(profile.default_schema.as_deref(), Some("public"));
    let names: Vec<_> = profile.procedures.iter().map(|p| (p.schema.as_str(), p.name.as_str(), p.reads_only)).collect();
    assert_eq!(names, [("public", "add", true), ("public", "listing", false), ("shop", "change", false)]);
    let add = &profile.procedures[0];
    let parameters: Vec<_> =
        add.parameters.iter().map(|p| (p.name.as_str(), p.direction, p.type_name.as_str(), p.optional)).collect();
    assert_eq!(
        parameters,
        [
            ("a", Direction::In, "integer", false),
            ("b", Direction::In, "integer", true),
            ("returnValue", Direction::Return, "integer", false),
        ]
    );
}
