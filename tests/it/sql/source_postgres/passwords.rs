//! Where a password comes from, and that one which is replaced at the source is read again.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use portico_actors::error::Kind;
use portico_actors::source::Password;
use portico_actors::source::postgres::Address;
use portico_actors::source::postgres::Files;
use tempfile::TempDir;
use tokio_postgres::Client;

use crate::support::cluster::Cluster;
use crate::support::postgres::connect;
use crate::support::results::Subject;

/// A server that wants a password of everybody but its administrator.
async fn server() -> (Cluster, Client) {
    let cluster = Cluster::new();
    cluster.write("pg_hba.conf", "local all all trust\nhost all postgres all trust\nhost all all all scram-sha-256\n");
    cluster.obey("start");
    let admin = connect(&cluster.url("postgres", "postgres")).await;
    admin.batch_execute("CREATE USER app PASSWORD 'first'").await.unwrap();
    (cluster, admin)
}

fn write(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, Permissions::from_mode(0o600)).unwrap();
}

const CUT: &str = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'app'";

#[tokio::test]
async fn a_password_that_was_replaced_is_read_again() {
    let (cluster, admin) = server().await;
    let folder = TempDir::new().unwrap();
    let (file, calls) = (folder.path().join("password"), folder.path().join("calls"));
    let script = format!("echo called >> {}; cat {}", calls.display(), file.display());
    let words = ["sh", "-c", &script].map(|word| word.to_owned().into()).to_vec();
    for place in [Password::File(file.clone()), Password::Command(words)] {
        admin.batch_execute("ALTER USER app PASSWORD 'first'").await.unwrap();
        write(&file, "first\n");
        let address = Address { password: Some(place), ..cluster.url("app", "postgres").into() };
        let subject = Subject::at(address, 2).unwrap();
        subject.source.ping().await.unwrap();
        assert_eq!(subject.read("SELECT current_user").await.unwrap().rows, [["\"app\""]]);
        // Replaced at both ends: nobody notices.
        admin.batch_execute("ALTER USER app PASSWORD 'second'").await.unwrap();
        write(&file, "second\n");
        admin.batch_execute(CUT).await.unwrap();
        assert_eq!(subject.read("SELECT current_user").await.unwrap().rows, [["\"app\""]]);
        // Replaced at one end: refused, until the other follows.
        admin.batch_execute("ALTER USER app PASSWORD 'third'").await.unwrap();
        admin.batch_execute(CUT).await.unwrap();
        let refused = subject.read("SELECT 1").await.unwrap_err();
        assert_eq!(refused.kind, Kind::Unavailable);
        let cause = refused.cause().unwrap();
        assert!(cause.contains("password authentication failed") && !cause.contains("second"), "{cause}");
        write(&file, "third\n");
        assert_eq!(subject.read("SELECT current_user").await.unwrap().rows, [["\"app\""]]);
    }
    assert_eq!(fs::read_to_string(&calls).unwrap().lines().count(), 4, "once each, and again when refused");
    fs::remove_file(&file).unwrap();
    let address = Address { password: Some(Password::File(file)), ..cluster.url("app", "postgres").into() };
    let failure = Subject::at(address, 1).unwrap().source.ping().await.unwrap_err();
    assert!(failure.cause().unwrap().starts_with("password_file cannot be read"), "{failure:?}");
}

#[tokio::test]
async fn password_and_service_files_serve_as_they_do_libpq() {
    let (cluster, _admin) = server().await;
    let folder = TempDir::new().unwrap();
    let (passfile, services) = (folder.path().join("pgpass"), folder.path().join("pg_service.conf"));
    write(&passfile, &format!("# ours\nelsewhere:*:*:*:wrong\n127.0.0.1:{}:postgres:app:first\n", cluster.port));
    let text = format!("[other]\nhost=nowhere\n[sales]\nhost=127.0.0.1\nport={}\ndbname=none\n", cluster.port);
    write(&services, &text);
    let files =
        Files { base: folder.path().to_owned(), passfile: Some(passfile.clone()), services: vec![services.clone()] };
    let address = |url: &str| Address { files: files.clone(), ..url.into() };
    // What the URL says comes first.
    let url = "postgres://app@/postgres?service=sales&application_name=told";
    let subject = Subject::at(address(url), 1).unwrap();
    let whoami = "SELECT current_user, current_setting('application_name')";
    assert_eq!(subject.read(whoami).await.unwrap().rows, [["\"app\"", "\"told\""]]);
    let unknown = Subject::at(address("postgres://app@/postgres?service=none"), 1).err().unwrap();
    assert_eq!(unknown.kind, Kind::Invalid);
    assert!(unknown.message.contains("[none]"), "{unknown}");

    fs::set_permissions(&passfile, Permissions::from_mode(0o640)).unwrap();
    let subject = Subject::at(address(&cluster.url("app", "postgres")), 1).unwrap();
    let failure = subject.source.ping().await.unwrap_err();
    let cause = failure.cause().unwrap();
    assert!(cause.contains("password missing") && cause.contains("chmod 600"), "{cause}");
    // One named in the URL, relative to the configuration's folder.
    write(&folder.path().join("mine"), "*:*:*:*:first\n");
    let subject = Subject::at(address(&format!("{}?passfile=mine", cluster.url("app", "postgres"))), 1).unwrap();
    assert_eq!(subject.read(whoami).await.unwrap().rows, [["\"app\"", "\"portico\""]]);
}

#[tokio::test]
async fn what_is_not_understood_is_refused_by_name() {
    let cases = [
        ("postgres://u@h/d?sslmod=require", "\"sslmod\"", "did you mean sslmode"),
        ("postgres://u@h/d?sslmode=strict", "sslmode", "verify-full"),
        ("postgres://u@h/d?sslcrl=x", "sslcrl", "revoked"),
        ("postgres://u@h/d?gssencmode=require", "gssencmode", "disable"),
        ("postgres://u@h/d?sslrootcert=/nowhere/root.crt&sslmode=verify-ca", "sslrootcert", "PEM"),
        ("postgres://u@h/d?sslrootcert=system&sslmode=require", "sslrootcert", "verify-full"),
        ("postgres://u@h/d?sslcert=x", "sslkey", "sslcert"),
        ("postgres://u@h/d?sslnegotiation=direct", "sslnegotiation", "sslmode=require"),
        ("postgres://u@h/d?target_session_attrs=master", "target_session_attrs", "prefer-standby"),
        ("postgres://u@h/d?load_balance_hosts=yes", "load_balance_hosts", "random"),
        ("postgres://u@h/d?keepalives_idle=soon", "keepalives_idle", "whole number"),
        ("postgres://u@h1,h2:5,h3:x/d", "port", "65535"),
        ("postgres://u@h1,h2/d?hostaddr=10.0.0.1", "hostaddr", "one for each"),
        ("postgres://u@h/d?hostaddr=h", "hostaddr", "host for a name"),
        ("postgres://u@/d", "host", "behind the @"),
        ("postgres://h/d", "user", "in front of the @"),
        ("postgres://u:hunter2@h/d?x", "url", "name=value"),
    ];
    for (url, name, remedy) in cases {
        let refused = Subject::at(url.into(), 1).err().unwrap_or_else(|| panic!("{url} was accepted"));
        assert_eq!(refused.kind, Kind::Invalid, "{url}");
        assert!(refused.message.contains(name), "{url}: {refused}");
        assert!(refused.get_hint().is_some_and(|hint| hint.contains(remedy)), "{url}: {refused:?}");
        assert!(!format!("{refused:?}").contains("hunter2"), "a password is told");
    }
}
