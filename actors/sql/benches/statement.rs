//! Benchmarks of reading a statement before it runs, and of redacting it for a record.

use std::sync::atomic::{AtomicUsize, Ordering};

use divan::{AllocProfiler, Bencher, black_box};
use portico_sql::{Dialect, Naming, ParameterNames, Redact, recall, redacted, statements, statements_with};

#[global_allocator]
static ALLOCATOR: AllocProfiler = AllocProfiler::system();

/// The texts that are measured.
#[derive(Clone, Copy, Debug)]
enum Text {
    /// One row by its key.
    Short,
    /// Joins, groups and an order.
    Long,
}

impl Text {
    const ALL: [Self; 2] = [Self::Short, Self::Long];

    const fn sql(self) -> &'static str {
        match self {
            Self::Short => "SELECT aid, bid, abalance FROM pgbench_accounts WHERE aid = 4711",
            Self::Long => {
                "SELECT c.name, count(*) AS orders, sum(o.total) AS spent, max(o.placed) AS last FROM customers c \
                 JOIN orders o ON o.customer_id = c.id LEFT JOIN cities t ON t.id = c.city_id \
                 WHERE o.placed >= DATE '2026-01-01' AND c.country IN ('PL', 'PT', 'JP') \
                 AND (t.population > 100000 OR t.id IS NULL) GROUP BY c.name HAVING sum(o.total) > 100.50 \
                 ORDER BY spent DESC, c.name LIMIT 50"
            }
        }
    }
}

const NAMING: Naming<'static> = Naming { connection: "shop", others: &["stock"] };

fn main() {
    divan::main();
}

/// Measures a statement whose shape is not in the caches.
#[divan::bench(args = Text::ALL)]
fn understood_first_time(bencher: Bencher, text: Text) {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    // The caches hold shapes: another literal keeps the shape, another name does not.
    let fresh = || text.sql().replacen("SELECT ", &format!("SELECT x{}, ", NEXT.fetch_add(1, Ordering::Relaxed)), 1);
    bencher.with_inputs(fresh).bench_refs(|text| statements(text, Dialect::POSTGRESQL, NAMING));
}

/// Of a shape that was sent lately.
#[divan::bench(args = Text::ALL)]
fn understood_again(bencher: Bencher, text: Text) {
    let _ = statements(text.sql(), Dialect::POSTGRESQL, NAMING);
    bencher.bench(|| statements(black_box(text.sql()), Dialect::POSTGRESQL, NAMING));
}

/// Of a text that was sent lately, but for its literals.
#[divan::bench(args = Text::ALL)]
fn recalled(bencher: Bencher, text: Text) {
    let given = ParameterNames::new();
    let _ = statements_with(text.sql(), Dialect::POSTGRESQL, NAMING, &given);
    bencher.bench(|| recall(black_box(text.sql()), Dialect::POSTGRESQL, NAMING.connection, &given));
}

/// As the audit trail has it.
#[divan::bench(args = Text::ALL)]
fn redacted_secrets(bencher: Bencher, text: Text) {
    bencher.bench(|| redacted(black_box(text.sql()), &[Dialect::POSTGRESQL], Redact::Secrets));
}

/// As the audit trail has it where shapes alone are recorded.
#[divan::bench(args = Text::ALL)]
fn redacted_literals(bencher: Bencher, text: Text) {
    bencher.bench(|| redacted(black_box(text.sql()), &[Dialect::POSTGRESQL], Redact::Literals));
}
