//! TLS and passwords against a server that insists on them, with certificates made here.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use portico_actors::error::{Error, Kind};
use portico_actors::identity::Identity;
use portico_actors::source::Login;
use portico_actors::source::postgres::Address;
use portico_actors::source::{Access, Plan};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd};
use tempfile::TempDir;

use crate::support::cluster::Cluster;
use crate::support::postgres::connect;
use crate::support::results::{Subject, plan, read};

/// Somebody who signs certificates.
struct Authority(Issuer<'static, KeyPair>, String);

impl Authority {
    fn new(name: &str) -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap().pem();
        Self(Issuer::new(params, key), certificate)
    }

    /// Certificate and key for a name, valid to the end of `year`.
    fn sign(&self, name: &str, year: i32) -> (String, String) {
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params.not_before = date_time_ymd(2020, 1, 1);
        params.not_after = date_time_ymd(year, 12, 31);
        let key = KeyPair::generate().unwrap();
        (params.signed_by(&key, &self.0).unwrap().pem(), key.serialize_pem())
    }
}

fn write(path: &Path, text: &str, mode: u32) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// Whether one's session is encrypted, or why there is none.
async fn encrypted(url: &str) -> Result<bool, Error> {
    let subject = Subject::at(url.into(), 1)?;
    let read = subject.read("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()").await?;
    Ok(read.rows == [["true"]])
}

async fn cause(url: &str) -> String {
    let error = encrypted(url).await.unwrap_err();
    assert_eq!(error.kind, Kind::Unavailable, "{url}");
    for told in [Some(error.message.as_str()), error.get_hint()].into_iter().flatten() {
        assert!(!["localhost:", "127.0.0.1", "postgres://"].iter().any(|place| told.contains(place)), "{told}");
    }
    error.cause().unwrap().to_owned()
}

/// A server that lets in only who comes by TLS, and the folder with the files of its clients.
fn server(ours: &Authority, theirs: &Authority) -> (Cluster, TempDir) {
    let cluster = Cluster::new();
    let (certificate, key) = ours.sign("localhost", 2090);
    cluster.write("server.crt", &certificate);
    cluster.write("server.key", &key);
    cluster.write("ca.crt", &ours.1);
    cluster.write(
        "pg_hba.conf",
        "local all all trust\nhostnossl all plain all trust\nhostssl all certified all cert\n\
         hostssl all scram all scram-sha-256\nhostssl all all all trust\n",
    );
    cluster.configure("ssl = on\nssl_ca_file = 'ca.crt'");
    cluster.obey("start");
    let folder = TempDir::new().unwrap();
    write(&folder.path().join("ours.crt"), &ours.1, 0o644);
    write(&folder.path().join("theirs.crt"), &theirs.1, 0o644);
    (cluster, folder)
}

#[tokio::test]
async fn every_mode_protects_as_libpq_does() {
    let (ours, theirs) = (Authority::new("ours"), Authority::new("theirs"));
    let (cluster, folder) = server(&ours, &theirs);
    let (port, folder) = (cluster.port, folder.path().display().to_string());
    let url = |host: &str, rest: &str| format!("postgres://postgres@{host}:{port}/postgres?{rest}");
    let root = |name: &str| format!("sslrootcert={folder}/{name}.crt");

    let refused = cause(&url("localhost", "sslmode=disable")).await;
    assert!(refused.contains("no encryption"), "{refused}");
    for mode in ["allow", "prefer", "require"] {
        assert!(encrypted(&url("127.0.0.1", &format!("sslmode={mode}"))).await.unwrap(), "{mode}");
    }
    // `prefer` goes on without TLS where the server wants it so, and `allow` begins without.
    let plain = |mode: &str| format!("postgres://plain@127.0.0.1:{port}/postgres?sslmode={mode}");
    let admin = connect_by_socket(&cluster).await;
    admin.batch_execute("CREATE USER plain").await.unwrap();
    assert!(encrypted(&plain("prefer")).await.unwrap());
    assert!(!encrypted(&plain("allow")).await.unwrap());

    // A root of one's own makes `require` verify the chain, and `verify-ca` says so.
    for mode in ["require", "verify-ca"] {
        assert!(encrypted(&url("127.0.0.1", &format!("sslmode={mode}&{}", root("ours")))).await.unwrap(), "{mode}");
        let unknown = cause(&url("localhost", &format!("sslmode={mode}&{}", root("theirs")))).await;
        assert!(unknown.contains("UnknownIssuer"), "{mode}: {unknown}");
    }
    let full = format!("sslmode=verify-full&{}", root("ours"));
    assert!(encrypted(&url("localhost", &full)).await.unwrap());
    assert!(encrypted(&url("localhost", &format!("{full}&hostaddr=127.0.0.1"))).await.unwrap());
    assert!(encrypted(&url("localhost", &format!("{full}&ssl_min_protocol_version=TLSv1.3"))).await.unwrap());
    for (host, rest) in [("127.0.0.1", full.clone()), ("db.example", format!("{full}&hostaddr=127.0.0.1"))] {
        let wrong = cause(&url(host, &rest)).await;
        assert!(wrong.contains("not valid for name"), "{host}: {wrong}");
    }
    // The system does not know the authority.
    let unknown = cause(&url("localhost", "sslmode=verify-full")).await;
    assert!(unknown.contains("UnknownIssuer"), "{unknown}");

    let (certificate, key) = ours.sign("localhost", 2021);
    cluster.write("server.crt", &certificate);
    cluster.write("server.key", &key);
    cluster.obey("reload");
    let expired = cause(&url("localhost", &full)).await;
    assert!(expired.contains("certificate expired"), "{expired}");
    assert!(encrypted(&url("localhost", "sslmode=require")).await.unwrap(), "encryption alone was asked for");
}

