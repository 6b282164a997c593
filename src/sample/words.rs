//! The shop's vocabulary, as `words.toml` lists it.

use std::collections::BTreeMap;

use serde::Deserialize;

/// The text that [`Words`] are read from.
pub(super) const TEXT: &str = include_str!("words.toml");

#[derive(Deserialize)]
pub(super) struct Words {
    pub(super) domains: Vec<String>,
    pub(super) styles: Vec<String>,
    pub(super) colours: Vec<String>,
    pub(super) methods: Vec<String>,
    pub(super) regions: Vec<Region>,
    pub(super) departments: Vec<Department>,
    pub(super) support: Support,
}

/// The support agents, and their languages.
#[derive(Deserialize)]
pub(super) struct Support {
    /// Name, team and country.
    pub(super) agents: Vec<(String, String, String)>,
    /// By country.
    pub(super) languages: BTreeMap<String, String>,
}

/// Where customers live, and names used there.
#[derive(Deserialize)]
pub(super) struct Region {
    pub(super) country: String,
    /// ISO 4217, with the worth of one euro in ten-thousandths of the currency.
    pub(super) currency: (String, i64),
    pub(super) cities: Vec<String>,
    /// Names, each with its spelling for e-mail addresses.
    pub(super) first_names: Vec<(String, String)>,
    pub(super) last_names: Vec<(String, String)>,
    pub(super) notes: Vec<String>,
}

/// A category of the first level.
#[derive(Deserialize)]
pub(super) struct Department {
    pub(super) name: String,
    pub(super) shelves: Vec<Shelf>,
}

/// A category of the second level, and its products.
#[derive(Deserialize)]
pub(super) struct Shelf {
    pub(super) name: String,
    pub(super) goods: Vec<String>,
    pub(super) materials: Vec<String>,
    /// The cheapest and the dearest price, in cents.
    pub(super) prices: (i64, i64),
    /// The lightest and the heaviest piece, in grams.
    pub(super) weights: (i64, i64),
    #[serde(default)]
    pub(super) sizes: Vec<String>,
}
