//! `POST /api/query`, `/api/batch` and `/api/exec`: bodies in, result documents out.

use std::sync::Arc;
use std::time::Instant;

use actix_web::{HttpMessage, HttpRequest, HttpResponse, web};
use bytes::Bytes;
use portico_actors::call::{Limits, Mode, Op, ProcedureCall, Sql};
use portico_actors::directory::Entry;
use portico_actors::error::{Error, Result};
use portico_actors::principal::Principal;
use portico_actors::reply::{Reply, Results};
use portico_actors::sql;

use crate::app::App;
use crate::fields::Fields;
use crate::http::api::bodies::{Batch, Exec, Script, limits};
use crate::http::api::{answer, media, parameters, routing};
use crate::http::caller::Caller;
use crate::http::middleware::body;
use crate::http::middleware::recorder::{self, CallRecorder};

/// A body over this many bytes is read on a thread for blocking work.
const LARGE_BODY: usize = 16 * 1024;

/// What a body asks for, before the connection is known.
struct Asked {
    op: Op,
    limits: Limits,
    /// First parts of three-part names.
    named: Vec<String>,
    default_catalog: Option<String>,
    /// The member that holds the names.
    field: &'static str,
}

/// How the body of one path is read.
#[derive(Clone, Copy)]
pub(in crate::http) struct Reader(fn(Fields) -> Result<Asked>);

/// Of `/api/query`.
pub(in crate::http) const QUERY: Reader = Reader(read_query);
/// Of `/api/batch`.
pub(in crate::http) const BATCH: Reader = Reader(read_batch);
/// Of `/api/exec`.
pub(in crate::http) const EXEC: Reader = Reader(read_exec);

/// What a request asks for, and the connection within its caller's reach that it asks.
pub(in crate::http) struct Admitted {
    asked: Asked,
    pub(in crate::http) entry: Entry,
}

fn read_query(fields: Fields) -> Result<Asked> {
    let body = Script::read(fields)?;
    let mode = if body.schema_only == Some(true) { Mode::Describe } else { Mode::Run };
    let sql = Sql {
        text: body.query,
        parameters: body.parameters,
        default_schema: body.default_schema,
        dry_run: body.dry_run == Some(true),
        ..Sql::default()
    };
    script(mode, sql, body.default_catalog, limits(body.timeout, body.max_rows))
}

fn read_batch(fields: Fields) -> Result<Asked> {
    let body = Batch::read(fields)?;
    let mut sets = body.parameters;
    let (mode, parameters) = if body.schema_only == Some(true) {
        // One set tells as much of the types as all of them.
        (Mode::Describe, sets.swap_remove(0))
    } else {
        (Mode::Sets(sets), Vec::new())
    };
    let sql = Sql {
        text: body.query,
        parameters,
        default_schema: body.default_schema,
        dry_run: body.dry_run == Some(true),
        ..Sql::default()
    };
    script(mode, sql, body.default_catalog, limits(body.timeout, body.max_rows))
}

fn script(mode: Mode, sql: Sql, default_catalog: Option<String>, limits: Limits) -> Result<Asked> {
    let named = sql::catalogs(&sql.text)?;
    Ok(Asked { op: Op::Script(mode, sql), limits, named, default_catalog, field: "query" })
}

fn read_exec(fields: Fields) -> Result<Asked> {
    let body = Exec::read(fields)?;
    let parts = sql::procedure_name(&body.procedure)?;
    Ok(Asked {
        named: if parts.len() == 3 { parts.into_iter().take(1).collect() } else { Vec::new() },
        default_catalog: body.default_catalog,
        limits: limits(body.timeout, body.max_rows),
        op: Op::Procedure(ProcedureCall {
            procedure: body.procedure,
            arguments: body.parameters,
            default_schema: body.default_schema,
            overload: None,
            dry_run: body.dry_run == Some(true),
        }),
        field: "procedure",
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

/// Reads what `request` asks for, and finds the connection: all that can refuse a caller before the
/// connection is asked. The body is given back with it.
pub(in crate::http) async fn admit(
    by: &Principal,
    request: &HttpRequest,
    payload: web::Payload,
    app: &App,
) -> Result<(Admitted, Bytes)> {
    let Some(Reader(read)) = request.app_data::<Reader>().copied() else {
        return Err(Error::internal("a route without the reader of its body"));
    };
    parameters::read(request.query_string(), &[])?;
    let bytes = body::read(request, payload).await?;
    let (size, body) = (bytes.len(), bytes.clone());
    let understand = move || read(Fields::parse(body::text(&body)?, "the body")?);
    // A large text is parsed where it holds up nobody.
    let mut asked = match size {
        LARGE_BODY.. => web::block(understand).await.map_err(Error::internal)??,
        _ => understand()?,
    };
    let names = asked.named.iter().chain(&asked.default_catalog).map(String::as_str);
    let reachable = app.reachable_by_name(by, names);
    let entry = routing::choose(&reachable, &asked.named, asked.default_catalog.as_deref(), asked.field)?.clone();
    // It belongs to the default connection; another one is not told of it.
    if asked.default_catalog.as_deref().is_some_and(|catalog| !entry.name.eq_ignore_ascii_case(catalog)) {
        asked.op.forget_default_schema();
    }
    Ok((Admitted { asked, entry }, bytes))
}

/// Runs until the first row, or the end: so long the status can still tell of a failure. What is
/// kept until then is small: a result without rows for each statement or set of values in the body.
async fn begin(
    by: &Arc<Principal>,
    request: &HttpRequest,
    payload: web::Payload,
    app: &App,
    recorder: &mut CallRecorder,
) -> Result<Results> {
    // Under a key it was read already.
    let known = request.extensions_mut().remove::<Admitted>();
    let Admitted { mut asked, entry } = match known {
        Some(admitted) => admitted,
        None => admit(by, request, payload, app).await?.0,
    };
    let has_one_result = media::choose(request).is_some_and(media::Form::has_one_result);
    if has_one_result {
        asked.op.expect_one_result();
    }
    // How many results a procedure has is only known when it has run.
    let may_have_more = has_one_result && asked.field == "procedure";
    recorder.note_connection(app, &entry, by);
    recorder.note(|event| {
        // The log is not to tell of changes that were never kept.
        if asked.op.is_dry_run() {
            event.what.push_str("?dryRun");
        }
    });
    // Where a semicolon may separate statements, there may be more results.
    let alone = asked.op.statement().is_some_and(|(text, sets)| {
        asked.field == "query" && sets.len() <= 1 && !text.trim_end().trim_end_matches(';').contains(';')
    });
    if let Some(audit) = &app.audit {
        let statement = audit.statement(&asked.op, entry.kind);
        recorder.record(|request| request.statement = statement);
    }
    let asked_at = Instant::now();
    recorder.note(|event| event.asked = Some(asked_at));
    let reply = app.directory.ask(&entry, recorder::origin(request), Arc::clone(by), asked.op, asked.limits).await?;
    let Reply::Results(results) = reply else {
        return Err(Error::internal("a statement answered with plain text"));
    };
    let results = match asked.limits.rows {
        Some(most) => results.first_rows(most, alone),
        None => results,
    };
    let results = answer::begin_timed(asked_at, results, app.room(by), recorder).await?;
    if may_have_more { answer::begin_alone(results, app.room(by)).await } else { Ok(results) }
}
