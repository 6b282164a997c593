//! Checks what a caller's statement uses, on a connection that hides something, gives its callers roles, or is
//! read-only. The server is asked how it understands each query ([`ask`], [`tree`]), and what that uses is checked
//! by OID ([`judge`], [`functions`]). For statements that the server cannot analyse, and for servers that cannot be
//! asked, names are checked instead ([`names`]). Admitted statements are cached by [`fingerprint`].
//!
//! Statements of an administrator and our own are not checked.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::join;

use crate::postgres::execute::envelope::options::ExecOptions;
use crate::postgres::execute::execution::Execution;
use crate::postgres::execute::sent_text::SentText;
use crate::postgres::session::context::CallContext;
use crate::postgres::session::handle::Session;
use crate::postgres::session::housekeeping::Housekeeping;
use crate::postgres::ttl_cache::TtlCache;
use crate::postgres::walls::admitted_statements::{AdmittedStatements, ExecutionHints, fingerprint};
use crate::postgres::walls::analyze::Analysis;
use crate::postgres::walls::names::hidden::{HiddenNames, NameCache};
use crate::postgres::walls::objects::{HiddenTables, hidden_children, is_system};
use crate::postgres::walls::policy::{CheckPolicy, PendingCheck, StatementUse};
use crate::postgres::walls::refusal::{Refusal, no_such, refused, writes};
use crate::postgres::walls::{analyze, autocommit_safety, functions, judge, plan, tree};
use crate::{Access, Exposure};
use portico_core::call::Argument;
use portico_core::error::{Error, Result};
use portico_core::identity::AssumedIdentity;
use portico_core::mutex::lock;
use portico_sql::{Class, Statement, StatementForm, statement_form};

/// The maximal number of cached walls for workspaces, which expose less than the connection.
const MOST_NARROWER: usize = 32;
/// How long it holds that a server could be asked, or could not.
const ABILITY: Duration = Duration::from_secs(60);
/// The maximal number of roles for which that is cached.
const MOST_ROLES: usize = 4_096;

/// The walls of one connection.
pub(crate) struct Walls {
    exposure: Arc<Exposure>,
    /// Reads the names of hidden objects.
    housekeeping: Arc<Housekeeping>,
    memory: AdmittedStatements,
    names: NameCache,
    /// Whether the server could be asked, by role.
    able: TtlCache<String, bool>,
    /// What these walls expose, if less than the connection does.
    within: Option<Arc<Exposure>>,
    /// The walls of workspaces, the most recent first.
    narrower: Mutex<Vec<Arc<Walls>>>,
}

impl Walls {
    /// Makes the walls for `exposure`.
    pub(crate) fn new(exposure: Arc<Exposure>, housekeeping: Arc<Housekeeping>) -> Self {
        Self {
            exposure,
            housekeeping,
            memory: AdmittedStatements::default(),
            names: NameCache::default(),
            able: TtlCache::new(ABILITY, MOST_ROLES),
            within: None,
            narrower: Mutex::default(),
        }
    }

    /// Returns the walls for `narrower` within this exposure; these themselves without it.
    pub(crate) fn around(self: &Arc<Self>, narrower: Option<&Exposure>) -> Arc<Self> {
        let Some(narrower) = narrower else { return Arc::clone(self) };
        let mut known = lock(&self.narrower);
        let found = known.iter().position(|walls| walls.within.as_deref() == Some(narrower));
        let walls = match found {
            Some(at) => known.remove(at),
            None => Arc::new(Self {
                within: Some(Arc::new(narrower.clone())),
                ..Self::new(Arc::new(self.exposure.intersection(narrower)), Arc::clone(&self.housekeeping))
            }),
        };
        known.insert(0, Arc::clone(&walls));
        known.truncate(MOST_NARROWER);
        walls
    }

    /// Whether something is hidden.
    pub(crate) fn hides(&self) -> bool {
        !self.exposure.is_everything()
    }

    /// Refuses a default schema that is hidden: unqualified names would refer to what is in it, also within a
    /// routine.
    pub(crate) fn admit_schema(&self, schema: Option<&str>) -> Result<()> {
        match schema {
            Some(schema) if self.hides() && (is_system(schema) || !self.exposure.shows_schema(schema)) => {
                let missing = format!("schema \"{schema}\" does not exist");
                Err(Error::not_found(missing).sqlstate("3F000").judged())
            }
            _ => Ok(()),
        }
    }

    /// A statement's definitions may have changed the catalogue.
    pub(crate) fn forget(&self) {
        self.memory.forget();
        self.names.forget();
        for walls in lock(&self.narrower).iter() {
            walls.forget();
        }
    }

