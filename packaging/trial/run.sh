#!/usr/bin/env bash
# Builds the Debian package twice, boots a fresh Debian with its systemd in a container without a network, and
# has it install the first, run it, upgrade to the second, and let go of it (inside.sh tells what is looked at).
# Needs cargo-deb, and for the container root, debootstrap and systemd-nspawn; the Debian is kept in
# target/debian, and no run changes it. PROFILE=release packs what is shipped instead of a debug build; BUILT=1 packs what
# is built already.
set -euo pipefail
cd "$(dirname "$0")/../.."
profile="${PROFILE:-dev}"
folder="$profile"
[ "$profile" = dev ] && folder=debug
debian="$PWD/target/debian"

fail() { echo "packaging/trial: $*" >&2; exit 1; }
command -v cargo-deb >/dev/null || fail "cargo-deb is missing: cargo install cargo-deb --locked"

[ -n "${BUILT:-}" ] || cargo build --locked --profile "$profile" --package portico
rm -rf target/package
"target/$folder/portico" generate man target/package/man
"target/$folder/portico" generate completions target/package/completions
trial="$(mktemp -d)"
trap 'rm -rf "$trial"' EXIT
for revision in 1 2; do
  cargo deb --no-build --strip --fast --profile "$profile" --package portico --deb-revision "$revision" \
    --output "$trial/portico_$revision.deb" >/dev/null
done
dpkg-deb --info "$trial/portico_1.deb"
dpkg-deb --contents "$trial/portico_1.deb"

lacking=""
[ "$(id -u)" = 0 ] || lacking="root"
for tool in debootstrap systemd-nspawn; do command -v "$tool" >/dev/null || lacking="$lacking $tool"; done
if [ -n "$lacking" ]; then
  echo "packaging/trial: the package is built and not tried, for want of:$lacking" >&2
  exit 0
fi
if [ ! -e "$debian/complete" ]; then
  rm -rf "$debian"
  # adduser and ca-certificates are what the package asks for or a service beside databases has; curl calls it.
  debootstrap --variant=minbase --include=systemd,systemd-sysv,dbus,adduser,ca-certificates,curl \
    "$(. /etc/os-release && echo "$VERSION_CODENAME")" "$debian" >"$trial/debootstrap" 2>&1 \
    || { cat "$trial/debootstrap" >&2; fail "there is no Debian to try the package in"; }
  touch "$debian/complete"
fi
options=(--quiet --directory="$debian" --volatile=overlay --private-network)
# Where no service manager runs, there is none to tell of the container.
[ -d /run/systemd/system ] || options+=(--register=no --keep-unit)
if ! systemd-nspawn "${options[@]}" /bin/true; then
  echo "packaging/trial: the package is built and not tried: this machine does not run containers" >&2
  exit 0
fi
cp packaging/trial/inside.sh "$trial/"
cat >"$trial/trial.service" <<'UNIT'
[Unit]
Requires=multi-user.target
After=multi-user.target
[Service]
Type=oneshot
StandardOutput=file:/trial/log
StandardError=file:/trial/log
ExecStart=/bin/sh -c '/bin/bash /trial/inside.sh; systemctl exit $?'
UNIT
# Ten minutes are many times what it takes.
timeout 600 systemd-nspawn "${options[@]}" --console=read-only --bind="$trial:/trial" \
  --bind-ro="$trial/trial.service:/etc/systemd/system/trial.service" \
  --boot systemd.unit=trial.service >"$trial/console" 2>&1 </dev/null && result=0 || result=$?
cat "$trial/log" || cat "$trial/console"
[ "$result" = 0 ] || fail "the trial ended with $result"
