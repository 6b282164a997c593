//! Errors in terms that both protocols share: a kind that decides the form of the answer, and text for the reader
//! who can fix the cause. HTTP statuses and JSON-RPC codes do not live here.

use std::fmt;
use std::time::Duration;

/// Classifies a failure: who can fix it and how the caller should react. Statuses and codes derive from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The request itself is wrong; the message names the field.
    Invalid,
    /// No valid credential.
    Unauthenticated,
    /// A valid credential that does not allow this: connection, scope, or read-only access.
    Forbidden,
    /// No such connection, schema, table or procedure.
    NotFound,
    /// The source refused the statement: syntax, type, unknown column.
    Rejected,
    /// A constraint, a serialization failure or a deadlock: the same statement may succeed later.
    Conflict,
    /// The statement ran into its timeout and was cancelled at the source.
    TimedOut,
    /// The caller no longer waits for the answer; the statement was cancelled at the source.
    Abandoned,
    /// Too many calls are running or waiting.
    Busy,
    /// The source is away; see [`Error::retry_after`].
    Unavailable,
    /// A body, a statement or a requested bound is over its limit.
    TooLarge,
    /// A fault of the service. Its message never leaves the process.
    Internal,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 12] = [
        Self::Invalid,
        Self::Unauthenticated,
        Self::Forbidden,
        Self::NotFound,
        Self::Rejected,
        Self::Conflict,
        Self::TimedOut,
        Self::Abandoned,
        Self::Busy,
        Self::Unavailable,
        Self::TooLarge,
        Self::Internal,
    ];

    /// One lower-case word for logs and audit records.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Invalid => "invalid",
            Self::Unauthenticated => "unauthenticated",
            Self::Forbidden => "forbidden",
            Self::NotFound => "not-found",
            Self::Rejected => "rejected",
            Self::Conflict => "conflict",
            Self::TimedOut => "timed-out",
            Self::Abandoned => "abandoned",
            Self::Busy => "busy",
            Self::Unavailable => "unavailable",
            Self::TooLarge => "too-large",
            Self::Internal => "internal",
        }
    }
}

/// An error with everything that its reader may need.
///
/// `message`, `hint` and `detail` are for the caller and contain no secret, no host name and no path. The cause
/// given to [`Error::because`] is for the log alone.
#[derive(Clone, Debug)]
pub struct Error {
    /// What kind of failure this is.
    pub kind: Kind,
    /// One sentence for the caller.
    pub message: String,
    more: Option<Box<More>>,
}

#[derive(Clone, Debug, Default)]
struct More {
    hint: Option<String>,
    detail: Option<String>,
    sqlstate: Option<String>,
    position: Option<usize>,
    retry_after: Option<Duration>,
    needs: Option<&'static str>,
    quota: Option<Quota>,
    cause: Option<String>,
    missing: Option<Missing>,
    site: Option<Site>,
    judged: bool,
    credential: Option<String>,
    claimed: Option<String>,
}

/// Where at the source an error arose.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Site {
    /// True if it arose within a routine or a trigger, and not in the caller's own statement.
    pub within: bool,
    /// Raised by the author of a routine.
    pub raised: bool,
    /// Schema and name of the relation concerned, if the source reports them in fields of their own.
    pub relation: Option<(String, String)>,
}

/// The reason for which the source refused a statement, if its catalogue can tell the remedy: mostly a name that is
/// missing or ambiguous.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Missing {
    /// A column, and the table or alias that qualifies it in the statement, if any.
    Column {
        /// The qualifier in front of the dot.
        of: Option<String>,
        /// Its name, as the source understood it.
        name: String,
    },
    /// A column that several tables of the statement have.
    Ambiguous(String),
    /// A function, with its schema if the statement names one.
    Routine(String),
    /// A label of an enumeration, or a field of a composite type.
    Label {
        /// The type.
        of: String,
        /// What was given.
        given: String,
    },
    /// A type.
    Type(String),
    /// A word in the place of a name that needs quotes.
    Quotes(String),
    /// The columns of a table that may be read, where not all of it may.
    Readable(String),
    /// A unique key for ON CONFLICT.
    UniqueKey,
    /// The rule of a check that is violated.
    Rule {
        /// The table's schema.
        schema: String,
        /// The table.
        table: String,
        /// The name of the check.
        check: String,
    },
}