    /// Returns what must be checked of a caller's statement before it runs. Returns `None` if nothing must be
    /// checked, and then the hints of a recently admitted statement with this fingerprint, if there is one. `alone`
    /// says that no other statement precedes it in its transaction. The statement's text is replaced by the one
    /// that is checked.
    ///
    /// # Errors
    /// The statement is of a kind that is not available here.
    pub(crate) fn guard(
        &self,
        statement: &mut Statement,
        (values, default_schema): (&[Argument], Option<&str>),
        (options, by): (ExecOptions, &AssumedIdentity),
        extent: StatementUse,
    ) -> Result<(Option<PendingCheck>, ExecutionHints)> {
        let read_only = options.access == Access::ReadOnly && extent != StatementUse::Described;
        let alone = extent != StatementUse::Among;
        let guard = CheckPolicy { hides: self.hides(), identity: by.is_some(), read_only };
        if !guard.stands() {
            return Ok((None, ExecutionHints::default()));
        }
        self.admit_schema(default_schema)?;
        let fingerprint = alone.then(|| fingerprint(&statement.text, (values, default_schema), (guard, false), by));
        if let Some(admission) = fingerprint.and_then(|fingerprint| self.memory.get(&fingerprint)) {
            return Ok((None, admission));
        }
        let (form, plain) = statement_form(&statement.text);
        if let Some(plain) = plain {
            statement.text = plain;
        }
        match &form {
            StatementForm::Show(setting) if guard.hides && !functions::is_harmless_setting(setting) => {
                return Err(refused(&format!("SHOW {setting}")));
            }
            StatementForm::Query | StatementForm::Explain { .. } | StatementForm::Show(_) => {}
            StatementForm::CreateAs { .. }
            | StatementForm::SelectInto { .. }
            | StatementForm::Call
            | StatementForm::Definition
                if !read_only => {}
            // It may not be a statement at all, which the server reports best.
            StatementForm::Other(_) if alone => {}
            StatementForm::Other(word) if !read_only => {
                return Err(refused(if word.is_empty() { "this statement" } else { word }));
            }
            _ => return Err(writes()),
        }
        // Their output can be filtered only if the statement is alone.
        if !matches!(extent, StatementUse::Alone | StatementUse::Described)
            && guard.hides
            && matches!(form, StatementForm::Explain { .. } | StatementForm::Show(_))
        {
            return Err(refused("EXPLAIN or SHOW in a batch or a script").hint("send it in a call of its own"));
        }
        // The server looks at its names when it runs, which it does not.
        if extent == StatementUse::Described && form == StatementForm::Definition {
            return Ok((None, ExecutionHints::default()));
        }
        let fingerprint = fingerprint.map(|fingerprint| (fingerprint, self.memory.generation()));
        let pending = PendingCheck::new(statement, form, guard, fingerprint);
        let pending = PendingCheck { within: self.within.clone(), estimates: options.estimates, extent, ..pending };
        Ok((Some(pending), ExecutionHints::default()))
    }

    /// Returns what a statement of an administrator can run without; or the check that finds that out, if it is not
    /// cached. It is never refused.
    pub(crate) fn advise(
        &self,
        statement: &Statement,
        (values, default_schema): (&[Argument], Option<&str>),
        (options, by): (ExecOptions, &AssumedIdentity),
        extent: StatementUse,
    ) -> (Option<PendingCheck>, ExecutionHints) {
        let guard = CheckPolicy { hides: false, identity: by.is_some(), read_only: options.access == Access::ReadOnly };
        let may_gain = guard.read_only && !guard.identity && statement.class == Class::Select;
        if extent != StatementUse::Alone || !may_gain || default_schema.is_some() {
            return (None, ExecutionHints::default());
        }
        let fingerprint = fingerprint(&statement.text, (values, default_schema), (guard, true), by);
        if let Some(admission) = self.memory.get(&fingerprint) {
            return (None, admission);
        }
        let known = Some((fingerprint, self.memory.generation()));
        let pending =
            PendingCheck { advisory: true, ..PendingCheck::new(statement, StatementForm::Query, guard, known) };
        if statement_form(&statement.text) != (StatementForm::Query, None) {
            self.advised_nothing(&pending);
            return (None, ExecutionHints::default());
        }
        (Some(pending), ExecutionHints::default())
    }

    /// Caches that the statement of `guarded` needs everything.
    pub(crate) fn advised_nothing(&self, guarded: &PendingCheck) {
        if let Some((fingerprint, generation)) = guarded.fingerprint {
            self.memory.insert(fingerprint, generation, ExecutionHints::default());
        }
    }

