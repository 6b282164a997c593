//! `Idempotency-Key`: a repeated request gets the first one's answer and is not executed again. How long answers
//! are kept is in `store`; what a request does is not known here.
//!
//! A request with a key runs to its end even if its client leaves, since it may come back for the answer. Only
//! successes are kept: a failed request that was refused or rolled back may be repeated under the same key. One that
//! failed after its commit was sent, or in a procedure that may commit by itself, is not run again: what it did may
//! stand. A repeated request is admitted like the first one, and gets the answer only if nothing that it depends on
//! has changed; if something has, it is refused, since running it would do it twice. Keys are known to this process
//! alone and only until it ends.

mod store;

use std::future::poll_fn;
use std::hash::BuildHasher;
use std::pin::Pin;

use actix_web::body::{BodyStream, BoxBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::StatusCode;
use actix_web::http::header::{self, HeaderName, HeaderValue};
use actix_web::middleware::Next;
use actix_web::{HttpMessage, HttpRequest, HttpResponse, rt, web};
use bytes::BytesMut;
use futures_util::{StreamExt, stream};
use portico_actors::error::{Error, Result};
use portico_actors::principal::{Endpoint, Principal};

use crate::app::App;
use crate::config::Connection;
use crate::http::api::answer::AnswerEnd;
pub(in crate::http) use crate::http::api::idempotency::store::IdempotencyStore;
use crate::http::api::idempotency::store::{
    IdempotencyKey, IdempotencyLock, KeyLookup, KeyedRequest, LARGEST, State, StoredResponse,
};
use crate::http::api::sql::{self, Admitted};
use crate::http::middleware::limits;
use crate::http::middleware::recorder::{self, CallRecorder};
use crate::http::{caller, connections::socket, error};
use portico_actors::shares::Allowance;

const KEY: HeaderName = HeaderName::from_static("idempotency-key");
const REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");
/// Characters in a key at most.
const LONGEST_KEY: usize = 255;

/// Carries out a request under a key once.
pub(in crate::http) async fn once(
    app: web::Data<App>,
    memory: web::Data<IdempotencyStore>,
    mut request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> actix_web::Result<ServiceResponse<BoxBody>> {
    if !request.headers().contains_key(KEY) {
        return Ok(next.call(request).await?.map_into_boxed_body());
    }
    // An unauthenticated caller is refused by the handler.
    let Ok(by) = caller::authenticate(request.request(), &app, Endpoint::Api).await else {
        return Ok(next.call(request).await?.map_into_boxed_body());
    };
    let mut recorder = CallRecorder::begin(request.request(), &app);
    recorder.note_caller(&by);
    let payload = request.extract::<web::Payload>().await?;
    let (found, admitted) = match claim(request.request(), payload, &by, &app, &memory).await {
        Ok(claimed) => claimed,
        Err(refusal) => {
            recorder.finish(0, Some(&refusal));
            let response = error::api(&refusal, recorder::request_id(request.request()), None);
            return Ok(request.into_response(response));
        }
    };
    admitted.note(&mut recorder, &app, &by);
    let answered = match found {
        KeyLookup::Nothing(claim) => {
            // The handler records the end itself.
            recorder.forget();
            request.extensions_mut().insert(admitted);
            request.extensions_mut().insert(socket::Unattended);
            request.extensions_mut().insert(claim.effects());
            // Continues if this future is dropped.
            return rt::spawn(run(request, next, claim, app.room(&by)))
                .await
                .map_err(|_| actix_web::error::ErrorInternalServerError("the request ended without an answer"))?;
        }
        KeyLookup::Known(state) => {
            admitted.note_statement(&mut recorder, &app, None);
            kept(state)
        }
        KeyLookup::Different => Err((
            error::UNPROCESSABLE,
            Error::invalid("Idempotency-Key: this key was used for another request").hint("use a new key"),
        )),
        KeyLookup::Changed => Err((
            error::CONFLICT,
            Error::invalid(
                "Idempotency-Key: the request was made under this key before the caller's rights or the connection's \
                 settings changed, and its answer is not for now",
            )
            .hint("look at what it did; use a new key to run it again"),
        )),
    };
    let response = match answered {
        Ok(stored) => {
            recorder.record(|request| (request.bytes, request.replayed) = (Some(stored.body.len() as u64), true));
            recorder.finish(stored.rows, None);
            replay(stored)
        }
        Err((status, refusal)) => {
            recorder.finish(0, Some(&refusal));
            error::with_status(status, &refusal, recorder::request_id(request.request()))
        }
    };
    Ok(request.into_response(response))
}

/// Returns the kept answer of the first request with a key, or why there is none.
fn kept(state: State) -> Result<StoredResponse, (StatusCode, Error)> {
    match state {
        State::Kept(stored) => Ok(stored),
        State::Running => Err((
            error::CONFLICT,
            Error::invalid("Idempotency-Key: the first request with this key is still running")
                .retry_after(std::time::Duration::from_secs(1)),
        )),
        State::NotKept => Err((
            error::CONFLICT,
            Error::invalid(format!(
                "Idempotency-Key: the first request with this key ran, but its answer was not kept: it had more than \
                 {LARGEST} bytes, or answers held as many bytes as the service prepares at once"
            ))
            .hint("look at what it did; use a new key to run it again"),
        )),
        State::Failed => Err((
            error::CONFLICT,
            Error::invalid(
                "Idempotency-Key: the first request with this key failed, and what it did until then may stand: it ran \
                 a procedure, which may commit by itself, or its commit was sent",
            )
            .hint("look at what it did; use a new key to run it again"),
        )),
    }
}

/// Repeats an answer.
fn replay(stored: StoredResponse) -> HttpResponse {
    HttpResponse::build(stored.status)
        .insert_header((header::CONTENT_TYPE, stored.content_type))
        .insert_header((REPLAYED, "true"))
        .body(stored.body)
}

/// Admits the request like a first one, and looks up the key.
async fn claim(
    request: &HttpRequest,
    payload: web::Payload,
    by: &Principal,
    app: &App,
    memory: &web::Data<IdempotencyStore>,
) -> Result<(KeyLookup, Admitted)> {
    let mut keys = request.headers().get_all(KEY);
    let key = match (keys.next().and_then(|key| key.to_str().ok()), keys.next()) {
        (Some(key), None) if (1..=LONGEST_KEY).contains(&key.len()) => key.to_owned(),
        _ => {
            return Err(Error::invalid(format!(
                "Idempotency-Key: give one key of 1 to {LONGEST_KEY} visible ASCII characters"
            )));
        }
    };
    let (admitted, body) = sql::admit(by, request, payload, app).await?;
    let accept: Vec<&[u8]> = request.headers().get_all(header::ACCEPT).map(HeaderValue::as_bytes).collect();
    let sent = memory.digests.hash_one((request.path(), request.query_string(), accept, &body));
    let standings = admitted.entries.iter().map(|entry| standing(by, app.connection(entry)?.as_ref()));
    let standings = standings.collect::<Result<Vec<_>>>()?;
    // Its declaration, and how far they go in it.
    let standing = memory.digests.hash_one((standings, format!("{:?}", admitted.workspace)));
    let place = match &admitted.workspace {
        Some(it) => it.workspace.name.to_string(),
        None => admitted.entries.iter().map(|entry| entry.id.to_string()).collect(),
    };
    let key = IdempotencyKey::new(&by.subject, &place, &key);
    Ok((IdempotencyStore::find(memory, key, KeyedRequest { sent, standing }), admitted))
}

/// Returns everything else that the answer depends on: the caller's rights, the caller's database role, and what
/// the connection is started with.
///
/// # Errors
/// The caller has no role in the connection's database.
fn standing(by: &Principal, connection: &Connection) -> Result<String> {
    let role = connection.identity.as_ref().map(|mapping| mapping.role(&connection.name, by)).transpose()?;
    let claims = by.claims.of_the_caller();
    Ok(format!("{:?}", (&by.rights, role, claims, connection.id, connection.fingerprint.source)))
}

/// Carries the request out and keeps its answer, if there is room for it while it is gathered. Where there is none, the
/// dropped `claim` frees the key, or keeps that something may stand.
async fn run<B: MessageBody + 'static>(
    request: ServiceRequest,
    next: Next<B>,
    claim: IdempotencyLock,
    mut room: Allowance<String>,
) -> actix_web::Result<ServiceResponse<BoxBody>> {
    let response = next.call(request).await?.map_into_boxed_body();
    if !response.status().is_success() {
        return Ok(response);
    }
    let end = response.response().extensions().get::<AnswerEnd>().cloned().unwrap_or_default();
    let (request, response) = response.into_parts();
    let (mut head, mut body) = response.into_parts();
    let (mut gathered, mut counted) = (BytesMut::new(), 0);
    let broken = loop {
        match poll_fn(|cx| Pin::new(&mut body).poll_next(cx)).await {
            None => {
                let body = gathered.freeze();
                let content_type = head.headers().get(header::CONTENT_TYPE).cloned();
                if let Some(rows) = end.rows() {
                    let content_type = content_type.unwrap_or(HeaderValue::from_static("application/json"));
                    let (status, body) = (head.status(), body.clone());
                    claim.complete(StoredResponse { status, content_type, body, rows });
                }
                limits::hold(&mut head.extensions_mut(), room);
                return Ok(ServiceResponse::new(request, head.set_body(BoxBody::new(body))));
            }
            Some(Err(error)) => break Some(error),
            Some(Ok(chunk)) => gathered.extend_from_slice(&chunk),
        }
        let wanted = gathered.len() - counted;
        counted = gathered.len();
        // It was carried out already, and is answered in any case.
        if gathered.len() > LARGEST || room.prepare(wanted).is_err() {
            claim.too_large();
            break None;
        }
    };
    // The part that was read already, and then the error or the rest.
    let more: Pin<Box<dyn futures_util::Stream<Item = _>>> = match broken {
        Some(error) => Box::pin(stream::iter([Err(error)])),
        None => Box::pin(stream::poll_fn(move |cx| Pin::new(&mut body).poll_next(cx))),
    };
    let whole = stream::iter([Ok(gathered.freeze())]).chain(more);
    limits::hold(&mut head.extensions_mut(), room);
    Ok(ServiceResponse::new(request, head.set_body(BoxBody::new(BodyStream::new(whole)))))
}
