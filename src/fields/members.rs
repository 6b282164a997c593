//! The members of a JSON object as they came.

use std::collections::HashMap;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// An object's members in their order; of equal names the last counts, and the first such name is told.
pub(crate) struct Members(pub(crate) Vec<(String, Box<RawValue>)>, pub(crate) Option<String>);

/// Members that are looked through one by one; of more the names are kept in a table.
const FEW: usize = 16;

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct Gather;
        impl<'de> Visitor<'de> for Gather {
            type Value = Members;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<Members, A::Error> {
                let mut members: Vec<(String, Box<RawValue>)> = Vec::new();
                // There may be tens of thousands of values.
                let mut places: HashMap<String, usize> = HashMap::new();
                let mut repeated = None;
                while let Some((name, value)) = map.next_entry::<String, Box<RawValue>>()? {
                    let place = if places.is_empty() {
                        members.iter().position(|(known, _)| *known == name)
                    } else {
                        places.get(&name).copied()
                    };
                    match place.and_then(|place| members.get_mut(place)) {
                        Some(member) => {
                            member.1 = value;
                            repeated.get_or_insert(name);
                        }
                        None => {
                            if !places.is_empty() {
                                places.insert(name.clone(), members.len());
                            }
                            members.push((name, value));
                            if members.len() == FEW {
                                places.extend(members.iter().enumerate().map(|(at, (name, _))| (name.clone(), at)));
                            }
                        }
                    }
                }
                Ok(Members(members, repeated))
            }
        }
        deserializer.deserialize_map(Gather)
    }
}
