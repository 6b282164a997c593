//! A real PostgreSQL server for this run of the tests, from the system's own programs, and a fresh
//! database for each test. It ends with the process, also when that is killed.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use tokio_postgres::{Client, NoTls};

/// Sets up the cluster, starts the server and waits for the end of its standard input: the end of
/// the tests, whatever brings it about, closes the pipe. Then it stops the server and clears up.
/// The server compiles no statements (JIT): few run long enough.
/// Where `openssl` is at hand it offers TLS with a certificate that nobody trusts.
const KEEPER: &str = r#"
set -e
trap '' INT HUP
bin=$1 home=$2 port=$3
"$bin/initdb" -D "$home/data" -U postgres -A trust -E UTF8 --locale=C --no-sync >"$home/initdb.log" 2>&1
tls=off
if openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=localhost -days 2 \
    -keyout "$home/data/server.key" -out "$home/data/server.crt" >"$home/openssl.log" 2>&1; then
    tls=on
fi
"$bin/postgres" -D "$home/data" -k "$home" -p "$port" -c listen_addresses=127.0.0.1 -c fsync=off -c jit=off \
    -c ssl=$tls -c max_connections=300 -c full_page_writes=off -c synchronous_commit=off >"$home/server.log" 2>&1 &
server=$!
until "$bin/pg_isready" -q -h "$home" -p "$port"; do
    kill -0 "$server" || { cat "$home/server.log" >&2; exit 1; }
    sleep 0.05
done
echo ready
cat >/dev/null
kill -INT "$server" || true
wait "$server" || true
rm -rf "$home"
"#;

/// Far beyond what a server takes to start, also where many tests share two cores.
const PATIENCE: Duration = Duration::from_secs(240);

/// What a keeper of servers says line by line, for those who wait without a runtime.
#[expect(clippy::disallowed_types, reason = "a test waits for its servers")]
pub(crate) struct Said(std::sync::mpsc::Receiver<String>);

impl Said {
    pub(crate) fn by(pipe: impl Read + Send + 'static) -> Self {
        let (tell, told) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            BufReader::new(pipe).lines().map_while(Result::ok).try_for_each(|line| tell.send(line).ok())
        });
        Self(told)
    }

    /// The next line, or nothing where there is none any more.
    #[track_caller]
    pub(crate) fn next(&self, what: &str) -> Option<String> {
        match self.0.recv_timeout(PATIENCE) {
            Ok(line) => Some(line),
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => panic!("waited {} s for {what}", PATIENCE.as_secs()),
        }
    }
}

/// The server of this process.
pub(crate) struct TestPostgres {
    home: PathBuf,
    port: u16,
    databases: AtomicU32,
    // Holds the keeper's standard input open.
    _keeper: Child,
}

impl TestPostgres {
    /// The server, started when the first test asks for it.
    pub(crate) fn shared() -> &'static Self {
        static SERVER: OnceLock<TestPostgres> = OnceLock::new();
        SERVER.get_or_init(Self::start)
    }

    /// A fresh database whose name begins with `prefix`, as a URL over TCP.
    pub(crate) async fn database(&self, prefix: &str) -> String {
        let number = self.databases.fetch_add(1, Ordering::Relaxed);
        let name = format!("{prefix}_{number}");
        let admin = connect(&self.url("postgres")).await;
        admin.batch_execute(&format!("CREATE DATABASE {name}")).await.unwrap();
        self.url(&name)
    }

    /// The same database over the server's socket in the file system.
    pub(crate) fn socket_url(&self, url: &str) -> String {
        let database = url.rsplit('/').next().unwrap();
        let home = self.home.to_str().unwrap().replace('/', "%2F");
        format!("postgres://postgres@{home}:{}/{database}", self.port)
    }

    /// A database as seen by another user.
    pub(crate) fn url_as(&self, user: &str, database: &str) -> String {
        format!("postgres://{user}@127.0.0.1:{}/{database}", self.port)
    }

    fn url(&self, database: &str) -> String {
        self.url_as("postgres", database)
    }

    fn start() -> Self {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let home = std::env::temp_dir().join(format!("portico-it-{}-{port}", std::process::id()));
        fs::create_dir(&home).unwrap();
        let mut command = Command::new("sh");
        command.arg("-c").arg(KEEPER).arg("keeper").arg(programs()).arg(&home).arg(port.to_string());
        command.current_dir(&home).stdin(Stdio::piped()).stdout(Stdio::piped());
        // A terminal's interrupt is for the tests; the keeper sees their end.
        command.process_group(0);
        if let Some((user, group)) = account() {
            chown(&home, Some(user), Some(group)).unwrap();
            command.uid(user).gid(group);
        }
        let mut keeper = command.spawn().expect("sh starts the server");
        let said = Said::by(keeper.stdout.take().unwrap()).next("PostgreSQL to start");
        assert_eq!(said.as_deref(), Some("ready"), "the server did not start; see above");
        Self { home, port, databases: AtomicU32::new(0), _keeper: keeper }
    }
}

/// A plain connection beside the driver under test.
pub(crate) async fn connect(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

/// The folder of the server's programs: the one that `PORTICO_TEST_POSTGRES` names, else the newest
/// of the system's, else the one on the path.
pub(crate) fn programs() -> PathBuf {
    if let Some(folder) = std::env::var_os("PORTICO_TEST_POSTGRES") {
        return PathBuf::from(folder);
    }
    let version = |path: &Path| path.file_name()?.to_str()?.parse::<u32>().ok();
    let installed = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten().map(|entry| entry.path());
    let newest = installed.filter(|path| path.join("bin/initdb").exists()).max_by_key(|path| version(path));
    if let Some(newest) = newest {
        return newest.join("bin");
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).find(|folder| folder.join("initdb").exists()).expect("PostgreSQL is installed")
}

/// The folder of a newer server's programs, where `PORTICO_TEST_POSTGRES_NEWER` names one: for tests
/// of what depends on the server's version.
pub(crate) fn newer_programs() -> Option<PathBuf> {
    std::env::var_os("PORTICO_TEST_POSTGRES_NEWER").map(PathBuf::from)
}

/// User and group that a server has to run as: it refuses to run as root. `postgres`, or `nobody`
/// where there is none.
pub(crate) fn account() -> Option<(u32, u32)> {
    if !fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0) {
        return None;
    }
    let accounts = fs::read_to_string("/etc/passwd").unwrap();
    let of = |name: &str| {
        let line = accounts.lines().find(|line| line.split(':').next() == Some(name))?;
        let mut fields = line.split(':').skip(2);
        Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
    };
    Some(of("postgres").or_else(|| of("nobody")).expect("an account other than root"))
}
