//! Reads the trail back: which records are asked for, and the lines of the files that hold them.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde_json::Value;

use super::file::aside;
use super::record::moment;

/// Which records are asked for; what is absent does not matter.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// At this moment or later, as the beginning of RFC 3339 in UTC.
    pub since: Option<String>,
    /// Before this moment.
    pub until: Option<String>,
    /// The caller, or a service account's name.
    pub principal: Option<String>,
    /// Who somebody claimed to be who was not let in.
    pub claimed: Option<String>,
    /// What was changed, as `user add`.
    pub action: Option<String>,
    /// Where it came from.
    pub address: Option<String>,
    /// The connection's name.
    pub connection: Option<String>,
    /// A word of outcome; `failed` is every one but `ok`.
    pub outcome: Option<String>,
    /// What happened: `call`, `token`, `change` …
    pub event: Option<String>,
    /// The request's id.
    pub request: Option<String>,
    /// The tool's name.
    pub tool: Option<String>,
}

impl Wanted {
    /// Whether `record` is asked for.
    pub fn has(&self, record: &Value) -> bool {
        let text = |name: &str| record[name].as_str().unwrap_or_default();
        let same = |asked: &Option<String>, names: &[&str]| {
            asked.as_ref().is_none_or(|asked| names.iter().any(|name| text(name).eq_ignore_ascii_case(asked)))
        };
        let outcome = match self.outcome.as_deref() {
            Some("failed") => text("outcome") != "ok",
            _ => same(&self.outcome, &["outcome"]),
        };
        outcome
            && self.since.as_deref().is_none_or(|since| text("time") >= since)
            && self.until.as_deref().is_none_or(|until| text("time") < until)
            && same(&self.principal, &["principal", "account", "client"])
            && same(&self.claimed, &["claimed"])
            && same(&self.action, &["action"])
            && same(&self.address, &["address", "host"])
            && same(&self.connection, &["connection", "connectionId"])
            && same(&self.event, &["event"])
            && same(&self.request, &["requestId"])
            && same(&self.tool, &["tool"])
    }
}

/// A moment as people write it: `90m`, `12h`, `7d` or `2w` ago, or the beginning of RFC 3339 in
/// UTC, such as `2026-11-21` or `2026-11-21T09:30`.
///
/// # Errors
/// What to write instead.
pub fn read_moment(text: &str, now: SystemTime) -> Result<String, String> {
    let wrong = || "write 90m, 12h, 7d or 2w, or a day or a moment in UTC, as 2026-11-21T09:30".to_owned();
    let shape = b"dddd-dd-ddTdd:dd:dd.dddZ";
    let fits = |(byte, shape): (u8, &u8)| if *shape == b'd' { byte.is_ascii_digit() } else { byte == *shape };
    if text.len() >= 10 {
        let text = text.replace(' ', "T");
        let whole = text.len() <= shape.len() && text.bytes().zip(shape).all(fits);
        // Seconds may come without a fraction, and with a Z behind them.
        let bare = text.strip_suffix('Z').filter(|bare| bare.len() == 19 && bare.bytes().zip(shape).all(fits));
        return bare.map(str::to_owned).or_else(|| whole.then_some(text.clone())).ok_or_else(wrong);
    }
    let unit = text.chars().last().ok_or_else(wrong)?;
    let number: u64 = text.strip_suffix(unit).and_then(|number| number.parse().ok()).ok_or_else(wrong)?;
    let seconds = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3_600,
        'd' => 86_400,
        'w' => 604_800,
        _ => return Err(wrong()),
    };
    let ago = number.checked_mul(seconds).map(Duration::from_secs).ok_or_else(wrong)?;
    now.checked_sub(ago).map(moment).ok_or_else(wrong)
}

/// The trail's files that there are, the oldest first.
pub fn files(path: &Path, keep: u32) -> Vec<PathBuf> {
    let put_aside = (1..=keep).rev().map(|number| aside(path, number));
    put_aside.chain([path.to_owned()]).filter(|path| path.exists()).collect()
}

/// A line as a record; `None` for one that is not whole.
pub fn parse(line: &str) -> Option<Value> {
    serde_json::from_str::<Value>(line).ok().filter(Value::is_object)
}

