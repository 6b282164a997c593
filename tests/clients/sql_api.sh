#!/usr/bin/env bash
# Drives the SQL API of a demo through HTTP clients of another language: a million rows, streamed, in each form.
# Their packages are installed below target/, once.
#   tests/clients/sql_api.sh [PROGRAM]
set -euo pipefail
cd "$(dirname "$0")/../.."
program=$(realpath "${1:-target/debug/portico}")
python=$PWD/target/clients/sql_api
if [ ! -e "$python/ready" ]; then
  python3 -m venv "$python"
  "$python/bin/pip" install -q requests==2.34.2 pyarrow==26.0.1
  touch "$python/ready"
fi
work=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; rm -rf "$work"' EXIT
"$program" demo --listen 127.0.0.1:0 --data-dir "$work/demo" --json >"$work/page.json" 2>"$work/log" &
until [ -s "$work/page.json" ]; do kill -0 $! || { cat "$work/log"; exit 1; }; sleep 0.1; done
"$python/bin/python" tests/clients/sql_api.py "$work/page.json" $!
