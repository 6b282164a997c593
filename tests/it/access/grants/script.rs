//! The statements themselves: what is kept, what is refused, what follows the configuration, and what no output tells.

use tokio_postgres::error::SqlState;

use super::{described, folder, grants, refused, rights, with_variable};
use crate::support::cluster::Cluster;
use crate::support::fixture;
use crate::support::postgres::{TestPostgres, connect};
use crate::support::process::portico;

const HIDES: &str =
    "access = \"read-write\"\n[connections.hidden]\ntables = [\"orders\", \"audit\"]\nprocedures = [\"%secret%\"]\n";

fn database_of(url: &str) -> String {
    url.rsplit('/').next().unwrap().to_owned()
}

#[actix_web::test]
async fn what_owners_wrote_runs_for_the_role_as_written() {
    let url = fixture::postgres().await;
    let admin = connect(&url).await;
    admin
        .batch_execute(
            "CREATE FUNCTION secret_check(integer) RETURNS boolean LANGUAGE sql AS 'SELECT $1 > 0';
            CREATE FUNCTION secret_equal(integer, integer) RETURNS boolean LANGUAGE plpgsql AS 'BEGIN RETURN $1 = $2; END';
            CREATE FUNCTION secret_log() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
                AS 'BEGIN INSERT INTO public.audit VALUES (new.id); RETURN new; END';
            CREATE FUNCTION secret_peek() RETURNS bigint LANGUAGE sql AS 'SELECT count(*) FROM orders';
            CREATE OPERATOR === (LEFTARG = integer, RIGHTARG = integer, FUNCTION = secret_equal);
            CREATE SEQUENCE audit_numbers;
            CREATE TABLE audit (id integer);
            CREATE DOMAIN positive AS integer CHECK (secret_check(VALUE));
            CREATE TABLE visits (
                id integer DEFAULT nextval('audit_numbers') CHECK (secret_check(id)), much positive DEFAULT 1);
            CREATE TRIGGER log AFTER INSERT ON visits FOR EACH ROW EXECUTE FUNCTION secret_log();
            ALTER TABLE visits ENABLE ROW LEVEL SECURITY;
            CREATE POLICY all_of_it ON visits USING (id === id);
            CREATE VIEW busy AS SELECT id FROM orders WHERE secret_check(id);
            CREATE VIEW busier AS SELECT id FROM busy;
            REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA public FROM PUBLIC;",
        )
        .await
        .unwrap();
    let role = format!("reader_of_{}", database_of(&url));
    let more = HIDES.replace("\"audit\"", "\"audit%\"");
    let home = folder(&url, &more);
    let told = described(&home, &["--role", &role, "--apply", &url]);
    assert_eq!((&told["applied"], told["findings"][0]["grade"].as_str()), (&true.into(), Some("note")), "{told}");
    assert!(told["notes"].to_string().contains("secret_check"), "{told}");
    let client = connect(&TestPostgres::shared().url_as(&role, &database_of(&url))).await;
    for statement in [
        "INSERT INTO visits DEFAULT VALUES",
        "SELECT * FROM visits",
        "SELECT * FROM busier",
        "UPDATE visits SET much = 2",
        "CREATE TEMP TABLE scratch (a integer)",
    ] {
        client.batch_execute(statement).await.unwrap_or_else(|error| panic!("{statement}: {error:?}"));
    }
    for statement in [
        "SELECT * FROM orders",
        "SELECT secret_peek()",
        "TRUNCATE visits",
        "SELECT * FROM audit",
        "CREATE TABLE mine ()",
    ] {
        let error = client.batch_execute(statement).await.unwrap_err();
        assert_eq!(error.code(), Some(&SqlState::INSUFFICIENT_PRIVILEGE), "{statement}: {error:?}");
    }
    let checked: i64 = admin.query_one("SELECT count(*) FROM audit", &[]).await.unwrap().get(0);
    assert_eq!(checked, 1, "the trigger wrote where the role cannot");
}

