//! The trail's records, the oldest first: from its files, or from the store.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use portico_actors::auth::store::Store;
use serde_json::Value;

use crate::audit::file::aside;
use crate::cli::common::Failure;

/// Records of the store that are read at once.
const AT_ONCE: u32 = 1_000;

/// Returns the next record, or `None` if there is none yet: there may be one later.
pub(super) type Records = Box<dyn FnMut() -> Result<Option<Value>, Failure>>;

/// The records in the store.
pub(super) fn from_store(store: Store) -> Records {
    let (mut after, mut read) = (0, VecDeque::new());
    Box::new(move || {
        loop {
            if read.is_empty() {
                read.extend(store.audit_after(after, AT_ONCE)?);
            }
            let Some((number, text)) = read.pop_front() else { return Ok(None) };
            after = number;
            if let Some(record) = parse(text.as_bytes()) {
                return Ok(Some(record));
            }
        }
    })
}

/// Returns the records of the file at `path` and of its successors, after those of the `older` ones.
pub(super) fn from_files(path: &Path, older: Vec<PathBuf>) -> Records {
    let mut follower = Follower { path: path.to_owned(), older: older.into(), reader: None, begun: Vec::new() };
    Box::new(move || follower.next_record().map_err(Failure::unreadable(&follower.path)))
}

/// Returns the rotated files beside the one at `path`, the oldest first.
pub(super) fn older(path: &Path, keep: u32) -> Vec<PathBuf> {
    (1..=keep).rev().map(|number| aside(path, number)).filter(|path| path.exists()).collect()
}

/// The last of the records that there are by now and that are wanted, `most` of them.
pub(super) fn last(
    records: &mut Records,
    wanted: impl Fn(&Value) -> bool,
    most: usize,
) -> Result<VecDeque<Value>, Failure> {
    let mut last = VecDeque::new();
    while let Some(record) = records()? {
        if wanted(&record) {
            last.push_back(record);
        }
        if last.len() > most {
            last.pop_front();
        }
    }
    Ok(last)
}

/// Parses a line as a record; `None` if it is incomplete.
fn parse(line: &[u8]) -> Option<Value> {
    serde_json::from_str(&String::from_utf8_lossy(line)).ok().filter(Value::is_object)
}

/// Follows the file as it grows, and to its successor.
struct Follower {
    path: PathBuf,
    /// The files to read before it.
    older: VecDeque<PathBuf>,
    reader: Option<BufReader<File>>,
    /// The start of a line whose end has not been written yet.
    begun: Vec<u8>,
}

impl Follower {
    fn next_record(&mut self) -> io::Result<Option<Value>> {
        loop {
            let Some(reader) = &mut self.reader else {
                let older = self.older.pop_front();
                match File::open(older.as_ref().unwrap_or(&self.path)) {
                    Ok(file) => self.reader = Some(BufReader::new(file)),
                    Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                    Err(_) if older.is_none() => return Ok(None),
                    // It was put aside once more.
                    Err(_) => {}
                }
                continue;
            };
            // Asked before reading: what was written before the file was moved is read first.
            let moved = !is_at(reader.get_ref(), &self.path)?;
            if reader.read_until(b'\n', &mut self.begun)? == 0 {
                if !moved {
                    return Ok(None);
                }
                self.reader = None;
                self.begun.clear();
            } else if self.begun.ends_with(b"\n") {
                let record = parse(&self.begun);
                self.begun.clear();
                if record.is_some() {
                    return Ok(record);
                }
            }
        }
    }
}

fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let open = file.metadata()?;
    Ok(std::fs::metadata(path).is_ok_and(|named| (named.dev(), named.ino()) == (open.dev(), open.ino())))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;

    use serde_json::json;

    use super::*;

    #[test]
    fn a_file_is_followed_to_the_one_in_its_place() {
        let folder = tempfile::TempDir::new().unwrap();
        let path = folder.path().join("a");
        let mut next = from_files(&path, Vec::new());
        assert_eq!(next().unwrap(), None);
        fs::write(&path, "{\"n\":1}\n{\"n\":").unwrap();
        assert_eq!(next().unwrap(), Some(json!({"n": 1})));
        assert_eq!(next().unwrap(), None);
        fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(b"2}\nnoise\n{\"n\":3}\n").unwrap();
        assert_eq!(next().unwrap(), Some(json!({"n": 2})));
        fs::rename(&path, aside(&path, 1)).unwrap();
        fs::write(&path, "{\"n\":4}\n").unwrap();
        assert_eq!(next().unwrap(), Some(json!({"n": 3})));
        assert_eq!(next().unwrap(), Some(json!({"n": 4})));
        let mut all = from_files(&path, older(&path, 3));
        assert_eq!(last(&mut all, |record| record["n"] != 3, 2).unwrap(), [json!({"n": 2}), json!({"n": 4})]);
    }
}