impl Missing {
    /// Replaces the names by those that `rename` returns.
    #[must_use]
    pub fn renamed(&self, rename: impl Fn(&str) -> String) -> Self {
        match self {
            Self::Column { of, name } => Self::Column { of: of.as_deref().map(&rename), name: rename(name) },
            Self::Ambiguous(name) => Self::Ambiguous(rename(name)),
            Self::Routine(name) => Self::Routine(rename(name)),
            Self::Label { of, given } => Self::Label { of: rename(of), given: rename(given) },
            Self::Type(name) => Self::Type(rename(name)),
            Self::Quotes(word) => Self::Quotes(rename(word)),
            Self::Readable(table) => Self::Readable(rename(table)),
            Self::UniqueKey => Self::UniqueKey,
            Self::Rule { schema, table, check } => {
                Self::Rule { schema: rename(schema), table: rename(table), check: rename(check) }
            }
        }
    }
}

/// The state of a rate limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    /// The limit's name.
    pub policy: &'static str,
    /// The number of requests allowed.
    pub most: u32,
    /// The window of time that they are counted in.
    pub window: Duration,
    /// The number of requests left now.
    pub remaining: u32,
    /// When the next request is allowed if none is left; else when the full quota is available again.
    pub reset: Duration,
}

/// The maximal length in bytes of a text in an error: sources, and callers through them, write texts of any length.
pub const LONGEST_TEXT: usize = 8 * 1024;

/// Truncates `text` to [`LONGEST_TEXT`].
pub fn bounded(text: String) -> String {
    cut(text, LONGEST_TEXT)
}

/// Truncates `text` to `longest` bytes.
pub fn cut(mut text: String, longest: usize) -> String {
    const CUT: &str = " … (cut)";
    if text.len() > longest {
        text.truncate(text.floor_char_boundary(longest.saturating_sub(CUT.len())));
        text.push_str(CUT);
        text.shrink_to_fit();
    }
    text
}

