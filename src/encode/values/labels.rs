//! Names of columns where each must be another: of equal labels the later ones are numbered.

use std::collections::HashSet;

use portico_actors::reply::Column;

/// Returns the labels of `columns`, made unique: `id`, `id_2`.
pub(in crate::encode) fn distinct(columns: &[Column]) -> Vec<String> {
    let mut taken: HashSet<String> = columns.iter().map(|column| column.label.clone()).collect();
    let mut seen = HashSet::new();
    let mut labels = Vec::with_capacity(columns.len());
    for column in columns {
        let mut label = column.label.clone();
        let mut number = 2;
        while !seen.insert(label.clone()) {
            label = format!("{}_{number}", column.label);
            number += 1;
            // A column may have that very name.
            if !taken.insert(label.clone()) {
                label.clone_from(&column.label);
            }
        }
        labels.push(label);
    }
    labels
}
