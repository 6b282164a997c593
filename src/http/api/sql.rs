//! `POST /api/query`, `/api/batch` and `/api/exec`: bodies in, result documents out.

use std::sync::Arc;
use std::time::Instant;

use actix_web::{HttpMessage, HttpRequest, HttpResponse, web};
use bytes::Bytes;
use portico_actors::call::{Argument, Limits, Mode, Op, ProcedureCall, Sql};
use portico_actors::directory::ConnectionEntry;
use portico_actors::effects::Effects;
use portico_actors::error::{Error, Result};
use portico_actors::principal::Principal;
use portico_actors::reply::Results;

use crate::app::App;
use crate::federation::SentStatements;
use crate::fields::Fields;
use crate::http::api::bodies::{Batch, Exec, Script, limits};
use crate::http::api::{answer, media, parameters};
use crate::http::caller::Caller;
use crate::http::middleware::body;
use crate::http::middleware::recorder::{self, CallRecorder};
use crate::routing::{self, Addressing, AskOptions};
use crate::workspace::Reachable;

/// A body over this many bytes is read on a thread for blocking work.
const LARGE_BODY: usize = 16 * 1024;

/// The member that says the connection of names that do not.
const DEFAULT: &str = "defaultCatalog";

/// The content of a body, before the connection is known.
struct SqlBody {
    op: Op,
    limits: Limits,
    addressing: Addressing,
}

/// How the body of one path is read.
#[derive(Clone, Copy)]
pub(in crate::http) struct Reader(fn(Fields) -> Result<SqlBody>);

/// Of `/api/query`.
pub(in crate::http) const QUERY: Reader = Reader(read_query);
/// Of `/api/batch`.
pub(in crate::http) const BATCH: Reader = Reader(read_batch);
/// Of `/api/exec`.
pub(in crate::http) const EXEC: Reader = Reader(read_exec);

/// A request, and the connections within its caller's reach that it is for: one, except for a statement that names
/// several.
pub(in crate::http) struct Admitted {
    asked: SqlBody,
    /// The workspace that its names are of.
    pub(super) workspace: Option<Reachable>,
    pub(in crate::http) entries: Vec<ConnectionEntry>,
}

impl Admitted {
    /// Records what is requested.
    pub(in crate::http) fn note(&self, recorder: &mut CallRecorder, app: &App, by: &Principal) {
        recorder.note_connections(app, &self.entries, by);
        if let Some(it) = &self.workspace {
            recorder.note_workspace(&it.workspace.name);
        }
    }

    /// Records the statement, with the statements `sent` to each of several connections.
    pub(in crate::http) fn note_statement(
        &self,
        recorder: &mut CallRecorder,
        app: &App,
        sent: Option<&SentStatements>,
    ) {
        let Some(audit) = &app.audit else { return };
        let statement = audit.statement(&self.asked.op, self.entries.iter().map(|entry| entry.driver.name));
        let sent = sent.filter(|_| self.workspace.is_some() || self.entries.len() > 1);
        let statement = match sent {
            Some(sent) => statement.map(|statement| statement.sending(sent)),
            None => statement,
        };
        recorder.record(|request| request.statement = statement);
    }
}

fn read_query(fields: Fields) -> Result<SqlBody> {
    let body = Script::read(fields)?;
    let mode = if body.schema_only == Some(true) { Mode::Describe } else { Mode::Run };
    let sql = sql(body.query, body.parameters, body.default_schema, body.dry_run);
    script(mode, sql, body.default_catalog, limits(body.timeout, body.max_rows))
}

fn read_batch(fields: Fields) -> Result<SqlBody> {
    let body = Batch::read(fields)?;
    let mut sets = body.parameters;
    let (mode, parameters) = if body.schema_only == Some(true) {
        // One set of values determines the types as well as all of them.
        (Mode::Describe, sets.swap_remove(0))
    } else {
        (Mode::Sets(sets), Vec::new())
    };
    let sql = sql(body.query, parameters, body.default_schema, body.dry_run);
    script(mode, sql, body.default_catalog, limits(body.timeout, body.max_rows))
}

fn sql(text: String, parameters: Vec<Argument>, default_schema: Option<String>, dry_run: Option<bool>) -> Sql {
    Sql { text, parameters, default_schema, dry_run: dry_run == Some(true), ..Sql::default() }
}

fn script(mode: Mode, sql: Sql, default_catalog: Option<String>, limits: Limits) -> Result<SqlBody> {
    let addressing = Addressing::of_statements(&sql.text, default_catalog, DEFAULT)?;
    Ok(SqlBody { op: Op::Script(mode, sql), limits, addressing })
}

fn read_exec(fields: Fields) -> Result<SqlBody> {
    let body = Exec::read(fields)?;
    Ok(SqlBody {
        addressing: Addressing::of_procedure(&body.procedure, body.default_catalog, DEFAULT)?,
        limits: limits(body.timeout, body.max_rows),
        op: Op::Procedure(ProcedureCall {
            procedure: body.procedure,
            arguments: body.parameters,
            default_schema: body.default_schema,
            overload: None,
            dry_run: body.dry_run == Some(true),
            within: None,
        }),
    })
}