impl Error {
    /// Makes an error of `kind` with `message`.
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self { kind, message: bounded(message.into()), more: None }
    }

    /// An invalid request: `message` names the field and the remedy.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(Kind::Invalid, message)
    }

    /// A missing or invalid credential.
    pub fn unauthenticated(message: impl Into<String>) -> Self {
        Self::new(Kind::Unauthenticated, message)
    }

    /// A credential without the right to this.
    pub fn forbidden(message: impl Into<String>) -> Self {
        Self::new(Kind::Forbidden, message)
    }

    /// Something named does not exist, or not for this caller.
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(Kind::NotFound, message)
    }

    /// A fault of the service: `cause` goes to the log, the caller reads a fixed sentence.
    pub fn internal(cause: impl fmt::Display) -> Self {
        Self::new(Kind::Internal, "internal error; the log has it under this request id").because(cause)
    }

    /// Copies the error for another caller who waited for the same result.
    #[must_use]
    pub fn again(&self) -> Self {
        Self { kind: self.kind, message: self.message.clone(), more: self.more.clone() }
    }

    /// Applies `add` to a value if one is given.
    #[must_use]
    pub fn with<T>(self, given: Option<T>, add: impl FnOnce(Self, T) -> Self) -> Self {
        match given {
            Some(given) => add(self, given),
            None => self,
        }
    }

    /// Adds what the reader can do about it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.more().hint = Some(bounded(hint.into()));
        self
    }

    /// Adds the source's own detail.
    #[must_use]
    pub fn detail(mut self, detail: impl Into<String>) -> Self {
        self.more().detail = Some(bounded(detail.into()));
        self
    }

    /// Adds the five-character SQLSTATE of the SQL standard.
    #[must_use]
    pub fn sqlstate(mut self, sqlstate: impl Into<String>) -> Self {
        self.more().sqlstate = Some(sqlstate.into());
        self
    }

    /// Adds the position in the statement as the caller sent it, in characters counted from 1.
    #[must_use]
    pub fn position(mut self, position: usize) -> Self {
        self.more().position = Some(position);
        self
    }

    /// Removes the position: it refers to a text that the reader has not seen.
    #[must_use]
    pub fn without_position(mut self) -> Self {
        if let Some(more) = &mut self.more {
            more.position = None;
        }
        self
    }

    /// Adds the time after which another attempt makes sense.
    #[must_use]
    pub fn retry_after(mut self, delay: Duration) -> Self {
        self.more().retry_after = Some(delay);
        self
    }

    /// Adds the scope that would have been sufficient, for the challenge of RFC 6750 §3.1.
    #[must_use]
    pub fn needs(mut self, scope: &'static str) -> Self {
        self.more().needs = Some(scope);
        self
    }

    /// A rate limit is used up; `message` names it.
    pub fn throttled(message: impl Into<String>, quota: Quota) -> Self {
        let mut error = Self::new(Kind::Busy, message).retry_after(quota.reset);
        error.more().quota = Some(quota);
        error
    }

    /// Adds the inner cause for the log; callers never see it.
    #[must_use]
    pub fn because(mut self, cause: impl fmt::Display) -> Self {
        self.more().cause = Some(bounded(cause.to_string()));
        self
    }

    /// Adds the missing name, so that similar names can be suggested.
    #[must_use]
    pub fn missing(mut self, missing: Missing) -> Self {
        self.more().missing = Some(missing);
        self
    }

    /// Adds where at the source it arose.
    #[must_use]
    pub fn at(mut self, site: Site) -> Self {
        self.more().site = Some(site);
        self
    }

    /// Returns where at the source it arose, if known.
    pub fn get_site(&self) -> Option<&Site> {
        self.more.as_ref()?.site.as_ref()
    }

    /// Returns the missing name, if similar names can be suggested.
    pub fn get_missing(&self) -> Option<&Missing> {
        self.more.as_ref()?.missing.as_ref()
    }

    /// Marks the text as our own: it names nothing that the reader did not name.
    #[must_use]
    pub fn judged(mut self) -> Self {
        self.more().judged = true;
        self
    }

    /// Returns true if the text is our own and names nothing that the reader did not name.
    pub fn is_judged(&self) -> bool {
        self.more.as_ref().is_some_and(|more| more.judged)
    }

    /// Adds the id of the refused credential, for the audit trail alone.
    #[must_use]
    pub fn of_credential(mut self, id: impl Into<String>) -> Self {
        self.more().credential = Some(id.into());
        self
    }

    /// Adds the identity that the refused caller claims, for the audit trail alone.
    #[must_use]
    pub fn claimed(mut self, name: impl Into<String>) -> Self {
        self.more().claimed = Some(name.into());
        self
    }

    /// Returns what the reader can do about it.
    pub fn get_hint(&self) -> Option<&str> {
        self.more.as_ref()?.hint.as_deref()
    }

    /// Returns the source's own detail.
    pub fn get_detail(&self) -> Option<&str> {
        self.more.as_ref()?.detail.as_deref()
    }

    /// Returns the SQLSTATE, if the source gave one.
    pub fn get_sqlstate(&self) -> Option<&str> {
        self.more.as_ref()?.sqlstate.as_deref()
    }

    /// Returns the position in the statement, in characters counted from 1.
    pub fn get_position(&self) -> Option<usize> {
        self.more.as_ref()?.position
    }

    /// Returns the time after which another attempt makes sense.
    pub fn get_retry_after(&self) -> Option<Duration> {
        self.more.as_ref()?.retry_after
    }

    /// Returns the scope that would have been sufficient.
    pub fn get_needs(&self) -> Option<&'static str> {
        self.more.as_ref()?.needs
    }

    /// Returns the rate limit that is used up.
    pub fn get_quota(&self) -> Option<&Quota> {
        self.more.as_ref()?.quota.as_ref()
    }

    /// Returns the inner cause, for the log alone.
    pub fn cause(&self) -> Option<&str> {
        self.more.as_ref()?.cause.as_deref()
    }

    /// Returns the id of the refused credential, for the audit trail alone.
    pub fn get_credential(&self) -> Option<&str> {
        self.more.as_ref()?.credential.as_deref()
    }

    /// Returns the identity that the refused caller claims, for the audit trail alone.
    pub fn get_claimed(&self) -> Option<&str> {
        self.more.as_ref()?.claimed.as_deref()
    }

    fn more(&mut self) -> &mut More {
        self.more.get_or_insert_with(Box::default)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

/// The result type of everything behind the mailbox.
pub type Result<T, E = Error> = std::result::Result<T, E>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_of_an_error_is_longer_than_its_bound() {
        let long = "é".repeat(LONGEST_TEXT);
        let error = Error::new(Kind::Rejected, long.as_str()).hint(long.as_str()).detail(long.as_str()).because(&long);
        let texts = [Some(error.message.as_str()), error.get_hint(), error.get_detail(), error.cause()];
        for text in texts.map(Option::unwrap) {
            assert!(text.len() <= LONGEST_TEXT && text.len() > LONGEST_TEXT - 16 && text.ends_with("(cut)"), "{text}");
        }
        assert_eq!(Error::invalid("short").message, "short");
    }
}
