//! What there is: the caller's connections, and the facets of their catalogues. The facets' columns
//! are `source/catalog.rs`'s, their filters those of the tools.

use std::sync::Arc;
use std::time::Instant;

use actix_web::{HttpRequest, HttpResponse, web};
use portico_actors::call::{Facet, Limits, Narrow, Op};
use portico_actors::directory::Entry;
use portico_actors::error::{Error, Result};
use portico_actors::principal::Principal;
use portico_actors::reply::{Reply, Results};
use schemars::JsonSchema;
use serde::Serialize;
use uuid::Uuid;

use crate::app::App;
use crate::http::api::{answer, merged, parameters, routing};
use crate::http::caller::Caller;
use crate::http::error;
use crate::http::middleware::recorder::{self, CallRecorder};
use crate::http::table::Part;
use crate::tools::arguments::narrow;
use crate::tools::timeout;

/// Each facet's path, within `/api`.
pub(in crate::http) const FACETS: [(&str, Facet); 10] = [
    ("/catalogs", Facet::Catalogs),
    ("/schemas", Facet::Schemas),
    ("/tables", Facet::Tables),
    ("/columns", Facet::Columns),
    ("/primaryKeys", Facet::PrimaryKeys),
    ("/importedKeys", Facet::ImportedKeys),
    ("/exportedKeys", Facet::ExportedKeys),
    ("/indexes", Facet::Indexes),
    ("/procedures", Facet::Procedures),
    ("/procedureParameters", Facet::ProcedureParameters),
];

/// The filters of `facet` and what each is the name of. [`narrow`] refuses every other one.
pub(in crate::http) fn filters_of(facet: Facet) -> Vec<(&'static str, &'static str)> {
    let (catalog, schema, table) = (("catalogName", "connection"), ("schemaName", "schema"), ("tableName", "table"));
    let procedure = ("procedureName", "procedure");
    match facet {
        Facet::Catalogs => vec![catalog],
        Facet::Schemas => vec![catalog, schema],
        Facet::Tables => vec![catalog, schema, table, ("tableType", "type, such as TABLE or VIEW")],
        Facet::Columns => vec![catalog, schema, table, ("columnName", "column")],
        Facet::PrimaryKeys | Facet::ImportedKeys | Facet::ExportedKeys | Facet::Indexes => vec![catalog, schema, table],
        Facet::Procedures => vec![catalog, schema, procedure],
        Facet::ProcedureParameters => vec![catalog, schema, procedure, ("paramName", "parameter")],
    }
}

/// The paths of the facets, within `/api`.
pub(in crate::http) fn routes(api: Part) -> Part {
    FACETS.into_iter().fold(api, |api, (path, facet)| {
        let handler =
            move |caller: Caller, request: HttpRequest, app: web::Data<App>| list(facet, caller, request, app);
        api.read(path, |resource| resource.get(handler))
    })
}

/// The connections that a credential opens.
#[derive(Serialize, JsonSchema)]
pub(in crate::http) struct Connections {
    pub(in crate::http) connections: Vec<Reachable>,
}

/// One connection.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Connection")]
pub(in crate::http) struct Reachable {
    /// The last part of its MCP address.
    pub(in crate::http) connection_id: Uuid,
    /// The first part of `connection.schema.table`.
    pub(in crate::http) name: Arc<str>,
    /// What kind of source it is.
    pub(in crate::http) source: &'static str,
    /// Where MCP clients find it.
    pub(in crate::http) mcp_url: String,
    /// One word: `up`, `connecting`, `down`, or `idle` where nothing is open until the next call.
    pub(in crate::http) status: &'static str,
}

/// `GET /api/connections`.
pub(in crate::http) async fn connections(
    Caller(by): Caller,
    request: HttpRequest,
    app: web::Data<App>,
) -> HttpResponse {
    let mut recorder = CallRecorder::begin(&request, &app);
    recorder.note_caller(&by);
    if let Err(refusal) = parameters::read(request.query_string(), &[]) {
        recorder.finish(0, Some(&refusal));
        return error::api(&refusal, recorder::request_id(&request), None);
    }
    let connections: Vec<Reachable> = app
        .reachable(&by)
        .iter()
        .map(|entry| Reachable {
            connection_id: entry.id,
            name: Arc::clone(&entry.name),
            source: entry.kind,
            mcp_url: app.mcp_url(entry.id),
            status: status(entry),
        })
        .collect();
    recorder.finish(connections.len() as u64, None);
    HttpResponse::Ok().json(Connections { connections })
}

/// The word for callers: whether an administrator has something to look at is not theirs to know.
fn status(entry: &Entry) -> &'static str {
    match entry.status() {
        "restarting" => "connecting",
        "failed" => "down",
        word => word,
    }
}

/// `GET /api/catalogs` … `GET /api/procedureParameters`.
async fn list(facet: Facet, Caller(by): Caller, request: HttpRequest, app: web::Data<App>) -> HttpResponse {
    let work = async |recorder: &mut CallRecorder| begin(facet, &by, &request, &app, recorder).await;
    answer::send(&request, &app, &by, work).await
}

async fn begin(
    facet: Facet,
    by: &Arc<Principal>,
    request: &HttpRequest,
    app: &web::Data<App>,
    recorder: &mut CallRecorder,
) -> Result<Results> {
    let known: Vec<&str> = filters_of(facet).into_iter().map(|(name, _)| name).chain(["timeout"]).collect();
    let mut fields = parameters::read(request.query_string(), &known)?;
    let narrow = narrow(facet, &mut fields)?;
    let limits = Limits { timeout: timeout(&mut fields)?, rows: None };
    fields.finish("the query string")?;
    let reachable = app.reachable(by);
    let wanted = routing::matching(&reachable, narrow.catalog.as_deref())?;
    if facet == Facet::Catalogs {
        // The connections' own names: no source has to be asked for them.
        let names = wanted.iter().map(|entry| Arc::clone(&entry.name)).collect();
        return answer::begin(merged::names(names), app.room(by)).await;
    }
    // Chosen by it already; within a connection the name says nothing new.
    let op = move || Op::Describe(facet, Narrow { catalog: None, ..narrow.clone() });
    let origin = recorder::origin(request);
    let results = if let [only] = wanted.as_slice() {
        recorder.note_connection(app, only, by);
        let asked = Instant::now();
        recorder.note(|event| event.asked = Some(asked));
        let results = rows(app.directory.ask(only, origin, Arc::clone(by), op(), limits).await?)?;
        return answer::begin_timed(asked, results, app.room(by), recorder).await;
    } else {
        let (app, by) = (app.clone(), Arc::clone(by));
        merged::rows(facet, wanted, move |entry| {
            let (app, by, op) = (app.clone(), Arc::clone(&by), op());
            async move { rows(app.directory.ask(&entry, origin, by, op, limits).await?) }
        })
    };
    answer::begin(results, app.room(by)).await
}

fn rows(reply: Reply) -> Result<Results> {
    match reply {
        Reply::Results(results) => Ok(results),
        Reply::Text(_) => Err(Error::internal("a facet answered with plain text")),
    }
}
