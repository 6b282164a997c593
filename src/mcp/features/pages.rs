//! Pages of a list with opaque cursors (MCP, server/utilities/pagination).

use std::fmt::{Display, Write};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use portico_actors::error::{Error, Result};
use serde_json::Value;

/// Entries of a page.
const PAGE: usize = 200;

/// One page of `items` as the result's JSON object: each has a name that no other one has, and is written as a JSON
/// object. A cursor names the last item of the page before, so that it stays good when items come and go elsewhere.
pub(in crate::mcp) fn page<'i>(
    member: &str,
    items: impl IntoIterator<Item = (&'i str, impl Display)>,
    cursor: Option<&str>,
) -> Result<String> {
    let mut items = items.into_iter().peekable();
    if let Some(cursor) = cursor {
        let last = BASE64.decode(cursor).ok();
        if !items.any(|(name, _)| Some(name.as_bytes()) == last.as_deref()) {
            return Err(Error::invalid("cursor: this cursor is not valid here; begin again without one"));
        }
    }
    let (mut result, mut last) = (format!("{{\"{member}\":["), None);
    for (name, item) in items.by_ref().take(PAGE) {
        let comma = if last.replace(name).is_some() { "," } else { "" };
        let _ = write!(result, "{comma}{item}");
    }
    result.push(']');
    if let (Some(last), Some(_)) = (last, items.peek()) {
        let _ = write!(result, ",\"nextCursor\":\"{}\"", BASE64.encode(last));
    }
    result.push('}');
    Ok(result)
}

/// Items as they are listed, each with its member `key` for its name.
pub(in crate::mcp) fn named<'i>(items: &'i [Value], key: &str) -> impl Iterator<Item = (&'i str, &'i Value)> {
    items.iter().map(move |item| (item[key].as_str().unwrap_or_default(), item))
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
            let page = page("tools", named(&items, "name"), cursor.as_deref()).unwrap();
            let page: Value = serde_json::from_str(&page).unwrap();
            seen.extend(page["tools"].as_array().unwrap().iter().cloned());
            match page["nextCursor"].as_str() {
                Some(next) => cursor = Some(next.to_owned()),
                None => break,
            }
        }
        assert_eq!(seen, items);
        for wrong in ["", "!", "bm9uZQ"] {
            assert!(page("tools", named(&items, "name"), Some(wrong)).is_err(), "{wrong}");
        }
    }
}
