#!/usr/bin/env bash
# Stands in for rustdoc where cargo would have it run the examples of a crate (`RUSTDOC=… cargo test --doc`): writes the
# crate's documentation, and fails on what rustdoc warns of. The libraries are those that the tests were built with;
# `cargo doc` would check all of them once more.
set -euo pipefail
arguments=()
while [ $# -gt 0 ]; do
  case $1 in
    --test) ;;
    --test-run-directory) shift ;;
    *) arguments+=("$1") ;;
  esac
  shift
done
exec rustdoc "${arguments[@]}" -D warnings --out-dir "${CARGO_TARGET_DIR:-$(dirname "$0")/../target}/doc"
