//! One result of several connections: their rows one connection after the other. If one fails, the others are still
//! listed; failures are reported after the last row.

use std::future::Future;
use std::sync::Arc;

use futures_util::{StreamExt, stream};
use portico_actors::call::{MetadataFilter, MetadataKind, Op};
use portico_actors::directory::{ConnectionEntry, Directory};
use portico_actors::error::{Error, Result};
use portico_actors::reply::{Cell, Hint, Part, Results};
use portico_actors::source::catalog::{assembled, columns};

use super::ask::AskOptions;

/// Connections that are asked at the same time.
const AT_ONCE: usize = 4;

/// The answer of one connection, and its name.
pub(crate) type Answer = (Arc<str>, Result<Results>);

/// Returns the rows of `metadata` of the `wanted` connections, which `narrow` has already selected by catalogue,
/// followed by those of `more`.
///
/// # Errors
/// The errors of the connection, if only one is wanted.
pub(crate) async fn list(
    directory: &Directory,
    wanted: Vec<ConnectionEntry>,
    more: Vec<Answer>,
    metadata: MetadataKind,
    narrow: MetadataFilter,
    asking: AskOptions,
) -> Result<Results> {
    if metadata == MetadataKind::Catalogs {
        // The connections' own names: no source has to be asked for them.
        return Ok(catalogs(wanted.into_iter().map(|entry| entry.name)));
    }
    let (directory, AskOptions { by, origin, limits, .. }) = (directory.clone(), asking);
    // Within a connection the catalogue's name filters nothing.
    let narrow = MetadataFilter { catalog: None, ..narrow };
    let ask = move |entry: ConnectionEntry| {
        let (directory, by, op) = (directory.clone(), Arc::clone(&by), Op::Describe(metadata, narrow.clone()));
        async move { directory.ask(&entry, origin, by, op, limits).await?.into_results() }
    };
    match <[ConnectionEntry; 1]>::try_from(wanted) {
        Ok([only]) if more.is_empty() => ask(only).await,
        Ok(wanted) => Ok(rows(metadata, wanted.into(), more, ask)),
        Err(wanted) => Ok(rows(metadata, wanted, more, ask)),
    }
}

/// The rows of [`MetadataKind::Catalogs`].
pub(crate) fn catalogs(names: impl Iterator<Item = Arc<str>>) -> Results {
    let row = |name: Arc<str>| vec![Cell::Text(name.to_string().into())];
    assembled(MetadataKind::Catalogs, names.map(row).collect())
}

/// Returns the rows of `metadata` of each of `entries`, in their order, and those of `more`.
fn rows<F, A>(metadata: MetadataKind, entries: Vec<ConnectionEntry>, more: Vec<Answer>, ask: F) -> Results
where
    F: Fn(ConnectionEntry) -> A + Send + 'static,
    A: Future<Output = Result<Results>> + Send + 'static,
{
    let answers = stream::iter(entries)
        .map(move |entry| {
            let name = Arc::clone(&entry.name);
            let asked = ask(entry);
            async move { (name, asked.await) }
        })
        .buffered(AT_ONCE)
        .chain(stream::iter(more));
    let parts = answers.flat_map(|(name, answer)| {
        let (hint, parts) = match answer {
            Ok(results) => (results.hint.clone(), results.left_stream()),
            Err(error) => (Hint::default(), stream::iter([Err(error)]).right_stream()),
        };
        parts.map(move |part| (Arc::clone(&name), hint.clone(), part))
    });
    let beside = Hint::default();
    let told = beside.clone();
    let state = (Some(Box::pin(parts)), Vec::new(), Some(Vec::new()));
    let rows = stream::unfold(state, move |(parts, mut failures, mut hints)| {
        let told = told.clone();
        async move {
            let mut parts = parts?;
            while let Some((name, hint, part)) = parts.next().await {
                match part {
                    // If one of them has rows, the others' hints are not needed.
                    Ok(rows @ Part::Rows(_)) => return Some((Ok(rows), (Some(parts), failures, None))),
                    // There is one of each for all of them.
                    Ok(Part::Columns(_)) => {}
                    Ok(Part::Done { .. }) => {
                        if let (Some(hints), Some(hint)) = (&mut hints, hint.get()) {
                            hints.push(format!("{name}: {hint}"));
                        }
                    }
                    Err(error) => failures.push((name, error)),
                }
            }
            if let Some(hints) = hints.filter(|hints| !hints.is_empty()) {
                told.say(hints.join("; "));
            }
            Some((end(failures), (None, Vec::new(), None)))
        }
    });
    let head = stream::iter([Ok(Part::Columns(columns(metadata)))]);
    let mut merged = Results::new(false, head.chain(rows));
    merged.hint = beside;
    merged
}

/// Returns the part after the last row.
fn end(failures: Vec<(Arc<str>, Error)>) -> Result<Part> {
    let mut failures = failures.into_iter();
    let Some((name, first)) = failures.next() else { return Ok(Part::Done { affected: -1 }) };
    let mut message = format!("{name} is missing here: {}", first.message);
    for (name, error) in failures {
        message.push_str(&format!("; {name}: {}", error.message));
    }
    let told = Error::new(first.kind, message).hint("give catalogName to ask one connection");
    Err(told.with(first.get_retry_after(), Error::retry_after).with(first.cause(), Error::because))
}
