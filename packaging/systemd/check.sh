#!/usr/bin/env bash
# Has systemd read the units, and measures how much of the system the service can reach.
set -euo pipefail
# The path that is given starts where the caller is.
program="$(realpath "${1:-$(dirname "$0")/../../target/debug/portico}")"
cd "$(dirname "$0")"

if ! command -v systemd-analyze >/dev/null 2>&1; then
  echo "systemd-analyze is not here: the units are not checked" >&2
  exit 0
fi
copy="$(mktemp -d)"
trap 'rm -r "$copy"' EXIT
# The program is not installed where the unit expects it.
for unit in portico.service portico.socket; do
  sed "s|/usr/bin/portico|$program|" "$unit" > "$copy/$unit"
done
# Whatever systemd warns of is an error here.
words="$(systemd-analyze verify --man=no "$copy/portico.service" "$copy/portico.socket" 2>&1)" || true
if grep -F "$copy" <<<"$words" || grep -E '^portico\.' <<<"$words"; then
  exit 1
fi
# 2.0 of 10 at most.
systemd-analyze security --offline=true --no-pager --threshold=20 "$copy/portico.service" | tail -n 1