async fn connect_by_socket(cluster: &Cluster) -> tokio_postgres::Client {
    let home = cluster.home.to_str().unwrap().replace('/', "%2F");
    connect(&format!("postgres://postgres@{home}:{}/postgres", cluster.port)).await
}

#[tokio::test]
async fn a_client_shows_its_certificate() {
    let (ours, theirs) = (Authority::new("ours"), Authority::new("theirs"));
    let (cluster, folder) = server(&ours, &theirs);
    connect_by_socket(&cluster).await.batch_execute("CREATE USER certified").await.unwrap();
    let url = |rest: &str| format!("postgres://certified@127.0.0.1:{}/postgres?sslmode=require{rest}", cluster.port);
    let missing = cause(&url("")).await;
    assert!(missing.contains("certificate"), "{missing}");
    let (certificate, key) = ours.sign("certified", 2090);
    let path = |name: &str| folder.path().join(name);
    write(&path("client.crt"), &certificate, 0o644);
    write(&path("client.key"), &key, 0o600);
    let pair = format!("&sslcert={0}/client.crt&sslkey={0}/client.key", folder.path().display());
    assert!(encrypted(&url(&pair)).await.unwrap());

    // What others may read is no secret, and what does not belong together is none either.
    write(&path("client.key"), &key, 0o644);
    let open = encrypted(&url(&pair)).await.unwrap_err();
    assert_eq!((open.kind, open.get_hint()), (Kind::Invalid, Some("chmod 600 it")), "{open}");
    write(&path("client.key"), &theirs.sign("certified", 2090).1, 0o600);
    let other = encrypted(&url(&pair)).await.unwrap_err();
    assert!(other.message.contains("sslkey"), "{other}");

    // Certificates are replaced while the service runs.
    write(&path("client.key"), &key, 0o600);
    let subject = Subject::open(&url(&pair), 1);
    subject.read("SELECT 1").await.unwrap();
    let (certificate, key) = ours.sign("certified", 2021);
    write(&path("client.crt"), &certificate, 0o644);
    write(&path("client.key"), &key, 0o600);
    cluster.obey("restart");
    let failure = subject.read("SELECT 1").await.unwrap_err();
    assert_eq!(failure.kind, Kind::Unavailable, "the expired one is shown now: {failure:?}");
}

#[tokio::test]
async fn scram_is_bound_to_its_channel() {
    let (ours, theirs) = (Authority::new("ours"), Authority::new("theirs"));
    let (cluster, _folder) = server(&ours, &theirs);
    let admin = connect_by_socket(&cluster).await;
    admin.batch_execute("CREATE USER scram PASSWORD 'p@ss/word'").await.unwrap();
    let url = |password: &str, rest: &str| {
        format!("postgres://scram:{password}@127.0.0.1:{}/postgres?sslmode={rest}", cluster.port)
    };
    for password in ["p@ss/word", "p%40ss%2Fword"] {
        assert!(encrypted(&url(password, "require&channel_binding=require")).await.unwrap(), "{password}");
    }
    let wrong = cause(&url("wrong", "require")).await;
    assert!(wrong.contains("password authentication failed") && !wrong.contains("wrong"), "{wrong}");
    let missing = cause(&format!("postgres://scram@127.0.0.1:{}/postgres", cluster.port)).await;
    assert!(missing.contains("password missing"), "{missing}");
    let rest = "sslmode=disable&channel_binding=require";
    let unbound = cause(&format!("postgres://plain:x@127.0.0.1:{}/postgres?{rest}", cluster.port)).await;
    assert!(unbound.contains("channel binding"), "{unbound}");
}

#[tokio::test]
async fn callers_sign_in_with_certificates_of_their_own() {
    let ours = Authority::new("ours");
    let (cluster, folder) = server(&ours, &Authority::new("theirs"));
    let rules = "local all all trust\nhostssl all north,south all cert\nhostssl all all all trust\n";
    cluster.write("pg_hba.conf", rules);
    cluster.obey("reload");
    connect_by_socket(&cluster).await.batch_execute("CREATE USER north; CREATE USER south").await.unwrap();
    let give = |role: &str, name: &str| {
        let (certificate, key) = ours.sign(name, 2090);
        write(&folder.path().join(format!("{role}.crt")), &certificate, 0o644);
        write(&folder.path().join(format!("{role}.key")), &key, 0o600);
    };
    give("north", "north");
    let certificate = Some((folder.path().join("{role}.crt"), folder.path().join("{role}.key")));
    let login = Login { password: None, certificate, idle_timeout: Duration::from_secs(60) };
    let url = format!("postgres://postgres@127.0.0.1:{}/postgres?sslmode=require", cluster.port);
    let subject = Subject::at(Address { login: Some(login), ..url.into() }, 2).unwrap();
    let who = async |role: &str| {
        let plan = plan("SELECT session_user::text", Access::ReadOnly);
        let plan = Plan { identity: Some(Arc::new(Identity::of_role(role))), ..plan };
        read(subject.source.run(plan).await?).await
    };
    assert_eq!(who("north").await.unwrap().rows, [["\"north\""]]);
    let absent = who("south").await.unwrap_err();
    assert_eq!(absent.kind, Kind::Unavailable, "{absent:?}");
    give("south", "north");
    let other = who("south").await.unwrap_err();
    assert_eq!(other.kind, Kind::Forbidden, "another one's certificate: {other:?}");
    give("south", "south");
    assert_eq!(who("south").await.unwrap().rows, [["\"south\""]], "the files are read again");
}
