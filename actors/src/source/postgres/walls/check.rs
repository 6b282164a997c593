//! What a caller's statement may do on a connection that hides something, gives its callers roles, or
//! only reads. The server is asked what it understood of each query ([`ask`], [`tree`]) and what that
//! uses is judged by number ([`judge`], [`functions`]); for statements of which the server tells nothing,
//! and for servers that cannot be asked, names stand in ([`names`]). What was admitted is remembered by
//! its shape ([`shape`]).
//!
//! What an administrator wrote, and our own statements, are not judged.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use crate::call::Argument;
use crate::error::{Error, Result};
use crate::identity::Assumed;
use crate::source::postgres::bind::inference;
use crate::source::postgres::bind::shape::{Memory, Shape};
use crate::source::postgres::catalog::cache::Knowledge;
use crate::source::postgres::execute::statement::Job;
use crate::source::postgres::execute::transaction::Terms;
use crate::source::postgres::session::clock::Clock;
use crate::source::postgres::session::handle::Session;
use crate::source::postgres::walls::ask::Answer;
use crate::source::postgres::walls::names::hidden;
use crate::source::postgres::walls::names::hidden::{Latest, Names};
use crate::source::postgres::walls::told::{Refusal, placed};
use crate::source::postgres::walls::{ask, functions, judge, plan, tree};
use crate::source::{Access, Exposure};
use crate::sql::{Class, Outline, Statement, outline};

/// How long it holds that a server could be asked, or could not.
const ABILITY: Duration = Duration::from_secs(60);

/// Which walls stand around a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Guard {
    /// Something is hidden on this connection.
    pub(crate) hides: bool,
    /// Callers have roles of their own.
    pub(crate) identity: bool,
    /// The statement may not write.
    pub(crate) read_only: bool,
}

impl Guard {
    fn stands(self) -> bool {
        self.hides || self.identity || self.read_only
    }

    fn word(self) -> &'static str {
        match (self.hides, self.identity, self.read_only) {
            (false, false, false) => "n",
            (false, false, true) => "r",
            (false, true, false) => "i",
            (false, true, true) => "ir",
            (true, false, false) => "h",
            (true, false, true) => "hr",
            (true, true, false) => "hi",
            (true, true, true) => "hir",
        }
    }
}

/// What is done with a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// It runs, and nothing that ran before it in its transaction can have changed what names mean.
    Alone,
    /// It runs behind others in one transaction.
    Among,
    /// It runs once for each set of values.
    Repeated,
    /// Its columns are told, and it does not run.
    Described,
}

/// A statement that has to be judged before it runs.
pub(crate) struct Guarded {
    pub(crate) guard: Guard,
    pub(crate) outline: Outline,
    /// Its text as it will be sent, but for a trace behind it.
    pub(crate) text: String,
    /// By which it is remembered, where that is allowed.
    pub(crate) shape: Option<(Shape, u64)>,
    /// Whether the reader understood it, and what class it found.
    pub(crate) understood: bool,
    pub(crate) class: Class,
    /// Set where its plan may hold what is hidden: then conditions and columns are not told.
    pub(crate) brief: OnceLock<()>,
}

impl Guarded {
    /// Whether nothing that runs before it in its transaction can change what its names mean.
    pub(crate) fn is_alone(&self) -> bool {
        self.shape.is_some()
    }

    /// Whether it stands where something is hidden.
    pub(crate) fn hides(&self) -> bool {
        self.guard.hides
    }

    /// Whether the server finds what it names only when it runs.
    pub(crate) fn is_definition(&self) -> bool {
        self.outline == Outline::Definition
    }

    /// Whether it makes or changes what has a name.
    pub(crate) fn makes(&self) -> bool {
        matches!(self.outline, Outline::Definition | Outline::CreateAs { .. } | Outline::SelectInto { .. })
    }

    /// Whether of its plan only the nodes are told.
    pub(crate) fn is_brief(&self) -> bool {
        self.brief.get().is_some()
    }

