//! Procedures that the sample declares, so that a demonstration has some: SQLite has none of its own.

use portico_actors::reply::DataType;
use portico_actors::source::{Declared, Direction, Parameter, Procedure};

/// Two that read and one that writes; each is one statement.
pub fn procedures() -> Vec<Declared> {
    vec![
        declared(
            "customer_orders",
            "The orders of one customer with their totals, the latest first.",
            true,
            include_str!("customer_orders.sql"),
            &[
                ("customer_id", DataType::BigInt, "INTEGER", false, "Number of the customer."),
                ("since", DataType::Date, "DATE", true, "Only orders of this day or later; all of them without it."),
            ],
        ),
        declared(
            "top_products",
            "The products that sold best, by pieces, with their revenue in euro; cancelled orders do not count.",
            true,
            include_str!("top_products.sql"),
            &[
                (
                    "country",
                    DataType::Varchar,
                    "VARCHAR(40)",
                    true,
                    "Only orders of customers in this country, by its English name.",
                ),
                ("top", DataType::BigInt, "INTEGER", true, "How many products; 10 without it."),
            ],
        ),
        declared(
            "add_note",
            "Writes a note to an order, in place of the one it has; returns the order, or nothing if there is none.",
            false,
            include_str!("add_note.sql"),
            &[
                ("order_id", DataType::BigInt, "INTEGER", false, "Number of the order."),
                ("note", DataType::Varchar, "TEXT", false, "The note; null takes the old one away."),
            ],
        ),
    ]
}

/// A parameter: its name, its type, the type's name, whether it is optional, and remarks.
type Given<'a> = (&'a str, DataType, &'a str, bool, &'a str);

fn declared(name: &str, remarks: &str, reads_only: bool, sql: &str, parameters: &[Given<'_>]) -> Declared {
    let parameter = |(name, data_type, type_name, optional, remarks): &Given<'_>| Parameter {
        name: (*name).to_owned(),
        direction: Direction::In,
        data_type: *data_type,
        type_name: (*type_name).to_owned(),
        optional: *optional,
        remarks: Some((*remarks).to_owned()),
        default: None,
    };
    let procedure = Procedure {
        schema: "main".to_owned(),
        name: name.to_owned(),
        remarks: Some(remarks.to_owned()),
        reads_only,
        parameters: parameters.iter().map(parameter).collect(),
        roles: None,
    };
    Declared { procedure, sql: sql.to_owned() }
}
