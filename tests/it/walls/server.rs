//! The servers that the walls are tried on, each started for one test alone: what an attack brings
//! about concerns nobody else.

use std::path::{Path, PathBuf};

use tokio_postgres::Client;

use crate::support::cluster::Cluster;
use crate::support::postgres::{connect, newer_programs};

/// Further settings. Nothing is written but by the statements of the test, so that states compare.
const SETTINGS: &str = "autovacuum = off\ncheckpoint_timeout = 1h\nmax_wal_size = 4GB\nwal_level = logical\n\
    max_prepared_transactions = 10\nmax_connections = 100\nmax_replication_slots = 50\nmax_locks_per_transaction = 256\n\
    log_statement = none\nlog_min_error_statement = panic\nextra_float_digits = 1\n";

/// A server with one database, `walls`.
pub(super) struct Server {
    pub(super) cluster: Cluster,
    pub(super) url: String,
}

impl Server {
    pub(super) async fn start(programs: &Path) -> Self {
        let cluster = Cluster::with_programs(programs);
        cluster.configure(SETTINGS);
        cluster.obey("start");
        connect(&cluster.url("postgres", "postgres")).await.batch_execute("CREATE DATABASE walls").await.unwrap();
        let url = cluster.url("postgres", "walls");
        Self { cluster, url }
    }

    /// A session beside the service's.
    pub(super) async fn admin(&self) -> Client {
        connect(&self.url).await
    }
}

/// The folder of the newer server's programs.
pub(super) fn newer() -> Option<PathBuf> {
    let folder = newer_programs();
    if folder.is_none() {
        say("passed over: PORTICO_TEST_POSTGRES_NEWER names no folder of a newer PostgreSQL's programs");
    }
    folder
}

/// One of the lists beside these tests.
pub(super) fn text(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/walls").join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// What a run of the tests prints for people.
#[expect(clippy::print_stdout, reason = "seeds, cases and what is passed over are told aloud")]
pub(crate) fn say(words: &str) {
    println!("{words}");
}

/// Makes each test run on both servers.
macro_rules! on_each_server {
    ($($test:ident)*) => {
        mod on_the_systems_server {
            $(#[actix_web::test] async fn $test() {
                super::$test(&$crate::support::postgres::programs()).await;
            })*
        }
        mod on_the_newer_server {
            $(#[actix_web::test] async fn $test() {
                if let Some(programs) = $crate::walls::server::newer() {
                    super::$test(&programs).await;
                }
            })*
        }
    };
}
pub(super) use on_each_server;
