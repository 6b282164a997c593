//! What is said of a user that can do more than is exposed, and of a server that cannot be asked.

use serde_json::Value;

use super::{findings, folder, grants};
use crate::support::cluster::Cluster;
use crate::support::configuration::Configuration;
use crate::support::fixture;
use crate::support::postgres::{TestPostgres, connect};
use crate::support::process::portico;

const HIDES: &str =
    "[connections.hidden]\nschemas = [\"vault\"]\ntables = [\"orders\", \"hush%\"]\nprocedures = [\"whisper\"]\n";

/// A part of the line of the log.
const TOLD: &str = "can read 1 tables that are hidden";

fn database_of(url: &str) -> String {
    url.rsplit('/').next().unwrap().to_owned()
}

#[actix_web::test]
async fn what_a_user_can_reach_beyond_is_said_aloud_and_briefly() {
    let url = fixture::postgres().await;
    let database = database_of(&url);
    let admin = connect(&url).await;
    let user = format!("app_{database}");
    let hushes = (0..9).map(|number| format!("CREATE TABLE hush{number} (a int);")).collect::<Vec<_>>().concat();
    let setup = format!(
        "CREATE ROLE {user} LOGIN; {hushes} CREATE SCHEMA vault; CREATE TABLE vault.gold (a int);
        CREATE FUNCTION whisper() RETURNS int LANGUAGE sql AS 'SELECT 1';
        GRANT SELECT ON ALL TABLES IN SCHEMA public TO {user}; GRANT INSERT ON customers TO {user};
        GRANT UPDATE (total) ON orders TO {user};
        ALTER TABLE hush0 OWNER TO {user}; REVOKE TEMP ON DATABASE {database} FROM PUBLIC"
    );
    admin.batch_execute(&setup).await.unwrap();
    let own = TestPostgres::shared().url_as(&user, &database);
    let home = folder(&own, HIDES);
    let found = findings(&home);
    let said =
        |grade: &str, words: &str| found.iter().any(|(found, message)| found == grade && message.contains(words));
    assert!(
        said(
            "warning",
            "can read 10 tables that are hidden: public.hush0, public.hush1, public.hush2, public.hush3, public.hush4 and 5 more"
        ),
        "{found:?}"
    );
    assert!(said("warning", "can write 2 tables that are hidden: public.hush0, public.orders"), "{found:?}");
    assert!(said("warning", "can execute 1 functions that are hidden: public.whisper"), "{found:?}");
    assert!(said("warning", "owns 1 things that are hidden: public.hush0"), "{found:?}");
    assert!(said("warning", "no right to make temporary objects"), "{found:?}");
    assert!(said("warning", "Portico resolves its names by itself"), "{found:?}");
    assert!(said("note", "can write 1 tables, and the connection only reads: public.customers"), "{found:?}");
    assert!(!found.iter().any(|(_, message)| message.contains("vault")), "{found:?}");

    // What it could become counts as what it is.
    let more = format!(
        "CREATE ROLE keeper_{database} NOLOGIN; GRANT USAGE ON SCHEMA vault TO keeper_{database};
        GRANT SELECT ON vault.gold TO keeper_{database}; ALTER ROLE {user} NOINHERIT CREATEROLE;
        GRANT keeper_{database} TO {user}; GRANT pg_read_all_data TO {user}"
    );
    admin.batch_execute(&more).await.unwrap();
    let found = findings(&home);
    let said =
        |grade: &str, words: &str| found.iter().any(|(found, message)| found == grade && message.contains(words));
    assert!(said("warning", "can look into 1 schemas that are hidden: vault"), "{found:?}");
    assert!(said("warning", "can read 11 tables"), "{found:?}");
    assert!(said("warning", "PostgreSQL's own roles: pg_read_all_data"), "{found:?}");
    assert!(said("warning", "CREATEROLE"), "{found:?}");

    // Doctor says the same, with what to do; what is only a note is no reason to worry.
    let doctor = portico(home.path(), &["doctor", "--json"]);
    let report: Value = serde_json::from_slice(&doctor.stdout).unwrap();
    let about = |words: &str| {
        let findings = report["findings"].as_array().unwrap();
        let found = findings.iter().find(|finding| finding["message"].as_str().unwrap().contains(words));
        found.unwrap_or_else(|| panic!("{words}: {report}")).clone()
    };
    let read = about("can read 11 tables");
    assert_eq!((&read["grade"], &read["subject"]), (&"warning".into(), &"source".into()));
    assert!(read["remedy"].as_str().unwrap().contains("portico grants shop"), "{read}");
    assert_eq!(about("connection only reads")["grade"], "ok");
    let text = portico(home.path(), &["check"]);
    let text = String::from_utf8(text.stdout).unwrap();
    assert!(text.contains("  warning: its user") && text.contains("    -> "), "{text}");

    // With everything exposed there is nothing beyond.
    let open = folder(&own, "access = \"read-write\"");
    let found = findings(&open);
    assert!(!found.iter().any(|(_, message)| message.contains("hidden")), "{found:?}");
}

#[actix_web::test]
async fn a_superuser_is_called_one_and_the_log_names_nothing_hidden() {
    let url = fixture::postgres().await;
    let database = database_of(&url);
    let admin = connect(&url).await;
    for more in ["access = \"read-write\"", HIDES] {
        let found = findings(&folder(&url, more));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].0 == "warning" && found[0].1.contains("postgres is a superuser"), "{found:?}");
    }
    let user = format!("logged_{database}");
    let setup = format!("CREATE ROLE {user} LOGIN; GRANT SELECT ON orders TO {user}");
    admin.batch_execute(&setup).await.unwrap();
    let own = TestPostgres::shared().url_as(&user, &database);
    let mut service = Configuration::new().connection("shop", &own, HIDES).serve().await;
    // It is said soon after the connection is up; the service may be ready before.
    let line = match service.seen().iter().find(|line| line.contains(TOLD)).cloned() {
        Some(line) => line,
        None => service.line(TOLD).await,
    };
    assert!(line.contains("WARN") && line.contains("portico check names them"), "{line}");
    service.signal("TERM");
    let rest = service.rest().await;
    let log = [service.seen(), &rest].concat();
    assert!(log.iter().all(|line| !line.contains("orders")), "{log:#?}");
    // Grants for a user of its own end it.
    let role = format!("quiet_{database}");
    grants(&folder(&url, HIDES), &["--role", &role, "--apply", &url]);
    let quiet = folder(&TestPostgres::shared().url_as(&role, &database), HIDES);
    assert_eq!(findings(&quiet), []);
}

#[actix_web::test]
async fn a_standby_cannot_be_asked() {
    let primary = Cluster::new();
    primary.obey("start");
    let standby = Cluster::standby_of(&primary);
    standby.obey("start");
    let url = standby.url("postgres", "postgres");
    let found = findings(&folder(&url, HIDES));
    assert!(found.iter().any(|(_, message)| message.contains("it is a standby")), "{found:?}");
    let found = findings(&folder(&primary.url("postgres", "postgres"), HIDES));
    assert!(!found.iter().any(|(_, message)| message.contains("cannot be asked")), "{found:?}");
}
