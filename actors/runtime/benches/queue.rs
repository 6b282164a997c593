//! Benchmarks of admission to a connection without waiting calls.

use std::time::Duration;

use divan::{AllocProfiler, Bencher};
use futures_util::FutureExt;
use portico_runtime::queue::Queue;

#[global_allocator]
static ALLOCATOR: AllocProfiler = AllocProfiler::system();

fn main() {
    divan::main();
}

/// Takes and returns a permit, on so many threads at once.
#[divan::bench(threads = [1, 2, 4], sample_size = 1_000)]
fn permit(bencher: Bencher) {
    let queue = Queue::new(20, None, 1_000);
    bencher.bench(|| {
        let entered = queue.acquire("agent", Duration::from_secs(10)).now_or_never();
        assert!(entered.is_some_and(|entered| entered.is_ok()), "there is room for all threads");
    });
}
