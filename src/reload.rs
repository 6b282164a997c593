//! Takes over a newly read configuration in a running service. Only changed connections are affected; an invalid
//! configuration changes nothing.

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use portico_actors::auth::Reconfigure;
use portico_actors::auth::recording::AuditContext;
use portico_actors::auth::store::Change;
use portico_actors::directory;
use portico_actors::event::Event;
use portico_actors::workspace::Workspace;
use serde_json::json;

use crate::app::{App, Current, look_at_certificate, runnable};
use crate::audit::Record;
use crate::config::{Config, Connection, Problem, Problems};

/// The outcome of a reload: names of connections and workspaces.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Report {
    /// New; started, or waiting for their first use.
    pub added: Vec<String>,
    /// Started anew under new settings.
    pub changed: Vec<String>,
    /// Unchanged at the source; the offer to callers has changed.
    pub offered: Vec<String>,
    /// Gone. Calls that run there go on to their end.
    pub removed: Vec<String>,
    /// The added and changed connections whose first attempt has failed.
    pub down: Vec<String>,
    /// Workspaces that are new, other than before, or gone.
    #[serde(default)]
    pub workspaces: Vec<String>,
    /// The changed settings, such as `server.metrics` and `connections.sales.access`.
    #[serde(default)]
    pub settings: Vec<String>,
    /// Whether TLS shows another certificate now.
    pub certificate: bool,
    /// Settings in force that should be changed.
    #[serde(default)]
    pub warnings: Vec<String>,
    /// The number of people's grants without effect, because clients of their kind are not admitted.
    #[serde(default, rename = "shutOut")]
    pub shut_out: usize,
}

/// Returns the message about grants without effect, and how to end them.
pub fn ineffective_grants_message(grants: usize) -> String {
    format!(
        "{grants} grants are of clients that [oauth] does not admit, and open nothing; portico client remove ends them"
    )
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lists = [
            ("added", &self.added),
            ("restarted", &self.changed),
            ("changed in what is offered", &self.offered),
            ("removed", &self.removed),
            ("down", &self.down),
            ("workspaces changed", &self.workspaces),
            ("settings", &self.settings),
        ];
        let mut said: Vec<String> = lists
            .into_iter()
            .filter(|(_, names)| !names.is_empty())
            .map(|(what, names)| format!("{what}: {}", names.join(", ")))
            .collect();
        if self.certificate {
            said.push("a new certificate".to_owned());
        }
        if self.shut_out > 0 {
            said.push(ineffective_grants_message(self.shut_out));
        }
        said.extend(self.warnings.iter().map(|warning| format!("warning: {warning}")));
        f.write_str(&if said.is_empty() { "nothing has changed".to_owned() } else { said.join("; ") })
    }
}

/// Which connections and workspaces differ, and which connections are started for it: the new ones first.
fn compare<'a>(before: &Config, after: &'a Config) -> (Report, Vec<&'a Arc<Connection>>) {
    let (mut report, mut added, mut changed) = (Report::default(), Vec::new(), Vec::new());
    for now in &after.connections {
        match before.connections.iter().find(|was| was.id == now.id) {
            None => added.push(now),
            Some(was) if was.fingerprint.source != now.fingerprint.source => changed.push(now),
            Some(was) if was.fingerprint.offer != now.fingerprint.offer => report.offered.push(now.name.to_string()),
            Some(_) => {}
        }
    }
    let differs =
        |workspace: &&Arc<Workspace>| before.workspaces.contains(workspace) != after.workspaces.contains(workspace);
    let changed_workspaces = before.workspaces.iter().chain(&after.workspaces).filter(differs);
    let changed_workspaces: BTreeSet<String> = changed_workspaces.map(|workspace| workspace.name.to_string()).collect();
    report.workspaces = changed_workspaces.into_iter().collect();
    report.settings = after.changed_settings(before);
    if let (Some(now), Some(was)) = (&after.server.tls, &before.server.tls) {
        let files: Vec<&str> = now.changed_files(was).collect();
        report.certificate = files.contains(&"server.tls.certificate");
        report.settings.extend(files.into_iter().map(str::to_owned));
    }
    let names = |connections: &[&Arc<Connection>]| connections.iter().map(|each| each.name.to_string()).collect();
    (report.added, report.changed) = (names(&added), names(&changed));
    added.append(&mut changed);
    (report, added)
}

impl App {
    /// Reads the file at `path` again and takes it over. Running calls continue under their settings; changed lists
    /// are announced. The changes come into force, and this completes, when each started connection had its first
    /// attempt.
    ///
    /// # Errors
    /// What is wrong with the file, or cannot change while the service runs; then nothing has changed.
    pub async fn reload(&self, path: &Path) -> Result<Report, Problems> {
        let result = self.take_over(path).await;
        (self.observer)(&match &result {
            Ok(report) => Event::Reloaded { summary: report.to_string() },
            Err(problems) => Event::ReloadRefused { problems: problems.0.iter().map(ToString::to_string).collect() },
        });
        result
    }

