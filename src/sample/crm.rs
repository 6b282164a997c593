//! Makes the rows of the customers' support: they belong to customers and orders of the shop, which are read from a
//! shop that is made for it alone.

use rusqlite::{Connection, params};

use super::dice::{DAY, Dice, seconds, timestamp};
use super::generate::TODAY;
use super::words::{Support, Words};

/// One customer of the shop in so many was ever in touch.
const IN_TOUCH_PERCENT: i64 = 45;
/// Two years without an order.
const LAPSED: i64 = 730 * DAY;

/// A customer as the shop has them.
struct Customer {
    id: i64,
    country: String,
    created: i64,
    orders: Vec<Order>,
}

struct Order {
    id: i64,
    ordered: i64,
    is_cancelled: bool,
}

/// Fills the tables of `connection`, inside one transaction of its caller, for the customers of `shop`.
pub(super) fn fill(connection: &Connection, shop: &Connection, words: &Words) -> rusqlite::Result<()> {
    let mut dice = Dice::new(0x0043_524d);
    let support = &words.support;
    let agents = agents(connection, support)?;
    let mut tickets = Vec::new();
    let mut insert = connection.prepare("INSERT INTO contacts VALUES (?1, ?2, ?3, ?4, ?5)")?;
    for customer in customers(shop)? {
        if !dice.percent(IN_TOUCH_PERCENT) {
            continue;
        }
        let asked = asked(&mut dice, &customer);
        let Some(first) = asked.iter().map(|(_, opened)| *opened).min() else { continue };
        let agent = *dice.pick(&agents);
        let language = support.languages.get(&customer.country).map_or("en", String::as_str);
        insert.execute(params![customer.id, segment(&customer), language, agent, timestamp(first)])?;
        tickets.extend(asked.into_iter().map(|(order, opened)| (opened, customer.id, order, agent)));
    }
    tickets.sort_unstable();
    let mut insert = connection.prepare("INSERT INTO tickets VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)")?;
    for (id, (opened, customer, order, usual)) in (1_i64..).zip(tickets) {
        // Another agent may have answered.
        let agent = if dice.percent(80) { usual } else { *dice.pick(&agents) };
        let topic = match order {
            Some(_) => *dice.pick(&["delivery", "delivery", "damage", "return", "payment"]),
            None => "question",
        };
        let priority = *dice.pick(&[1, 2, 2, 2, 3, 3]);
        let solved = opened + dice.between(1_800, priority * 3 * DAY);
        let is_solved = solved < TODAY * DAY && !dice.percent(3);
        let status = if is_solved { "solved" } else { *dice.pick(&["open", "open", "waiting"]) };
        let rating = (is_solved && dice.percent(60)).then(|| *dice.pick(&[5, 5, 5, 4, 4, 3, 2, 1]));
        let channel = *dice.pick(&["email", "email", "email", "chat", "chat", "phone"]);
        insert.execute(params![
            id,
            customer,
            order,
            agent,
            channel,
            topic,
            priority,
            status,
            timestamp(opened),
            is_solved.then(|| timestamp(solved)),
            rating,
        ])?;
    }
    Ok(())
}

fn agents(connection: &Connection, support: &Support) -> rusqlite::Result<Vec<i64>> {
    let mut insert = connection.prepare("INSERT INTO agents VALUES (?1, ?2, ?3, ?4)")?;
    let mut agents = Vec::new();
    for (id, (name, team, country)) in (1_i64..).zip(&support.agents) {
        insert.execute(params![id, name, team, country])?;
        agents.push(id);
    }
    Ok(agents)
}

/// The shop's customers with their orders, in the order of their numbers.
fn customers(shop: &Connection) -> rusqlite::Result<Vec<Customer>> {
    let mut read = shop.prepare("SELECT id, country, created_at FROM customers ORDER BY id")?;
    let mut orders = shop.prepare(
        "SELECT id, ordered_at, status = 'cancelled' FROM orders WHERE customer_id = ?1 ORDER BY ordered_at, id",
    )?;
    let mut customers = Vec::new();
    let mut rows = read.query([])?;
    while let Some(row) = rows.next()? {
        let id = row.get(0)?;
        let order = |row: &rusqlite::Row<'_>| {
            Ok(Order { id: row.get(0)?, ordered: moment(row, 1)?, is_cancelled: row.get(2)? })
        };
        let orders = orders.query_map([id], order)?.collect::<rusqlite::Result<_>>()?;
        customers.push(Customer { id, country: row.get(1)?, created: moment(row, 2)?, orders });
    }
    Ok(customers)
}

fn moment(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<i64> {
    let text: String = row.get(column)?;
    seconds(&text).ok_or_else(|| rusqlite::Error::InvalidColumnType(column, text, rusqlite::types::Type::Text))
}

/// Makes a customer's question: its order, if any, and its time.
fn asked(dice: &mut Dice, customer: &Customer) -> Vec<(Option<i64>, i64)> {
    let end = TODAY * DAY - 600;
    let mut asked = Vec::new();
    for order in &customer.orders {
        if dice.percent(if order.is_cancelled { 30 } else { 12 }) {
            asked.push((Some(order.id), (order.ordered + dice.between(600, 20 * DAY)).min(end)));
        }
    }
    if asked.is_empty() || dice.percent(20) {
        asked.push((None, dice.between(customer.created, end)));
    }
    asked
}

fn segment(customer: &Customer) -> &'static str {
    match customer.orders.last() {
        None => "new",
        Some(last) if last.ordered < TODAY * DAY - LAPSED => "lapsed",
        Some(_) if customer.orders.len() > 10 => "loyal",
        Some(_) => "regular",
    }
}
