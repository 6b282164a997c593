#!/usr/bin/env bash
# Looks at what the tree depends on: licences, sources, duplicates (deny.toml), and advisories where their
# database can be had. Builds cargo-deny where it is missing.
set -euo pipefail
cd "$(dirname "$0")/.."

if ! command -v cargo-deny >/dev/null 2>&1; then
  tools=$(mktemp -d)
  trap 'rm -rf "$tools"' EXIT
  # It runs once: what optimising costs is not won back.
  if ! CARGO_PROFILE_RELEASE_OPT_LEVEL=0 CARGO_PROFILE_RELEASE_LTO=off CARGO_TARGET_DIR="$tools/target" \
    cargo install cargo-deny --version 0.20.2 --locked --quiet --root "$tools"; then
    echo "cargo-deny cannot be had: the dependencies were not looked at"
    exit 0
  fi
  PATH="$tools/bin:$PATH"
fi

cargo deny --workspace check --show-stats licenses bans sources
if cargo deny fetch db >/dev/null 2>&1; then
  cargo deny --workspace check advisories
else
  echo "the database of advisories cannot be had: they were not looked at"
fi
