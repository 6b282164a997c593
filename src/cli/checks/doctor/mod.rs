//! `portico doctor`: checks everything that keeps a service from running well, and says what to do about it. It
//! changes nothing.

mod files;
mod finding;
mod issuers;
mod machine;
mod store;

use std::sync::Arc;

use futures_util::{StreamExt, stream};
use portico_actors::error::Error;
use portico_actors::finding::{Finding as SourceFinding, FindingSeverity as SourceGrade};
use serde_json::json;

use self::finding::{CheckResult, CheckStatus};
use crate::cli::checks::check;
use crate::cli::checks::sign_in;
use crate::cli::checks::writable;
use crate::cli::common::{Common, Failure, read_config};
use crate::cli::output::{print_json, say};
use crate::config::{Config, Connection, Problem};

/// Sources, and other issuers, that are attempted at the same time.
const AT_ONCE: usize = 16;

pub(in crate::cli) fn run(common: &Common) -> Result<(), Failure> {
    let findings = match Config::load(&common.config) {
        Ok(config) => look(common, &config),
        Err(problems) => {
            let mut findings: Vec<CheckResult> = problems.0.iter().map(configuration).collect();
            // Credentials that the service manager hands over are not there in a shell: the rest can be looked at.
            if let Ok(config) = read_config(common) {
                findings.extend(look_without_sources(common, &config));
                let remedy = "correct the configuration; credentials of the unit are handed over by \
                              systemd-run -p LoadCredential=…";
                findings.push(CheckResult::warning("source", "the sources were not looked at", remedy));
            }
            findings
        }
    };
    let well = findings.iter().all(|finding| finding.grade != CheckStatus::Problem);
    if common.json {
        print_json(&json!({"ok": well, "findings": findings}));
    } else {
        for finding in &findings {
            say(format_args!("{:<8} {}: {}", finding.grade.as_str(), finding.subject, finding.message));
            if !finding.remedy.is_empty() {
                say(format_args!("         -> {}", finding.remedy));
            }
        }
    }
    if well { Ok(()) } else { Err(Failure::AlreadyReported) }
}

/// Reports a problem of the configuration.
fn configuration(problem: &Problem) -> CheckResult {
    let key = if problem.key.is_empty() { String::new() } else { format!("{}: ", problem.key) };
    let message = format!("{}{key}{}", problem.place(), problem.message);
    CheckResult::problem("configuration", message, problem.remedy.clone())
}

fn look(common: &Common, config: &Config) -> Vec<CheckResult> {
    let mut findings = vec![CheckResult::ok("configuration", format!("{} is valid", common.config.display()))];
    findings.extend(look_without_sources(common, config));
    findings.extend(sources(config));
    findings
}

fn look_without_sources(common: &Common, config: &Config) -> Vec<CheckResult> {
    let mut findings = Vec::new();
    findings.extend(files::permissions(&common.config, config));
    findings.extend(beside_store(config));
    findings.extend(store::look(config));
    findings.extend(machine::look(config, &common.config));
    findings.extend(sign_in::look(config).into_iter().map(|found| match found.remedy {
        Some(remedy) if found.is_mistake => CheckResult::warning("sign-in", found.message, remedy),
        remedy => {
            CheckResult { remedy: remedy.unwrap_or_default().to_owned(), ..CheckResult::ok("sign-in", found.message) }
        }
    }));
    findings.extend(issuers::look(config, AT_ONCE));
    findings.push(machine::clock(config, &common.config));
    findings.push(machine::descriptors(config));
    findings
}

fn beside_store(config: &Config) -> impl Iterator<Item = CheckResult> {
    writable::look(config).into_iter().map(|found| CheckResult::problem("files", found.message, found.remedy))
}

/// One attempt at each source.
fn sources(config: &Config) -> Vec<CheckResult> {
    let attempts = actix::System::new().block_on(async {
        let attempts = config.connections.iter().map(|connection| check::attempt(connection, Some(config)));
        stream::iter(attempts).buffered(AT_ONCE).collect::<Vec<_>>().await
    });
    let tell = |(connection, attempt): (&Arc<Connection>, Result<check::Up, Error>)| match attempt {
        Ok(up) => {
            let here = CheckResult::ok("source", format!("{}: up, {}", connection.name, up.profile.product));
            let missing = up.missing.iter().map(|missing| {
                CheckResult::problem(
                    "workspace",
                    missing.words(),
                    "correct its assets, or the hidden lists; portico check",
                )
            });
            [here]
                .into_iter()
                .chain(up.findings.iter().map(|found| reached(&connection.name, found)))
                .chain(missing)
                .collect()
        }
        Err(error) => {
            let cause = error.cause().map_or_else(String::new, |cause| format!(": {cause}"));
            let usual =
                "look at url, network and the rights of its user; the service starts without it and goes on trying";
            vec![CheckResult::problem(
                "source",
                format!("{}: down, {}{cause}", connection.name, error.message),
                error.get_hint().unwrap_or(usual),
            )]
        }
    };
    config.connections.iter().zip(attempts).flat_map(tell).collect()
}

/// Reports a finding at a source that is up.
fn reached(connection: &str, found: &SourceFinding) -> CheckResult {
    let message = format!("{connection}: {}", found.words());
    match found.grade {
        SourceGrade::Note => CheckResult::ok("source", message),
        SourceGrade::Warning => CheckResult::warning("source", message, found.remedy.as_str()),
    }
}
