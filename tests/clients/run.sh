#!/usr/bin/env bash
# Lets clients that others wrote use a running demo, each in every way it can connect: it lists tools, calls one, gets an
# error that an agent can mend, hears of progress, and cancels a statement that would never end, which must end at the
# source. The clients are installed below target/, once.
#   tests/clients/run.sh [PROGRAM]
set -euo pipefail
cd "$(dirname "$0")/../.."
program=$(realpath "${1:-target/debug/portico}")
tools=$PWD/target/clients
mkdir -p "$tools"
[ -x "$tools/python/bin/python" ] || python3 -m venv "$tools/python"
"$tools/python/bin/python" -c 'import importlib.metadata as m; assert m.version("mcp") == "2.3.0"' 2>/dev/null ||
  "$tools/python/bin/pip" install -q mcp==2.3.0
if [ ! -e "$tools/node_modules/@modelcontextprotocol/sdk" ] || [ ! -e "$tools/node_modules/@modelcontextprotocol/client" ]; then
  npm install --silent --no-save --prefix "$tools" @modelcontextprotocol/client@2.4.0 @modelcontextprotocol/sdk@1.32.2
fi
# A folder of its own: it brings versions of its own of what the others have, and wants a newer Node.
if [ ! -e "$tools/inspector/node_modules/@modelcontextprotocol/inspector" ]; then
  mkdir -p "$tools/inspector"
  npm install --silent --no-save --prefix "$tools/inspector" node@22 @modelcontextprotocol/inspector@2.12.0
fi
# Likewise.
if [ ! -e "$tools/remote/node_modules/mcp-remote" ]; then
  mkdir -p "$tools/remote"
  npm install --silent --no-save --prefix "$tools/remote" mcp-remote@0.15.1
