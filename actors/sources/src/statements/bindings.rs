//! Matches the values that callers give with a statement's placeholders, by name and by number. There may be tens
//! of thousands, so a linear search per name must be avoided.

use std::collections::HashMap;

use portico_core::call::Argument;
use portico_core::error::{Error, Kind, Result};

/// Names in a message at most.
const MOST_NAMES: usize = 10;

/// Refuses more values than a statement of the source can have.
///
/// # Errors
/// [`Kind::TooLarge`] with the bound.
pub fn check_value_count(values: usize, most: usize) -> Result<()> {
    if values > most {
        return Err(Error::new(
            Kind::TooLarge,
            format!("parameters: there are {values} values, and a statement of this source takes at most {most}"),
        )
        .hint("send them in several calls, or as one value: a JSON array"));
    }
    Ok(())
}

/// Returns for each of `placeholders` the index of its argument in `given`: the one of its name, else of its name
/// in another case, else of its number, which counts placeholders from 1.
///
/// # Errors
/// [`Kind::Invalid`] naming the arguments without a placeholder, or given in addition to another one.
pub fn places(placeholders: &[String], given: &[Argument]) -> Result<Vec<Option<usize>>> {
    let names = Names::new(placeholders);
    let mut places: Vec<Option<usize>> = vec![None; placeholders.len()];
    let mut unknown = Vec::new();
    for (at, argument) in given.iter().enumerate() {
        let name = name_without_at(&argument.name);
        match names.place(name).and_then(|place| places.get_mut(place)) {
            None => unknown.push(name),
            Some(Some(_)) => return Err(Error::invalid(format!("parameters: @{name} is given twice"))),
            Some(free) => *free = Some(at),
        }
    }
    if unknown.is_empty() {
        return Ok(places);
    }
    let hint = match placeholders {
        [] => "the statement has no placeholders: in the place of a value write @name, or of a list @1, @2, and not \
               within quotes"
            .to_owned(),
        names => format!("it has {}", listed(names.iter().map(String::as_str))),
    };
    Err(Error::invalid(format!("parameters: the statement has no {}", listed(unknown))).hint(hint))
}

/// For each of `placeholders` the place of its argument, as [`places`] finds it.
///
/// # Errors
/// The errors of [`places`], and one for placeholders without an argument.
pub fn all_places(placeholders: &[String], given: &[Argument]) -> Result<Vec<usize>> {
    let places = places(placeholders, given)?;
    let missing = placeholders.iter().zip(&places).filter(|(_, place)| place.is_none());
    let mut missing = missing.map(|(name, _)| name.as_str()).peekable();
    if missing.peek().is_some() {
        return Err(Error::invalid(format!("parameters: there is no value for {}", listed(missing))));
    }
    Ok(places.into_iter().flatten().collect())
}

/// A name without its `@`.
pub fn name_without_at(name: &str) -> &str {
    name.trim_start_matches('@')
}

/// Whether a value is a JSON array.
pub(crate) fn is_array(argument: &Argument) -> bool {
    argument.value.get().trim().starts_with('[')
}

/// Placeholders by their names.
struct Names<'a> {
    placeholders: &'a [String],
    /// Indexes for looking up many.
    exact: HashMap<&'a str, usize>,
    folded: HashMap<String, usize>,
}

/// So many placeholders are looked through.
const FEW: usize = 16;

impl<'a> Names<'a> {
    fn new(placeholders: &'a [String]) -> Self {
        let mut names = Self { placeholders, exact: HashMap::new(), folded: HashMap::new() };
        if placeholders.len() > FEW {
            for (place, name) in placeholders.iter().enumerate() {
                names.exact.entry(name).or_insert(place);
                names.folded.entry(name.to_ascii_lowercase()).or_insert(place);
            }
        }
        names
    }

    fn place(&self, name: &str) -> Option<usize> {
        let position = |is: &dyn Fn(&str) -> bool| self.placeholders.iter().position(|one| is(one));
        let named = if self.placeholders.len() > FEW {
            self.exact.get(name).or_else(|| self.folded.get(&name.to_ascii_lowercase())).copied()
        } else {
            position(&|one| one == name).or_else(|| position(&|one| one.eq_ignore_ascii_case(name)))
        };
        named.or_else(|| name.parse::<usize>().ok()?.checked_sub(1).filter(|place| *place < self.placeholders.len()))
    }
}

/// The first of these names, each with its `@`, and how many there are beyond.
pub fn listed<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let mut names = names.into_iter().map(|name| format!("@{}", name_without_at(name)));
    let first: Vec<String> = names.by_ref().take(MOST_NAMES).collect();
    match names.count() {
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_names_few() {
        assert_eq!(listed(["a", "@b"]), "@a, @b");
        let names: Vec<String> = (0..12).map(|number| format!("p{number}")).collect();
        let told = listed(names.iter().map(String::as_str));
        assert!(told.starts_with("@p0, ") && told.ends_with("@p9 and 2 more"), "{told}");
    }

    fn named(names: &[impl ToString]) -> Vec<Argument> {
        let value = || serde_json::value::RawValue::from_string("1".to_owned()).unwrap();
        let argument = |name: &_| Argument { name: ToString::to_string(name), value: value(), data_type: None };
        names.iter().map(argument).collect()
    }

    #[test]
    fn arguments_are_found_by_name_and_by_number() {
        // Few are looked through, and many are looked up.
        for more in [0, 40] {
            let fillers: Vec<String> = (0..more).map(|number| format!("filler{number}")).collect();
            let with = |names: &[&str]| -> Vec<String> {
                names.iter().map(|name| (*name).to_owned()).chain(fillers.iter().cloned()).collect()
            };
            let placeholders = with(&["a", "B", "c"]);
            let found = |names: &[&str]| all_places(&placeholders, &named(&with(names)));
            assert_eq!(found(&["@b", "3", "A"]).unwrap()[..3], [2, 0, 1]);
            assert_eq!(found(&["a", "B"]).unwrap_err().message, "parameters: there is no value for @c");
            assert_eq!(found(&["a", "1", "B", "c"]).unwrap_err().message, "parameters: @1 is given twice");
            let unknown = found(&["a", "B", "c", "d", "0"]).unwrap_err();
            assert_eq!(unknown.message, "parameters: the statement has no @d, @0");
            assert!(unknown.get_hint().unwrap().starts_with("it has @a, @B, @c"), "{unknown:?}");
        }
        let both = ["name".to_owned(), "Name".to_owned()];
        assert_eq!(all_places(&both, &named(&["Name", "name"])).unwrap(), [1, 0]);
        assert_eq!(places(&both, &named(&["NAME"])).unwrap(), [Some(0), None]);
    }

    #[test]
    fn the_bound_is_told() {
        assert!(check_value_count(3, 3).is_ok());
        let error = check_value_count(4, 3).unwrap_err();
        assert_eq!(error.kind, Kind::TooLarge);
        assert!(
            error.message.starts_with("parameters: there are 4 values") && error.message.ends_with("most 3"),
            "{error:?}"
        );
    }
}
