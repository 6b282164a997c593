//! PostgreSQL servers of their own, which end with the program.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use tempfile::TempDir;

/// One server.
pub(crate) struct Server {
    programs: PathBuf,
    child: Child,
    pub(crate) port: u16,
    home: TempDir,
}

impl Server {
    /// Makes a cluster in a folder of its own, and starts it.
    #[expect(clippy::disallowed_methods, reason = "nothing else runs before there are servers")]
    pub(crate) fn start(name: &str) -> Self {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let (home, programs) = (tempfile::Builder::new().prefix(name).tempdir().unwrap(), programs());
        let data = home.path().join("data");
        let account = account();
        if let Some((user, group)) = account {
            chown(home.path(), Some(user), Some(group)).unwrap();
        }
        let program = |name: &str| {
            let mut command = Command::new(programs.join(name));
            if let Some((user, group)) = account {
                command.uid(user).gid(group);
            }
            command.current_dir(home.path());
            command
        };
        let mut initdb = program("initdb");
        initdb.arg("-D").arg(&data).args(["-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"]);
        let made = initdb.output().unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let log = fs::File::create(home.path().join("server.log")).unwrap();
        let child = program("postgres")
            .arg("-D")
            .arg(&data)
            .arg("-k")
            .arg(home.path())
            .args(["-p", &port.to_string(), "-c", "listen_addresses=127.0.0.1", "-c", "shared_buffers=1GB"])
            .args(["-c", "fsync=off", "-c", "work_mem=64MB", "-c", "max_wal_size=4GB"])
            .stderr(log)
            .spawn()
            .unwrap();
        let server = Self { programs, child, port, home };
        while !server.tool("pg_isready").arg("-q").status().unwrap().success() {
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        server
    }

    /// A new database, as a URL.
    pub(crate) fn database(&self, name: &str) -> String {
        assert!(self.tool("createdb").args(["-U", "postgres", name]).status().unwrap().success());
        format!("postgres://postgres@127.0.0.1:{}/{name}", self.port)
    }

    fn tool(&self, name: &str) -> Command {
        let mut command = Command::new(self.programs.join(name));
        command.arg("-h").arg(self.home.path()).args(["-p", &self.port.to_string()]);
        command
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let stop = ["-INT", &self.child.id().to_string()].map(str::to_owned);
        let _ = Command::new("kill").args(stop).status();
        let _ = self.child.wait();
    }
}

fn programs() -> PathBuf {
    if let Some(folder) = std::env::var_os("PORTICO_TEST_POSTGRES") {
        return PathBuf::from(folder);
    }
    let version = |path: &Path| path.file_name()?.to_str()?.parse::<u32>().ok();
    let installed = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten().map(|entry| entry.path());
    let newest = installed.filter(|path| path.join("bin/initdb").exists()).max_by_key(|path| version(path));
    newest.expect("PostgreSQL is installed").join("bin")
}

/// Whom the servers run as: they refuse to run as root.
fn account() -> Option<(u32, u32)> {
    let accounts = fs::read_to_string("/etc/passwd").unwrap();
    let fields = accounts.lines().find_map(|line| line.strip_prefix("postgres:"))?;
    let mut fields = fields.split(':').skip(1);
    let account = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    let is_root = fs::read_to_string("/proc/self/status").unwrap().lines().any(|line| line.starts_with("Uid:\t0\t"));
    is_root.then_some(account)
}