fi
# Modules are looked for beside the file that names them.
cp tests/clients/*.mjs "$tools"

work=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; rm -rf "$work"' EXIT
RUST_LOG=info "$program" demo --listen 127.0.0.1:0 --data-dir "$work/demo" --json >"$work/page.json" 2>"$work/log" &
until [ -s "$work/page.json" ]; do kill -0 $! || { cat "$work/log"; exit 1; }; sleep 0.1; done
read -r url auth id secret < <(python3 - "$work/page.json" <<'P'
import json, sys
page = json.load(open(sys.argv[1]))
print(*(page[each] for each in ("mcpUrl", "authUrl", "clientId", "clientSecret")))
P
)
# The page comes first, the listener right behind it.
token=$(curl -sf --retry 20 --retry-connrefused --retry-delay 1 "$auth" -d grant_type=client_credentials \
  -d "client_id=$id" -d "client_secret=$secret" | python3 -c 'import json, sys; print(json.load(sys.stdin)["access_token"])')

failed=0
abandoned() { grep -c 'what=execute_select .*outcome=abandoned' "$work/log" || true; }
# Runs a client, and waits until the statement that it cancelled has ended at the source.
try() {
  local name=$1 before limit=300
  shift
  before=$(abandoned)
  if ! timeout 120 "$@" >"$work/out" 2>&1 </dev/null; then
    echo "FAIL $name"
    cat "$work/out"
    failed=1
    return
  fi
  until [ "$(abandoned)" -gt "$before" ]; do
    limit=$((limit - 1))
    if [ $limit -eq 0 ]; then
      echo "FAIL $name: the cancelled statement goes on"
      failed=1
      return
    fi
    sleep 0.1
  done
  echo "ok $name: $(tail -1 "$work/out")"
}
for mode in auto legacy 2026-07-28; do
  try "python mcp 2.3.0, $mode" "$tools/python/bin/python" tests/clients/client.py "$url" "$token" "$mode"
done
for mode in legacy auto; do
  try "node client 2.4.0, $mode" node "$tools/client_v2.mjs" "$url" "$token" "$mode"
done
# Launched, as clients do that know no addresses.
for mode in auto legacy 2026-07-28; do
  try "python mcp 2.3.0, launched, $mode" "$tools/python/bin/python" tests/clients/client.py "$url" "$token" "$mode" "$program"
done
for mode in legacy auto; do
  try "node client 2.4.0, launched, $mode" node "$tools/client_v2.mjs" "$url" "$token" "$mode" "$program"
done
try "node sdk 1.32.2" node "$tools/client_v1.mjs" "$url" "$token"

# What `portico connect` prints for programs and shells, as it stands but for the token.
read -r base pat < <(python3 - "$work/page.json" <<'P'
import json, sys
page = json.load(open(sys.argv[1]))
print(page["baseUrl"], page["pat"])
P
)
# Runs what is printed for a client, which must tell of the tool execute_select.
pasted() {
  local name=$1
  shift
  if timeout 120 "$@" >"$work/out" 2>&1 </dev/null && grep -q execute_select "$work/out"; then
    echo "ok $name"
  else
    echo "FAIL $name"
    cat "$work/out"
    failed=1
  fi
}
printed() {
  "$program" connect "$1" --server "$base" --connection shop --json | python3 -c \
    'import json, sys; told = json.load(sys.stdin); print(told[sys.argv[1]].replace("<token>", sys.argv[2]))' "$2" "$pat"
}
export PORTICO_TOKEN=$pat
printed python program >"$work/connect.py"
pasted "portico connect python" "$tools/python/bin/python" "$work/connect.py"
printed typescript program >"$tools/connect.mjs"
pasted "portico connect typescript" node "$tools/connect.mjs"
printed curl paste >"$work/connect.sh"
pasted "portico connect curl" sh -e "$work/connect.sh"
# npx would fetch the newest one.
printed inspector paste | sed 's|npx -y @modelcontextprotocol/inspector|mcp-inspector|' >"$work/inspector.sh"
# It signs in unless it is given a token.
sed -i 's|$| --header "Authorization: Bearer $PORTICO_TOKEN"|' "$work/inspector.sh"
pasted "portico connect inspector" env "PATH=$tools/inspector/node_modules/.bin:$PATH" sh -e "$work/inspector.sh"

# Clients that sign in by themselves, each with a home of its own and with a person for a browser: they read the server's
# metadata, register, have the person allow what they ask for, and redeem the code. Without a display, what opens browsers
# takes the program that BROWSER names.
cat >"$work/browser" <<E
#!/bin/sh
exec python3 "$PWD/tests/clients/person.py" "\$1" "$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["user"])' "$work/page.json")" "$pat" >>"$work/browser.log" 2>&1
E
chmod +x "$work/browser"
mkdir "$work/home"
signs_in=(env -u DISPLAY -u WAYLAND_DISPLAY "HOME=$work/home" "BROWSER=$work/browser")
place=$base/mcp/connections/shop
pasted "inspector, signing in" "${signs_in[@]}" MCP_AUTO_OPEN_ENABLED=true \
  "PATH=$tools/inspector/node_modules/.bin:$PATH" mcp-inspector --cli "$place" --transport http --method tools/list
# It speaks for the server on standard input and output, and goes when its input ends.
cat >"$work/remote.sh" <<'E'
{
  echo '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"tests","version":"1"}}}'
  echo '{"jsonrpc":"2.0","method":"notifications/initialized"}'
  echo '{"jsonrpc":"2.0","id":2,"method":"tools/list"}'
  until grep -q '"id":2' "$2/remote.log"; do sleep 0.1; done
} | "$1" "$3" | tee "$2/remote.log"
E
: >"$work/remote.log"
pasted "mcp-remote 0.15.1, signing in" "${signs_in[@]}" bash "$work/remote.sh" \
  "$tools/remote/node_modules/.bin/mcp-remote" "$work" "$place"
[ ! -s "$work/browser.log" ] || cat "$work/browser.log"
exit $failed
