//! A real PgBouncer in transaction mode, in front of a server of the tests.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use tokio::net::TcpStream;

use super::app::eventually;
use super::postgres::account;

/// Ends with its standard input: the end of the test, whatever brings it about, closes the pipe.
const KEEPER: &str = r#"
trap '' INT HUP
pgbouncer -q "$1/pgbouncer.ini" >"$1/output.log" 2>&1 &
pooler=$!
cat >/dev/null
kill -TERM "$pooler"
wait "$pooler"
rm -rf "$1"
"#;

/// A pooler with two sessions at the server.
pub(crate) struct PgBouncer {
    pub(crate) port: u16,
    // Holds the keeper's standard input open.
    _keeper: Child,
}

impl PgBouncer {
    /// Starts a pooler for the server in `url`.
    pub(crate) async fn start(url: &str) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let home = std::env::temp_dir().join(format!("portico-it-{}-pooler-{number}", std::process::id()));
        fs::create_dir(&home).unwrap();
        let place = home.display();
        let server = url.split_once('@').unwrap().1.split_once('/').unwrap().0.split_once(':').unwrap();
        let text = format!(
            "[databases]\n* = host={} port={}\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\n\
             unix_socket_dir =\nauth_type = trust\nauth_file = {place}/users\npool_mode = transaction\n\
             default_pool_size = 2\nmax_client_conn = 200\nlogfile = {place}/pooler.log\npidfile = {place}/pid\n",
            server.0, server.1
        );
        fs::write(home.join("pgbouncer.ini"), text).unwrap();
        fs::write(home.join("users"), "\"postgres\" \"\"\n").unwrap();
        let mut command = Command::new("sh");
        command.arg("-c").arg(KEEPER).arg("keeper").arg(&home).stdin(Stdio::piped()).process_group(0);
        command.env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
        if let Some((user, group)) = account() {
            // It refuses to run as root.
            chown(&home, Some(user), Some(group)).unwrap();
            command.uid(user).gid(group);
        }
        let keeper = command.spawn().expect("sh starts PgBouncer");
        eventually("PgBouncer", async || {
            assert!(home.exists(), "PgBouncer is installed");
            TcpStream::connect(("127.0.0.1", port)).await.is_ok()
        })
        .await;
        Self { port, _keeper: keeper }
    }

    /// The same database behind the pooler.
    pub(crate) fn url(&self, url: &str) -> String {
        let (user, rest) = url.split_once('@').unwrap();
        format!("{user}@127.0.0.1:{}/{}", self.port, rest.split_once('/').unwrap().1)
    }
}
