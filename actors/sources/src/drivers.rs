//! The list of drivers, one line each. No module below this file names it.

use crate::driver::Driver;
use crate::{postgres, sqlite};

/// Every driver.
pub static DRIVERS: [&Driver; 2] = [&postgres::DRIVER, &sqlite::DRIVER];

/// Returns the driver for this URL.
pub fn of_url(url: &str) -> Option<&'static Driver> {
    DRIVERS.into_iter().find(|driver| (driver.recognizes)(url))
}

/// The driver of this name, as listings have it.
pub fn named(name: &str) -> Option<&'static Driver> {
    DRIVERS.into_iter().find(|driver| driver.name == name)
}

/// Returns the products of the drivers for which `that` is true, for remedies.
pub fn products(that: impl Fn(&Driver) -> bool) -> String {
    listed(DRIVERS.into_iter().filter(|driver| that(driver)).map(|driver| driver.product))
}

/// The keys of a connection's configuration that not every driver knows, each once.
pub fn keys() -> Vec<&'static str> {
    let mut keys = Vec::new();
    for key in DRIVERS.into_iter().flat_map(|driver| driver.keys) {
        if !keys.contains(key) {
            keys.push(key);
        }
    }
    keys
}

/// How URLs are written.
pub fn examples() -> String {
    listed(DRIVERS.into_iter().map(|driver| driver.example))
}

fn listed(words: impl Iterator<Item = &'static str>) -> String {
    words.collect::<Vec<_>>().join(" or ")
}
