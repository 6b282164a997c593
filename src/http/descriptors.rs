//! How many client connections there are descriptors for: sources, the store and files have theirs in reserve, so
//! that they come back also where clients have taken the rest.

use std::thread::available_parallelism;

use rustix::process::{Resource, getrlimit};

use crate::app::App;

/// Those of listeners, threads, the store, log and trail.
const OWN: usize = 128;

/// Client connections that each worker may have: as many as `server.max_connections`, and no more than there are
/// descriptors for.
pub(super) fn connections(app: &App) -> usize {
    let config = app.config();
    let wanted = config.server.bounds.max_connections;
    let Some(limit) = getrlimit(Resource::Nofile).current else { return wanted };
    let sources: usize = config.connections.iter().map(|connection| connection.pool).sum();
    let workers = available_parallelism().map_or(1, usize::from);
    let most = most(usize::try_from(limit).unwrap_or(usize::MAX), sources, workers);
    if most < wanted {
        log::warn!(
            "{most} client connections are taken on each of {workers} threads, not {wanted} (server.max_connections): \
             {limit} files may be open; raise LimitNOFILE= for more"
        );
    }
    most.min(wanted)
}

fn most(limit: usize, sources: usize, workers: usize) -> usize {
    (limit.saturating_sub(OWN + 2 * sources) / workers).max(1)
}

#[cfg(test)]
mod tests {
    use super::most;

    #[test]
    fn what_sources_need_is_left_to_them() {
        assert_eq!(most(1_024, 20, 2), 428);
        assert_eq!(most(100, 20, 2), 1, "it serves all the same");
    }
}
