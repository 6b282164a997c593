"""The three servers: how each is started, what its listing is asked for, and how its answers are read."""

import json
import os
import shlex
import subprocess
import tempfile
import urllib.parse
from decimal import Decimal
from pathlib import Path


def program(command: str) -> list[str]:
    """The words of a command, which is not run in this folder: DBHub reads files of its own where it is started."""
    first, *more = shlex.split(command)
    return [str(Path(first).resolve()) if Path(first).exists() else first, *more]


class Server:
    """A program that speaks MCP on standard input and output."""

    def __init__(self, command: list[str], environment: dict[str, str]):
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            env={**os.environ, **environment}, cwd=tempfile.gettempdir())
        self.number = 0
        client = {"name": "agent_peers", "version": "1"}
        answer = self.ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client})
        self.about = answer["result"]
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.terminate()
            self.process.wait()
        self.process.stdout.close()

    def send(self, message: dict) -> None:
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def ask(self, method: str, params: dict) -> dict:
        self.number += 1
        self.send({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params})
        for line in self.process.stdout:
            message = json.loads(line)
            if message.get("id") == self.number and "method" not in message:
                return message
        raise SystemExit(f"{self.process.args} ended; run it by hand to see why")

    def tools(self) -> list[dict]:
        found, cursor = [], {}
        while True:
            page = self.ask("tools/list", cursor)["result"]
            found += page["tools"]
            if not page.get("nextCursor"):
                return found
            cursor = {"cursor": page["nextCursor"]}

    def call(self, name: str, arguments: dict) -> tuple[bool, str]:
        """Whether the call succeeded, and the text that a model is shown."""
        answer = self.ask("tools/call", {"name": name, "arguments": arguments})
        if "error" in answer:
            return False, answer["error"]["message"]
        result = answer["result"]
        text = "\n".join(block.get("text", "") for block in result["content"])
        return not result.get("isError", False), text


class Portico:
    name = "Portico"
    argument = "query"
    # Its instructions have all tables: nothing is looked up later.
    paths = ["get_instructions once"]

    def __init__(self, command: str):
        self.command = program(command)

    def start(self, url: str, lean: bool) -> Server:
        return Server([*self.command, "stdio", "--read-write", *(["--lean"] if lean else []), "--url", url], {})

    def lists(self, url: str) -> list[tuple[str, Server]]:
        return [("as it comes", self.start(url, False)), ("--lean", self.start(url, True))]

    def first(self, _path: int):
        return [("get_instructions", {})]

    def look(self, _path: int, _tables: list[str]):
        return []

    def sql(self, text: str):
        verb = text.split()[0].lower()
        return f"execute_{verb}", {"query": text}

    def rows(self, text: str):
        return json.loads(text, parse_float=Decimal)["rows"]


class Dbhub:
    name = "DBHub"
    argument = "sql"
    # The last one shows no types, keys and comments.
    paths = ["names, then each table", "all tables at once", "all columns' names at once"]

    def __init__(self, command: str):
        self.command = program(command)

    def start(self, url: str, _lean: bool) -> Server:
        # It asks for TLS otherwise.
        return Server([*self.command, "--transport", "stdio", "--dsn", url + "?sslmode=disable"], {})

    def lists(self, url: str) -> list[tuple[str, Server]]:
        return [("as it comes", self.start(url, True))]

    def first(self, path: int):
        if path == 2:
            return [("search_objects", {"object_type": "column", "limit": 1000})]
        return [("search_objects", {"object_type": "table", "detail_level": ["names", "full"][path]})]

    def look(self, path: int, tables: list[str]):
        def find(name):
            kind = "function" if name.endswith("()") else "table"
            return "search_objects", {"object_type": kind, "pattern": name.rstrip("()"), "detail_level": "full"}

        return [find(name) for name in tables if path == 0 or name.endswith("()")]

    def sql(self, text: str):
        return "execute_sql", {"sql": text}

    def rows(self, text: str):
        statement = json.loads(text, parse_float=Decimal)["data"]["statements"][0]
        return [list(row.values()) for row in statement["rows"]]


class Toolbox:
    name = "MCP Toolbox"
    argument = "sql"
    paths = ["names, then the tables of each question", "all tables at once"]
    # The two tools that suffice, of its own documented kinds.
    own = """kind: source
name: database
type: postgres
host: {host}
port: {port}
database: {database}
user: {user}
password: {password}
---
kind: tool
name: execute_sql
type: postgres-execute-sql
source: database
description: Use this tool to execute a single SQL statement.
---
kind: tool
name: list_tables
type: postgres-list-tables
source: database
description: Lists detailed schema information (object type, columns, constraints, indexes, triggers, owner, comment) as \
JSON for user-created tables (ordinary or partitioned). Filters by a comma-separated list of names. If names are omitted, \
lists all tables in user schemas.
"""

    def __init__(self, command: str):
        self.command = [*program(command), "--stdio", "--disable-version-check"]
        self.folder = tempfile.TemporaryDirectory()

    def parts(self, url: str) -> dict[str, str]:
        parts = urllib.parse.urlsplit(url)
        return {"host": parts.hostname, "port": str(parts.port or 5432), "database": parts.path[1:],
                "user": parts.username, "password": parts.password or "none"}

    def prebuilt(self, url: str, name: str) -> Server:
        environment = {f"POSTGRES_{key.upper()}": value for key, value in self.parts(url).items()}
        return Server([*self.command, "--prebuilt", name], environment)

    def start(self, url: str, _lean: bool) -> Server:
        parts = self.parts(url)
        path = Path(self.folder.name) / f"{parts['database']}.yaml"
        path.write_text(self.own.format(**{key: json.dumps(value) for key, value in parts.items()}))
        return Server([*self.command, "--config", str(path)], {})

    def lists(self, url: str) -> list[tuple[str, Server]]:
        names = ["postgres", "postgres/data"]
        return [*((f"--prebuilt {name}", self.prebuilt(url, name)) for name in names),
                ("two tools in a file", self.start(url, True))]

    def first(self, path: int):
        return [("list_tables", {"output_format": "simple"} if path == 0 else {})]

    def look(self, path: int, tables: list[str]):
        # What it has for procedures lists no functions.
        tables = [name for name in tables if not name.endswith("()")]
        return [("list_tables", {"table_names": ",".join(tables)})] if path == 0 and tables else []

    def sql(self, text: str):
        return "execute_sql", {"sql": text}

    def rows(self, text: str):
        # An object a line; no text, or null, without rows.
        rows = [json.loads(line, parse_float=Decimal) for line in text.splitlines()]
        return [list(row.values()) for row in rows if row is not None]