/// Hands each wanted record of one file to `take`, in order, until that says that it has enough.
///
/// # Errors
/// When the file cannot be read.
pub fn each(path: &Path, wanted: &Wanted, take: &mut dyn FnMut(Value) -> bool) -> io::Result<bool> {
    let mut reader = BufReader::new(File::open(path)?);
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line)? > 0 {
        let record = parse(&String::from_utf8_lossy(&line)).filter(|record| wanted.has(record));
        line.clear();
        if record.is_some_and(|record| !take(record)) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The last `most` wanted records, in order.
///
/// # Errors
/// When a file cannot be read.
pub fn last(path: &Path, keep: u32, wanted: &Wanted, most: usize) -> io::Result<VecDeque<Value>> {
    let mut found = VecDeque::new();
    for file in files(path, keep).iter().rev() {
        let room = most.saturating_sub(found.len());
        if room == 0 {
            break;
        }
        let mut newest = VecDeque::new();
        each(file, wanted, &mut |record| {
            if newest.len() == room {
                newest.pop_front();
            }
            newest.push_back(record);
            true
        })?;
        newest.append(&mut found);
        found = newest;
    }
    Ok(found)
}

/// Follows the file as it grows, also to the one that takes its place.
pub struct Follower {
    path: PathBuf,
    reader: Option<BufReader<File>>,
    /// A line whose end has not been written yet.
    begun: Vec<u8>,
}

impl Follower {
    /// Begins behind the end of the file at `path`.
    ///
    /// # Errors
    /// When the file is there and cannot be read.
    pub fn behind(path: &Path) -> io::Result<Self> {
        let reader = match File::open(path) {
            Ok(mut file) => {
                file.seek(SeekFrom::End(0))?;
                Some(BufReader::new(file))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        Ok(Self { path: path.to_owned(), reader, begun: Vec::new() })
    }

    /// The next whole record, if there is one by now.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn next_record(&mut self) -> io::Result<Option<Value>> {
        loop {
            let Some(reader) = &mut self.reader else {
                match File::open(&self.path) {
                    Ok(file) => self.reader = Some(BufReader::new(file)),
                    Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
                    Err(error) => return Err(error),
                }
                continue;
            };
            // Asked before reading: what was written until the file was moved is read first.
            let moved = !is_at(reader.get_ref(), &self.path)?;
            if reader.read_until(b'\n', &mut self.begun)? == 0 {
                if !moved {
                    return Ok(None);
                }
                self.reader = None;
                self.begun.clear();
                continue;
            }
            if self.begun.ends_with(b"\n") {
                let record = parse(&String::from_utf8_lossy(&self.begun));
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
    use std::time::UNIX_EPOCH;

    use serde_json::json;

    use super::*;

    #[test]
    fn moments_are_read_as_people_write_them() {
        let now = UNIX_EPOCH + Duration::from_secs(86_400);
        let read = |text| read_moment(text, now);
        assert_eq!(read("2h").unwrap(), "1970-01-01T22:00:00.000Z");
        for text in ["2026-11-21", "2026-11-21T09:30", "2026-11-21T09:30:15.120Z"] {
            assert_eq!(read(text).unwrap(), text);
        }
        assert_eq!(read("2026-11-21 09:30:15Z").unwrap(), "2026-11-21T09:30:15");
        for wrong in ["", "x", "5", "-1d", "2026-1-1-1-1", "2026-11-21Tx", "3y", "99999999999d", "5é"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn records_are_found_by_what_they_say() {
        let record = json!({"time": "2026-11-21T09:30:00.000Z", "principal": "c1", "account": "Reporting",
            "connection": "shop", "outcome": "forbidden", "event": "call"});
        let has = |wanted: Wanted| wanted.has(&record);
        let some = |text: &str| Some(text.to_owned());
        assert!(has(Wanted { principal: some("reporting"), outcome: some("failed"), ..Wanted::default() }));
        assert!(has(Wanted { since: some("2026-11-21"), until: some("2026-11-22"), ..Wanted::default() }));
        assert!(!has(Wanted { since: some("2026-11-21T09:30:00.001Z"), ..Wanted::default() }));
        assert!(!has(Wanted { until: some("2026-11-21"), ..Wanted::default() }));
        assert!(!has(Wanted { connection: some("other"), ..Wanted::default() }));
    }

    #[test]
    fn a_file_is_followed_to_the_one_in_its_place() {
        let folder = tempfile::TempDir::new().unwrap();
        let path = folder.path().join("a");
        let mut follower = Follower::behind(&path).unwrap();
        assert_eq!(follower.next_record().unwrap(), None);
        fs::write(&path, "{\"n\":1}\n{\"n\":").unwrap();
        assert_eq!(follower.next_record().unwrap(), Some(json!({"n": 1})));
        assert_eq!(follower.next_record().unwrap(), None);
        fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(b"2}\nnoise\n{\"n\":3}\n").unwrap();
        assert_eq!(follower.next_record().unwrap(), Some(json!({"n": 2})));
        fs::rename(&path, aside(&path, 1)).unwrap();
        fs::write(&path, "{\"n\":4}\n").unwrap();
        assert_eq!(follower.next_record().unwrap(), Some(json!({"n": 3})));
        assert_eq!(follower.next_record().unwrap(), Some(json!({"n": 4})));
        assert_eq!(last(&path, 3, &Wanted::default(), 2).unwrap(), [json!({"n": 3}), json!({"n": 4})]);
    }
}
