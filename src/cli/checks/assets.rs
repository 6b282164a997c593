//! Assets of workspaces, and columns of their relations, that their connections do not have, for `portico check`.

use std::collections::BTreeMap;
use std::sync::Arc;

use portico_actors::call::MetadataKind;
use portico_actors::error::Error;
use portico_actors::near::{did_you_mean, nearest_qualified};
use portico_actors::source::Source;
use portico_actors::workspace::Asset;
use serde::Serialize;

use super::exposure::known;
use super::relations::Side;
use crate::cli::output::say;
use crate::config::{Config, Connection};

/// An asset that is not there, or that callers are not shown.
#[derive(Serialize)]
pub(in crate::cli) struct Missing {
    workspace: Arc<str>,
    asset: String,
    /// Whether it is a relation that names it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    relation: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

/// Returns the assets of all workspaces that `connection` does not have, according to `source`.
///
/// # Errors
/// The source's error while its names are read.
pub(in crate::cli) async fn missing(
    config: &Config,
    connection: &Connection,
    source: &dyn Source,
) -> Result<Vec<Missing>, Error> {
    let assets = config.workspaces.iter().flat_map(|workspace| workspace.assets.iter().map(|it| (&workspace.name, it)));
    let ours: Vec<_> = assets.filter(|(_, asset)| asset.connection() == connection.name.as_ref()).collect();
    let (tables, procedures): (Vec<_>, Vec<_>) =
        ours.into_iter().partition(|(_, asset)| matches!(asset, Asset::Table { .. }));
    let mut missing = Vec::new();
    let sides: Vec<Side<'_>> = config.workspaces.iter().flat_map(|it| Side::all(it, &connection.name)).collect();
    for (metadata, assets) in [(MetadataKind::Tables, tables), (MetadataKind::Procedures, procedures)] {
        if assets.is_empty() {
            continue;
        }
        let shown = |(schema, name): &(String, String)| match metadata {
            MetadataKind::Tables => connection.exposure.shows_table(schema, name),
            _ => connection.exposure.shows_procedure(schema, name),
        };
        let all = known(source, metadata).await?.into_iter().map(|(schema, name)| (schema.unwrap_or_default(), name));
        let all: Vec<(String, String)> = all.filter(shown).collect();
        let all: Vec<(&str, &str)> = all.iter().map(|(schema, name)| (schema.as_str(), name.as_str())).collect();
        for (workspace, asset) in assets {
            let (Asset::Table { schema, table: name, .. } | Asset::Procedure { schema, name, .. }) = asset;
            if !all.iter().any(|(schema, name)| asset.is(schema, name)) {
                let near = nearest_qualified(Some(schema), name, &all);
                let near: Vec<String> =
                    near.iter().map(|(schema, name)| format!("{}.{schema}.{name}", connection.name)).collect();
                missing.push(Missing {
                    workspace: Arc::clone(workspace),
                    asset: format!("{}.{schema}.{name}", connection.name),
                    relation: false,
                    hint: did_you_mean(&near),
                });
            }
        }
        if metadata == MetadataKind::Tables {
            let mut known = BTreeMap::new();
            for side in &sides {
                let Some((name, hint)) = side.missing(source, &all, &mut known).await? else { continue };
                let asset = format!("{}.{name}", connection.name);
                let workspace = Arc::clone(&side.workspace.name);
                if !missing.iter().any(|it: &Missing| it.workspace == workspace && it.asset == asset) {
                    missing.push(Missing { workspace, asset, relation: true, hint });
                }
            }
        }
    }
    Ok(missing)
}

/// Why a workspace is refused in a build without the engine.
pub(in crate::cli) const REFUSED: &str = "it is over several connections, and this build of Portico runs no statements over \
                                  these: build it with the feature federation";

/// The workspaces that this build cannot serve.
pub(in crate::cli) fn refused(config: &Config) -> Vec<&str> {
    let over_several = config.workspaces.iter().filter(|workspace| workspace.connections().len() > 1);
    over_several.map(|workspace| workspace.name.as_ref()).filter(|_| !cfg!(feature = "federation")).collect()
}

impl Missing {
    /// For people.
    pub(in crate::cli) fn say(&self) {
        say(self.words());
    }

    /// Describes it.
    pub(in crate::cli) fn words(&self) -> String {
        let Self { workspace, asset, relation, hint } = self;
        let named = if *relation { ", which a relation names" } else { "" };
        let hint = hint.as_ref().map(|hint| format!("; {hint}")).unwrap_or_default();
        format!("workspace {workspace}: there is no {asset}{named}{hint}")
    }

    /// Whether it is one of the workspace `name`.
    pub(in crate::cli) fn is_of(&self, name: &str) -> bool {
        self.workspace.as_ref() == name
    }
}
