//! `portico workspace add|list|remove`.

use clap::{Args, Subcommand};
use portico_actors::error::Error;
use serde::Serialize;
use serde_json::json;
use toml_edit::{InlineTable, Table, Value, value};

use super::connection::{find, tried};
use super::edit::{Edit, lines};
use crate::cli::checks::assets::Missing;
use crate::cli::common::{Common, Failure, read_config};
use crate::config::Config;

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum WorkspaceCommand {
    /// Add a virtual schema to the configuration, and have the running service take it over.
    Add(Add),
    /// List the workspaces.
    List,
    /// Take a workspace out of the configuration, and have the running service take that over.
    Remove {
        /// The workspace's name.
        name: String,
    },
}

#[derive(Args, Debug)]
pub(in crate::cli) struct Add {
    /// Its name.
    name: String,
    /// A table that is in it, as CONNECTION.SCHEMA.TABLE; % stands for anything in schema and table. Behind = stands the
    /// name that it has here, if it is another one, as ALIAS or FOLDER.ALIAS. May be repeated.
    #[arg(long = "table", value_name = "TABLE[=ALIAS]", required_unless_present = "procedures")]
    tables: Vec<String>,
    /// A procedure that is in it, as CONNECTION.SCHEMA.NAME; may be repeated.
    #[arg(long = "procedure", value_name = "PROCEDURE")]
    procedures: Vec<String>,
    /// What it is for.
    #[arg(long)]
    description: Option<String>,
    /// Add it without looking whether its tables are there.
    #[arg(long)]
    no_test: bool,
}

/// A workspace in listings.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Listed {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    connections: Vec<String>,
    assets: usize,
    views: usize,
    mcp_url: String,
}

pub(in crate::cli) fn run(command: WorkspaceCommand, common: &Common) -> Result<(), Failure> {
    match command {
        WorkspaceCommand::Add(add) => add.run(common),
        WorkspaceCommand::List => {
            let config = read_config(common)?;
            let listed: Vec<Listed> =
                config.workspaces.iter().filter_map(|workspace| listed(&config, &workspace.name)).collect();
            common.list(&listed, ["NAME", "CONNECTIONS", "ASSETS", "VIEWS", "MCP"], |it| {
                let counts = (it.assets.to_string(), it.views.to_string());
                [it.name.clone(), it.connections.join(", "), counts.0, counts.1, it.mcp_url.clone()]
            });
            Ok(())
        }
        WorkspaceCommand::Remove { name } => Edit::take_out("workspace", &name, common),
    }
}

fn listed(config: &Config, name: &str) -> Option<Listed> {
    let workspace = config.workspaces.iter().find(|workspace| workspace.name.as_ref() == name)?;
    Some(Listed {
        name: workspace.name.to_string(),
        description: workspace.description.as_ref().map(ToString::to_string),
        connections: workspace.connections().into_iter().map(str::to_owned).collect(),
        assets: workspace.assets.len(),
        views: workspace.views.len(),
        mcp_url: format!("{}/mcp/workspaces/{}", config.server.public_url, workspace.name),
    })
}

impl Add {
    fn run(self, common: &Common) -> Result<(), Failure> {
        let mut edit = Edit::begin(common)?;
        let mut table = Table::new();
        table.insert("name", value(&self.name));
        if let Some(description) = &self.description {
            table.insert("description", value(description));
        }
        let tables = self.tables.iter().map(|text| asset(text));
        let procedures = self.procedures.iter().map(|text| InlineTable::from_iter([("procedure", text.as_str())]));
        table.insert("assets", value(lines(tables.chain(procedures).map(Value::from))));
        edit.push("workspaces", table)?;
        let config = edit.judged()?;
        let missing = if self.no_test { Vec::new() } else { self.missing(&config)? };
        if !missing.is_empty() {
            let words: Vec<String> = missing.iter().map(Missing::words).collect();
            let refused = Error::not_found(format!("nothing was written: {}", words.join("; ")));
            return Err(refused.hint("correct the names, or add --no-test to write them down all the same").into());
        }
        let takeover = edit.write(&config)?;
        let listed = listed(&config, &self.name)
            .ok_or_else(|| Error::internal("a workspace that was added is not in its configuration"))?;
        let mut record = json!(listed);
        takeover.add_to(&mut record);
        let words = format!(
            "added {} with {} assets of {}\n{}",
            listed.name,
            listed.assets,
            listed.connections.join(", "),
            takeover.words()
        );
        common.print(&record, words);
        Ok(())
    }

    /// The assets that are not there.
    fn missing(&self, config: &Config) -> Result<Vec<Missing>, Error> {
        let workspace = config.workspaces.iter().find(|workspace| workspace.name.as_ref() == self.name);
        let mut missing = Vec::new();
        for name in workspace.iter().flat_map(|workspace| workspace.connections()) {
            let up = tried(find(config, name)?, config)?;
            missing.extend(up.missing.into_iter().filter(|missing| missing.is_of(&self.name)));
        }
        Ok(missing)
    }
}

/// One table as it is written down: `crm.main.people=people.customers`.
fn asset(text: &str) -> InlineTable {
    let (table, alias) = text.split_once('=').map_or((text, None), |(table, alias)| (table, Some(alias)));
    let mut asset = InlineTable::from_iter([("table", table)]);
    if let Some(alias) = alias {
        let (folder, alias) = alias.split_once('.').map_or((None, alias), |(folder, alias)| (Some(folder), alias));
        asset.insert("alias", alias.into());
        if let Some(folder) = folder {
            asset.insert("folder", folder.into());
        }
    }
    asset
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_asset_may_have_a_name_of_its_own() {
        for (text, expected) in [
            ("a.b.c", "{ table = \"a.b.c\" }"),
            ("a.b.c=d", "{ table = \"a.b.c\", alias = \"d\" }"),
            ("a.b.c=d.e", "{ table = \"a.b.c\", alias = \"e\", folder = \"d\" }"),
        ] {
            assert_eq!(asset(text).to_string(), expected);
        }
    }
}
