//! Which workspaces a caller reaches, and how far they go there.

use std::sync::Arc;

use portico_actors::error::{Error, Result};
use portico_actors::near;
use portico_actors::principal::{Rights, Scope};
use portico_actors::workspace::Workspace;
use uuid::Uuid;

use crate::config::Config;

/// A workspace, and the connections underneath by id.
#[derive(Clone)]
pub struct ConfiguredWorkspace {
    /// Its declaration.
    pub workspace: Arc<Workspace>,
    /// Each once.
    pub underneath: Arc<[Uuid]>,
}

impl ConfiguredWorkspace {
    /// Every workspace, ordered by name.
    pub(crate) fn all(config: &Config) -> Vec<Self> {
        let underneath = |workspace: &Workspace| {
            let names = workspace.connections();
            names.into_iter().filter_map(|name| Some(config.connection(name)?.id)).collect()
        };
        let configured =
            |workspace: &Arc<Workspace>| Self { underneath: underneath(workspace), workspace: Arc::clone(workspace) };
        let mut all: Vec<Self> = config.workspaces.iter().map(configured).collect();
        all.sort_by(|one, other| one.workspace.name.cmp(&other.workspace.name));
        all
    }
}

/// A workspace within a caller's reach.
#[derive(Clone, Debug)]
pub struct Reachable {
    /// Its declaration.
    pub workspace: Arc<Workspace>,
    /// The connections underneath by id, each once.
    pub underneath: Arc<[Uuid]>,
    /// The caller's maximal scope in it. A caller who was granted the workspace need not reach the connections
    /// themselves.
    pub scope: Scope,
}

/// Returns those of `all` within `rights`: those that were granted, and those whose connections are all within
/// reach.
pub(crate) fn within(all: &[ConfiguredWorkspace], rights: &Rights) -> Vec<Reachable> {
    let reachable = |ConfiguredWorkspace { workspace, underneath }: &ConfiguredWorkspace| {
        let scope = rights.scope_in(&workspace.name, underneath.iter().copied())?;
        Some(Reachable { workspace: Arc::clone(workspace), underneath: Arc::clone(underneath), scope })
    };
    all.iter().filter_map(reachable).collect()
}

/// Returns the workspace of that name.
///
/// # Errors
/// [`Kind::NotFound`](portico_actors::error::Kind::NotFound) if it is not among them; names of others are not
/// revealed.
pub(crate) fn named(mut within: Vec<Reachable>, name: &str) -> Result<Reachable> {
    if let Some(at) = within.iter().position(|it| it.workspace.name.eq_ignore_ascii_case(name)) {
        return Ok(within.swap_remove(at));
    }
    let known: Vec<&str> = within.iter().map(|it| it.workspace.name.as_ref()).collect();
    let near = near::suggestion(name, known.iter().copied());
    let listed = || (!known.is_empty()).then(|| format!("workspaces: {}", known.join(", ")));
    Err(Error::not_found(format!("there is no workspace {name:?}")).with(near.or_else(listed), Error::hint))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use portico_actors::principal::WorkspaceGrant;

    use super::*;

    const SALES: Uuid = Uuid::from_u128(1);
    const CRM: Uuid = Uuid::from_u128(2);

    fn configured() -> Vec<ConfiguredWorkspace> {
        let connection =
            |id, name| format!("[[connections]]\nid = \"{id}\"\nname = \"{name}\"\nurl = \"sqlite:x.db\"\n");
        let text = connection(SALES, "sales")
            + &connection(CRM, "crm")
            + "[[workspaces]]\nname = \"turnover\"\nassets = [{ table = \"sales.main.orders\" }]\n\
               [[workspaces]]\nname = \"revenue\"\nassets = [{ table = \"Sales.main.a\" }, { procedure = \"crm.main.b\" }]\n";
        ConfiguredWorkspace::all(&Config::parse(&text, Path::new(""), &|_| None).unwrap())
    }

    #[test]
    fn a_workspace_that_is_not_within_reach_is_none() {
        let all = configured();
        let given = Rights::each([]).with_workspaces([("revenue".into(), WorkspaceGrant::Given(Scope::Write))]);
        let both = Rights::each([(SALES, Scope::Write), (CRM, Scope::Read)]);
        for (rights, expected) in [
            (Rights::ALL, vec![("revenue", Scope::Admin), ("turnover", Scope::Admin)]),
            (both.clone(), vec![("revenue", Scope::Read), ("turnover", Scope::Write)]),
            (Rights::only([SALES], Scope::Read), vec![("turnover", Scope::Read)]),
            (Rights::only([CRM], Scope::Admin), vec![]),
            (given.clone(), vec![("revenue", Scope::Write)]),
            (given.intersection(&both), vec![("revenue", Scope::Read)]),
            (given.intersection(&Rights::only([CRM], Scope::Admin)), vec![]),
        ] {
            let found = within(&all, &rights);
            let found: Vec<_> = found.iter().map(|it| (it.workspace.name.as_ref(), it.scope)).collect();
            assert_eq!(found, expected, "{rights:?}");
        }
        assert_eq!(named(within(&all, &both), "Revenue").ok().map(|it| it.underneath.len()), Some(2));
        let hint = |rights: &Rights, name: &str| {
            let error = named(within(&all, rights), name).err().unwrap();
            error.get_hint().map(str::to_owned)
        };
        assert_eq!(hint(&both, "revenu").as_deref(), Some("did you mean revenue?"));
        assert_eq!(hint(&Rights::only([SALES], Scope::Read), "revenue").as_deref(), Some("workspaces: turnover"));
        assert_eq!(hint(&Rights::each([]), "revenue"), None, "names of others' workspaces are not told");
    }
}
