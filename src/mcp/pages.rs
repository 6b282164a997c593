//! Pages of a list with opaque cursors (MCP, server/utilities/pagination).

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use portico_actors::error::{Error, Result};
use serde_json::Value;

/// Entries of a page.
const PAGE: usize = 200;

/// One page of `items` as the result's JSON object. A cursor names the last item of the page
/// before by its `key`, so that it stays good when items come and go elsewhere.
pub(super) fn page(member: &str, key: &str, items: &[Value], cursor: Option<&str>) -> Result<String> {
    let start = match cursor {
        None => 0,
        Some(cursor) => after(items, key, cursor)
            .ok_or_else(|| Error::invalid("cursor: this cursor is not valid here; begin again without one"))?,
    };
    let end = items.len().min(start + PAGE);
    let shown = items.get(start..end).unwrap_or_default();
    let mut result = format!("{{\"{member}\":{}", Value::from(shown.to_vec()));
    if end < items.len()
        && let Some(last) = shown.last()
    {
        result.push_str(&format!(",\"nextCursor\":\"{}\"", BASE64.encode(name(last, key))));
    }
    result.push('}');
    Ok(result)
}

fn name<'a>(item: &'a Value, key: &str) -> &'a str {
    item[key].as_str().unwrap_or_default()
}

fn after(items: &[Value], key: &str, cursor: &str) -> Option<usize> {
    let last = BASE64.decode(cursor).ok()?;
    items.iter().position(|item| name(item, key).as_bytes() == last.as_slice()).map(|index| index + 1)
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
