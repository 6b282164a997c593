//! The query of a leaf to its source, in a form that can be sent to another process: it contains no local
//! references.

use std::sync::Arc;

use arrow_schema::SchemaRef;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use datafusion::arrow::ipc::reader::StreamReader;
use datafusion::arrow::ipc::writer::StreamWriter;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser};
use serde_json::value::RawValue;
use uuid::Uuid;

use portico_core::call::{Argument, Sql};

/// One statement on one connection, and the columns of its rows.
///
/// As JSON it can be sent to another process that has the connection: `{"connection", "statement", "values":
/// [{"name", "value"}], "schema"}`, where the schema is a stream of Arrow's IPC format without batches, in base64.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fragment {
    /// The connection's identifier.
    pub connection: Uuid,
    /// The statement in the source's own SQL, with `@name` placeholders.
    pub statement: String,
    /// The values of the placeholders.
    pub values: Vec<Bound>,
    /// The columns of its rows.
    #[serde(serialize_with = "write_schema", deserialize_with = "read_schema")]
    pub schema: SchemaRef,
}

/// The value of a placeholder.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bound {
    /// Its name without `@`.
    pub name: String,
    /// Its JSON text.
    pub value: Box<RawValue>,
}

impl Fragment {
    /// The statement and its values as a connection takes them.
    pub(crate) fn sql(&self) -> Sql {
        let parameters = self.values.iter().map(|Bound { name, value }| Argument {
            name: name.clone(),
            value: value.clone(),
            data_type: None,
        });
        Sql { text: self.statement.clone(), parameters: parameters.collect(), rows_alone: true, ..Sql::default() }
    }
}

fn write_schema<S: Serializer>(schema: &SchemaRef, serializer: S) -> Result<S::Ok, S::Error> {
    let written = StreamWriter::try_new(Vec::new(), schema).and_then(|mut writer| {
        writer.finish()?;
        writer.into_inner()
    });
    serializer.serialize_str(&STANDARD.encode(written.map_err(ser::Error::custom)?))
}

fn read_schema<'a, D: Deserializer<'a>>(deserializer: D) -> Result<SchemaRef, D::Error> {
    let octets = STANDARD.decode(String::deserialize(deserializer)?).map_err(de::Error::custom)?;
    let reader = StreamReader::try_new(octets.as_slice(), None).map_err(de::Error::custom)?;
    Ok(Arc::clone(&reader.schema()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use arrow_schema::{DataType, Field, Schema, TimeUnit};

    use super::*;

    #[test]
    fn it_comes_back_as_it_was_sent() {
        let types = [
            DataType::Boolean,
            DataType::Int16,
            DataType::Int32,
            DataType::Int64,
            DataType::Float32,
            DataType::Float64,
            DataType::Decimal128(38, 10),
            DataType::Decimal256(60, 5),
            DataType::Utf8,
            DataType::Binary,
            DataType::Date32,
            DataType::Time64(TimeUnit::Microsecond),
            DataType::Timestamp(TimeUnit::Microsecond, None),
            DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
        ];
        let field = |(place, type_): (usize, DataType)| {
            let metadata = [("portico.origin".to_owned(), place.to_string())].into();
            Field::new(format!("c{place}"), type_, place % 2 == 0).with_metadata(metadata)
        };
        let fragment = Fragment {
            connection: Uuid::from_u128(7),
            statement: "SELECT t.\"ä\" AS c0 FROM \"t\" AS t WHERE t.id = ANY (CAST(@keys0 AS bigint[]))".to_owned(),
            values: vec![Bound {
                name: "keys0".to_owned(),
                value: RawValue::from_string("[9007199254740993,1.50]".to_owned()).unwrap(),
            }],
            schema: Arc::new(Schema::new(types.into_iter().enumerate().map(field).collect::<Vec<_>>())),
        };
        let sent = serde_json::to_string(&fragment).unwrap();
        let back: Fragment = serde_json::from_str(&sent).unwrap();
        assert_eq!(back.schema, fragment.schema);
        assert_eq!((back.connection, &back.statement), (fragment.connection, &fragment.statement));
        let sql = back.sql();
        let [value] = sql.parameters.as_slice() else { panic!("{sql:?}") };
        // Digit for digit.
        assert_eq!((value.name.as_str(), value.value.get()), ("keys0", "[9007199254740993,1.50]"));
        assert_eq!(serde_json::to_string(&back).unwrap(), sent);
        for broken in [sent.replace("\"schema\":\"", "\"schema\":\"AAAA"), sent.replace("statement", "statements")] {
            serde_json::from_str::<Fragment>(&broken).unwrap_err();
        }
    }
}