    /// The plan may hold what is hidden: of formats that are one value nothing can be left out.
    fn tell_briefly(&self) -> Result<()> {
        let Outline::Explain { query, .. } = &self.outline else { return Ok(()) };
        let options = self.text.get(..query.start).unwrap_or_default().to_ascii_uppercase();
        if ["JSON", "XML", "YAML"].iter().any(|format| options.contains(format)) {
            let what = "EXPLAIN in this format, of what reads something through a view, a policy or a function,";
            return Err(judge::refused(what).hint("leave FORMAT out: the nodes of the plan are told as text"));
        }
        self.brief.get_or_init(|| ());
        Ok(())
    }
}

/// The walls of one connection.
pub(crate) struct Walls {
    exposure: Arc<Exposure>,
    memory: Memory,
    names: Latest,
    /// Whether the server could be asked, by role.
    able: Mutex<HashMap<String, (bool, Instant)>>,
}

impl Walls {
    /// The walls for what `exposure` shows.
    pub(crate) fn new(exposure: Arc<Exposure>) -> Self {
        Self { exposure, memory: Memory::default(), names: Latest::default(), able: Mutex::default() }
    }

    /// Whether something is hidden.
    pub(crate) fn hides(&self) -> bool {
        !self.exposure.is_everything()
    }

    /// A statement's definitions may have changed the catalogue.
    pub(crate) fn forget(&self) {
        self.memory.forget();
        self.names.forget();
    }

    /// What has to be judged of a caller's statement before it runs; `None` where nothing has to be, also
    /// because its shape was admitted lately. `alone` says that no other statement runs before it in its
    /// transaction. The statement's text becomes the one that is judged.
    ///
    /// # Errors
    /// The statement is of a kind that is not available here.
    pub(crate) fn guard(
        &self,
        statement: &mut Statement,
        (values, default_schema): (&[Argument], Option<&str>),
        (terms, by): (Terms, &Assumed),
        extent: Extent,
    ) -> Result<Option<Guarded>> {
        let read_only = terms.access == Access::ReadOnly && extent != Extent::Described;
        let alone = extent != Extent::Among;
        let guard = Guard { hides: self.hides(), identity: by.is_some(), read_only };
        if !guard.stands() {
            return Ok(None);
        }
        if let Some(schema) = default_schema
            && guard.hides
            && (hidden::is_system(schema) || !self.exposure.shows_schema(schema))
        {
            let missing = format!("schema \"{schema}\" does not exist");
            return Err(Error::not_found(missing).sqlstate("3F000").judged());
        }
        let shape = alone.then(|| {
            let role = by.as_ref().map_or("", |identity| identity.role.as_str());
            let types: Vec<String> = values.iter().map(|value| format!("{:?}", inference::kind(value))).collect();
            let terms = [guard.word(), role, default_schema.unwrap_or_default(), &types.join(",")];
            Shape::of(&statement.text, &terms)
        });
        if shape.is_some_and(|shape| self.memory.knows(&shape)) {
            return Ok(None);
        }
        let (outline, plain) = outline(&statement.text);
        if let Some(plain) = plain {
            statement.text = plain;
        }
        match &outline {
            Outline::Show(setting) if guard.hides && !functions::is_harmless_setting(setting) => {
                return Err(judge::refused(&format!("SHOW {setting}")));
            }
            Outline::Query | Outline::Explain { .. } | Outline::Show(_) => {}
            Outline::CreateAs { .. } | Outline::SelectInto { .. } | Outline::Call | Outline::Definition
                if !read_only => {}
            // It may be no statement at all, which the server says best.
            Outline::Other(_) if alone => {}
            Outline::Other(word) if !read_only => {
                return Err(judge::refused(if word.is_empty() { "this statement" } else { word }));
            }
            _ => return Err(writes()),
        }
        if (!alone || extent == Extent::Repeated)
            && guard.hides
            && matches!(outline, Outline::Explain { .. } | Outline::Show(_))
        {
            return Err(judge::refused("EXPLAIN or SHOW in a batch or a script").hint("send it in a call of its own"));
        }
        let shape = shape.map(|shape| (shape, self.memory.generation()));
        let (understood, class) = (statement.understood, statement.class);
        Ok(Some(Guarded {
            guard,
            outline,
            text: statement.text.clone(),
            shape,
            understood,
            class,
            brief: OnceLock::new(),
        }))
    }

