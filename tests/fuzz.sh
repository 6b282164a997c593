#!/usr/bin/env bash
# Fuzzes what reads SQL (fuzz/fuzz_targets/sql.rs) on a stable toolchain: no cargo-fuzz and no sanitizer is needed, but a
# compiler of C++ for libFuzzer. Where the toolchain does not allow it, one line says why. A finding fails, and its text is
# left in fuzz/artifacts/; make it a test, then mend it.
# With a seed it begins from the seeds of the tree alone, so that the next run goes the same way; without one it goes on from
# what earlier runs found.
#   tests/fuzz.sh [SECONDS [SEED]]
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-60}
seed=${2:-}
export CARGO_TARGET_DIR=$PWD/target/fuzz
artifacts=$PWD/fuzz/artifacts/sql
log=$CARGO_TARGET_DIR/build.log

pass() { echo "the SQL is not fuzzed: $1"; exit 0; }

command -v "${CXX:-c++}" >/dev/null 2>&1 || pass "there is no compiler of C++ (apt-get install g++)"
host=$(rustc -vV | sed -n 's/^host: //p')
case $host in
  *-linux-gnu | *-apple-darwin) ;;
  *) pass "libFuzzer is not tried on $host" ;;
esac

# Coverage as cargo-fuzz asks for it. The target is named so that build scripts are built without.
coverage='--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4'
coverage+=' -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table'
coverage+=' -Cllvm-args=-sanitizer-coverage-trace-compares'
mkdir -p "$CARGO_TARGET_DIR" "$artifacts"
cargo fetch --locked --manifest-path fuzz/Cargo.toml >"$log" 2>&1 || pass "its libraries cannot be had ($log)"
# A toolchain that knows no such coverage fails on an empty program too; code of ours that does not compile is no excuse.
printf 'fn main() {}\n' >"$CARGO_TARGET_DIR/empty.rs"
# shellcheck disable=SC2086
rustc $coverage --emit=obj -o "$CARGO_TARGET_DIR/empty.o" "$CARGO_TARGET_DIR/empty.rs" >"$log" 2>&1 \
  || pass "this rustc cannot instrument ($log)"
RUSTFLAGS=$coverage cargo build --locked --release --manifest-path fuzz/Cargo.toml --target "$host" >"$log" 2>&1 \
  || { cat "$log"; exit 1; }

# New inputs are kept out of the tree; the seeds are only read.
found=$CARGO_TARGET_DIR/corpus
[ -z "$seed" ] || rm -rf "$found"
mkdir -p "$found"
"$CARGO_TARGET_DIR/$host/release/sql" -seed="${seed:-0}" -max_total_time="$seconds" -max_len=2048 -timeout=20 -rss_limit_mb=2048 \
  -print_final_stats=1 -verbosity=1 -artifact_prefix="$artifacts/" "$found" fuzz/corpus/sql >"$log" 2>&1 \
  || { tail -n 60 "$log"; echo "the text is in $artifacts"; exit 1; }
sed -n 's/^stat::number_of_executed_units: */texts tried: /p' "$log"