/// `POST /api/query`, `/api/batch` and `/api/exec`.
pub(in crate::http) async fn run(
    Caller(by): Caller,
    request: HttpRequest,
    payload: web::Payload,
    app: web::Data<App>,
) -> HttpResponse {
    let work = async |recorder: &mut CallRecorder| begin(&by, &request, payload, &app, recorder).await;
    answer::send(&request, &app, &by, work).await
}

/// Reads `request` and finds the connection: everything that can refuse a caller before the connection is called.
/// Returns the body too.
pub(in crate::http) async fn admit(
    by: &Principal,
    request: &HttpRequest,
    payload: web::Payload,
    app: &App,
) -> Result<(Admitted, Bytes)> {
    let Some(Reader(read)) = request.app_data::<Reader>().copied() else {
        return Err(Error::internal("bug: a route has no reader for its body"));
    };
    let (_, workspace) = parameters::read(request.query_string(), &parameters::SHAPE)?;
    let bytes = body::read(request, payload).await?;
    let (size, body) = (bytes.len(), bytes.clone());
    let understand = move || read(Fields::parse(body::text(&body)?, "the body")?);
    // A large text is parsed on a thread that may block.
    let asked = match size {
        LARGE_BODY.. => web::block(understand).await.map_err(Error::internal)??,
        _ => understand()?,
    };
    if let Some(name) = workspace {
        let workspace = app.workspace(by, &name)?;
        asked.addressing.stay_within(&workspace.workspace.name)?;
        let entries = workspace.entries(&app.directory)?;
        return Ok((Admitted { asked, workspace: Some(workspace), entries }, bytes));
    }
    let reachable = app.reachable_by_name(by, asked.addressing.names());
    let find = || match asked.addressing.several(&reachable)? {
        Some(several) => Ok(several.into_iter().cloned().collect()),
        None => Ok(vec![asked.addressing.choose(&reachable)?.clone()]),
    };
    let entries = find().map_err(|error| asked.addressing.explain(error, app.workspaces(by).iter(), "workspace"))?;
    Ok((Admitted { asked, workspace: None, entries }, bytes))
}

/// Runs until the first row, or the end: until then the status can report an error. What is kept until then is
/// small: a result without rows for each statement or set of values in the body.
async fn begin(
    by: &Arc<Principal>,
    request: &HttpRequest,
    payload: web::Payload,
    app: &App,
    recorder: &mut CallRecorder,
) -> Result<Results> {
    // With an `Idempotency-Key` its middleware has read it.
    let known = request.extensions_mut().remove::<Admitted>();
    let admitted = match known {
        Some(admitted) => admitted,
        None => admit(by, request, payload, app).await?.0,
    };
    admitted.note(recorder, app, by);
    let sent = SentStatements::default();
    admitted.note_statement(recorder, app, Some(&sent));
    let Admitted { mut asked, workspace, entries } = admitted;
    let has_one_result = media::choose(request).is_some_and(media::ResultFormat::has_one_result);
    if has_one_result {
        asked.op.expect_one_result();
    }
    // How many results a procedure has is only known when it has run.
    let may_have_more = has_one_result && asked.addressing.field == "procedure";
    recorder.note(|event| {
        // The log must not report changes that were rolled back.
        if asked.op.is_dry_run() {
            event.what.push_str("?dryRun");
        }
    });
    // Where a semicolon may separate statements, there may be more results.
    let alone = asked.op.statement().is_some_and(|(text, sets)| {
        asked.addressing.field == "query" && sets.len() <= 1 && !text.trim_end().trim_end_matches(';').contains(';')
    });
    let asked_at = Instant::now();
    recorder.note(|event| event.asked = Some(asked_at));
    let SqlBody { op, limits, addressing } = asked;
    // Whoever has an `Idempotency-Key` asks too.
    let effects = request.extensions_mut().remove::<Effects>().unwrap_or_else(Effects::noted);
    let origin = recorder::origin(request);
    let asking = AskOptions { by: Arc::clone(by), origin, limits, notices: None, effects };
    let (federation, directory) = (&app.federation, &app.directory);
    let reply = match (&workspace, entries.as_slice()) {
        (Some(workspace), _) => routing::ask_workspace(federation, directory, workspace, op, asking, sent).await?,
        (None, [entry]) => routing::ask(&app.directory, entry, Some(&addressing), op, asking).await?,
        (None, several) => routing::ask_several(federation, directory, several, &addressing, op, asking, sent).await?,
    };
    let results = reply.into_results()?;
    let results = match limits.rows {
        Some(most) => results.first_rows(most, alone),
        None => results,
    };
    let results = answer::begin_timed(asked_at, results, app.room(by), recorder).await?;
    if may_have_more { answer::begin_alone(results, app.room(by)).await } else { Ok(results) }
}
