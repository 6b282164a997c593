//! Names of tools and prompts: short enough for every client, and unique at their address.

use std::collections::{HashMap, HashSet};

/// The longest name that every client takes.
pub(super) const NAME_LENGTH: usize = 64;

/// `base`, cut where it is long, with a number behind it where it is taken already.
pub(super) fn unique(base: &str, taken: &mut HashSet<String>) -> String {
    let mut name: String = base.chars().take(NAME_LENGTH).collect();
    let mut number = 2;
    while !taken.insert(name.clone()) {
        let suffix = format!("_{number}");
        name = base.chars().take(NAME_LENGTH - suffix.len()).collect::<String>() + &suffix;
        number += 1;
    }
    name
}

/// The names that things of several connections have at one address, in their order: their own, but behind
/// their connection's where several connections have it. Each is the connection's name and the thing's;
/// `taken` are the names that others have.
pub fn distinct(things: &[(&str, &str)], taken: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut taken: HashSet<String> = taken.into_iter().collect();
    let mut count: HashMap<&str, usize> = HashMap::new();
    for (_, name) in things {
        *count.entry(*name).or_default() += 1;
    }
    let is_shared = |name: &str| count.get(name).is_some_and(|count| *count > 1);
    // Tools that keep their own name go first, so that no other one gets it.
    taken.extend(things.iter().filter(|(_, name)| !is_shared(name)).map(|(_, name)| (*name).to_owned()));
    let named = things.iter().map(|(connection, name)| {
        if is_shared(name) { unique(&format!("{connection}_{name}"), &mut taken) } else { (*name).to_owned() }
    });
    named.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_several_have_is_told_apart_by_the_connection() {
        let names = |things: &[(&str, &str)]| distinct(things, ["get_tables".to_owned()]);
        assert_eq!(names(&[("shop", "a"), ("archive", "b")]), ["a", "b"]);
        assert_eq!(names(&[("shop", "a"), ("archive", "a")]), ["shop_a", "archive_a"]);
        // Others may have such names of their own.
        assert_eq!(names(&[("shop", "a"), ("x", "shop_a"), ("y", "a")]), ["shop_a_2", "shop_a", "y_a"]);
        assert_eq!(names(&[("get", "tables"), ("x", "tables")]), ["get_tables_2", "x_tables"]);
        let long = "n".repeat(NAME_LENGTH);
        let found = names(&[("shop", &long), ("shop_2", &long), ("sho", &long)]);
        assert!(found.iter().all(|name| name.len() == NAME_LENGTH), "{found:?}");
        assert_eq!(found.iter().collect::<HashSet<_>>().len(), 3, "{found:?}");
    }
}
