//! Makes the rows: always the same ones, and amounts that agree. How they are stored is in
//! `tables.sql`, the words are in `words.toml`.
//!
//! Amounts are counted in cents here. In the file they have SQLite's NUMERIC affinity, since the
//! columns are DECIMAL: sums and comparisons are numeric, and the driver writes them with the two
//! digits that the column declares.

use rusqlite::{Connection, params};

use portico_actors::calendar::days as day;

use super::dice::{DAY, Dice, date, timestamp};
use super::words::{Region, Shelf, Words};

const CUSTOMERS: i64 = 2_000;
const PRODUCTS: i64 = 300;
const ORDERS: i64 = 12_000;
/// The date of the first customer's account; the first order comes a year and a half later.
const OPENING: i64 = day(2021, 7, 1);
const FIRST_ORDER: i64 = day(2023, 1, 1);
/// The day on which all of it is looked at.
pub(super) const TODAY: i64 = day(2026, 1, 1);
/// The rate of the euro, in ten-thousandths.
const ONE: i64 = 10_000;

struct Product {
    price: i64,
    discontinued: Option<i64>,
}

struct Customer<'w> {
    region: &'w Region,
    created: i64,
}

/// Fills the tables of `connection`, inside one transaction of its caller.
pub(super) fn fill(connection: &Connection, words: &Words) -> rusqlite::Result<()> {
    let mut dice = Dice::new(0x0050_6f72_7469_636f);
    let shelves = categories(connection, words)?;
    let products = products(connection, &mut dice, words, &shelves)?;
    let customers = customers(connection, &mut dice, words)?;
    orders(connection, &mut dice, words, &products, &customers)
}

/// Cents as the number that SQLite is given.
fn amount(cents: i64) -> f64 {
    ratio(cents, 100.0)
}

#[allow(clippy::cast_precision_loss)] // amounts and rates are far below 2^53
fn ratio(number: i64, of: f64) -> f64 {
    number as f64 / of
}

fn categories<'w>(connection: &Connection, words: &'w Words) -> rusqlite::Result<Vec<(i64, &'w Shelf)>> {
    let mut insert = connection.prepare("INSERT INTO categories (id, parent_id, name) VALUES (?1, ?2, ?3)")?;
    let mut shelves = Vec::new();
    let mut id = 0;
    for department in &words.departments {
        id += 1;
        let parent = id;
        insert.execute(params![parent, None::<i64>, department.name])?;
        for shelf in &department.shelves {
            id += 1;
            insert.execute(params![id, parent, shelf.name])?;
            shelves.push((id, shelf));
        }
    }
    Ok(shelves)
}

fn products(
    connection: &Connection,
    dice: &mut Dice,
    words: &Words,
    shelves: &[(i64, &Shelf)],
) -> rusqlite::Result<Vec<Product>> {
    let mut insert = connection.prepare("INSERT INTO products VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)")?;
    let mut products = Vec::new();
    for id in 1..=PRODUCTS {
        let (category, shelf) = *dice.pick(shelves);
        let (style, goods, material) = (dice.pick(&words.styles), dice.pick(&shelf.goods), dice.pick(&shelf.materials));
        let (least, most) = shelf.prices;
        // Prices end in 0, 50, 90 or 99 cents.
        let price = dice.between(least / 100, most / 100 - 1) * 100 + *dice.pick(&[0, 50, 90, 99, 99]);
        let price = price.max(100);
        let cost = price * dice.between(38, 72) / 100;
        let discontinued = dice.percent(12).then(|| dice.between(FIRST_ORDER + 200, TODAY - 30));
        let name = format!("{style} {goods}, {material}");
        let sku = format!("{}-{id:05}", shelf.name.chars().take(3).collect::<String>().to_uppercase());
        insert.execute(params![
            id,
            sku,
            name,
            category,
            amount(price),
            amount(cost),
            attributes(dice, words, shelf, material),
            discontinued.map(date),
        ])?;
        products.push(Product { price, discontinued });
    }
    Ok(products)
}

fn attributes(dice: &mut Dice, words: &Words, shelf: &Shelf, material: &str) -> String {
    let weight = dice.between(shelf.weights.0, shelf.weights.1);
    let mut attributes = serde_json::json!({
        "colour": dice.pick(&words.colours),
        "material": material,
        "weight_g": weight,
    });
    if let Some(members) = attributes.as_object_mut()
        && !shelf.sizes.is_empty()
    {
        members.insert("sizes".to_owned(), shelf.sizes.clone().into());
    }
    attributes.to_string()
}

fn customers<'w>(connection: &Connection, dice: &mut Dice, words: &'w Words) -> rusqlite::Result<Vec<Customer<'w>>> {
    let mut created: Vec<i64> = (0..CUSTOMERS).map(|_| dice.between(OPENING * DAY, (TODAY - 20) * DAY)).collect();
    created.sort_unstable();
    let mut insert = connection.prepare("INSERT INTO customers VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)")?;
    let mut customers = Vec::new();
    for (id, created) in (1_i64..).zip(created) {
        // The lower of two draws: the first regions have more customers.
        let regions = i64::try_from(words.regions.len()).unwrap_or(1);
        let place = dice.between(0, regions - 1).min(dice.between(0, regions - 1));
        let region = &words.regions[usize::try_from(place).unwrap_or(0)];
        let (first, first_ascii) = dice.pick(&region.first_names);
        let (last, last_ascii) = dice.pick(&region.last_names);
        let email = format!("{first_ascii}.{last_ascii}{id}@{}", dice.pick(&words.domains));
        let born = (!dice.percent(18)).then(|| date(dice.between(day(1944, 1, 1), day(2006, 12, 31))));
        let city = dice.pick(&region.cities);
        insert.execute(params![
            id,
            first,
            last,
            email,
            region.country,
            city,
            born,
            dice.percent(41),
            timestamp(created),
        ])?;
        customers.push(Customer { region, created });
    }
    Ok(customers)
}

