//! `[federation]`: how much statements over several connections may use.

use std::path::{Path, PathBuf};

use crate::config::declared::section::Section;
use crate::config::declared::setting::Literal::{Number, Switch, Text};
use crate::config::declared::setting::{SWITCH, TEXT, number};
use crate::config::declared::table::{Table, settings};

settings! {
    /// What statements over several connections may use. The engine starts with the first of them.
    pub struct Federation {
        /// Bytes of memory of all such statements together; what does not fit waits, and is then told to come back.
        memory: usize = number(16 << 20..=1 << 40).or(Number(1 << 30)),
        /// Bytes of memory of one of them. Sorts and groups beyond it go to `spill_dir`; else the statement is refused.
        statement_memory: usize = number(8 << 20..=1 << 40).or(Number(256 << 20)),
        /// The folder for what does not fit. It is cleared at the start; nobody else may use it.
        spill_dir: PathBuf = TEXT.or(Text("portico.spill")),
        /// Bytes there of one statement at most.
        spill_limit: usize = number(0..=1 << 42).or(Number(2 << 30)),
        /// Threads that they run on.
        threads: usize = number(1..=1024).or(Number(2)),
        /// Whether sources filter, join and aggregate what they can. Without it they hand over whole tables: to find out
        /// whether an answer depends on it.
        pushdown: bool = SWITCH.or(Switch(true)),
    }
}

/// Reads the table; the folder starts at `directory`.
pub(in crate::config) fn read(root: &Section<'_>, directory: &Path) -> Federation {
    let federation = Federation::read(&root.table("federation"));
    Federation { spill_dir: directory.join(&federation.spill_dir), ..federation }
}
