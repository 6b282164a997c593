//! Any text as SQL, in both dialects: what must hold is `sql/invariants.rs`, as in the property tests.
//! Only the room of SQL is built, not what connects to databases, so that the build is short.
#![no_main]
// Most of the two files is used by the rest of the service alone.
#![allow(dead_code, unused_imports)]

#[path = "../../actors/src/error.rs"]
mod error;
#[path = "../../actors/src/sql/mod.rs"]
mod sql;

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

fuzz_target!(init: hear_only_our_own(), |text: &str| sql::invariants::check(text));
