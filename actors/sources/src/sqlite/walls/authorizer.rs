//! The authorizer: SQLite asks it during compilation what a statement may do, so that no spelling can bypass it.
//! Opening read-only, `query_only` and the check of the compiled statement are further locks, in `connect/` and
//! `execute/`.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use rusqlite::hooks::{AuthAction, AuthContext, Authorization};

use crate::sqlite::failure::{no_table, outside, read_only, session, transaction, unavailable_here};
use crate::sqlite::functions::list;
use crate::sqlite::walls::hidden_objects::HiddenObjects;
use portico_core::error::Error;
use portico_core::mutex::lock;
use portico_sql::reads_only_pragma;

/// The authorizer's side that the session's thread holds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Authorizer {
    trusted: Arc<AtomicBool>,
    forbids_commits: Arc<AtomicBool>,
    refusal: Arc<Mutex<Option<Error>>>,
    scope: Arc<Mutex<Option<Scope>>>,
    likes: Arc<AtomicBool>,
    alters: Arc<AtomicBool>,
}

/// Tables of the engine's own modules that need no CREATE. A table of that name would shadow them, also in our own
/// statements.
const MODULES: &[&str] = &[
    "bytecode",
    "dbstat",
    "generate_series",
    "json_each",
    "json_tree",
    "jsonb_each",
    "jsonb_tree",
    "sqlite_stmt",
    "tables_used",
];

/// Whether a table or view of this name would stand in the place of the engine's own.
pub(crate) fn is_reserved(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name.starts_with("pragma_") || MODULES.contains(&name.as_str())
}

/// Returns the refusal of such a name.
pub(crate) fn reserved() -> Error {
    outside("a table or view that is named as one of the engine's own (pragma_…, json_each …)")
}

/// What is known about the statement that is being compiled, if something is hidden.
#[derive(Debug)]
struct Scope {
    hiding: Arc<HiddenObjects>,
    /// Whether a caller wrote it.
    by_caller: bool,
    /// Whether it writes: then the engine reads and writes other tables for their keys.
    writes: bool,
    reach: HiddenUse,
}

/// How a statement uses hidden objects, directly or indirectly.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct HiddenUse {
    /// It uses them in some way.
    pub(crate) uses: bool,
    /// It may add rows to it or change them.
    pub(crate) changes: bool,
}

impl Authorizer {
    /// Runs one of our own statements, which the authorizer admits.
    pub(crate) fn trusting<T>(&self, own: impl FnOnce() -> T) -> T {
        raised(&self.trusted, own)
    }

    /// Runs one of our own statements, in which every commit becomes a rollback.
    pub(crate) fn forbidding_commits<T>(&self, own: impl FnOnce() -> T) -> T {
        raised(&self.forbids_commits, || self.trusting(own))
    }

    /// Compiles a statement if something is hidden. Also returns how it uses hidden objects.
    pub(crate) fn scoped<T>(
        &self,
        hiding: &Arc<HiddenObjects>,
        by_caller: bool,
        compile: impl FnOnce() -> T,
    ) -> (T, HiddenUse) {
        let scope = || lock(&self.scope);
        *scope() = Some(Scope { hiding: Arc::clone(hiding), by_caller, writes: false, reach: HiddenUse::default() });
        let compiled = compile();
        let reach = scope().take().map(|scope| scope.reach).unwrap_or_default();
        (compiled, reach)
    }

    /// The callback for SQLite: whether the commit that begins is to be a rollback.
    pub(crate) fn commit_hook(&self) -> impl FnMut() -> bool + Send + 'static {
        let forbids = Arc::clone(&self.forbids_commits);
        move || forbids.load(Ordering::Relaxed)
    }

    /// Whether a statement used LIKE since this was last asked.
    pub(crate) fn likes(&self) -> bool {
        self.likes.swap(false, Ordering::Relaxed)
    }

    /// Whether a statement was compiled since this was last asked that may give a table another name: which one, the engine
    /// does not say.
    pub(crate) fn alters(&self) -> bool {
        self.alters.swap(false, Ordering::Relaxed)
    }

    /// Why something was refused since this was last asked.
    pub(crate) fn refusal(&self) -> Option<Error> {
        lock(&self.refusal).take()
    }

    /// The callback for SQLite. On a reader everything that writes is refused.
    pub(crate) fn callback(
        &self,
        writer: bool,
    ) -> impl for<'c> FnMut(AuthContext<'c>) -> Authorization + Send + 'static {
        let authorizer = self.clone();
        move |context| {
            if authorizer.trusted.load(Ordering::Relaxed) {
                return Authorization::Allow;
            }
            if matches!(context.action, AuthAction::Function { function_name } if function_name.eq_ignore_ascii_case("like"))
            {
                authorizer.likes.store(true, Ordering::Relaxed);
            }
            if matches!(context.action, AuthAction::AlterTable { .. }) {
                authorizer.alters.store(true, Ordering::Relaxed);
            }
            let hidden = || {
                let mut scope = lock(&authorizer.scope);
                scope.as_mut().and_then(|scope| scope.refuses(&context))
            };
            match judge(&context, writer).or_else(hidden) {
                None => Authorization::Allow,
                Some(refusal) => {
                    lock(&authorizer.refusal).get_or_insert(refusal);
                    Authorization::Deny
                }
            }
        }
    }
}

