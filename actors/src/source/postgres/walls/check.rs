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
use crate::source::postgres::bind::argument_types;
use crate::source::postgres::bind::shape::Shape;
use crate::source::postgres::execute::job::Job;
use crate::source::postgres::execute::mode::Terms;
use crate::source::postgres::session::clock::Clock;
use crate::source::postgres::session::handle::Session;
use crate::source::postgres::session::housekeeping::Housekeeping;
use crate::source::postgres::walls::ask::Answer;
use crate::source::postgres::walls::guarded::{Extent, Guard, Guarded};
use crate::source::postgres::walls::memory::Memory;
use crate::source::postgres::walls::names::hidden::{Latest, Names};
use crate::source::postgres::walls::objects::is_system;
use crate::source::postgres::walls::refusal::{Refusal, no_such, refused, writes};
use crate::source::postgres::walls::{ask, functions, judge, plan, tree};
use crate::source::{Access, Exposure};
use crate::sql::{Class, Outline, Statement, outline};

/// How long it holds that a server could be asked, or could not.
const ABILITY: Duration = Duration::from_secs(60);

/// The walls of one connection.
pub(crate) struct Walls {
    exposure: Arc<Exposure>,
    /// Where the names of what is hidden are read.
    housekeeping: Arc<Housekeeping>,
    memory: Memory,
    names: Latest,
    /// Whether the server could be asked, by role.
    able: Mutex<HashMap<String, (bool, Instant)>>,
}

impl Walls {
    /// The walls for what `exposure` shows.
    pub(crate) fn new(exposure: Arc<Exposure>, housekeeping: Arc<Housekeeping>) -> Self {
        Self { exposure, housekeeping, memory: Memory::default(), names: Latest::default(), able: Mutex::default() }
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
            && (is_system(schema) || !self.exposure.shows_schema(schema))
        {
            let missing = format!("schema \"{schema}\" does not exist");
            return Err(Error::not_found(missing).sqlstate("3F000").judged());
        }
        let shape = alone.then(|| {
            let role = by.as_ref().map_or("", |identity| identity.role.as_str());
            let types: Vec<String> = values.iter().map(|value| format!("{:?}", argument_types::kind(value))).collect();
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
                return Err(refused(&format!("SHOW {setting}")));
            }
            Outline::Query | Outline::Explain { .. } | Outline::Show(_) => {}
            Outline::CreateAs { .. } | Outline::SelectInto { .. } | Outline::Call | Outline::Definition
                if !read_only => {}
            // It may be no statement at all, which the server says best.
            Outline::Other(_) if alone => {}
            Outline::Other(word) if !read_only => {
                return Err(refused(if word.is_empty() { "this statement" } else { word }));
            }
            _ => return Err(writes()),
        }
        if (!alone || extent == Extent::Repeated)
            && guard.hides
            && matches!(outline, Outline::Explain { .. } | Outline::Show(_))
        {
            return Err(refused("EXPLAIN or SHOW in a batch or a script").hint("send it in a call of its own"));
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

    pub(crate) async fn inspect(
        &self,
        session: &Session,
        job: &Job,
        guarded: &Guarded,
        clock: &Clock,
    ) -> Result<(), Refusal> {
        let whole = 0..guarded.text.len();
        let query = match &guarded.outline {
            Outline::Query | Outline::Other(_) => whole,
            Outline::Explain { query, .. } => query.clone(),
            Outline::CreateAs { head, query } => {
                let head = guarded.text.get(head.clone()).unwrap_or_default();
                self.admit(head, guarded.guard).await.map_err(|error| placed(error, job))?;
                query.clone()
            }
            Outline::SelectInto { into } => {
                let clause = guarded.text.get(into.clone()).unwrap_or_default();
                self.admit(clause, guarded.guard).await.map_err(|error| placed(error, job))?;
                whole
            }
            Outline::Definition | Outline::Call => {
                let admitted = self.admit(&guarded.text, guarded.guard).await;
                return Ok(admitted.map_err(|error| placed(error, job))?);
            }
            Outline::Show(_) => return Ok(()),
        };
        if self.able(job) == Some(false) {
            return Ok(self.judge_by_names(guarded, job).await?);
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
                Outline::Other(word) if !word.is_empty() => refused(word).into(),
                _ => refused("this kind of statement").into(),
            }),
            Ok(Answer::Refused(error)) => {
                let shift = ask::shift().saturating_sub(before);
                let end = ask::shift() + text.chars().count();
                self.refused(&error, (shift, end), session, (job, guarded), clock).await
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
    ) -> Result<(), Refusal> {
        if self.able(job).is_none() && ask::may_be_unable(error) && job.place.begins {
            session.batch_execute("ROLLBACK").await.map_err(|error| job.failure(&error, 0))?;
            let able = ask::can_be_asked(session, job, clock).await;
            self.is_able(job, able);
            if !able {
                return Ok(self.judge_by_names(guarded, job).await?);
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
        let uses = tree::read(tree)
            .map_err(|what| refused("this form of statement").because(format!("the server's tree holds {what}")))?;
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
    async fn judge_by_names(&self, guarded: &Guarded, job: &Job) -> Result<()> {
        if !guarded.understood
            || matches!(guarded.outline, Outline::Other(_))
            || (guarded.guard.read_only && guarded.class != Class::Select)
        {
            let why = "this statement, which was not wholly understood and which the server cannot be asked about,";
            return Err(refused(why));
        }
        if guarded.guard.hides {
            guarded.tell_briefly()?;
        }
        self.admit(&guarded.text, guarded.guard).await.map_err(|error| placed(error, job))
    }

    async fn admit(&self, text: &str, guard: Guard) -> Result<()> {
        self.names(guard).await?.admit(text, guard)
    }

    pub(crate) async fn names(&self, guard: Guard) -> Result<Arc<Names>> {
        if let Some(names) = self.names.get(guard) {
            return Ok(names);
        }
        let client = self.housekeeping.client().await?;
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

/// The failure with the name as the caller wrote it, and its place.
fn placed(error: Error, job: &Job) -> Error {
    if error.get_position().is_some() || error.get_sqlstate() != Some("42P01") {
        return error;
    }
    let names = job.origin.iter().flat_map(|statement| &statement.names);
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
