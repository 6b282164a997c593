//! What an operator should know about a connection: found by a driver, told by the log, `check` and `doctor`.

/// How grave a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FindingSeverity {
    /// Good to know, and as it may be.
    Note,
    /// Something is weaker than it looks.
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
    /// How grave it is.
    pub grade: FindingSeverity,
    /// One sentence that names nothing which callers do not see: the log has it.
    pub message: String,
    /// The first names that it is about, for those who may see all of the source.
    pub names: Vec<String>,
    /// How many more there are.
    pub more: usize,
    /// What to do about it; empty where nothing has to be done.
    pub remedy: String,
}

/// Names in one finding at most.
const MOST_NAMES: usize = 5;

impl Finding {
    /// A finding about nothing in particular.
    pub fn new(grade: FindingSeverity, message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { grade, message: message.into(), names: Vec::new(), more: 0, remedy: remedy.into() }
    }

    /// Adds what it is about: the first few of `names`, and the number of the rest.
    #[must_use]
    pub fn about<'a>(mut self, names: impl IntoIterator<Item = &'a str>) -> Self {
        let mut names = names.into_iter();
        self.names = names.by_ref().take(MOST_NAMES).map(printable).collect();
        self.more = names.count();
        self
    }

    /// The sentence with its names.
    pub fn words(&self) -> String {
        if self.names.is_empty() {
            return self.message.clone();
        }
        let more = if self.more == 0 { String::new() } else { format!(" and {} more", self.more) };
        format!("{}: {}{more}", self.message, self.names.join(", "))
    }
}

/// A name on a line of its own: what would move the cursor is escaped.
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
