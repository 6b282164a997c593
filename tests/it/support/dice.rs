//! Chance for tests that compare with the databases: from a seed that is printed. `PORTICO_SEED` sets it,
//! `PORTICO_CASES` how many cases there are.

/// A generator whose sequence follows from its seed.
pub(crate) struct Dice(u64);

impl Dice {
    /// A fresh one, and how many cases are to be made of it.
    pub(crate) fn thrown(cases: usize) -> (Self, usize) {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
        let seed = number("PORTICO_SEED").unwrap_or(now.as_secs());
        crate::walls::server::say(&format!("PORTICO_SEED={seed}"));
        let cases = number("PORTICO_CASES").map_or(cases, |cases| usize::try_from(cases).unwrap());
        (Self(seed), cases)
    }

    /// A number below `bound` (splitmix64).
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % u64::try_from(bound).unwrap()).unwrap()
    }

    pub(crate) fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }

    /// Statements and pieces of them, end to end; now and then a character is missing.
    pub(crate) fn text(&mut self, whole: &[&str], pieces: &[&str]) -> String {
        let mut text = String::new();
        for _ in 0..=self.below(7) {
            let next = if self.below(2) == 0 { self.one(whole) } else { self.one(pieces) };
            text.push_str(next);
            text.push_str(self.one(&["", "", " ", "\n", ";", "; ", " ;\n"]));
        }
        if self.below(4) == 0 {
            let characters: Vec<char> = text.chars().collect();
            let left_out = self.below(characters.len());
            text = characters.iter().enumerate().filter(|(at, _)| *at != left_out).map(|(_, it)| it).collect();
        }
        text
    }
}
