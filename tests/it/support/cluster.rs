//! A PostgreSQL server of a test's own: with its own rules for who may come in, to be stopped,
//! restarted, copied and promoted. The tests' common server is in `postgres.rs`.

use std::fs::{self, Permissions};
use std::io::Write;
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use super::postgres::{Said, account, newer_programs, programs};

/// Obeys one word a line, and stops and clears up when there are no more: the end of the tests,
/// whatever brings it about, closes the pipe.
const KEEPER: &str = r#"
trap '' INT HUP
bin=$1 home=$2 port=$3
control() { "$bin/pg_ctl" -D "$home/data" -s -w -t 120 "$@" >>"$home/control.log" 2>&1; }
while read -r word first second; do
    case $word in
        init) "$bin/initdb" -D "$home/data" -U postgres -A trust -E UTF8 --locale=C --no-sync >"$home/init.log" 2>&1 ;;
        copy) "$bin/pg_basebackup" -R -X stream -c fast -D "$home/data" -h 127.0.0.1 -p "$first" -U postgres \
            >"$home/init.log" 2>&1 ;;
        start) control -l "$home/server.log" start ;;
        restart) control -l "$home/server.log" -m fast restart ;;
        stop) control -m fast stop ;;
        reload) control reload ;;
        promote) control promote ;;
    esac
    if [ $? = 0 ]; then echo done; else cat "$home"/*.log >&2; echo failed; fi
done
control -m immediate stop
rm -rf "$home"
"#;

/// A server of its own.
pub(crate) struct Cluster {
    pub(crate) home: PathBuf,
    pub(crate) port: u16,
    keeper: Mutex<(ChildStdin, Said)>,
    // Reaped with the tests.
    _child: Child,
}

impl Cluster {
    /// A fresh server that was not started yet: trusts everybody, unless `pg_hba.conf` is written.
    pub(crate) fn new() -> Self {
        Self::with_programs(&programs())
    }

    /// The same from the programs in a folder of their own.
    pub(crate) fn with_programs(programs: &Path) -> Self {
        let cluster = Self::empty(programs);
        cluster.obey("init");
        cluster.configure("");
        cluster
    }

    /// A newer server, started; `None` where none is at hand.
    pub(crate) fn newer() -> Option<Self> {
        let server = Self::with_programs(&newer_programs()?);
        server.obey("start");
        Some(server)
    }

    /// A standby of `primary`, which runs. It was not started yet.
    pub(crate) fn standby_of(primary: &Self) -> Self {
        let cluster = Self::empty(&programs());
        cluster.obey(&format!("copy {}", primary.port));
        cluster.configure("");
        cluster
    }

    fn empty(programs: &Path) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let home = std::env::temp_dir().join(format!("portico-it-{}-own-{number}", std::process::id()));
        fs::create_dir(&home).unwrap();
        let mut command = Command::new("sh");
        command.arg("-c").arg(KEEPER).arg("keeper").arg(programs).arg(&home).arg(port.to_string());
        command.current_dir(&home).stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0);
        if let Some((user, group)) = account() {
            chown(&home, Some(user), Some(group)).unwrap();
            command.uid(user).gid(group);
        }
        let mut child = command.spawn().expect("sh starts the keeper");
        let keeper = (child.stdin.take().unwrap(), Said::by(child.stdout.take().unwrap()));
        Self { home, port, keeper: Mutex::new(keeper), _child: child }
    }

    /// Settings besides those of every server of the tests.
    pub(crate) fn configure(&self, more: &str) {
        let (home, port) = (self.home.display(), self.port);
        let text = format!(
            "listen_addresses = '127.0.0.1'\nport = {port}\nunix_socket_directories = '{home}'\nfsync = off\n\
             full_page_writes = off\njit = off\nmax_connections = 40\nwal_level = replica\nhot_standby = on\n{more}\n"
        );
        self.write("postgresql.conf", &text);
    }

    /// Writes a file of the server's folder that nobody else may read.
    pub(crate) fn write(&self, name: &str, text: &str) {
        self.write_to(&self.home.join("data").join(name), text);
    }

    fn write_to(&self, path: &Path, text: &str) {
        fs::write(path, text).unwrap();
        fs::set_permissions(path, Permissions::from_mode(0o600)).unwrap();
        if let Some((user, group)) = account() {
            chown(path, Some(user), Some(group)).unwrap();
        }
    }

    /// Has the keeper do one of its words, and waits until it is done.
    pub(crate) fn obey(&self, word: &str) {
        let mut keeper = self.keeper.lock().unwrap();
        writeln!(keeper.0, "{word}").unwrap();
        assert_eq!(keeper.1.next(word).as_deref(), Some("done"), "{word}: see above");
    }

    /// A database of the server as `user`.
    pub(crate) fn url(&self, user: &str, database: &str) -> String {
        format!("postgres://{user}@127.0.0.1:{}/{database}", self.port)
    }
}
