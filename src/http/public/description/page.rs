//! The description as a page: plain HTML with its style inside, without a script. What it says is
//! in the document.

use serde_json::{Map, Value};

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:56rem;margin:2rem auto;padding:0 1rem;\
    color:#1c1e21;background:#fff}code,pre{font:14px/1.45 ui-monospace,monospace}\
    pre{background:#f3f4f6;padding:.75rem;overflow:auto;border-radius:6px}section{border-top:1px solid #d5d8dc;\
    margin-top:2rem}table{border-collapse:collapse}td{padding:.2rem .8rem .2rem 0;vertical-align:top}\
    b{text-transform:uppercase}@media(prefers-color-scheme:dark){body{color:#e6e6e6;background:#16181b}\
    pre{background:#22262b}section{border-color:#3a3f45}a{color:#8ab4f8}}";

/// The page of `document`.
pub(super) fn render(document: &Value) -> String {
    let info = &document["info"];
    let title = format!("{} {}", text(&info["title"]), text(&info["version"]));
    let mut page = format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title>\
        <meta name=\"viewport\" content=\"width=device-width\"><style>{STYLE}</style></head><body><h1>{title}</h1>\
        <p>{} <a href=\"/openapi.json\">openapi.json</a></p>",
        text(&info["description"])
    );
    let empty = Map::new();
    for (path, operations) in document["paths"].as_object().unwrap_or(&empty) {
        for (method, operation) in operations.as_object().unwrap_or(&empty) {
            section(&mut page, document, path, method, operation);
        }
    }
    page.push_str("<section><h2>Bodies</h2>");
    for (name, schema) in document["components"]["schemas"].as_object().unwrap_or(&empty) {
        page.push_str(&format!("<h3>{}</h3>", escape(name)));
        block(&mut page, schema);
    }
    page.push_str("</section></body></html>");
    page
}

fn section(page: &mut String, document: &Value, path: &str, method: &str, operation: &Value) {
    page.push_str(&format!(
        "<section><h2><b>{}</b> <code>{}</code></h2><p>{}</p><p>{}</p>",
        escape(method),
        escape(path),
        text(&operation["summary"]),
        text(&operation["description"])
    ));
    page.push_str("<table>");
    for parameter in operation["parameters"].as_array().into_iter().flatten() {
        page.push_str(&format!(
            "<tr><td><code>{}</code></td><td>{}</td><td>{}</td></tr>",
            text(&parameter["name"]),
            text(&parameter["in"]),
            text(&parameter["description"])
        ));
    }
    page.push_str("</table>");
    for (media, body) in operation["requestBody"]["content"].as_object().into_iter().flatten() {
        page.push_str(&format!("<h3>Body</h3><p><code>{}</code></p>", escape(media)));
        block(page, &body["example"]);
    }
    page.push_str("<h3>Answers</h3><table>");
    let empty = Map::new();
    for (status, response) in operation["responses"].as_object().unwrap_or(&empty) {
        let shared = &document["components"]["responses"][status.as_str()];
        let meaning = if response["description"].is_null() { &shared["description"] } else { &response["description"] };
        page.push_str(&format!("<tr><td>{}</td><td>{}</td></tr>", escape(status), text(meaning)));
    }
    page.push_str("</table></section>");
}

fn block(page: &mut String, value: &Value) {
    let shown = serde_json::to_string_pretty(value).unwrap_or_default();
    page.push_str(&format!("<pre>{}</pre>", escape(&shown)));
}

fn text(value: &Value) -> String {
    escape(value.as_str().unwrap_or_default())
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