    /// Checks the statement of `execution` by the server's analysis, or by its names.
    pub(crate) async fn inspect(
        &self,
        session: &Session,
        execution: &Execution,
        guarded: &PendingCheck,
        context: &CallContext,
    ) -> Result<(), Refusal> {
        let Some(query) = self.query(guarded, execution).await? else { return Ok(()) };
        if self.able(execution) == Some(false) {
            return Ok(self.judge_by_names(guarded, execution).await?);
        }
        let text = query_text(guarded, &query);
        match analyze::ask(session, execution, &text, context).await {
            Ok(Analysis::Tree(tree)) => {
                self.is_able(execution, true);
                let judged = self.judge(session, &tree, guarded).await;
                let lasting = judged.map_err(|error| placed(error, execution))?;
                analyze::undo(session, execution).await?;
                if let Some(admission) = lasting {
                    self.remember(guarded, admission);
                }
                Ok(())
            }
            Ok(Analysis::NoQuery) => Err(no_query(guarded).into()),
            Ok(Analysis::Refused(error)) => {
                let before = guarded.part(0..query.start).chars().count();
                let shift = analyze::shift().saturating_sub(before);
                let end = analyze::shift() + text.chars().count();
                self.refused(&error, (shift, end), session, (execution, guarded), context).await
            }
            Err(error) => Err(Refusal::of_server(error)),
        }
    }

    /// Returns the part of the statement that is a query, once the rest was checked by its names; `None` if there
    /// is none.
    async fn query(&self, guarded: &PendingCheck, execution: &Execution) -> Result<Option<Range<usize>>> {
        let whole = 0..guarded.text.len();
        let (rest, query) = match &guarded.form {
            StatementForm::Query | StatementForm::Other(_) => (None, Some(whole)),
            StatementForm::Explain { query, target, .. } => (target.clone(), Some(query.clone())),
            StatementForm::CreateAs { head, query } => (Some(head.clone()), Some(query.clone())),
            StatementForm::SelectInto { into } => (Some(into.clone()), Some(whole)),
            StatementForm::Definition | StatementForm::Call => (Some(whole), None),
            StatementForm::Show(_) => (None, None),
        };
        // A statement that is only described creates nothing: the server analyses the query alone.
        if let Some(rest) = rest.filter(|_| guarded.extent != StatementUse::Described || query.is_none()) {
            // Names that are known from before lack what was made since: a definition could rename it into sight.
            let names = self.names_now(guarded.guard).await;
            let admitted = names.and_then(|names| names.admit(guarded.part(rest), guarded.guard));
            admitted.map_err(|error| placed(error, execution))?;
        }
        Ok(query)
    }

    /// Caches the hints for every statement with the fingerprint of `guarded`, if they depend on nothing else.
    fn remember(&self, guarded: &PendingCheck, admission: ExecutionHints) {
        let Some((fingerprint, generation)) = guarded.fingerprint else { return };
        match &guarded.form {
            StatementForm::Query => self.memory.insert(fingerprint, generation, admission),
            // An option's meaning may depend on a literal, and the output of a plan depends on what is hidden.
            StatementForm::Explain { query, target: None, .. }
                if !guarded.guard.hides && has_words_alone(guarded.part(0..query.start)) =>
            {
                self.memory.insert(fingerprint, generation, ExecutionHints::default());
            }
            _ => {}
        }
    }

    /// Returns the refusal for an `error` of the analysis. The statement starts after `shift` characters of its
    /// text, and ends before `end`.
    pub(crate) async fn refused(
        &self,
        error: &tokio_postgres::Error,
        (shift, end): (usize, usize),
        session: &Session,
        (execution, guarded): (&Execution, &PendingCheck),
        context: &CallContext,
    ) -> Result<(), Refusal> {
        if self.able(execution).is_none() && analyze::may_be_unable(error) && execution.position.begins {
            analyze::undo(session, execution).await?;
            let able = analyze::can_be_asked(session, execution, context).await;
            self.is_able(execution, able);
            if !able {
                return Ok(self.judge_by_names(guarded, execution).await?);
            }
        }
        let needs_names = guarded.guard.hides || guarded.guard.identity;
        if analyze::names_no_dependency(error) && !needs_names {
            analyze::undo(session, execution).await?;
            return Ok(self.judge_by_names(guarded, execution).await?);
        }
        if analyze::is_behind(error, end) || analyze::tells_its_end(error) {
            // The server found the end of the question where the statement's own should be.
            analyze::undo(session, execution).await?;
            if let Err(own) = session.prepare_typed(&execution.text, &[]).await {
                return Err(Refusal::of_server(execution.failure(&own, &SentText::SAME)));
            }
        }
        Err(Refusal::of_server(execution.failure(error, &SentText::behind(shift))))
    }

