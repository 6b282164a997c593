//! Procedures that the sample declares, so that a demonstration has some: SQLite has none of its own.

use portico_actors::reply::DataType;
use portico_actors::source::{Declared, Direction, Parameter, Procedure};

/// Two that read and one that writes; each is one statement.
pub fn procedures() -> Vec<Declared> {
    vec![
        Declared {
            procedure: procedure(
                "customer_orders",
                "The orders of one customer with their totals, the latest first.",
                true,
                vec![
                    parameter("customer_id", DataType::BigInt, "INTEGER", false, "Number of the customer."),
                    parameter(
                        "since",
                        DataType::Date,
                        "DATE",
                        true,
                        "Only orders of this day or later; all of them without it.",
                    ),
                ],
            ),
            sql: "SELECT order_id, ordered_at, status, currency, lines, total, paid \
                  FROM order_totals \
                  WHERE customer_id = @customer_id AND (@since IS NULL OR ordered_at >= @since) \
                  ORDER BY ordered_at DESC, order_id DESC"
                .to_owned(),
        },
        Declared {
            procedure: procedure(
                "top_products",
                "The products that sold best, by pieces, with their revenue in euro; cancelled orders do not count.",
                true,
                vec![
                    parameter(
                        "country",
                        DataType::Varchar,
                        "VARCHAR(40)",
                        true,
                        "Only orders of customers in this country, by its English name.",
                    ),
                    parameter("top", DataType::BigInt, "INTEGER", true, "How many products; 10 without it."),
                ],
            ),
            sql: "SELECT p.sku, p.name, sum(l.quantity) AS pieces, \
                         round(sum((l.quantity * l.unit_price - l.discount) / o.euro_rate), 2) AS revenue_euro \
                  FROM order_lines AS l \
                  JOIN products AS p ON p.id = l.product_id \
                  JOIN orders AS o ON o.id = l.order_id \
                  JOIN customers AS c ON c.id = o.customer_id \
                  WHERE o.status <> 'cancelled' AND (@country IS NULL OR c.country = @country) \
                  GROUP BY p.id \
                  ORDER BY pieces DESC, revenue_euro DESC, p.sku \
                  LIMIT max(coalesce(@top, 10), 0)"
                .to_owned(),
        },
        Declared {
            procedure: procedure(
                "add_note",
                "Writes a note to an order, in place of the one it has; returns the order, or nothing if there is none.",
                false,
                vec![
                    parameter("order_id", DataType::BigInt, "INTEGER", false, "Number of the order."),
                    parameter("note", DataType::Varchar, "TEXT", false, "The note; null takes the old one away."),
                ],
            ),
            sql: "UPDATE orders SET note = @note WHERE id = @order_id \
                  RETURNING id AS order_id, customer_id, ordered_at, status, note"
                .to_owned(),
        },
    ]
}

fn procedure(name: &str, remarks: &str, reads_only: bool, parameters: Vec<Parameter>) -> Procedure {
    Procedure {
        schema: "main".to_owned(),
        name: name.to_owned(),
        remarks: Some(remarks.to_owned()),
        reads_only,
        parameters,
        roles: None,
    }
}

fn parameter(name: &str, data_type: DataType, type_name: &str, optional: bool, remarks: &str) -> Parameter {
    Parameter {
        name: name.to_owned(),
        direction: Direction::In,
        data_type,
        type_name: type_name.to_owned(),
        optional,
        remarks: Some(remarks.to_owned()),
        default: None,
    }
}
