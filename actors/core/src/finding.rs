//! What an operator should know about a connection: found by a driver, reported in the log, by `check` and
//! `doctor`.

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FindingSeverity {
    /// For information; nothing has to be done.
    Note,
    /// Something is less protected than it appears.
    Warning,
}

impl FindingSeverity {
    /// One lower-case word for listings.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
        }
    }
}

/// Something about a connection that its operator should know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Its severity.
    pub grade: FindingSeverity,
    /// One sentence for the log, without names that callers cannot see.
    pub message: String,
    /// The first names concerned, for readers who may see all of the source.
    pub names: Vec<String>,
    /// The number of further names.
    pub more: usize,
    /// What to do about it; empty if nothing has to be done.
    pub remedy: String,
}

/// The maximal number of names in one finding.
const MOST_NAMES: usize = 5;

impl Finding {
    /// Makes a finding without names.
    pub fn new(grade: FindingSeverity, message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { grade, message: message.into(), names: Vec::new(), more: 0, remedy: remedy.into() }
    }

    /// Adds the names concerned: the first few of `names`, and the number of the rest.
    #[must_use]
    pub fn about<'a>(mut self, names: impl IntoIterator<Item = &'a str>) -> Self {
        let mut names = names.into_iter();
        self.names = names.by_ref().take(MOST_NAMES).map(printable).collect();
        self.more = names.count();
        self
    }

    /// Returns the sentence with its names.
    pub fn words(&self) -> String {
        if self.names.is_empty() {
            return self.message.clone();
        }
        let more = if self.more == 0 { String::new() } else { format!(" and {} more", self.more) };
        format!("{}: {}{more}", self.message, self.names.join(", "))
    }
}

/// Escapes characters that would move the cursor, so that the name fits on one line.
pub fn printable(name: &str) -> String {
    let mut text = String::with_capacity(name.len());
    for letter in name.chars() {
        if letter.is_control() { text.extend(letter.escape_default()) } else { text.push(letter) }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_names_few_and_counts_the_rest() {
        let names: Vec<String> = (0..7).map(|number| format!("s.t{number}\n")).collect();
        let finding = Finding::new(FindingSeverity::Warning, "7 tables", "").about(names.iter().map(String::as_str));
        assert_eq!(finding.words(), "7 tables: s.t0\\n, s.t1\\n, s.t2\\n, s.t3\\n, s.t4\\n and 2 more");
        assert_eq!(Finding::new(FindingSeverity::Note, "nothing", "").words(), "nothing");
    }
}