#[actix_web::test]
async fn rights_follow_the_configuration() {
    let url = fixture::postgres().await;
    let admin = connect(&url).await;
    admin
        .batch_execute(
            "CREATE SCHEMA open; CREATE TABLE open.things (id serial);
            CREATE SCHEMA shut; CREATE TABLE shut.things (id serial);
            CREATE FUNCTION secret_peek() RETURNS integer LANGUAGE sql AS 'SELECT 1';
            CREATE FUNCTION open.plain() RETURNS integer LANGUAGE sql AS 'SELECT 1'",
        )
        .await
        .unwrap();
    let role = format!("follower_of_{}", database_of(&url));
    let wide = folder(&url, "access = \"read-write\"");
    grants(&wide, &["--role", &role, "--apply", &url]);
    let narrow = folder(
        &url,
        "[connections.hidden]\nschemas = [\"shut\"]\ntables = [\"public.orders\"]\nprocedures = [\"public.%secret%\"]\n",
    );
    let printed = grants(&narrow, &["--role", &role]);
    // What everybody may do is told, and left alone.
    assert!(
        printed.contains("-- PUBLIC: REVOKE EXECUTE ON FUNCTION \"public\".\"secret_peek\"() FROM PUBLIC;"),
        "{printed}"
    );
    assert!(!printed.contains("\nREVOKE EXECUTE ON FUNCTION \"public\".\"secret_peek\"() FROM PUBLIC"), "{printed}");
    assert!(
        printed.contains(&format!("ALTER ROLE \"{role}\" PASSWORD")) && printed.contains("pg_hba.conf"),
        "{printed}"
    );
    grants(&narrow, &["--role", &role, "--apply", &url]);
    admin
        .batch_execute("CREATE TABLE open.later (id serial); CREATE TABLE shut.later (); CREATE TABLE public.later ()")
        .await
        .unwrap();
    let can = async |table: &str, what: &str| -> bool {
        let query = "SELECT has_table_privilege($1, $2::text::regclass::oid, $3)";
        admin.query_one(query, &[&role, &table, &what]).await.unwrap().get(0)
    };
    for (table, what, expected) in [
        ("public.customers", "SELECT", true),
        ("public.customers", "INSERT, UPDATE, DELETE", false),
        ("public.orders", "SELECT", false),
        ("open.things", "SELECT", true),
        ("open.later", "SELECT", true),
        ("open.later", "INSERT", false),
        ("shut.things", "SELECT", false),
        ("shut.later", "SELECT", false),
        ("public.later", "SELECT", false),
    ] {
        assert_eq!(can(table, what).await, expected, "{table} {what}");
    }
    let executes = async || -> bool {
        let query = "SELECT has_function_privilege($1, 'public.secret_peek()', 'EXECUTE')";
        admin.query_one(query, &[&role]).await.unwrap().get(0)
    };
    assert!(executes().await, "everybody still may");
    let told = described(&narrow, &["--role", &role, "--apply", &url, "--revoke-public"]);
    assert!(!executes().await, "{told}");
    assert_eq!(described(&narrow, &["--role", &role])["public"], serde_json::json!([]));

    // A role that was there before stays, with what was given by hand.
    let own = format!("{role}_own");
    let given = format!("CREATE ROLE \"{own}\" LOGIN; GRANT TRIGGER ON open.things TO \"{own}\"");
    admin.batch_execute(&given).await.unwrap();
    let before = rights(&admin).await;
    admin
        .batch_execute(&grants(&wide, &["--role", &own]).replace("REVOKE TRIGGER", "-- REVOKE TRIGGER"))
        .await
        .unwrap();
    let revoked = grants(&wide, &["--role", &own, "--apply", &url, "--revoke"]);
    assert!(revoked.contains("stays: portico grants did not make it"), "{revoked}");
    assert_eq!(rights(&admin).await, before);
    grants(&wide, &["--role", &role, "--apply", &url, "--revoke"]);
    let again = grants(&wide, &["--role", &role, "--apply", &url, "--revoke"]);
    assert!(again.contains("there is no role") && again.contains("applied: 0 statements"), "{again}");
}

