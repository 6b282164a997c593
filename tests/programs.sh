#!/usr/bin/env bash
# Installs the programs that the tests start, where they are missing and this user may: PostgreSQL, PgBouncer, and a
# C compiler for the build. Else says what is missing.
set -euo pipefail

missing=()
command -v cc >/dev/null 2>&1 && command -v make >/dev/null 2>&1 || missing+=(gcc libc6-dev make)
command -v postgres >/dev/null 2>&1 || compgen -G '/usr/lib/postgresql/*/bin/postgres' >/dev/null || missing+=(postgresql)
PATH="$PATH:/usr/sbin" command -v pgbouncer >/dev/null 2>&1 || missing+=(pgbouncer)

if [ ${#missing[@]} -gt 0 ]; then
  as_root=()
  [ "$(id -u)" = 0 ] || as_root=(sudo --non-interactive)
  if command -v apt-get >/dev/null 2>&1 && { [ "$(id -u)" = 0 ] || sudo --non-interactive true 2>/dev/null; }; then
    # Debian's package would start a cluster of its own; the tests start theirs.
    "${as_root[@]}" mkdir -p /etc/postgresql-common
    [ -e /etc/postgresql-common/createcluster.conf ] \
      || echo 'create_main_cluster = false' | "${as_root[@]}" tee /etc/postgresql-common/createcluster.conf >/dev/null
    "${as_root[@]}" apt-get update -q
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${missing[@]}"
  else
    echo "missing: ${missing[*]}; install them (apt-get install ${missing[*]}), and run this again" >&2
    exit 1
  fi
fi
