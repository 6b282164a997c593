//! Any text as SQL, in both dialects: what must hold is `actors/sql/src/invariants.rs`, as in the property tests.
//! Only the floors of SQL and below are built, not what connects to databases, so that the build is short.
#![no_main]
use libfuzzer_sys::fuzz_target;

/// The parser's assertions are caught and count as "not understood"; the hook of libFuzzer would
/// end the process even so. A panic of ours is still a finding: it leaves the target.
fn hear_only_our_own() {
    let before = std::panic::take_hook();
    drop(before);
    std::panic::set_hook(Box::new(|info| {
        if info.location().is_none_or(|place| !place.file().contains("squawk")) {
            eprintln!("{info}");
        }
    }));
}

fuzz_target!(init: hear_only_our_own(), |text: &str| portico_sql::invariants::check(text));
