//! A file of lines that grows up to a size, is then put aside under a number, and begins anew. Other
//! processes may append to it, and others may move it away.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The file, opened when first needed.
#[derive(Debug)]
pub struct LogFile {
    path: PathBuf,
    /// The size in bytes from which on it is rotated.
    largest: u64,
    /// Files that were put aside and are kept.
    keep: u32,
    file: Option<OpenFile>,
    /// Its last line is not whole: another process died, or the disk was full.
    torn: bool,
}

/// An open file.
#[derive(Debug)]
struct OpenFile {
    file: File,
    /// Its device and inode.
    identity: (u64, u64),
    /// Its size at the last check; `None` if it is not a file on a disk.
    size: Option<u64>,
}

impl LogFile {
    /// Does not open anything yet.
    pub fn new(path: PathBuf, largest: u64, keep: u32) -> Self {
        Self { path, largest, keep, file: None, torn: false }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens it, if it is not open, or was moved away.
    ///
    /// # Errors
    /// When it cannot be opened or made.
    pub fn open(&mut self) -> io::Result<()> {
        if let Some(open) = &mut self.file {
            let named = fs::metadata(&self.path).ok();
            if let Some(named) = named.filter(|named| (named.dev(), named.ino()) == open.identity) {
                open.size = open.size.map(|_| named.len());
                return Ok(());
            }
        }
        self.file = None;
        let mut file = OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(&self.path)?;
        let mut last = [b'\n'];
        let metadata = file.metadata()?;
        if metadata.is_file() && file.seek(SeekFrom::End(0))? > 0 {
            file.seek(SeekFrom::End(-1))?;
            file.read_exact(&mut last)?;
        }
        self.torn = last != [b'\n'];
        let identity = (metadata.dev(), metadata.ino());
        let size = metadata.is_file().then_some(metadata.len());
        self.file = Some(OpenFile { file, identity, size });
        Ok(())
    }

    /// Lets go of it; the next line opens it anew.
    pub fn close(&mut self) {
        self.file = None;
    }

    /// Appends `lines`, each with its end. Complete lines that were written are removed from the front of `lines`,
    /// even if this fails.
    ///
    /// # Errors
    /// If not all of it could be written.
    pub fn append(&mut self, lines: &mut Vec<u8>) -> io::Result<()> {
        if lines.is_empty() {
            return Ok(());
        }
        self.open()?;
        self.turn(lines.len())?;
        let Some(OpenFile { file, .. }) = &mut self.file else { return Err(io::Error::other("the file is not open")) };
        if self.torn {
            file.write_all(b"\n")?;
            self.torn = false;
        }
        let mut written = 0;
        let outcome = loop {
            match file.write(lines.get(written..).unwrap_or_default()) {
                Ok(0) if written < lines.len() => break Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => written += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => break Err(error),
            }
            if written >= lines.len() {
                break Ok(());
            }
        };
        let whole = lines.iter().take(written).rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        self.torn = whole < written;
        lines.drain(..whole);
        outcome
    }

    /// Flushes what was appended to the disk, if it is a file on one.
    ///
    /// # Errors
    /// If the disk fails.
    pub fn sync(&self) -> io::Result<()> {
        match self.file.as_ref().map_or(Ok(()), |open| open.file.sync_data()) {
            // A pipe or a terminal.
            Err(error) if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) => Ok(()),
            synced => synced,
        }
    }

    /// Puts the file aside if `more` bytes would make it too large.
    fn turn(&mut self, more: usize) -> io::Result<()> {
        let size = self.file.as_ref().and_then(|open| open.size).unwrap_or(0);
        if size == 0 || size.saturating_add(more as u64) <= self.largest {
            return Ok(());
        }
        for number in (1..self.keep).rev() {
            match fs::rename(aside(&self.path, number), aside(&self.path, number + 1)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        fs::rename(&self.path, aside(&self.path, 1))?;
        // Files beyond the current number, if more were kept before.
        for number in self.keep + 1.. {
            if fs::remove_file(aside(&self.path, number)).is_err() {
                break;
            }
        }
        self.file = None;
        self.open()
    }
}

/// The name of a file that was put aside; 1 is the youngest.
pub fn aside(path: &Path, number: u32) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{number}"));
    PathBuf::from(name)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn append(file: &mut LogFile, line: &str) {
        let mut lines = format!("{line}\n").into_bytes();
        file.append(&mut lines).unwrap();
        assert!(lines.is_empty());
    }

    #[test]
    fn it_turns_by_size_and_keeps_as_many_as_told() {
        let folder = tempfile::TempDir::new().unwrap();
        let path = folder.path().join("audit.jsonl");
        let mut file = LogFile::new(path.clone(), 10, 2);
        for line in ["first", "second", "third", "fourth"] {
            append(&mut file, line);
        }
        let read = |path: &Path| fs::read_to_string(path).unwrap();
        assert_eq!([read(&path), read(&aside(&path, 1)), read(&aside(&path, 2))], ["fourth\n", "third\n", "second\n"]);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        // Fewer are kept from now on.
        let mut file = LogFile::new(path.clone(), 10, 1);
        append(&mut file, "fifth line");
        assert_eq!([read(&path), read(&aside(&path, 1))], ["fifth line\n", "fourth\n"]);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn a_torn_line_stays_alone_and_a_moved_file_is_left() {
        let folder = tempfile::TempDir::new().unwrap();
        let path = folder.path().join("audit.jsonl");
        fs::write(&path, "whole\ntor").unwrap();
        let mut file = LogFile::new(path.clone(), 1000, 2);
        append(&mut file, "next");
        assert_eq!(fs::read_to_string(&path).unwrap(), "whole\ntor\nnext\n");
        let moved = folder.path().join("moved");
        fs::rename(&path, &moved).unwrap();
        append(&mut file, "new");
        assert_eq!(fs::read_to_string(&path).unwrap(), "new\n");
    }

    #[test]
    fn a_full_disk_leaves_the_lines_to_be_written_again() {
        let mut file = LogFile::new(PathBuf::from("/dev/full"), 1000, 2);
        let mut lines = b"line\n".to_vec();
        assert!(file.append(&mut lines).is_err());
        assert_eq!(lines, b"line\n");
    }
}
