#!/usr/bin/env bash
# Runs the conformance suite's tests of the authorization server against a demo, and the official clients' own OAuth flow.
# run.sh has installed the suite and Node below target/.
#   tests/conformance/authorization.sh [FOLDER OF PROGRAMS]
set -euo pipefail
cd "$(dirname "$0")/../.."
program=$(realpath "${1:-target/debug}")/portico
tools=$PWD/target/conformance
suite=$tools/node_modules/@modelcontextprotocol/conformance/dist/index.js

work=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; rm -rf "$work"' EXIT

"$program" demo --listen 127.0.0.1:0 --data-dir "$work/demo" --json >"$work/page.json" 2>"$work/log" &
until [ -s "$work/page.json" ]; do kill -0 $! || { cat "$work/log"; exit 1; }; sleep 0.1; done
read -r base resource user pat < <(python3 - "$work/page.json" <<'P'
import json, sys
page = json.load(open(sys.argv[1]))
print(*(page[each] for each in ("baseUrl", "mcpUrl", "user", "pat")))
P
)
curl -sf --retry 20 --retry-connrefused --retry-delay 1 "$base/healthz" >"$work/healthy"

failed=0
# The authorization server: its metadata and the code grant. The suite prints the address that a person has to visit and
# waits for the answer on a port of its own; a person of ours visits it.
free=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
client=$(curl -sf "$base/oauth/register" -H 'Content-Type: application/json' \
  -d '{"client_name": "Conformance", "redirect_uris": ["http://127.0.0.1/callback"], "token_endpoint_auth_method": "none"}' |
  python3 -c 'import json, sys; print(json.load(sys.stdin)["client_id"])')
out=$work/authorization
: >"$out.log"
"$tools/node" "$suite" authorization --url "$base" --client-id "$client" --resource "$resource" \
  -p "$free" -o "$out" >"$out.log" 2>&1 </dev/null &
suite_pid=$!
until grep -q '^http.*/authorize?' "$out.log"; do kill -0 $suite_pid 2>/dev/null || break; sleep 0.1; done
visit=$(grep -m 1 '^http.*/authorize?' "$out.log" || true)
if [ -n "$visit" ]; then python3 tests/clients/person.py "$visit" "$user" "$pat" || kill $suite_pid; fi
if wait $suite_pid; then echo "ok authorization: metadata and code grant"; else
  echo "FAIL authorization"
  cat "$out.log"
  failed=1
fi
python3 tests/conformance/judge.py authorization authorization "$out" || failed=1

# The official clients find their own way from a bare 401 to a tool.
clients=$tools/clients
if [ ! -e "$clients/ready" ]; then
  python3 -m venv "$clients/python"
  "$clients/python/bin/pip" install -q mcp==2.3.0
  npm install --silent --no-save --prefix "$clients" @modelcontextprotocol/client@2.4.0
  touch "$clients/ready"
fi
# Node looks for packages beside the script.
cp tests/clients/*.py tests/clients/*.mjs "$clients/"
for run in "$clients/python/bin/python $clients/oauth_python.py" "$tools/node $clients/oauth_typescript.mjs"; do
  if result=$(timeout 120 $run "$work/demo/credentials.json" 2>&1); then echo "$result (${run##*/})"; else
    echo "FAIL ${run##*/}"
    echo "$result"
    failed=1
  fi
done
exit $failed
