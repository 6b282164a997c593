//! `[audit]`: where the trail is written, and what it keeps of a call.

use std::path::PathBuf;

use crate::audit::Detail;
use crate::config::declared::setting::Literal::{Number, Switch, Text};
use crate::config::declared::setting::{SWITCH, TEXT, number, word, words};
use crate::config::declared::table::settings;

settings! {
    /// The audit trail: a record for each call, each token and each change of who may call. docs/audit.md
    /// has its members; `portico audit tail` and `portico audit search` read it.
    pub struct AuditSettings {
        /// A file of JSON lines, mode 0600. Left out, there is no file. One that was moved away is opened anew
        /// by itself, and at SIGUSR1.
        file: Option<PathBuf> = TEXT.example("\"audit.jsonl\"").checked(
            |text| !text.is_empty(),
            "an empty text is not a path",
            "write a path, or leave the key out to write no file",
        ),
        /// Bytes from which on the file is put aside, as audit.jsonl.1.
        max_size: u64 = number(4096..=1 << 40).or(Number(64 * 1024 * 1024)),
        /// How many files that were put aside are kept.
        keep: u32 = number(1..=1000).or(Number(10)),
        /// Whether the store keeps records too.
        store: bool = SWITCH.or(Switch(false)),
        /// How many of the newest records the store keeps.
        store_records: u64 = number(1..=100_000_000).or(Number(100_000)),
        /// What is kept of a statement: its "text" with what looks like a secret left out, its "shape" without
        /// any literal, a "digest" (SHA-256) alone, or "nothing".
        statement: Detail = word::<Detail>().or(Text("text")),
        /// Whether the values of parameters are recorded.
        parameters: bool = SWITCH.or(Switch(false)),
        /// Calls under way and records not yet written, together; further calls wait.
        queue: usize = number(1..=1_000_000).or(Number(4096)),
        /// When records cannot be written: "refuse" calls until they can, and lose none, or "continue" without
        /// them. The log tells of it either way.
        on_failure: OnFailure = word::<OnFailure>().or(Text("refuse")),
    }
}

/// What becomes of calls whose records cannot be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnFailure {
    /// They are refused until records can be written again. Nothing is lost.
    Refuse,
    /// They go on; the records are lost, and counted.
    Continue,
}

words! {
    OnFailure { "refuse" => Self::Refuse, "continue" => Self::Continue }
    Detail {
        "text" => Self::Text,
        "shape" => Self::Shape,
        "digest" => Self::Digest,
        "nothing" => Self::Nothing,
    }
}

impl AuditSettings {
    /// Returns true if anything is recorded.
    pub fn is_on(&self) -> bool {
        self.file.is_some() || self.store
    }
}
