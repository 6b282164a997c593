//! The pieces of one `tools/call` in front of the mailbox: the message is read, the rows are written, the record is made.
#![allow(clippy::unwrap_used)]

use std::borrow::Cow;
use std::sync::Arc;

use divan::{AllocProfiler, Bencher, black_box};
use futures_util::{FutureExt, stream};
use portico::audit::{AuditEvent, Record, StatementRecord};
use portico::encode::{Caps, Format, TruncationHint, read_tool_result};
use portico::mcp::envelope::read_body;
use portico_actors::error::Error;
use portico_actors::reply::{Batch, Cell, Column, DataType, Part, Results};
use uuid::Uuid;

#[global_allocator]
static ALLOCATOR: AllocProfiler = AllocProfiler::system();

const CALL: &[u8] = br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"execute_select","arguments":{"query":"SELECT id, name, price FROM item WHERE id = @id","parameters":{"@id":4711}},"_meta":{"progressToken":7}}}"#;
const LIST: &[u8] = br#"{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{}}"#;

fn main() {
    divan::main();
}

#[divan::bench]
fn envelope_of_tools_call(bencher: Bencher) {
    bencher.bench(|| read_body(black_box(CALL), true));
}

#[divan::bench]
fn envelope_of_tools_list(bencher: Bencher) {
    bencher.bench(|| read_body(black_box(LIST), true));
}

/// Rows in memory, as a driver gives them.
struct Rows(usize);

impl Batch for Rows {
    fn rows(&self) -> usize {
        self.0
    }

    fn octets(&self) -> usize {
        self.0 * 32
    }

    fn cell(&self, row: usize, column: usize) -> Result<Cell<'_>, Error> {
        Ok(match column {
            0 => Cell::Integer(i64::try_from(row).unwrap()),
            1 => Cell::Text(Cow::Borrowed("a name of \"usual\" length")),
            2 => Cell::Decimal(Cow::Borrowed("1234.50")),
            _ => Cell::Null,
        })
    }
}

/// A tool's answer with so many rows of four columns.
#[divan::bench(args = [1, 1_000])]
fn tabulated_rows(bencher: Bencher, rows: usize) {
    let types = [DataType::Integer, DataType::Varchar, DataType::Decimal, DataType::Timestamp];
    let columns: Arc<[Column]> =
        ["id", "name", "price", "placed"].into_iter().zip(types).map(|(name, of)| Column::computed(name, of)).collect();
    let results = || {
        let parts =
            [Part::Columns(Arc::clone(&columns)), Part::Rows(Box::new(Rows(rows))), Part::Done { affected: -1 }];
        Results::new(false, stream::iter(parts.map(Ok)))
    };
    let caps = Caps { rows: 10_000, bytes: 1 << 20, rows_bound: 10_000, rest: TruncationHint::Rewrite };
    bencher.with_inputs(results).bench_values(|results| {
        let table = read_tool_result(results, caps, Format::Json, |_, _| Ok(())).now_or_never().unwrap().unwrap();
        assert_eq!(table.rows, rows as u64);
        table
    });
}

/// A call's line of the audit trail, which is searched for secrets.
#[divan::bench]
fn audit_line(bencher: Bencher) {
    let record = Record {
        request_id: Some(Uuid::from_u128(7).to_string()),
        principal: "agent@example.com".to_owned(),
        credential: Some("pat:laptop".to_owned()),
        address: Some([127, 0, 0, 1].into()),
        agent: Some("an-agent/1.0".to_owned()),
        connection: Some("shop".to_owned()),
        connection_id: Some(Uuid::from_u128(8)),
        path: "/mcp/connections/00000000-0000-0000-0000-000000000008".to_owned(),
        tool: Some("execute_select".to_owned()),
        statement: Some(StatementRecord {
            statement: Some("SELECT id, name, price FROM item WHERE id = 4711".to_owned()),
            digest: Some("0123456789abcdef".repeat(4)),
            parameters: None,
            sent: None,
            dry_run: false,
        }),
        class: Some("SELECT"),
        rows: Some(1),
        bytes: Some(181),
        ms: Some(1),
        ..Record::new(AuditEvent::Call, "ok")
    };
    bencher.bench(|| black_box(&record).line());
}