    async fn take_over(&self, path: &Path) -> Result<Report, Problems> {
        let _alone = self.reloading.lock().await;
        let (running, path) = (self.config(), path.to_owned());
        let read = tokio::task::spawn_blocking({
            let running = Arc::clone(&running);
            move || running.reload(&path)
        });
        let config = read.await.map_err(|error| internal(&error))??;
        let (mut report, start) = compare(&running, &config);
        let gone = |was: &&Arc<Connection>| !config.connections.iter().any(|now| now.id == was.id);
        let removed: Vec<&Arc<Connection>> = running.connections.iter().filter(gone).collect();
        report.removed = removed.iter().map(|connection| connection.name.to_string()).collect();
        let removed = removed.iter().map(|connection| connection.id).collect();
        let start: Vec<directory::ConnectionSpec> =
            start.into_iter().map(|connection| runnable(connection, &self.budget)).collect();
        let started: Vec<_> = start.iter().map(|connection| connection.id).collect();
        let reaches: Vec<_> =
            config.issuers.iter().map(|issuer| (issuer.issuer.clone(), issuer.reach.clone())).collect();
        // While connections have their old settings, nobody reaches them who did not before.
        let reached = |name: &str| running.issuers.iter().find(|was| was.issuer == name).map(|was| &was.reach);
        let narrowed = reaches.iter().map(|(name, reach)| {
            (name.clone(), reached(name).map_or_else(|| reach.clone(), |before| reach.intersection(before)))
        });
        let reconfigured = Reconfigure {
            token_lifetime: config.tokens.lifetime,
            connections: config.connections.iter().map(|connection| connection.id).collect(),
            reaches: narrowed.collect(),
            admission: config.oauth.admission(),
        };
        let record = self.recorded(&report).await?;
        if let (Some(certificates), Some(tls)) = (&self.certificates, &config.server.tls) {
            certificates.renew(tls);
            report.warnings.extend(look_at_certificate(&self.metrics, &config.server));
        }
        self.auth.reconfigure(reconfigured.clone()).await;
        match self.people.ineffective_grants().await {
            Ok(grants) => report.shut_out = grants,
            Err(error) => log::warn!("the grants of clients that are not admitted could not be counted: {error}"),
        }
        // Settings and connections change together; a call that meets one of the two before the other is refused.
        let in_force = || self.current.store(Arc::new(Current::new(config)));
        let reloaded = self.directory.reload(start, removed, in_force).await;
        reloaded.inspect_err(|_| self.take_back(record)).map_err(|error| internal(&error))?;
        if reconfigured.reaches != reaches {
            self.auth.reconfigure(Reconfigure { reaches, ..reconfigured }).await;
        }
        let down = |id: &uuid::Uuid| self.directory.get(*id).filter(|entry| !["up", "idle"].contains(&entry.status()));
        report.down = started.iter().filter_map(down).map(|entry| entry.name.to_string()).collect();
        self.directory.announce();
        Ok(report)
    }
}

impl App {
    /// Records what a reload is about to change.
    async fn recorded(&self, report: &Report) -> Result<Option<Record>, Problems> {
        let Some(audit) = &self.audit else { return Ok(None) };
        let Report { added, changed, offered, removed, workspaces, settings, .. } = report;
        let mut object = json!({"added": added, "changed": changed, "offered": offered, "removed": removed});
        for (name, list) in [("workspaces", workspaces), ("settings", settings)] {
            if !list.is_empty() {
                object[name] = json!(list);
            }
        }
        let change = Change { action: "reload", object, before: None, after: None };
        let record = Record::from_change(&change, &AuditContext::default());
        audit.announce(record.clone()).await.map(|()| Some(record)).map_err(|error| {
            let message = format!("nothing was taken over, because it could not be recorded: {}", error.message);
            let remedy = "see to it that the audit trail can be written, and reload again".to_owned();
            Problems(vec![Problem { key: "audit".to_owned(), message, remedy, ..Problem::default() }])
        })
    }

    fn take_back(&self, record: Option<Record>) {
        if let Some((audit, record)) = self.audit.as_ref().zip(record) {
            audit.take_back(record);
        }
    }
}

fn internal(error: &dyn fmt::Display) -> Problems {
    let remedy = "look at the log, and restart the service".to_owned();
    Problems(vec![Problem { message: format!("the reload failed: {error}"), remedy, ..Problem::default() }])
}
