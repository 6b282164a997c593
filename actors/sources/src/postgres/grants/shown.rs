//! Determines which objects of an inventory callers see. Parts of a table share its exposure: its own sequences,
//! its children and partitions.

use std::collections::HashMap;

use tokio_postgres::types::Oid;

use crate::Exposure;
use crate::postgres::grants::inventory::{Inventory, Object};

/// Whether callers see a relation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Visibility {
    /// The relation is exposed.
    Shown,
    /// Rows are read through a parent that is exposed; by its own name the relation is not there.
    Through,
    /// The relation is hidden.
    Hidden,
}

/// What callers see of each relation.
pub(crate) struct Visibilities<'a> {
    known: HashMap<Oid, Visibility>,
    relations: HashMap<Oid, &'a Object>,
    exposure: &'a Exposure,
}

impl<'a> Visibilities<'a> {
    pub(crate) fn new(inventory: &'a Inventory, exposure: &'a Exposure) -> Self {
        let relations = inventory.relations.iter().map(|relation| (relation.oid, relation)).collect();
        let mut sights = Self { known: HashMap::new(), relations, exposure };
        for relation in &inventory.relations {
            sights.learn(relation);
        }
        sights
    }

    /// An object created after the inventory was read counts as hidden.
    pub(crate) fn get(&self, oid: Oid) -> Visibility {
        self.known.get(&oid).copied().unwrap_or(Visibility::Hidden)
    }

    /// The relations that are exposed.
    pub(crate) fn shown(&self) -> Vec<Oid> {
        self.known.iter().filter(|(_, sight)| **sight == Visibility::Shown).map(|(oid, _)| *oid).collect()
    }

    fn learn(&mut self, relation: &'a Object) -> Visibility {
        if let Some(sight) = self.known.get(&relation.oid) {
            return *sight;
        }
        let sight = self.judge(relation);
        self.known.insert(relation.oid, sight);
        sight
    }

    fn judge(&mut self, relation: &'a Object) -> Visibility {
        let above = |sights: &mut Self, oid: &Oid| {
            // A parent in a system schema is not a user's table.
            sights.relations.get(oid).copied().map_or(Visibility::Hidden, |above| sights.learn(above))
        };
        if let Some(table) = &relation.belongs_to {
            return above(self, table);
        }
        // Inheritance has no cycles.
        let parents: Vec<Visibility> = relation.parents.iter().map(|oid| above(self, oid)).collect();
        let named = self.exposure.shows_table(relation.schema(), &relation.name);
        if named && parents.iter().all(|sight| *sight != Visibility::Hidden) {
            Visibility::Shown
        } else if parents.iter().any(|sight| *sight != Visibility::Hidden) {
            Visibility::Through
        } else {
            Visibility::Hidden
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::Names;

    fn relation(oid: Oid, name: &str, parents: &[Oid], belongs_to: Option<Oid>) -> Object {
        Object {
            oid,
            kind: if belongs_to.is_some() { "SEQUENCE" } else { "TABLE" }.to_owned(),
            schema: Some("public".to_owned()),
            name: name.to_owned(),
            belongs_to,
            parents: parents.to_vec(),
            ..Object::default()
        }
    }

    #[test]
    fn what_belongs_to_a_table_shares_its_exposure() {
        let relations = vec![
            relation(6, "child_of_hidden", &[5], None),
            relation(1, "open", &[], None),
            relation(2, "open_part", &[1], None),
            relation(3, "secret_part", &[1], None),
            relation(4, "leaf", &[3], None),
            relation(5, "secret", &[], None),
            relation(7, "open_seq", &[], Some(5)),
            relation(8, "secret_seq", &[], Some(1)),
            relation(9, "of_both", &[1, 5], None),
        ];
        let inventory = Inventory { schemas: Vec::new(), relations, routines: Vec::new() };
        let tables = Names { shown: None, hidden: vec!["secret%".to_owned()] };
        let exposure = Exposure { tables, ..Exposure::default() };
        let sights = Visibilities::new(&inventory, &exposure);
        for (oid, expected) in [
            (1, Visibility::Shown),
            (2, Visibility::Shown),
            (3, Visibility::Through),
            (4, Visibility::Shown),
            (5, Visibility::Hidden),
            (6, Visibility::Hidden),
            (7, Visibility::Hidden),
            (8, Visibility::Shown),
            (9, Visibility::Through),
            (99, Visibility::Hidden),
        ] {
            assert_eq!(sights.get(oid), expected, "{oid}");
        }
    }
}
