#!/usr/bin/env bash
# Lets a client that others published for services of this kind (cdata-connect-ai, of PyPI) read 50,000 rows of a demo. It
# asks for gzip through its HTTP library and reads the socket raw. It is installed below target/, once.
#   tests/clients/connect_ai.sh [PROGRAM]
set -euo pipefail
cd "$(dirname "$0")/../.."
program=$(realpath "${1:-target/debug/portico}")
python=$PWD/target/clients/connect_ai
if [ ! -e "$python/ready" ]; then
  python3 -m venv "$python"
  "$python/bin/pip" install -q cdata-connect-ai==1.2.0
  touch "$python/ready"
fi
work=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; rm -rf "$work"' EXIT
"$program" demo --listen 127.0.0.1:0 --data-dir "$work/demo" --json >"$work/page.json" 2>"$work/log" &
until [ -s "$work/page.json" ]; do kill -0 $! || { cat "$work/log"; exit 1; }; sleep 0.1; done
timeout 300 "$python/bin/python" tests/clients/connect_ai.py "$work/page.json"
