# Runs as root in the fresh Debian of run.sh, with the two packages beside it.
set -Eeuo pipefail
cd "$(dirname "$0")"
config=/etc/portico/config.toml
api=http://127.0.0.1:8787

fail() {
  echo "FAILED: $*"
  systemctl status --no-pager --full portico || true
  journalctl --no-pager --unit portico | tail -n 60
  exit 1
}
trap 'fail "line $LINENO: $BASH_COMMAND"' ERR
say() { echo "ok  $*"; }
alone() { runuser -u portico -- "$@"; }
value() { systemctl show --property "$1" --value portico; }
# Whether the journal says so since `since`. Nothing is piped into grep -q: it leaves before all is written.
journal_says() { grep -qF -- "$1" <<<"$(journalctl --no-pager --unit portico --since "$since")"; }
# Everything that is waited for is asked for until it is so.
until_true() {
  for _ in $(seq 300); do
    if "$@" >/dev/null 2>&1; then return; fi
    sleep 0.2
  done
  fail "it never came to be: $*"
}
select_one() {
  grep -qF '"rows":[[1]]' <<<"$(curl -fsS "$api/api/query" -u "ann@example.org:$token" \
    -H 'Content-Type: application/json' -d '{"query": "SELECT 1 AS one", "defaultCatalog": "shop"}')"
}

dpkg --install portico_1.deb >/dev/null
[ "$(stat -c '%a %U:%G' $config)" = "640 root:portico" ] || fail "the configuration is open"
[ "$(stat -c '%a %U:%G' /var/lib/portico)" = "700 portico:portico" ] || fail "the state is open"
for path in /usr/share/man/man1/portico-reload.1.gz /usr/share/bash-completion/completions/portico \
  /usr/lib/systemd/system/portico.service; do
  [ -e "$path" ] || fail "$path is missing"
done
[ "$(value ActiveState)" = inactive ] || fail "it was started before it had a connection"
say "it installs"

since="$(date '+%F %T')"
if systemctl start portico 2>/dev/null; then fail "it ran without a connection"; fi
until_true journal_says "there is no connection"
# systemd would try again every two seconds.
systemctl stop portico
say "a fresh installation says what it lacks"

alone sh -c ': > /var/lib/portico/shop.db'
install -d -m 0700 /etc/portico/credentials
install -m 0600 /dev/stdin /etc/portico/credentials/shop <<<"/var/lib/portico/shop.db"
mkdir -p /etc/systemd/system/portico.service.d
printf '[Service]\nLoadCredential=shop:/etc/portico/credentials/shop\nWatchdogSec=3\n' \
  >/etc/systemd/system/portico.service.d/override.conf
systemctl daemon-reload
cat >>$config <<'TOML'
[audit]
file = "audit.jsonl"
[[connections]]
id = "6f0b1a52-8d0e-4c57-9d1b-6a7f3f0c2b11"
name = "shop"
url = "sqlite:${credential:shop}"
TOML
alone portico user add ann@example.org --config $config
token="$(alone portico pat create ann@example.org --expires 90d --config $config 2>/dev/null)"
systemctl enable --quiet --now portico
# Type=notify: it is ready when the command returns.
[ "$(value ActiveState)/$(value SubState)" = active/running ] || fail "it does not run"
[ "$(value StatusText)" = "1 of 1 connections up" ] || fail "its status is $(value StatusText)"
select_one
alone portico health --config $config >/dev/null
process="$(value MainPID)"
[ "$(stat -c '%a %U' /var/lib/portico/audit.jsonl)" = "600 portico" ] || fail "the trail is not where the unit may write"
[ "$(value MemoryMax)" = 6442450944 ] && [ "$(value TasksMax)" = 4096 ] || fail "it has no bounds of its own"
# A container may have fewer than the unit gives.
given="$(awk '/^Max open files/ { print ($5 < 65536 ? $5 : 65536) }' /proc/1/limits)"
grep -q "^Max open files *$given *$given " /proc/"$process"/limits || fail "it has other descriptors than the unit gives"
[ "$(stat -c %U /proc/"$process")" = portico ] || fail "it runs as another user"
grep -q '^NoNewPrivs:.*1$' /proc/"$process"/status || fail "it may get new privileges"
grep -q '^Seccomp:.*2$' /proc/"$process"/status || fail "it has no filter of system calls"
grep -q '^CapEff:.*0000000000000000$' /proc/"$process"/status || fail "it has capabilities"
say "it starts, reads its credential and answers: $(value StatusText)"

cp $config /tmp/good.toml
sed 's/6f0b1a52-8d0e-4c57-9d1b-6a7f3f0c2b11/6f0b1a52-8d0e-4c57-9d1b-6a7f3f0c2b12/; s/"shop"/"stock"/' \
  <(tail -n 4 /tmp/good.toml) >>$config
systemctl reload portico
grep -qF '"stock"' <<<"$(curl -fsS "$api/api/connections" -u "ann@example.org:$token")" || fail "the new connection is not there"
echo 'max_rows = "many"' >>$config
since="$(date '+%F %T')"
if systemctl reload portico 2>/dev/null; then fail "a bad file was taken over"; fi
until_true journal_says "connections[1].max_rows: this value is not allowed"
select_one
cp /tmp/good.toml $config
[ "$(value MainPID)" = "$process" ] || fail "a reload restarted it"
say "it reloads, and refuses a bad file"

systemctl kill --signal STOP --kill-whom main portico
restarted() { [ "$(value NRestarts)" = "$1" ] && [ "$(value SubState)" = running ]; }
until_true restarted 1
select_one
systemctl kill --signal KILL --kill-whom main portico
until_true restarted 2
select_one
say "it is started again after a hang and after a death"

process="$(value MainPID)"
DEBIAN_FRONTEND=noninteractive dpkg --force-confold --install portico_2.deb >/dev/null
[[ "$(dpkg-query --show --showformat '${Version}' portico)" = *-2 ]] || fail "it was not upgraded"
[ "$(value MainPID)" != "$process" ] || fail "the old program still runs"
until_true select_one
say "an upgrade restarts it, with its configuration and its store"

systemctl stop portico
[ "$(value Result)/$(value ExecMainStatus)" = success/0 ] || fail "it ended badly"
systemctl enable --quiet --now portico.socket
[ "$(value ActiveState)" = inactive ] || fail "nobody has asked yet"
select_one
[ "$(value ActiveState)" = active ] || fail "the call was answered by another"
say "it stops well, and starts with the first call on systemd's socket"

dpkg --remove portico >/dev/null
[ -e $config ] && [ -e /var/lib/portico/portico.db ] || fail "removing took the configuration or the store"
[ ! -e /usr/bin/portico ] || fail "the program is still there"
if curl -s "$api/healthz" >/dev/null; then fail "it still answers"; fi
rm -r /etc/portico/credentials
dpkg --purge portico >/dev/null
for path in /etc/portico /var/lib/portico /usr/share/doc/portico /usr/lib/systemd/system/portico.service; do
  [ ! -e "$path" ] || fail "purging left $path"
done
if getent passwd portico >/dev/null; then fail "purging left the user"; fi
say "it goes, and what it kept goes when that is asked for"