/// Runs `own` while `flag` is up. Where it panics, the session is thrown away with all its flags.
fn raised<T>(flag: &AtomicBool, own: impl FnOnce() -> T) -> T {
    flag.store(true, Ordering::Relaxed);
    let done = own();
    flag.store(false, Ordering::Relaxed);
    done
}

impl Scope {
    /// The second lock behind the visible schema: refuses access to hidden objects, as far as the engine
    /// distinguishes the caller's access from its own.
    fn refuses(&mut self, context: &AuthContext<'_>) -> Option<Error> {
        use AuthAction as A;
        let table = match context.action {
            A::Reindex { index_name: part }
            | A::DropIndex { index_name: part, .. }
            | A::DropTrigger { trigger_name: part, .. } => {
                if !self.hiding.belongings.has(part) {
                    return None;
                }
                self.reach.uses = true;
                let every = matches!(context.action, A::Reindex { .. });
                return self
                    .by_caller
                    .then(|| if every { unavailable_here("REINDEX of all tables") } else { no_table(part) });
            }
            A::Read { table_name, .. }
            | A::Insert { table_name }
            | A::Update { table_name, .. }
            | A::Delete { table_name }
            | A::AlterTable { table_name, .. }
            | A::Analyze { table_name }
            | A::CreateIndex { table_name, .. }
            | A::CreateTrigger { table_name, .. }
            | A::DropTable { table_name }
            | A::DropVtable { table_name, .. }
            | A::DropView { view_name: table_name } => table_name,
            _ => return None,
        };
        let wrote = self.writes;
        self.writes |= matches!(context.action, A::Insert { .. } | A::Update { .. } | A::Delete { .. });
        if !self.hiding.hidden.has(table) {
            return None;
        }
        self.reach.uses = true;
        self.reach.changes |= matches!(context.action, A::Insert { .. } | A::Update { .. });
        let by_owner = context.accessor.is_some_and(|accessor| self.hiding.agents.has(accessor));
        if !self.by_caller || by_owner {
            return None;
        }
        let by_engine = match context.action {
            // What a view reads is checked like this as well, once the engine has merged the view, and so is a name
            // of the statement's own WITH.
            A::Read { column_name: "", .. } => true,
            A::Read { .. } => wrote || !self.hiding.virtuals.is_empty(),
            A::Update { .. } | A::Delete { .. } => wrote,
            _ => false,
        };
        match context.action {
            _ if by_engine => None,
            A::Analyze { .. } => Some(unavailable_here("ANALYZE of all tables")),
            _ => Some(no_table(table)),
        }
    }
}

fn judge(context: &AuthContext<'_>, writer: bool) -> Option<Error> {
    use AuthAction as A;
    let temporary = || Some(session("temporary tables, views, indexes and triggers"));
    match context.action {
        A::Select | A::Read { .. } | A::Recursive => None,
        A::Function { function_name } => (!list::is_admitted(function_name)).then(|| {
            let why = list::refused(function_name).map(|why| format!(", which {why},")).unwrap_or_default();
            outside(&format!("the function {function_name}{why}"))
        }),
        A::Pragma { pragma_name, pragma_value } => {
            // One of them returns the file's path.
            let reads = reads_only_pragma(pragma_name, pragma_value.is_some())
                && !pragma_name.eq_ignore_ascii_case("database_list");
            let with = if pragma_value.is_some() { " with a value" } else { "" };
            (!reads).then(|| outside(&format!("PRAGMA {pragma_name}{with}")))
        }
        A::CreateTable { table_name: name }
        | A::CreateView { view_name: name }
        | A::CreateVtable { table_name: name, .. }
            if is_reserved(name) =>
        {
            Some(reserved())
        }
        A::Attach { .. } => Some(outside("ATTACH, and VACUUM, which uses it,")),
        A::Detach { .. } => Some(outside("DETACH")),
        A::Transaction { .. } | A::Savepoint { .. } => Some(transaction()),
        A::CreateTempIndex { .. }
        | A::CreateTempTable { .. }
        | A::CreateTempTrigger { .. }
        | A::CreateTempView { .. }
        | A::DropTempIndex { .. }
        | A::DropTempTable { .. }
        | A::DropTempTrigger { .. }
        | A::DropTempView { .. } => temporary(),
        A::Unknown { code, .. } => Some(outside(&format!("this operation (authorizer code {code})"))),
        A::Insert { table_name } | A::Delete { table_name } | A::Update { table_name, .. }
            if !writer && of_spatial_index(table_name) =>
        {
            None
        }
        _ if !writer => Some(read_only()),
        // Part of every ALTER TABLE … RENAME; SQLite itself refuses it in other statements.
        A::Update { table_name: "sqlite_temp_master" | "sqlite_temp_schema", .. } => None,
        _ if context.database_name == Some("temp") => temporary(),
        _ => None,
    }
}

/// Returns true if this may be a table behind an R*Tree, which compiles its own writing statements as soon as it is
/// read. What a caller compiles against such a table is stopped before its first step.
fn of_spatial_index(table: &str) -> bool {
    ["_node", "_rowid", "_parent"].iter().any(|suffix| table.ends_with(suffix))
}
