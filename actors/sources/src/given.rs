//! What callers give for a statement's placeholders: how many values there may be, and how their
//! names are told. There may be tens of thousands, so that nobody may search through them name by name.

use portico_core::error::{Error, Kind, Result};

/// Names in a message at most.
const MOST_NAMES: usize = 10;

/// Refuses more values than a statement of the source can have.
///
/// # Errors
/// [`Kind::TooLarge`] with the bound.
pub fn admit(values: usize, most: usize) -> Result<()> {
    if values > most {
        return Err(Error::new(
            Kind::TooLarge,
            format!("parameters: {values} values, and a statement of this source takes at most {most}"),
        )
        .hint("send them in several calls, or as one value: a JSON array"));
    }
    Ok(())
}

/// The first of these names, each with its `@`, and how many there are beyond.
pub fn listed<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let mut names = names.into_iter().map(|name| format!("@{}", name.trim_start_matches('@')));
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

    #[test]
    fn the_bound_is_told() {
        assert!(admit(3, 3).is_ok());
        let error = admit(4, 3).unwrap_err();
        assert_eq!(error.kind, Kind::TooLarge);
        assert!(error.message.starts_with("parameters: 4 values") && error.message.ends_with("most 3"), "{error:?}");
    }
}
