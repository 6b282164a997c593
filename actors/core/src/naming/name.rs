//! Compares names that people and administrators choose: e-mail addresses, and the names of service accounts,
//! tokens and clients. Names that look the same to a reader have the same [`key`].
//!
//! Unicode's data comes from ICU4X alone, so that normalisation, folding and properties are of one version.

use icu_casemap::CaseMapper;
use icu_normalizer::{ComposingNormalizerBorrowed, DecomposingNormalizerBorrowed};
use icu_properties::props::{BidiControl, DefaultIgnorableCodePoint, GeneralCategory};
use icu_properties::{CodePointMapData, CodePointSetData};

/// Returns the key by which a name is compared: its canonical caseless form (The Unicode Standard, D145) in NFC,
/// without invisible characters and with single spaces between words. The key of a key is itself.
pub fn key(name: &str) -> String {
    if name.bytes().all(|each| each.is_ascii_graphic()) {
        return name.to_ascii_lowercase();
    }
    let seen: String = name.chars().filter(|each| each.is_whitespace() || !is_invisible(*each)).collect();
    let words: Vec<&str> = seen.split_whitespace().collect();
    let decomposed = DecomposingNormalizerBorrowed::new_nfd().normalize(&words.join(" ")).into_owned();
    let folded = CaseMapper::new().fold_string(&decomposed).into_owned();
    ComposingNormalizerBorrowed::new_nfc().normalize(&folded).into_owned()
}

/// Returns true if both are the same name.
pub fn same(one: &str, other: &str) -> bool {
    key(one) == key(other)
}

/// Returns true if a name contains invisible characters, which can mislead its reader.
pub fn has_invisible_characters(name: &str) -> bool {
    name.chars().any(is_invisible)
}

/// Returns true for control and format characters, line separators, and other characters that are not visible.
pub fn is_invisible(character: char) -> bool {
    // The Braille pattern without a dot looks like a blank, although the standard calls it a symbol.
    const BRAILLE_BLANK: char = '\u{2800}';
    if character.is_ascii() {
        return character.is_ascii_control();
    }
    let category = CodePointMapData::<GeneralCategory>::new().get(character);
    matches!(
        category,
        GeneralCategory::Control
            | GeneralCategory::Format
            | GeneralCategory::LineSeparator
            | GeneralCategory::ParagraphSeparator
    ) || CodePointSetData::new::<DefaultIgnorableCodePoint>().contains(character)
        || character == BRAILLE_BLANK
}

/// Returns true if a text could be displayed as another one: it has control characters, line separators, or
/// characters that change the direction of writing (UAX #9). Unlike a name it may contain joiners.
pub fn has_control_or_bidi_characters(text: &str) -> bool {
    let turns = CodePointSetData::new::<BidiControl>();
    text.chars().any(|each| each.is_control() || matches!(each, '\u{2028}' | '\u{2029}') || turns.contains(each))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn spellings_of_one_name_have_one_key() {
        for [one, other] in [
            ["Ann@Example.org", "ann@example.ORG"],
            ["jos\u{e9}@example.org", "JOSE\u{301}@example.org"],
            ["stra\u{df}e", "STRASSE"],
            ["\u{3a3}\u{3af}\u{3c3}\u{3c5}\u{3c6}\u{3bf}\u{3c2}", "\u{3c3}\u{3af}\u{3c3}\u{3c5}\u{3c6}\u{3bf}\u{3c3}"],
            ["\u{212a}elvin", "kelvin"],
            ["an\u{200b}n", "ann"],
            ["\u{202e}ann", "ann"],
            ["\u{feff}ann\u{ad}", "ann"],
            ["ann\u{3164}", "ann"],
            ["ann\u{1f}", "ann"],
            ["the\u{a0}nightly", "the  Nightly"],
            // One letter with a mark below and one above, in either order (UAX #15).
            ["s\u{323}\u{307}", "S\u{307}\u{323}"],
        ] {
            assert!(same(one, other), "{one:?} and {other:?}: {:?} and {:?}", key(one), key(other));
        }
        for [one, other] in [["ann", "anne"], ["a b", "ab"], ["jose", "jos\u{e9}"], ["\u{430}nn", "ann"]] {
            assert!(!same(one, other), "{one:?} and {other:?}");
        }
    }

    #[test]
    fn every_character_alone_has_a_stable_key_without_what_nobody_sees() {
        for each in '\0'..=char::MAX {
            let once = key(&format!("a{each}b"));
            assert_eq!(key(&once), once, "{:x}", u32::from(each));
            assert!(!has_invisible_characters(&once), "{:x}: {once:?}", u32::from(each));
            assert!(is_invisible(each) || !has_control_or_bidi_characters(&each.to_string()), "{:x}", u32::from(each));
        }
    }

    /// Letters that fold, decompose, compose or vanish, more often than in random text.
    fn text() -> impl Strategy<Value = String> {
        let known = proptest::sample::select(
            "aKksS\u{df}\u{1e9e}\u{17f}\u{130}\u{131}i\u{307}\u{301}\u{323}\u{345}\u{1fb3}\u{3c2}\u{3a3}\u{200b}\u{202e}\u{2066}\u{ad}\u{34f}\u{1100}\u{1161}\u{11a8}\u{ac01}\u{fb01}\u{1c4} \t\u{a0}@."
                .chars()
                .collect::<Vec<_>>(),
        );
        proptest::collection::vec(prop_oneof![3 => known, 1 => any::<char>()], 0..12).prop_map(String::from_iter)
    }

    /// Spells the same name in another way: with the other case if that is the same letter, with invisible
    /// characters, composed or not.
    fn respelt(name: &str, ways: &[u8]) -> String {
        let seen: String = name.chars().filter(|each| each.is_whitespace() || !is_invisible(*each)).collect();
        let decomposed = DecomposingNormalizerBorrowed::new_nfd().normalize(&seen).into_owned();
        let mut other = String::new();
        for (each, way) in decomposed.chars().zip(ways.iter().cycle()) {
            let letter = each.to_string();
            let spelt = match way % 6 {
                0 => letter.to_uppercase(),
                1 => letter.to_lowercase(),
                2 => format!("\u{200d}{letter}"),
                3 => format!("{letter}\u{2069}"),
                _ => letter.clone(),
            };
            other.push_str(if same(&spelt, &letter) { &spelt } else { &letter });
        }
        if ways.len().is_multiple_of(2) {
            ComposingNormalizerBorrowed::new_nfc().normalize(&other).into_owned()
        } else {
            other
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(4_000) })]

        #[test]
        fn a_key_is_its_own_key(name in text()) {
            let once = key(&name);
            prop_assert_eq!(key(&once), once.clone());
            prop_assert!(!has_invisible_characters(&once));
        }

        #[test]
        fn two_spellings_have_one_key(name in text(), ways in proptest::collection::vec(any::<u8>(), 1..12)) {
            let other = respelt(&name, &ways);
            prop_assert_eq!(key(&other), key(&name), "{:?} and {:?}", name, other);
        }
    }
}