fn orders(
    connection: &Connection,
    dice: &mut Dice,
    words: &Words,
    products: &[Product],
    customers: &[Customer<'_>],
) -> rusqlite::Result<()> {
    let mut insert_order = connection.prepare("INSERT INTO orders VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)")?;
    let mut insert_line = connection.prepare("INSERT INTO order_lines VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?;
    let mut insert_payment = connection.prepare("INSERT INTO payments VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?;
    // The later of two draws: the shop grows.
    let (first, last) = (FIRST_ORDER * DAY, TODAY * DAY - 3_600);
    let mut times: Vec<i64> = (0..ORDERS).map(|_| dice.between(first, last).max(dice.between(first, last))).collect();
    times.sort_unstable();
    let (mut line_id, mut payment_id) = (0_i64, 0_i64);
    for (id, ordered) in (1_i64..).zip(times) {
        let known = customers.partition_point(|customer| customer.created < ordered);
        // The lower of two draws: old customers come back more often.
        let most = i64::try_from(known).unwrap_or(1).max(1) - 1;
        let customer_id = dice.between(0, most).min(dice.between(0, most)) + 1;
        let Some(customer) = usize::try_from(customer_id - 1).ok().and_then(|place| customers.get(place)) else {
            continue;
        };
        let (currency, parity) = &customer.region.currency;
        let rate = if *parity == ONE { ONE } else { parity * dice.between(970, 1_030) / 1_000 };
        let (status, shipped) = fate(dice, ordered);
        let note = dice.percent(9).then(|| dice.pick(&customer.region.notes));
        insert_order.execute(params![
            id,
            customer_id,
            timestamp(ordered),
            status,
            currency,
            ratio(rate, 10_000.0),
            note,
            shipped.map(date),
        ])?;
        let mut total = 0;
        for (place, product) in basket(dice, products, ordered / DAY) {
            line_id += 1;
            let quantity = *dice.pick(&[1, 1, 1, 1, 1, 2, 2, 3, 4, 6]);
            let unit_price = in_currency(product.price, currency, rate);
            let percent = *dice.pick(&[0, 0, 0, 0, 0, 0, 5, 10, 15, 20]);
            let discount = whole_units(quantity * unit_price * percent / 100, currency);
            insert_line.execute(params![line_id, id, place, quantity, amount(unit_price), amount(discount),])?;
            total += quantity * unit_price - discount;
        }
        if matches!(status, "pending" | "cancelled") {
            continue;
        }
        let first_part = if dice.percent(4) { whole_units(total / 2, currency) } else { 0 };
        for (part, delay) in [(first_part, 0), (total - first_part, 3 * 3_600)] {
            if part > 0 {
                payment_id += 1;
                let paid = (ordered + delay + dice.between(30, 5_400)).min(TODAY * DAY - 1);
                let (method, reference) = (dice.pick(&words.methods), dice.uuid());
                insert_payment.execute(params![payment_id, id, method, amount(part), timestamp(paid), reference])?;
            }
        }
    }
    Ok(())
}

/// Determines the status of an order today, and its shipping date.
fn fate(dice: &mut Dice, ordered: i64) -> (&'static str, Option<i64>) {
    let ordered_on = ordered / DAY;
    let age = TODAY - ordered_on;
    if dice.percent(7) {
        return ("cancelled", None);
    }
    if dice.percent(if age < 14 { 30 } else { 4 }) {
        return ("pending", None);
    }
    let shipped = ordered_on + dice.between(1, 4);
    if shipped >= TODAY || dice.percent(2) {
        ("paid", None)
    } else if shipped + 5 >= TODAY {
        ("shipped", Some(shipped))
    } else {
        ("delivered", Some(shipped))
    }
}

/// One to five different products that were for sale on `today`, with their numbers.
fn basket<'a>(dice: &mut Dice, products: &'a [Product], today: i64) -> Vec<(i64, &'a Product)> {
    let size = *dice.pick(&[1_usize, 1, 1, 1, 2, 2, 2, 3, 4, 5]);
    let mut basket: Vec<(i64, &Product)> = Vec::with_capacity(size);
    while basket.len() < size {
        // The lower of two draws: some products sell better.
        let place = dice.between(1, PRODUCTS).min(dice.between(1, PRODUCTS));
        let product = usize::try_from(place - 1).ok().and_then(|at| products.get(at));
        match product {
            Some(product)
                if product.discontinued.is_none_or(|end| today <= end)
                    && basket.iter().all(|(taken, _)| *taken != place) =>
            {
                basket.push((place, product));
            }
            _ => {}
        }
    }
    basket
}

/// Euro cents in hundredths of `currency`.
fn in_currency(cents: i64, currency: &str, rate: i64) -> i64 {
    whole_units((cents * rate + ONE / 2) / ONE, currency).max(100)
}

/// Yen have no hundredths in use.
fn whole_units(hundredths: i64, currency: &str) -> i64 {
    if currency == "JPY" { hundredths / 100 * 100 } else { hundredths }
}
