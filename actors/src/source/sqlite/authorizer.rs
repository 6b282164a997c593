//! What a caller's statement may do inside the engine: asked by SQLite while it compiles, so that
//! no spelling gets around it. Read-only opening, `query_only` and the check of the compiled
//! statement are further locks, in `opening` and `statement`.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::hooks::{AuthAction, AuthContext, Authorization};

/// Why the last statement was refused, in words for its caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// It would write where only reading is allowed.
    Write,
    /// BEGIN, COMMIT, SAVEPOINT and their kin.
    Transaction,
    /// It would leave something in the session for the next caller.
    Session(&'static str),
    /// It would reach outside this database, or change how the engine works.
    Outside(String),
}

/// A flag that is up until this is dropped.
struct Raised<'a>(&'a AtomicBool);

impl<'a> Raised<'a> {
    fn raise(flag: &'a AtomicBool) -> Self {
        flag.store(true, Ordering::Relaxed);
        Self(flag)
    }
}

impl Drop for Raised<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

/// The authorizer's side that the session's thread holds.
#[derive(Clone, Debug, Default)]
pub(super) struct Warden {
    trusted: Arc<AtomicBool>,
    forbids_commits: Arc<AtomicBool>,
    refusal: Arc<Mutex<Option<Refusal>>>,
}

impl Warden {
    /// Runs one of our own statements, which the authorizer lets pass.
    pub(super) fn trusting<T>(&self, own: impl FnOnce() -> T) -> T {
        let _reset = Raised::raise(&self.trusted);
        own()
    }

    /// Runs one of our own statements, in which every commit turns into a rollback.
    pub(super) fn forbidding_commits<T>(&self, own: impl FnOnce() -> T) -> T {
        let _reset = Raised::raise(&self.forbids_commits);
        self.trusting(own)
    }

    /// The callback for SQLite: whether the commit that begins is to be a rollback.
    pub(super) fn commit_hook(&self) -> impl FnMut() -> bool + Send + 'static {
        let forbids = Arc::clone(&self.forbids_commits);
        move || forbids.load(Ordering::Relaxed)
    }

    /// Why something was refused since this was last asked.
    pub(super) fn refusal(&self) -> Option<Refusal> {
        self.refusal.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// The callback for SQLite. On a reader everything that writes is refused.
    pub(super) fn authorizer(
        &self,
        writer: bool,
    ) -> impl for<'c> FnMut(AuthContext<'c>) -> Authorization + Send + 'static {
        let warden = self.clone();
        move |context| {
            if warden.trusted.load(Ordering::Relaxed) {
                return Authorization::Allow;
            }
            match judge(&context, writer) {
                None => Authorization::Allow,
                Some(refusal) => {
                    warden.refusal.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(refusal);
                    Authorization::Deny
                }
            }
        }
    }
}

/// Functions that reach outside the database, should a build of SQLite have them.
const OUTSIDE_FUNCTIONS: &[&str] = &["load_extension", "fts3_tokenizer", "readfile", "writefile", "edit", "sqlite_log"];

/// PRAGMAs that only read when they have no argument.
const READ_WITHOUT_ARGUMENT: &[&str] = &[
    "application_id",
    "auto_vacuum",
    "cache_size",
    "collation_list",
    "compile_options",
    "data_version",
    "encoding",
    "foreign_keys",
    "freelist_count",
    "function_list",
    "journal_mode",
    "module_list",
    "page_count",
    "page_size",
    "pragma_list",
    "query_only",
    "recursive_triggers",
    "schema_version",
    "user_version",
];

/// PRAGMAs that only read, and whose argument says what. `database_list` is not among them: it
/// tells the file's path.
const READ_WITH_ARGUMENT: &[&str] = &[
    "foreign_key_check",
    "foreign_key_list",
    "index_info",
    "index_list",
    "index_xinfo",
    "integrity_check",
    "quick_check",
    "table_info",
    "table_list",
    "table_xinfo",
];

fn judge(context: &AuthContext<'_>, writer: bool) -> Option<Refusal> {
    use AuthAction as A;
    let temporary = || Some(Refusal::Session("temporary tables, views, indexes and triggers"));
    match context.action {
        A::Select | A::Read { .. } | A::Recursive => None,
        A::Function { function_name } => {
            let outside = OUTSIDE_FUNCTIONS.iter().any(|name| name.eq_ignore_ascii_case(function_name));
            outside.then(|| Refusal::Outside(format!("the function {function_name}")))
        }
        A::Pragma { pragma_name, pragma_value } => {
            let listed = |list: &[&str]| list.iter().any(|name| name.eq_ignore_ascii_case(pragma_name));
            let reads = listed(READ_WITH_ARGUMENT) || (pragma_value.is_none() && listed(READ_WITHOUT_ARGUMENT));
            (!reads).then(|| match pragma_value {
                Some(_) => Refusal::Outside(format!("PRAGMA {pragma_name} with a value")),
                None => Refusal::Outside(format!("PRAGMA {pragma_name}")),
            })
        }
        A::Attach { .. } => Some(Refusal::Outside("ATTACH, and VACUUM, which uses it,".to_owned())),
        A::Detach { .. } => Some(Refusal::Outside("DETACH".to_owned())),
        A::Transaction { .. } | A::Savepoint { .. } => Some(Refusal::Transaction),
        A::CreateTempIndex { .. }
        | A::CreateTempTable { .. }
        | A::CreateTempTrigger { .. }
        | A::CreateTempView { .. }
        | A::DropTempIndex { .. }
        | A::DropTempTable { .. }
        | A::DropTempTrigger { .. }
        | A::DropTempView { .. } => temporary(),
        A::Unknown { code, .. } => Some(Refusal::Outside(format!("this operation (authorizer code {code})"))),
        A::Insert { table_name } | A::Delete { table_name } | A::Update { table_name, .. }
            if !writer && of_spatial_index(table_name) =>
        {
            None
        }
        _ if !writer => Some(Refusal::Write),
        // Part of every ALTER TABLE … RENAME; SQLite itself refuses it to anybody else.
        A::Update { table_name: "sqlite_temp_master" | "sqlite_temp_schema", .. } => None,
        _ if context.database_name == Some("temp") => temporary(),
        _ => None,
    }
}

/// Whether this may be a table behind an R*Tree, which compiles its own writers as soon as it is
/// read. What a caller compiles against such a table is stopped before its first step.
fn of_spatial_index(table: &str) -> bool {
    ["_node", "_rowid", "_parent"].iter().any(|suffix| table.ends_with(suffix))
}
