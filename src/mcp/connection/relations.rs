//! Relations between tables of different connections: declared by administrators for workspaces, written with the
//! names that statements over several connections use.

use std::collections::BTreeSet;
use std::fmt::Write;

use portico_actors::pattern;
use portico_actors::workspace::{Asset, Workspace, column};

/// Bytes of all of them.
const MOST: usize = 3_000;

/// Writes a line for each relation between columns of connections that are within reach according to `reaches`;
/// nothing without any.
pub(super) fn write<'w>(
    workspaces: impl Iterator<Item = &'w Workspace>,
    reaches: impl Fn(&str) -> bool,
    text: &mut String,
) {
    let relations = workspaces.flat_map(|workspace| {
        let both = workspace
            .relations
            .iter()
            .map(|it| Some((at_connection(workspace, &it.from)?, at_connection(workspace, &it.to)?)));
        both.flatten()
    });
    let within = relations.filter(|((from, _), (to, _))| reaches(from) && reaches(to));
    // Several workspaces may say the same.
    let lines: BTreeSet<String> = within.map(|((_, from), (_, to))| format!("- {from} = {to}\n")).collect();
    if lines.is_empty() {
        return;
    }
    text.push_str("\nHow tables of different connections belong together:\n\n");
    let end = text.len() + MOST;
    for (at, line) in lines.iter().enumerate() {
        if text.len() + line.len() > end {
            let _ = writeln!(text, "- … and {} more", lines.len() - at);
            return;
        }
        text.push_str(line);
    }
}

/// Returns the connection of the column `name` of `workspace`, and its name there; `None` for a view's.
fn at_connection<'w>(workspace: &'w Workspace, name: &str) -> Option<(&'w str, String)> {
    let (folder, table, column) = column(name)?;
    workspace.assets.iter().find_map(|asset| {
        let Asset::Table { connection, schema, table: own, .. } = asset else { return None };
        let (lies_in, called) = asset.place()?;
        let own = match called {
            Some(called) => (called == table).then_some(own.as_ref())?,
            // Of a pattern of schemas it is not known which one has it.
            None => {
                let fits = pattern::matches(Some(&own.replace('_', "\\_")), table);
                (fits && !schema.contains('%')).then_some(table)?
            }
        };
        (lies_in == folder).then(|| (connection.as_ref(), format!("{connection}.{schema}.{own}.{column}")))
    })
}

#[cfg(test)]
mod tests {
    use portico_actors::workspace::Relation;

    use super::*;

    fn table(connection: &str, table: &str, alias: Option<&str>, folder: Option<&str>) -> Asset {
        Asset::Table {
            connection: connection.into(),
            schema: "s".into(),
            table: table.into(),
            alias: alias.map(Into::into),
            folder: folder.map(Into::into),
        }
    }

    #[test]
    fn a_relation_is_told_in_the_names_of_its_connections_to_those_who_reach_both() {
        let relation = |from: &str, to: &str| Relation { from: from.into(), to: to.into() };
        let workspace = Workspace {
            name: "w".into(),
            description: None,
            instructions: None,
            instructions_tokens: 2_000,
            lookup_rows: true,
            max_rows: 1,
            max_bytes: 1,
            tool_rows: 1,
            tool_bytes: 1,
            max_source_tools: 1,
            assets: vec![
                table("sales", "orders", None, None),
                table("crm", "people", Some("customers"), Some("people")),
                table("stock", "item_%", None, Some("goods")),
            ],
            views: Vec::new(),
            relations: vec![
                relation("orders.customer_id", "people.customers.id"),
                relation("orders.item", "goods.item_list.id"),
                relation("orders.item", "goods.items.id"),
                relation("orders.a", "reports.by_region.a"),
            ],
        };
        let told = |reaches: &[&str]| {
            let mut text = String::new();
            write([&workspace, &workspace].into_iter(), |name| reaches.contains(&name), &mut text);
            text
        };
        let both = told(&["sales", "crm", "stock"]);
        assert!(
            both.ends_with(
                ":\n\n- sales.s.orders.customer_id = crm.s.people.id\n- sales.s.orders.item = stock.s.item_list.id\n"
            ),
            "{both}"
        );
        assert_eq!(told(&["sales"]), "");
    }
}
