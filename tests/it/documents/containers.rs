//! The image and the services of `compose.yaml`, as far as they can be looked at without a container runtime.

use std::path::Path;
use std::process::Command;

use portico::config::{Config, Listen};
use yaml_rust2::{Yaml, YamlLoader};

use super::{root, text};
use crate::support::configuration::Configuration;
use crate::support::postgres::{TestPostgres, programs};
use crate::support::process::{finished, json_of, portico};

fn texts(list: &Yaml) -> Vec<&str> {
    list.as_vec().unwrap().iter().map(|item| item.as_str().unwrap()).collect()
}

#[test]
fn the_image_has_the_program_alone_and_runs_as_an_ordinary_user() {
    let file = text("Dockerfile");
    let last = file.rsplit("\nFROM ").next().unwrap();
    assert!(last.starts_with("gcr.io/distroless/cc-"), "no shell, no package manager: {last}");
    assert!(!last.contains("RUN "), "there is no shell to run anything");
    for line in ["\nUSER nonroot\n", "\nVOLUME /var/lib/portico\n", "\nSTOPSIGNAL SIGTERM\n", "\nEXPOSE 8787\n"] {
        assert!(last.contains(line), "{line:?}");
    }
    // What it runs is what the program has.
    let words = |of: &str| -> Vec<String> {
        let line = last.lines().find_map(|line| line.trim_start().strip_prefix(of)).unwrap();
        serde_json::from_str(line.trim()).unwrap()
    };
    assert_eq!(words("ENTRYPOINT "), ["/usr/bin/portico"]);
    let commands: Vec<Vec<String>> = last
        .lines()
        .filter_map(|line| line.trim_start().strip_prefix("CMD "))
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let config = ["--config", "/etc/portico/config.toml"];
    assert_eq!(commands, [[&["/usr/bin/portico", "health"], &config[..]].concat(), [&["serve"], &config[..]].concat()]);
}

#[test]
fn the_services_are_confined_and_wait_for_each_other() {
    let whole = YamlLoader::load_from_str(&text("compose.yaml")).unwrap().remove(0);
    let (portico, postgres) = (&whole["services"]["portico"], &whole["services"]["postgres"]);
    assert_eq!(portico["read_only"].as_bool(), Some(true));
    assert_eq!(texts(&portico["cap_drop"]), ["ALL"]);
    assert_eq!(texts(&portico["security_opt"]), ["no-new-privileges:true"]);
    assert_eq!(portico["depends_on"]["postgres"]["condition"].as_str(), Some("service_healthy"));
    assert!(texts(&postgres["healthcheck"]["test"]).contains(&"pg_isready"));
    assert!(texts(&portico["ports"]).iter().all(|port| port.starts_with("127.0.0.1:")), "credentials are in the clear");
    // What is mounted is there, and volumes are declared.
    let declared = whole["volumes"].as_hash().unwrap();
    for mount in [portico, postgres].into_iter().flat_map(|service| texts(&service["volumes"])) {
        let place = mount.split(':').next().unwrap();
        match place.strip_prefix("./") {
            Some(path) => assert!(root().join(path).is_file(), "{mount}"),
            None => assert!(declared.contains_key(&Yaml::String(place.to_owned())), "{mount}"),
        }
    }
    // Calls may end before the container is killed.
    let grace = portico["stop_grace_period"].as_str().unwrap().trim_end_matches('s').parse::<u64>().unwrap();
    let config = Config::parse(&text("packaging/compose/config.toml"), Path::new("/etc/portico"), &|name| {
        (name == "SALES_PASSWORD").then(|| "secret".to_owned())
    })
    .unwrap();
    assert_eq!(grace, config.server.shutdown_timeout.as_secs() + 15);
    let environment = |service: &Yaml, name: &str| service["environment"][name].as_str().unwrap().to_owned();
    assert_eq!(environment(portico, "SALES_PASSWORD"), environment(postgres, "SALES_PASSWORD"));
    // What is written lies in the volume, and the port that is published is the one that is listened on.
    let store = config.store.place.file().unwrap();
    assert!(store.starts_with("/var/lib/portico") && texts(&portico["volumes"]).contains(&"portico:/var/lib/portico"));
    let listens = |place: &Listen| matches!(place, Listen::Tcp(address) if address.ip().is_unspecified() && address.port() == 8787);
    assert!(config.server.listen.iter().all(listens), "a loopback address of a container is nobody else's");
}

/// The user that the script makes reads what it may, and is no superuser.
#[actix_web::test]
async fn the_database_of_compose_serves_its_user() {
    let url = TestPostgres::shared().database("compose").await;
    let (_, place) = url.split_once('@').unwrap();
    let (address, database) = place.split_once('/').unwrap();
    let (host, port) = address.split_once(':').unwrap();
    let path = format!("{}:{}", programs().display(), std::env::var("PATH").unwrap());
    let mut script = Command::new("sh");
    script.arg(root().join("packaging/compose/sales.sh")).envs([
        ("PATH", path.as_str()),
        ("PGHOST", host),
        ("PGPORT", port),
        ("POSTGRES_DB", database),
        ("SALES_PASSWORD", "it's secret"),
    ]);
    let done = finished(&mut script);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let url = format!("postgres://portico_sales@{place}");
    let folder = Configuration::new().connection("sales", &url, "").write();
    let checked = json_of(&portico(folder.path(), &["check", "--json"]));
    assert_eq!(checked["connections"][0]["status"], "up", "{checked}");
    assert!(!checked.to_string().contains("superuser"), "{checked}");
}
