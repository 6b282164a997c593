//! What a tool's result leaves out, and the hint on how to get it: that depends on the tool, and on whether
//! something was changed, because such a call must not be repeated.

use portico_actors::error::Error;

/// Octets of a value that a row shows. A result of one value alone shows as much of it as the call's cap lets it.
pub(super) const LONGEST_VALUE: usize = 2_000;

/// How much of a result is read.
#[derive(Clone, Copy, Debug)]
pub struct Caps {
    /// Rows at most.
    pub rows: u64,
    /// Bytes of the rows' JSON at most.
    pub bytes: usize,
    /// The rows that a call may ask for, to say in the hint.
    pub rows_bound: u64,
    /// The hint's advice.
    pub rest: TruncationHint,
}

/// What a caller can do to get the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TruncationHint {
    /// Narrow a listing of names.
    Narrow,
    /// Narrow a listing of several connections: connections that fail to list are left out.
    Connections,
    /// Write another statement.
    Rewrite,
    /// Use other parameters: the statement is an administrator's.
    Parameters,
}

/// Why reading the rows stopped before their end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CutAt {
    Rows,
    Bytes,
}

/// What a result leaves out.
#[expect(clippy::struct_excessive_bools, reason = "independent facts, each true or not")]
pub(super) struct Truncation {
    pub(super) cut: Option<CutAt>,
    /// Whether the source answered with further results.
    pub(super) further: bool,
    /// Whether long values are cut.
    pub(super) shortened: bool,
    /// Rows that are in the result.
    pub(super) shown: u64,
    /// Rows changed, or −1.
    pub(super) affected: i64,
    /// Whether the call may have changed something else.
    pub(super) writes: bool,
    /// The error of connections that failed to list, if there are several.
    pub(super) missing: Option<Error>,
    /// Whether everything that was done is undone.
    pub(super) dry_run: bool,
}

impl Truncation {
    /// Whether there is anything.
    pub(super) fn is_any(&self) -> bool {
        self.cut.is_some() || self.further || self.shortened || self.missing.is_some()
    }

    /// Returns the hint; `None` if nothing was left out.
    pub(super) fn hint(&self, caps: Caps) -> Option<String> {
        let cut = self.cut.map(|cut| self.of_rows(cut, caps));
        let further = self.further.then(|| {
            "this is the first of several results: a tool returns one, the SQL API (/api/exec) returns all, and those \
             of cursors too"
                .to_owned()
        });
        let missing = self.missing.as_ref().map(|missing| match missing.get_hint() {
            Some(hint) => format!("{}: {hint}", missing.message),
            None => missing.message.clone(),
        });
        let shortened = self.shortened.then(|| match caps.rest {
            TruncationHint::Rewrite => format!(
                "long values are cut: select a part of them, substr(CAST(… AS text), 1, {LONGEST_VALUE}), or one value alone"
            ),
            _ => "long values are cut".to_owned(),
        });
        let dry_run = self.dry_run.then(|| "a dry run: all of it was undone".to_owned());
        let words: Vec<String> = [cut, further, shortened, missing, dry_run].into_iter().flatten().collect();
        (!words.is_empty()).then(|| words.join("; "))
    }

    fn of_rows(&self, cut: CutAt, caps: Caps) -> String {
        let remedy = self.remedy(cut, caps);
        match cut {
            CutAt::Bytes if self.shown == 0 => {
                format!("the first row alone is larger than {} bytes{remedy}", caps.bytes)
            }
            CutAt::Bytes => format!("only the first {} rows, which fill {} bytes{remedy}", self.shown, caps.bytes),
            CutAt::Rows => format!("only the first {} rows{remedy}", self.shown),
        }
    }

    fn remedy(&self, cut: CutAt, caps: Caps) -> String {
        if self.dry_run {
            return String::new();
        }
        if self.affected >= 0 {
            return format!(
                "; all {} rows were changed: do not run it again, read the others with a SELECT",
                self.affected
            );
        }
        if caps.rest == TruncationHint::Parameters && self.writes {
            return "; it ran to its end, and what it changed stays: do not call it again only for the rest".to_owned();
        }
        let raise = raise(caps);
        match (caps.rest, cut) {
            (TruncationHint::Narrow | TruncationHint::Connections, _) => {
                format!(": narrow the listing by names, exact or as LIKE patterns{raise}")
            }
            (TruncationHint::Parameters, _) => format!(": give parameters for which it returns less{raise}"),
            (TruncationHint::Rewrite, CutAt::Bytes) if self.shown == 0 => {
                ": select fewer columns, or a part of the long ones with substr(CAST(… AS text), …)".to_owned()
            }
            (TruncationHint::Rewrite, cut) => format!(
                ": aggregate in SQL (count, sum, avg … GROUP BY) or filter{}, or page on with ORDER BY … LIMIT and \
                 OFFSET {}{}{raise}",
                if cut == CutAt::Bytes { ", select fewer columns" } else { "" },
                self.shown,
                // A SELECT may do so too, by the functions that it calls.
                if self.writes { " (a function that changes something would do so again)" } else { "" }
            ),
        }
    }
}

/// Advises to raise `maxRows`, which raises the limit of bytes too.
fn raise(caps: Caps) -> String {
    if caps.rows < caps.rows_bound {
        format!(", or raise maxRows (at most {})", caps.rows_bound)
    } else {
        String::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hint_is_one_that_can_be_followed() {
        const CAPS: Caps = Caps { rows: 2, bytes: 100, rows_bound: 9, rest: TruncationHint::Rewrite };
        let left_out = |cut, affected, writes| Truncation {
            cut,
            further: false,
            shortened: false,
            shown: 2,
            affected,
            writes,
            missing: None,
            dry_run: false,
        };
        let rows = Some(CutAt::Rows);
        for (rest, left_out, has, has_not) in [
            (TruncationHint::Rewrite, left_out(rows, -1, false), "OFFSET 2", "again"),
            (
                TruncationHint::Rewrite,
                left_out(rows, -1, true),
                "OFFSET 2 (a function that changes something",
                "do not",
            ),
            (
                TruncationHint::Rewrite,
                left_out(rows, 5, true),
                "all 5 rows were changed: do not run it again",
                "OFFSET",
            ),
            (
                TruncationHint::Parameters,
                left_out(rows, 5, true),
                "all 5 rows were changed: do not run it again",
                "maxRows",
            ),
            (TruncationHint::Parameters, left_out(rows, -1, true), "do not call it again", "OFFSET"),
            (
                TruncationHint::Parameters,
                left_out(rows, -1, false),
                "give parameters for which it returns less, or raise maxRows (at most 9)",
                "OFFSET",
            ),
            (
                TruncationHint::Parameters,
                left_out(Some(CutAt::Bytes), -1, false),
                "100 bytes: give parameters",
                "OFFSET",
            ),
            (TruncationHint::Narrow, left_out(rows, -1, false), "narrow the listing by names", "OFFSET"),
        ] {
            let hint = left_out.hint(Caps { rest, ..CAPS }).unwrap();
            assert!(hint.contains(has) && !hint.contains(has_not), "{hint}");
        }
        assert_eq!(left_out(None, 5, true).hint(CAPS), None);
        let further = Truncation { further: true, ..left_out(None, -1, true) };
        assert!(further.hint(CAPS).unwrap().contains("the first of several results"));
    }
}
