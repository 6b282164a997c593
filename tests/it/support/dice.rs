//! Chance for tests: from a seed that is printed. `PORTICO_SEED` sets it, `PORTICO_CASES` how many cases there are.

use std::time::{SystemTime, UNIX_EPOCH};

/// A generator of numbers that a seed determines (`SplitMix64`).
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    /// With the seed that `PORTICO_SEED` names, or another one at each run; it is printed.
    pub(crate) fn seeded(what: &str) -> Self {
        let seed = Self::seed_of_this_run();
        crate::walls::server::say(&format!("{what}: PORTICO_SEED={seed}"));
        Self(seed)
    }

    /// The seed, for those who tell of it where they fail.
    pub(crate) fn seed_of_this_run() -> u64 {
        let given = std::env::var("PORTICO_SEED").ok().map(|text| text.parse().expect("PORTICO_SEED is a number"));
        let now = || u64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis()).unwrap();
        given.unwrap_or_else(now)
    }

    pub(crate) const fn of_seed(seed: u64) -> Self {
        Self(seed)
    }

    /// A generator of its own for each place of what runs side by side.
    pub(crate) fn apart(self, place: usize) -> Self {
        Self(self.0.wrapping_add(u64::try_from(place).unwrap()))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(bound).unwrap()).unwrap()
    }

    pub(crate) fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    pub(crate) fn choose<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.below(choices.len())]
    }

    pub(crate) fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }

    /// Statements and pieces of them, end to end; now and then a character is missing.
    pub(crate) fn text(&mut self, whole: &[&str], pieces: &[&str]) -> String {
        let mut text = String::new();
        for _ in 0..=self.below(7) {
            let next = if self.once_in(2) { self.choose(whole) } else { self.choose(pieces) };
            text.push_str(next);
            let end = *self.choose(&["", "", " ", "\n", ";", "; ", " ;\n"]);
            text.push_str(end);
        }
        if self.once_in(4) {
            let characters: Vec<char> = text.chars().collect();
            let left_out = self.below(characters.len());
            text = characters.iter().enumerate().filter(|(at, _)| *at != left_out).map(|(_, it)| it).collect();
        }
        text
    }
}

/// How many cases: `PORTICO_CASES`, or so many.
pub(crate) fn cases(usual: usize) -> usize {
    std::env::var("PORTICO_CASES").map_or(usual, |text| text.parse().expect("PORTICO_CASES is a number"))
}