    /// Judges the statement of `job` on the session that it will run on, before its own transaction begins
    /// or within the one that it goes on with. Behind a refusal the transaction is the caller's to end.
    ///
    /// # Errors
    /// What is not available, what the source itself refuses, and what keeps it from being judged.
    pub(crate) async fn check(&self, session: &Session, job: &Job, clock: &Clock, knowledge: &Knowledge) -> Result<()> {
        let Some(guarded) = &job.guarded else { return Ok(()) };
        match self.inspect(session, job, guarded, clock, knowledge).await {
            // Rarely needed, and large.
            Err(refusal) => Err(Box::pin(self.told(refusal, session, (job, guarded), clock, knowledge)).await),
            Ok(()) => Ok(()),
        }
    }

    pub(crate) async fn inspect(
        &self,
        session: &Session,
        job: &Job,
        guarded: &Guarded,
        clock: &Clock,
        knowledge: &Knowledge,
    ) -> Result<(), Refusal> {
        let whole = 0..guarded.text.len();
        let query = match &guarded.outline {
            Outline::Query | Outline::Other(_) => whole,
            Outline::Explain { query, .. } => query.clone(),
            Outline::CreateAs { head, query } => {
                let head = guarded.text.get(head.clone()).unwrap_or_default();
                self.admit(head, guarded.guard, knowledge).await.map_err(|error| placed(error, job))?;
                query.clone()
            }
            Outline::SelectInto { into } => {
                let clause = guarded.text.get(into.clone()).unwrap_or_default();
                self.admit(clause, guarded.guard, knowledge).await.map_err(|error| placed(error, job))?;
                whole
            }
            Outline::Definition | Outline::Call => {
                let admitted = self.admit(&guarded.text, guarded.guard, knowledge).await;
                return Ok(admitted.map_err(|error| placed(error, job))?);
            }
            Outline::Show(_) => return Ok(()),
        };
        if self.able(job) == Some(false) {
            return Ok(self.judge_by_names(guarded, job, knowledge).await?);
        }
        let before = guarded.text.get(..query.start).unwrap_or_default().chars().count();
        let mut text = Cow::Borrowed(guarded.text.get(query).unwrap_or_default());
        if let Outline::SelectInto { into } = &guarded.outline {
            let blank: String = text.get(into.clone()).unwrap_or_default().chars().map(|_| ' ').collect();
            text.to_mut().replace_range(into.clone(), &blank);
        }
        match ask::ask(session, job, &text, clock).await {
            Ok(Answer::Tree(tree)) => {
                self.is_able(job, true);
                let undo = if job.place.begins { "ROLLBACK" } else { ask::STEP_BACK };
                let judged = self.judge(session, &tree, guarded).await;
                let lasting = judged.map_err(|error| placed(error, job))?;
                session.batch_execute(undo).await.map_err(|error| job.failure(&error, 0))?;
                if let (Some((shape, generation)), Outline::Query, true) = (guarded.shape, &guarded.outline, lasting) {
                    self.memory.keep(shape, generation);
                }
                Ok(())
            }
            Ok(Answer::NoQuery) if guarded.guard.read_only => Err(writes().into()),
            Ok(Answer::NoQuery) => Err(match &guarded.outline {
                Outline::Other(word) if !word.is_empty() => judge::refused(word).into(),
                _ => judge::refused("this kind of statement").into(),
            }),
            Ok(Answer::Refused(error)) => {
                let shift = ask::shift().saturating_sub(before);
                let end = ask::shift() + text.chars().count();
                self.refused(&error, (shift, end), session, (job, guarded), clock, knowledge).await
            }
            Err(error) => Err(Refusal::of_server(error)),
        }
    }

