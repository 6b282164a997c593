//! Listings: the caller's connections, and the metadata of their catalogues. The columns are those of
//! `sources/catalog.rs`, the filters those of the tools.

use std::sync::Arc;
use std::time::Instant;

use actix_web::{HttpRequest, HttpResponse, web};
use portico_actors::call::{Limits, MetadataKind};
use portico_actors::directory::ConnectionEntry;
use portico_actors::effects::Effects;
use portico_actors::error::{Error, Result};
use portico_actors::pattern::literal;
use portico_actors::principal::Principal;
use portico_actors::reply::Results;
use schemars::JsonSchema;
use serde::Serialize;
use uuid::Uuid;

use crate::app::App;
use crate::http::api::{answer, parameters};
use crate::http::caller::Caller;
use crate::http::error;
use crate::http::middleware::recorder::{self, CallRecorder};
use crate::http::table::RouteScope;
use crate::routing::{self, AskOptions};
use crate::tools::arguments::narrow;
use crate::tools::timeout;
use crate::workspace::Reachable;

/// The path of each kind of metadata, within `/api`.
pub(in crate::http) const METADATA: [(&str, MetadataKind); 10] = [
    ("/catalogs", MetadataKind::Catalogs),
    ("/schemas", MetadataKind::Schemas),
    ("/tables", MetadataKind::Tables),
    ("/columns", MetadataKind::Columns),
    ("/primaryKeys", MetadataKind::PrimaryKeys),
    ("/importedKeys", MetadataKind::ImportedKeys),
    ("/exportedKeys", MetadataKind::ExportedKeys),
    ("/indexes", MetadataKind::Indexes),
    ("/procedures", MetadataKind::Procedures),
    ("/procedureParameters", MetadataKind::ProcedureParameters),
];

/// Returns the filters of `metadata` and what each filters by. [`narrow`] refuses all others.
pub(in crate::http) fn filters_of(metadata: MetadataKind) -> Vec<(&'static str, &'static str)> {
    let (catalog, schema, table) = (("catalogName", "connection"), ("schemaName", "schema"), ("tableName", "table"));
    let procedure = ("procedureName", "procedure");
    match metadata {
        MetadataKind::Catalogs => vec![catalog],
        MetadataKind::Schemas => vec![catalog, schema],
        MetadataKind::Tables => vec![catalog, schema, table, ("tableType", "type, such as TABLE or VIEW")],
        MetadataKind::Columns => vec![catalog, schema, table, ("columnName", "column")],
        MetadataKind::PrimaryKeys
        | MetadataKind::ImportedKeys
        | MetadataKind::ExportedKeys
        | MetadataKind::Indexes
        | MetadataKind::TableDetails => {
            vec![catalog, schema, table]
        }
        MetadataKind::Procedures => vec![catalog, schema, procedure],
        MetadataKind::ProcedureParameters => vec![catalog, schema, procedure, ("paramName", "parameter")],
    }
}

/// Whether rows are asked for of one table by its name (JDBC's `DatabaseMetaData`); else its name may be a pattern.
const fn is_of_one_table(metadata: MetadataKind) -> bool {
    matches!(
        metadata,
        MetadataKind::PrimaryKeys | MetadataKind::ImportedKeys | MetadataKind::ExportedKeys | MetadataKind::Indexes
    )
}

/// The paths of metadata, within `/api`.
pub(in crate::http) fn routes(api: RouteScope) -> RouteScope {
    METADATA.into_iter().fold(api, |api, (path, metadata)| {
        let handler =
            move |caller: Caller, request: HttpRequest, app: web::Data<App>| list(metadata, caller, request, app);
        api.read(path, |resource| resource.get(handler))
    })
}

/// The connections that a credential opens.
#[derive(Serialize, JsonSchema)]
pub(in crate::http) struct Connections {
    pub(in crate::http) connections: Vec<ReachableConnection>,
}

/// One connection.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Connection")]
pub(in crate::http) struct ReachableConnection {
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
    listed(&by, &request, &app, || {
        let described = |entry: &ConnectionEntry| ReachableConnection {
            connection_id: entry.id,
            name: Arc::clone(&entry.name),
            source: entry.driver.name,
            mcp_url: app.mcp_url(entry.id),
            status: status(entry),
        };
        let connections: Vec<_> = app.reachable(&by).iter().map(described).collect();
        (connections.len(), Connections { connections })
    })
}

/// The workspaces that a credential opens.
#[derive(Serialize, JsonSchema)]
pub(in crate::http) struct Workspaces {
    pub(in crate::http) workspaces: Vec<ReachableWorkspace>,
}

/// One workspace: a virtual schema over tables of any number of connections.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Workspace")]
pub(in crate::http) struct ReachableWorkspace {
    /// What it is asked by.
    pub(in crate::http) name: Arc<str>,
    /// What it is for, where that is said.
    pub(in crate::http) description: Option<Arc<str>>,
    /// Where MCP clients find it.
    pub(in crate::http) mcp_url: String,
}