#[actix_web::test]
async fn what_cannot_be_is_refused_and_changes_nothing() {
    let url = fixture::postgres().await;
    let admin = connect(&url).await;
    let database = database_of(&url);
    let before = rights(&admin).await;
    let home = folder(&url, HIDES);
    let long = "x".repeat(64);
    for (role, words) in [
        ("", "cannot be the name of a role"),
        ("public", "PostgreSQL's own"),
        ("pg_monitor", "PostgreSQL's own"),
        (long.as_str(), "63 octets"),
        ("postgres", "is a superuser"),
    ] {
        let said = refused(&home, &["--role", role, "--apply", &url]);
        assert!(said.contains(words), "{role}: {said}");
    }
    // As somebody who may not.
    let weak = format!("weak_{database}");
    admin.batch_execute(&format!("CREATE ROLE {weak} LOGIN CREATEROLE")).await.unwrap();
    let with_password = format!("postgres://{weak}:hunter2@{}", url.split_once('@').unwrap().1);
    let said = refused(&home, &["--role", &format!("{weak}_new"), "--apply", &with_password]);
    assert!(said.contains("permission denied") && !said.contains("hunter2"), "{said}");
    let made = admin.query("SELECT FROM pg_roles WHERE rolname = $1", &[&format!("{weak}_new")]).await.unwrap();
    assert!(made.is_empty(), "half of it was kept");
    let elsewhere = url.replace(&database, "postgres");
    assert!(refused(&home, &["--apply", &elsewhere]).contains("leads to"));
    assert!(refused(&home, &["--apply", "mysql://root:hunter2@db/x"]).contains("postgres://user:password@host"));
    assert!(refused(&home, &["--revoke", "--revoke-public"]).contains("cannot be used with"));
    let other = portico(home.path(), &["grants", "shopp"]);
    assert!(String::from_utf8_lossy(&other.stderr).contains("shop"), "{other:?}");
    assert!(!portico(home.path(), &["grants", "shop:read"]).status.success());
    assert_eq!(rights(&admin).await, before);

    let files = tempfile::TempDir::new().unwrap();
    let home = folder(&fixture::sqlite(&files, "shop.db"), "");
    for arguments in [&[][..], &["--apply", &url]] {
        let said = refused(&home, arguments);
        assert!(said.contains("SQLite") && said.contains("no grants") && said.contains("authorizer"), "{said}");
    }
}

#[actix_web::test]
async fn an_administrator_s_password_comes_from_the_environment_and_is_in_no_output() {
    let cluster = Cluster::new();
    cluster.write("pg_hba.conf", "local all all trust\nhost all postgres all trust\nhost all all all scram-sha-256\n");
    cluster.obey("start");
    let admin = connect(&cluster.url("postgres", "postgres")).await;
    admin
        .batch_execute("CREATE ROLE boss SUPERUSER LOGIN PASSWORD 'hunter2'; CREATE TABLE t (id serial)")
        .await
        .unwrap();
    let home = folder(&cluster.url("postgres", "postgres"), "[audit]\nfile = \"audit.jsonl\"\n");
    let url = cluster.url("boss", "postgres");
    let run = |name: &str, value: &str, url: &str| {
        let output = with_variable(home.path(), &["grants", "shop", "--apply", url], name, value);
        let said = [output.stdout.clone(), output.stderr.clone()].concat();
        assert!(!String::from_utf8_lossy(&said).contains("hunter2"), "{}", String::from_utf8_lossy(&said));
        output.status.success()
    };
    assert!(!run("PGPASSFILE", "/nowhere", &url));
    assert!(!run("PGPASSWORD", "hunter3", &url));
    assert!(run("PGPASSWORD", "hunter2", &url));
    // As with libpq, the URL goes before the environment.
    assert!(run("PGPASSWORD", "hunter3", &url.replace("boss@", "boss:hunter2@")));
    let file = home.path().join("pgpass");
    std::fs::write(&file, "*:*:*:boss:hunter2\n").unwrap();
    std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    assert!(run("PGPASSFILE", file.to_str().unwrap(), &url));
    // The change is in the trail, once for each run.
    let trail = std::fs::read_to_string(home.path().join("audit.jsonl")).unwrap();
    let (applied, made) = (trail.matches("\"grants apply\"").count(), trail.matches("CREATE ROLE").count());
    assert!((applied, made) == (3, 1) && !trail.contains("hunter2"), "{trail}");
    let made =
        admin.query_one("SELECT rolpassword IS NULL, rolcanlogin FROM pg_authid WHERE rolname = 'portico_shop'", &[]);
    let made = made.await.unwrap();
    assert!(made.get::<_, bool>(0) && made.get::<_, bool>(1), "it can log in, and has no password");
}
