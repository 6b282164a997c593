//! Pages of a list with opaque cursors (MCP, server/utilities/pagination).

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use portico_actors::error::{Error, Result};
use serde_json::Value;

use super::tool_list::ListedTool;

/// Entries of a page.
const PAGE: usize = 200;

/// An entry of a list: a JSON object.
pub(in crate::mcp) trait Item {
    /// Its member `key`, a text that no other entry has.
    fn name(&self, key: &str) -> &str;

    /// Writes the object.
    fn write(&self, to: &mut String);
}

impl Item for Value {
    fn name(&self, key: &str) -> &str {
        self[key].as_str().unwrap_or_default()
    }

    fn write(&self, to: &mut String) {
        to.push_str(&self.to_string());
    }
}

impl Item for ListedTool {
    fn name(&self, _: &str) -> &str {
        &self.name
    }

    fn write(&self, to: &mut String) {
        to.push_str(&self.json);
    }
}

/// One page of `items` as the result's JSON object. A cursor names the last item of the page
/// before by its `key`, so that it stays good when items come and go elsewhere.
pub(in crate::mcp) fn page(member: &str, key: &str, items: &[impl Item], cursor: Option<&str>) -> Result<String> {
    let start = match cursor {
        None => 0,
        Some(cursor) => after(items, key, cursor)
            .ok_or_else(|| Error::invalid("cursor: this cursor is not valid here; begin again without one"))?,
    };
    let end = items.len().min(start + PAGE);
    let shown = items.get(start..end).unwrap_or_default();
    let mut result = format!("{{\"{member}\":[");
    for (index, item) in shown.iter().enumerate() {
        if index > 0 {
            result.push(',');
        }
        item.write(&mut result);
    }
    result.push(']');
    if end < items.len()
        && let Some(last) = shown.last()
    {
        result.push_str(&format!(",\"nextCursor\":\"{}\"", BASE64.encode(last.name(key))));
    }
    result.push('}');
    Ok(result)
}

fn after(items: &[impl Item], key: &str, cursor: &str) -> Option<usize> {
    let last = BASE64.decode(cursor).ok()?;
    items.iter().position(|item| item.name(key).as_bytes() == last.as_slice()).map(|index| index + 1)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn pages_hold_every_item_once_and_in_order() {
        let items: Vec<Value> = (0..=PAGE * 2).map(|number| json!({"name": format!("t{number}")})).collect();
        let mut seen = Vec::new();
        let mut cursor: Option<String> = None;
        loop {
            let page: Value = serde_json::from_str(&page("tools", "name", &items, cursor.as_deref()).unwrap()).unwrap();
            seen.extend(page["tools"].as_array().unwrap().iter().cloned());
            match page["nextCursor"].as_str() {
                Some(next) => cursor = Some(next.to_owned()),
                None => break,
            }
        }
        assert_eq!(seen, items);
        for wrong in ["", "!", "bm9uZQ"] {
            assert!(page("tools", "name", &items, Some(wrong)).is_err(), "{wrong}");
        }
    }
}
