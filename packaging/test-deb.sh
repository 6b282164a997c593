#!/usr/bin/env bash
# Builds the Debian package twice, installs the first, starts it by hand, upgrades, removes and purges.
# Needs root on a machine (or in a container) that may have a package installed for a minute, and
# cargo-deb: cargo install cargo-deb. PROFILE=dev packs a debug build, which is there sooner.
set -euo pipefail
cd "$(dirname "$0")/.."
profile="${PROFILE:-release}"
folder=release
[ "$profile" = dev ] && folder=debug

fail() { echo "test-deb: $*" >&2; exit 1; }
command -v cargo-deb >/dev/null || fail "cargo-deb is missing: cargo install cargo-deb"
if getent passwd portico >/dev/null || [ -e /etc/portico ]; then fail "portico is installed here already"; fi

cargo build --workspace --locked --profile "$profile"
rm -rf target/package
"target/$folder/portico" generate man target/package/man
"target/$folder/portico" generate completions target/package/completions
packages="$(mktemp -d)"
service=0
cleanup() {
  [ "$service" = 0 ] || kill "$service" 2>/dev/null || true
  dpkg --purge portico >/dev/null 2>&1 || true
  rm -rf "$packages"
}
trap cleanup EXIT
for revision in 1 2; do
  cargo deb --no-build --profile "$profile" --package portico --deb-revision "$revision" \
    --output "$packages/portico_$revision.deb" >/dev/null
done
dpkg-deb --contents "$packages/portico_1.deb"

alone() { setpriv --reuid portico --regid portico --clear-groups "$@"; }
start() {
  (cd / && exec setpriv --reuid portico --regid portico --clear-groups \
    /usr/bin/portico serve --config /etc/portico/config.toml 2>>"$packages/log") &
  service=$!
  for _ in $(seq 300); do
    alone /usr/bin/portico health --config /etc/portico/config.toml >/dev/null 2>&1 && return
    kill -0 "$service" 2>/dev/null || break
    sleep 0.2
  done
  cat "$packages/log" >&2
  fail "the service did not come up"
}
stop() {
  kill -TERM "$service"
  wait "$service" || fail "the service ended with $?"
  service=0
}

apt-get install -q -y "$packages/portico_1.deb" >/dev/null
[ "$(stat -c '%a %U:%G' /etc/portico/config.toml)" = "640 root:portico" ] || fail "the configuration is open"
[ "$(stat -c '%a %U:%G' /var/lib/portico)" = "700 portico:portico" ] || fail "the state is open"
for path in /usr/share/man/man1/portico-reload.1.gz /usr/share/bash-completion/completions/portico \
  /usr/lib/systemd/system/portico.service /usr/share/doc/portico/operating.md.gz; do
  [ -e "$path" ] || [ -e "${path%.gz}" ] || fail "$path is missing"
done
# A fresh installation says what it lacks.
if alone /usr/bin/portico serve --config /etc/portico/config.toml 2>"$packages/log"; then fail "it ran without a connection"; fi
grep -q "there is no connection" "$packages/log" || fail "$(cat "$packages/log")"

python3 - <<'PYTHON' 2>/dev/null || alone sh -c ': > /var/lib/portico/shop.db'
import sqlite3
sqlite3.connect("/var/lib/portico/shop.db").execute("CREATE TABLE t (a)")
PYTHON
chown portico:portico /var/lib/portico/shop.db
sed -i 's/127.0.0.1:8787/127.0.0.1:18789/' /etc/portico/config.toml
cat >> /etc/portico/config.toml <<'TOML'
[[connections]]
id = "6f0b1a52-8d0e-4c57-9d1b-6a7f3f0c2b11"
name = "shop"
url = "sqlite:/var/lib/portico/shop.db"
TOML
alone /usr/bin/portico user add ann@example.org --config /etc/portico/config.toml
start
alone /usr/bin/portico reload --config /etc/portico/config.toml
stop
# An upgrade keeps what was configured and who may call.
DEBIAN_FRONTEND=noninteractive dpkg --force-confold --install "$packages/portico_2.deb" >/dev/null
dpkg-query --show portico | grep -q -- '-2$' || fail "it was not upgraded"
grep -q 'name = "shop"' /etc/portico/config.toml || fail "the upgrade lost the configuration"
start
alone /usr/bin/portico user list --config /etc/portico/config.toml | grep -q ann@example.org || fail "the upgrade lost the store"
stop
dpkg --remove portico >/dev/null
[ -e /etc/portico/config.toml ] && [ -e /var/lib/portico/portico.db ] || fail "removing took the configuration or the store"
[ ! -e /usr/bin/portico ] || fail "the program is still there"
dpkg --purge portico >/dev/null
for path in /etc/portico /var/lib/portico /usr/share/doc/portico /usr/lib/systemd/system/portico.service; do
  [ ! -e "$path" ] || fail "purging left $path"
done
if getent passwd portico >/dev/null; then fail "purging left the user"; fi
echo "the package installs, starts, upgrades and goes"