/// `GET /api/workspaces`.
pub(in crate::http) async fn workspaces(Caller(by): Caller, request: HttpRequest, app: web::Data<App>) -> HttpResponse {
    listed(&by, &request, &app, || {
        let described = |it: Reachable| ReachableWorkspace {
            mcp_url: app.workspace_url(&it.workspace.name),
            name: Arc::clone(&it.workspace.name),
            description: it.workspace.description.clone(),
        };
        let workspaces: Vec<_> = app.workspaces(&by).into_iter().map(described).collect();
        (workspaces.len(), Workspaces { workspaces })
    })
}

/// Answers with a list that no source is asked for, and how long it is.
fn listed<T: Serialize>(
    by: &Arc<Principal>,
    request: &HttpRequest,
    app: &App,
    list: impl FnOnce() -> (usize, T),
) -> HttpResponse {
    let mut recorder = CallRecorder::begin(request, app);
    recorder.note_caller(by);
    let read = parameters::read(request.query_string(), &[]).and_then(|(_, workspace)| match workspace {
        None => Ok(()),
        Some(_) => Err(Error::invalid("workspace: this path lists everything, and takes no workspace")
            .hint("leave the parameter out")),
    });
    if let Err(refusal) = read {
        recorder.finish(0, Some(&refusal));
        return error::api(&refusal, recorder::request_id(request), None);
    }
    let (length, document) = list();
    recorder.finish(length as u64, None);
    HttpResponse::Ok().json(document)
}

/// The word for callers: whether an administrator has something to look at is not theirs to know.
pub(in crate::http) fn status(entry: &ConnectionEntry) -> &'static str {
    match entry.status() {
        "restarting" => "connecting",
        "failed" => "down",
        word => word,
    }
}

/// `GET /api/catalogs` … `GET /api/procedureParameters`.
async fn list(metadata: MetadataKind, Caller(by): Caller, request: HttpRequest, app: web::Data<App>) -> HttpResponse {
    let work = async |recorder: &mut CallRecorder| begin(metadata, &by, &request, &app, recorder).await;
    answer::send(&request, &app, &by, work).await
}

async fn begin(
    metadata: MetadataKind,
    by: &Arc<Principal>,
    request: &HttpRequest,
    app: &web::Data<App>,
    recorder: &mut CallRecorder,
) -> Result<Results> {
    let filters = filters_of(metadata).into_iter().map(|(name, _)| name);
    let known: Vec<&str> = filters.chain(["timeout"]).chain(parameters::SHAPE).collect();
    let (mut fields, workspace) = parameters::read(request.query_string(), &known)?;
    let mut narrow = narrow(metadata, &mut fields)?;
    if is_of_one_table(metadata) {
        // A `_` alone makes no pattern of it: the keys of two tables would be taken for one.
        narrow.table = narrow.table.map(|table| if table.contains(['%', '\\']) { table } else { literal(&table) });
    }
    let limits = Limits { timeout: timeout(&mut fields)?, rows: None };
    // How rows are written is read where that is done.
    for name in parameters::SHAPE {
        drop(fields.take(name));
    }
    fields.finish("the query string")?;
    if let Some(name) = workspace {
        let workspace = app.workspace(by, &name)?;
        recorder.note_connections(app, &workspace.entries(&app.directory)?, by);
        recorder.note_workspace(&workspace.workspace.name);
        let asking = asking(by, request, limits);
        let listed = routing::list_workspace(&app.federation, &app.directory, &workspace, metadata, narrow, asking);
        return answer::begin(listed.await?, app.room(by)).await;
    }
    let reachable = app.reachable(by);
    let wanted: Vec<ConnectionEntry> =
        routing::matching(&reachable, narrow.catalog.as_deref())?.into_iter().cloned().collect();
    let asked = Instant::now();
    // No source has to be asked for the connections' own names.
    let is_of_one = wanted.len() == 1 && metadata != MetadataKind::Catalogs;
    if let Some(only) = wanted.first().filter(|_| is_of_one) {
        recorder.note_connection(app, only, by);
        recorder.note(|event| event.asked = Some(asked));
    }
    let asking = asking(by, request, limits);
    let results = routing::list(&app.directory, wanted, Vec::new(), metadata, narrow, asking).await?;
    if is_of_one {
        return answer::begin_timed(asked, results, app.room(by), recorder).await;
    }
    answer::begin(results, app.room(by)).await
}

/// Returns the options of a listing, which changes nothing.
fn asking(by: &Arc<Principal>, request: &HttpRequest, limits: Limits) -> AskOptions {
    let (by, origin) = (Arc::clone(by), recorder::origin(request));
    AskOptions { by, origin, limits, notices: None, effects: Effects::default() }
}
