//! A problem of a configuration, and its place in the file.

use std::fmt;
use std::path::Path;

/// Something wrong with the configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Problem {
    /// The file, as it was named; absent for a text that is not from a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The line of the file, from 1; 0 when no line is to blame.
    pub line: usize,
    /// The character of the line, from 1; 0 when no line is to blame.
    #[serde(default)]
    pub column: usize,
    /// The key, with its tables: `connections[0].url`.
    pub key: String,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub remedy: String,
}

impl Problem {
    /// Makes a problem at `position`; the default position means no line.
    pub(crate) fn new(position: Position, key: &str, message: String, remedy: &str) -> Self {
        let Position { line, column } = position;
        Self { file: None, line, column, key: key.to_owned(), message, remedy: remedy.to_owned() }
    }

    /// The same problem, found in the file at `path`.
    #[must_use]
    pub(in crate::config) fn in_file(self, path: &Path) -> Self {
        Self { file: Some(path.display().to_string()), ..self }
    }

    /// Returns its place in the format of editors and terminals: `config.toml:3:1: `. Empty if unknown.
    pub fn place(&self) -> String {
        match (&self.file, self.line) {
            (Some(file), 0) => format!("{file}: "),
            (Some(file), line) => format!("{file}:{line}:{}: ", self.column),
            (None, 0) => String::new(),
            (None, line) => format!("line {line}: "),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.place())?;
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        write!(f, "{}; {}", self.message, self.remedy)
    }
}

/// A place in a text. Both numbers count from 1; 0 is nowhere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Position {
    /// The line.
    pub(crate) line: usize,
    /// The character in the line.
    pub(crate) column: usize,
}

/// A text and where its lines end, so that finding one costs the same however long the text is.
pub(in crate::config) struct Lines<'t> {
    text: &'t str,
    ends: Vec<usize>,
}

impl<'t> Lines<'t> {
    pub(in crate::config) fn new(text: &'t str) -> Self {
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at).collect();
        Self { text, ends }
    }

    /// Where the byte at `offset` is.
    pub(in crate::config) fn at(&self, offset: usize) -> Position {
        let before = self.ends.partition_point(|end| *end < offset);
        let start = before.checked_sub(1).and_then(|last| self.ends.get(last)).map_or(0, |end| end + 1);
        let column = self.text.get(start..offset).map_or(0, |text| text.chars().count()) + 1;
        Position { line: before + 1, column }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters() {
        let lines = Lines::new("a = 1\nü = 2\n\nb");
        let at = |offset| {
            let Position { line, column } = lines.at(offset);
            (line, column)
        };
        assert_eq!([at(0), at(4), at(6), at(11), at(13), at(14)], [(1, 1), (1, 5), (2, 1), (2, 5), (3, 1), (4, 1)]);
    }
}
