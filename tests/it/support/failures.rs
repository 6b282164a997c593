//! What a failed test says.

use std::io::Write;
use std::panic;
use std::sync::Once;
use std::thread;

/// Characters of it that are said at once.
const AT_ONCE: usize = 4_000;

/// Has a test that fails say why on the standard error. The harness keeps it to the end of the run, which a run that is
/// cut off does not reach.
pub(crate) fn say_at_once() {
    static SAID: Once = Once::new();
    SAID.call_once(|| {
        let kept = panic::take_hook();
        panic::set_hook(Box::new(move |failure| {
            kept(failure);
            // The harness names the thread of a test after it, in full.
            if let Some(test) = thread::current().name().filter(|name| name.contains("::")) {
                let words: String = failure.to_string().chars().take(AT_ONCE).collect();
                // A failure is told in the end all the same.
                let _ = writeln!(std::io::stderr(), "{test}: {words}");
            }
        }));
    });
}