    /// Returns the hints for every statement of this fingerprint; `None` if the verdict holds for this statement
    /// alone.
    async fn judge(&self, session: &Session, tree: &str, guarded: &PendingCheck) -> Result<Option<ExecutionHints>> {
        let uses = tree::read(tree)
            .map_err(|what| refused("this form of statement").because(format!("the server's tree holds {what}")))?;
        // A statement that is only planned changes nothing.
        let planned = matches!(guarded.form, StatementForm::Explain { runs: false, .. });
        if guarded.guard.read_only && !planned && !uses.only_reads() {
            return Err(writes());
        }
        // Rarely needed, and large.
        let asked = Box::pin(join(
            judge::judge(session, &uses, guarded.guard, &self.exposure),
            autocommit_safety::is_plain(session, &uses, guarded.guard),
        ));
        let (judged, plain) = asked.await;
        let called = judged?;
        if guarded.guard.hides
            && let Some(options) = guarded.explain_options()
            && (options.contains("SETTINGS") || plan::goes_behind(session, &uses, &self.exposure).await?)
        {
            guarded.tell_briefly()?;
        }
        let admission = if plain? { autocommit_safety::admission(&uses, &called)? } else { ExecutionHints::default() };
        Ok((!uses.depends_on_literals()).then_some(admission))
    }

    /// The judgement where the server cannot be asked.
    async fn judge_by_names(&self, guarded: &PendingCheck, execution: &Execution) -> Result<()> {
        if !guarded.understood
            || matches!(guarded.form, StatementForm::Other(_))
            || (guarded.guard.read_only && guarded.class != Class::Select)
        {
            let why = "this statement, which was not fully understood and which the server cannot be asked about,";
            return Err(refused(why));
        }
        if guarded.guard.hides {
            guarded.tell_briefly()?;
        }
        let admitted = self.names(guarded.guard).await.and_then(|names| names.admit(&guarded.text, guarded.guard));
        admitted.map_err(|error| placed(error, execution))
    }

    /// The names that are hidden, as they were read lately.
    pub(crate) async fn names(&self, guard: CheckPolicy) -> Result<Arc<HiddenNames>> {
        match self.names.get(guard) {
            Some(names) => Ok(names),
            None => self.names.read(&*self.housekeeping.client().await?, guard, &self.exposure, false).await,
        }
    }

    /// The names that are hidden now.
    async fn names_now(&self, guard: CheckPolicy) -> Result<Arc<HiddenNames>> {
        self.names.read(&*self.housekeeping.client().await?, guard, &self.exposure, true).await
    }

    /// Returns the tables that are hidden because of what they inherit from; empty if nothing is hidden.
    pub(crate) async fn hidden_children(&self) -> Result<HiddenTables> {
        if !self.hides() {
            return Ok(HiddenTables::new());
        }
        let client = self.housekeeping.client().await?;
        hidden_children(&client, &self.exposure).await
    }

    fn able(&self, execution: &Execution) -> Option<bool> {
        self.able.get(role(execution))
    }

    fn is_able(&self, execution: &Execution, is: bool) {
        self.able.insert(role(execution).to_owned(), is);
    }
}

/// The query of a statement as the server is asked about it: with blanks in the place of an INTO.
fn query_text<'g>(guarded: &'g PendingCheck, query: &Range<usize>) -> Cow<'g, str> {
    let mut text = Cow::Borrowed(guarded.part(query.clone()));
    let into = match &guarded.form {
        StatementForm::SelectInto { into } => Some(into),
        StatementForm::Explain { target, .. } => target.as_ref().filter(|target| query.contains(&target.start)),
        _ => None,
    };
    if let Some(into) = into {
        let into = into.start - query.start..into.end - query.start;
        let blank: String = text.get(into.clone()).unwrap_or_default().chars().map(|_| ' ').collect();
        text.to_mut().replace_range(into, &blank);
    }
    text
}

/// Returns the refusal of a statement that the server does not accept as a query.
fn no_query(guarded: &PendingCheck) -> Error {
    match &guarded.form {
        _ if guarded.guard.read_only => writes(),
        StatementForm::Other(word) if !word.is_empty() => refused(word),
        _ => refused("this kind of statement"),
    }
}

/// Whether a text has words and signs alone: no literal, and no name in quotes.
fn has_words_alone(text: &str) -> bool {
    text.bytes().all(|octet| octet.is_ascii_alphabetic() || b" \t\n\r(),_".contains(&octet))
}

fn role(execution: &Execution) -> &str {
    execution.identity.as_ref().map_or("", |identity| identity.role.as_str())
}

/// The failure with the name as the caller wrote it, and its place.
fn placed(error: Error, execution: &Execution) -> Error {
    if error.get_position().is_some() || error.get_sqlstate() != Some("42P01") {
        return error;
    }
    let names = execution.origin.iter().flat_map(|statement| &statement.names);
    let found = names.filter(|name| !name.called).find(|name| {
        let written = name.parts.join(".");
        name.parts.iter().chain([&written]).any(|part| error.message.contains(&format!("\"{part}\"")))
    });
    match found {
        Some(name) if error.get_hint().is_none() => no_such(&name.parts.join(".")).position(name.position),
        Some(name) => error.position(name.position),
        None => error,
    }
}
