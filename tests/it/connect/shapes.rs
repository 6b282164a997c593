//! What each client documents of its file, as far as our entries go: which members there are, and of what type. The pages
//! are those that `src/client_setup/client.rs` names. A member that a page does not name is refused.

use boon::{Compiler, Schemas};
use serde_json::{Value, json};

/// The schema of a client's file.
fn schema(client: &str) -> Value {
    let text = json!({"type": "string", "minLength": 1});
    let address = json!({"type": "string", "pattern": "^https?://[^ ]+/mcp"});
    let texts = json!({"type": "object", "additionalProperties": text});
    let object = |required: Value, properties: Value| json!({"type": "object", "required": required, "properties": properties, "additionalProperties": false});
    // A program that is launched: the same everywhere.
    let program =
        object(json!(["command"]), json!({"command": text, "args": {"type": "array", "items": text}, "env": texts}));
    let (table, server) = match client {
        "claude-code" => (
            "mcpServers",
            object(json!(["type", "url"]), json!({"type": {"const": "http"}, "url": address, "headers": texts})),
        ),
        "claude-desktop" => ("mcpServers", program),
        "cursor" => {
            let remote = object(json!(["url"]), json!({"url": address, "headers": texts}));
            ("mcpServers", json!({"oneOf": [remote, program]}))
        }
        "vscode" => (
            "servers",
            object(json!(["type", "url"]), json!({"type": {"const": "http"}, "url": address, "headers": texts})),
        ),
        "gemini" => ("mcpServers", object(json!(["httpUrl"]), json!({"httpUrl": address, "headers": texts}))),
        other => panic!("{other} has no file of JSON"),
    };
    json!({
        "type": "object", "required": [table],
        "properties": {table: {"type": "object", "minProperties": 1, "additionalProperties": server}},
        "additionalProperties": false
    })
}

/// Whether `file` is one that `client` documents.
pub(super) fn holds(client: &str, file: &Value) {
    let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
    compiler.add_resource("mem:///client.json", schema(client)).unwrap();
    let index = compiler.compile("mem:///client.json", &mut schemas).unwrap();
    let checked = schemas.validate(file, index);
    assert!(checked.is_ok(), "{client}: {file}: {}", checked.err().map(|error| error.to_string()).unwrap_or_default());
}

/// Whether `text` is what Codex documents: a table `mcp_servers.NAME` with `url`, and no token.
pub(super) fn codex(text: &str) {
    let file: toml::Table = text.parse().unwrap();
    let servers = file["mcp_servers"].as_table().unwrap();
    assert_eq!((file.len(), servers.len()), (1, 1), "{text}");
    for (name, server) in servers {
        let fits = |each: char| each.is_ascii_alphanumeric() || matches!(each, '_' | '-');
        assert!(name.chars().all(fits), "{name}");
        for (key, value) in server.as_table().unwrap() {
            assert!(["url", "bearer_token_env_var"].contains(&key.as_str()) && value.is_str(), "{key}: {value}");
        }
        assert!(server["url"].as_str().unwrap().contains("/mcp"), "{text}");
    }
}