    /// What follows when the server does not take the question, in which so many characters stand in front
    /// of the statement, and so many before its end.
    pub(crate) async fn refused(
        &self,
        error: &tokio_postgres::Error,
        (shift, end): (usize, usize),
        session: &Session,
        (job, guarded): (&Job, &Guarded),
        clock: &Clock,
        knowledge: &Knowledge,
    ) -> Result<(), Refusal> {
        if self.able(job).is_none() && ask::may_be_unable(error) && job.place.begins {
            session.batch_execute("ROLLBACK").await.map_err(|error| job.failure(&error, 0))?;
            let able = ask::can_be_asked(session, job, clock).await;
            self.is_able(job, able);
            if !able {
                return Ok(self.judge_by_names(guarded, job, knowledge).await?);
            }
        }
        if ask::is_behind(error, end) {
            // The server found the end of the question where the statement's own should be.
            let undo = if job.place.begins { "ROLLBACK" } else { ask::STEP_BACK };
            session.batch_execute(undo).await.map_err(|error| job.failure(&error, 0))?;
            if let Err(own) = session.prepare_typed(&job.text, &[]).await {
                return Err(Refusal::of_server(job.failure(&own, 0)));
            }
        }
        Err(Refusal::of_server(job.failure(error, shift)))
    }

    /// Whether the verdict holds for every statement of this shape.
    async fn judge(&self, session: &Session, tree: &str, guarded: &Guarded) -> Result<bool> {
        let uses = tree::read(tree).map_err(|what| {
            judge::refused("this form of statement").because(format!("the server's tree holds {what}"))
        })?;
        // What is only planned changes nothing.
        let planned = matches!(guarded.outline, Outline::Explain { runs: false, .. });
        if guarded.guard.read_only && !planned && !uses.only_reads() {
            return Err(writes());
        }
        judge::judge(session, &uses, guarded.guard, &self.exposure).await?;
        let explains = matches!(guarded.outline, Outline::Explain { .. });
        if guarded.guard.hides && explains && plan::goes_behind(session, &uses, &self.exposure).await? {
            guarded.tell_briefly()?;
        }
        Ok(!uses.depends_on_literals())
    }

    /// The judgement where the server cannot be asked.
    async fn judge_by_names(&self, guarded: &Guarded, job: &Job, knowledge: &Knowledge) -> Result<()> {
        if !guarded.understood
            || matches!(guarded.outline, Outline::Other(_))
            || (guarded.guard.read_only && guarded.class != Class::Select)
        {
            let why = "this statement, which was not wholly understood and which the server cannot be asked about,";
            return Err(judge::refused(why));
        }
        if guarded.guard.hides {
            guarded.tell_briefly()?;
        }
        self.admit(&guarded.text, guarded.guard, knowledge).await.map_err(|error| placed(error, job))
    }

    async fn admit(&self, text: &str, guard: Guard, knowledge: &Knowledge) -> Result<()> {
        self.names(guard, knowledge).await?.admit(text, guard)
    }

    pub(crate) async fn names(&self, guard: Guard, knowledge: &Knowledge) -> Result<Arc<Names>> {
        if let Some(names) = self.names.get(guard) {
            return Ok(names);
        }
        let client = knowledge.client().await?;
        let names = Arc::new(Names::read(&client, guard, &self.exposure, self.names.routines(guard)).await?);
        self.names.keep(guard, &names);
        Ok(names)
    }

    fn able(&self, job: &Job) -> Option<bool> {
        let able = self.able.lock().unwrap_or_else(PoisonError::into_inner);
        able.get(role(job)).filter(|(_, since)| since.elapsed() < ABILITY).map(|(able, _)| *able)
    }

    fn is_able(&self, job: &Job, is: bool) {
        let mut able = self.able.lock().unwrap_or_else(PoisonError::into_inner);
        able.retain(|_, (_, since)| since.elapsed() < ABILITY);
        able.insert(role(job).to_owned(), (is, Instant::now()));
    }
}

fn role(job: &Job) -> &str {
    job.identity.as_ref().map_or("", |identity| identity.role.as_str())
}

/// The refusal of a statement that is not known to read alone.
pub(crate) fn writes() -> Error {
    Error::forbidden("this access is read-only, and the statement is none that only reads")
        .sqlstate(crate::source::postgres::failure::READ_ONLY)
        .hint("SELECT, VALUES, TABLE, SHOW and EXPLAIN of these read")
        .judged()
}

/// What the source says of a relation that is not there.
pub(crate) fn no_such(name: &str) -> Error {
    Error::not_found(format!("relation \"{name}\" does not exist")).sqlstate("42P01").judged()
}
