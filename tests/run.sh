#!/usr/bin/env bash
# Runs the tests, after it has installed what they start: bash tests/run.sh [arguments of cargo test]
set -euo pipefail
cd "$(dirname "$0")/.."

bash tests/programs.sh
exec cargo test --workspace "$@"
