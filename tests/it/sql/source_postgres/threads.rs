//! Sessions are driven by the thread that opened them, and used by all.

use std::collections::BTreeSet;
use std::sync::Arc;

use portico_actors::source::{Access, Source};
use tokio::runtime::Builder;

use crate::support::postgres::TestPostgres;
use crate::support::results::{Subject, plan, read};

/// The process at the server that answers, as each of so many calls finds it.
async fn processes(source: &dyn Source, calls: usize) -> Vec<String> {
    let mut processes = Vec::new();
    for _ in 0..calls {
        let results = source.run(plan("SELECT pg_backend_pid()", Access::ReadOnly)).await.unwrap();
        processes.push(read(results).await.unwrap().rows[0][0].clone());
    }
    processes
}

/// The same on a thread of its own.
async fn processes_elsewhere(source: &Arc<dyn Source>, calls: usize) -> Vec<String> {
    let source = Arc::clone(source);
    let there = move || {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(processes(&*source, calls))
    };
    tokio::task::spawn_blocking(there).await.unwrap()
}

#[tokio::test]
async fn a_thread_that_uses_another_s_sessions_comes_to_have_its_own() {
    let url = TestPostgres::shared().database("threads").await;
    for (pool, in_all) in [(1, 1), (2, 2)] {
        let subject = Subject::open(&url, pool);
        let here = processes(&*subject.source, 3).await;
        let there = processes_elsewhere(&subject.source, 20).await;
        assert_eq!(there[0], here[0], "there is one, and it is used");
        let all: BTreeSet<&String> = here.iter().chain(&there).collect();
        assert_eq!(all.len(), in_all, "with room for {pool}: {there:?}");
        assert_eq!(there[19] == here[0], in_all == 1);
        assert_eq!(processes(&*subject.source, 1).await, here[..1], "this thread goes on with its own");
    }
}
