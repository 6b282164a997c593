"""Asks Portico and two peers the questions of tests/it/mcp/agents, makes the same mistakes with each, and counts.

    python3 examples/agent_peers/agent_peers.py postgres://postgres@127.0.0.1:5432 \
        --portico target/debug/portico --dbhub 'npx -y @bytebase/dbhub@1.4.0' --toolbox 'npx -y @toolbox-sdk/server@1.12.0'

The address is that of a PostgreSQL in which databases may be made: `psql` makes them, and drops them at the end.
README.md says what is counted, and how.
"""

import argparse
import json
import re
import subprocess
from decimal import Decimal, InvalidOperation
from pathlib import Path

from servers import Dbhub, Portico, Server, Toolbox

ROOT = Path(__file__).resolve().parents[2]
AGENTS = ROOT / "tests/it/mcp/agents"

# Statements whose answers are counted.
ANSWERS = [
    "SELECT count(*) FROM orders",
    "SELECT g AS id, 'name ' || g AS name, g * 3 AS cents, date '2026-01-01' + g AS day FROM generate_series(1, 200) g",
]

# The tables that have to be looked up for each question.
TABLES = [
    ["customers", "countries"], ["orders"], ["employees"], ["returns", "order_lines", "products", "reason_codes"],
    ["returns", "reason_codes"], ["CustomerRating"], ["campaigns"], ["visits"], ["products"], ["employees"],
    ["stock", "products"], ["turnover()"],
]

# What an agent asks the database itself where the listing did not show a fact.
COUNTRIES = "SELECT code, name FROM countries"
FUNCTIONS = "SELECT proname, pg_get_function_arguments(oid) FROM pg_proc WHERE pronamespace = 'public'::regnamespace"
LOOK_UPS = {
    "PL": COUNTRIES, "PT": COUNTRIES, "turnover": FUNCTIONS, "of_country": FUNCTIONS,
    "1": "SELECT code, meaning FROM reason_codes", "fixed_term": "SELECT DISTINCT contract FROM employees",
}

SQL = set("select from where and join on is null group by order count sum avg int".split())
# Months in figures, and what a kilogram is.
COMMON = {"2026-02-01", "2026-03-01", "1000"}

# What an error may say (a regular expression) so that the second statement follows from it, for each mistake.
MENDS = {
    "a table's name": [(r"\bcustomers\b", "SELECT name FROM customers")],
    "a column's name": [(r"\bname\b", "SELECT name FROM customers")],
    "a column of the other table": [
        (r"\b(c|customers)\.city\b", "SELECT c.city FROM orders o JOIN customers c ON c.id = o.customer_id"),
    ],
    "an ambiguous column": [
        (r"\b(o|c|orders|customers)\.id\b", "SELECT o.id FROM orders o JOIN customers c ON c.id = o.customer_id"),
    ],
    "TOP": [(r"(?i)\blimit\b", "SELECT name FROM customers ORDER BY id LIMIT 2")],
    "an aggregate in WHERE": [
        (r"(?i)\bhaving\b", "SELECT customer_id FROM orders GROUP BY customer_id HAVING count(*) > 1"),
    ],
    "two statements": [
        (r"(?i)multiple commands|each statement|single statement|one statement", "SELECT name FROM customers"),
    ],
    "a NULL that must be none": [(r"\bname\b", "INSERT INTO customers (id, city, name) VALUES (77, 'x', 'y')")],
    "a key that is taken": [
        (r"(?i)\bon conflict\b", "INSERT INTO customers (id, name) VALUES (1, 'x') ON CONFLICT DO NOTHING"),
        (r"\(id\)=\(1\)", "INSERT INTO customers (id, name) VALUES (99, 'x')"),
    ],
    "another connection's name": [
        (r"(?i)cross-database|this call addresses|did you mean", "SELECT name FROM customers"),
    ],
    "a name with capitals": [(r"\bcarrierName\b", 'SELECT "carrierName" FROM shipments')],
    "a table with capitals": [(r"\bShipmentNotes\b", 'SELECT body FROM "ShipmentNotes"')],
    "GROUP BY": [
        (r"\bc\.name\b",
         "SELECT c.city, c.name, count(*) FROM customers c JOIN orders o ON o.customer_id = c.id GROUP BY c.city, c.name"),
    ],
    "a number against a text": [(r"\btext\b", "SELECT id FROM shipments WHERE note = 5::text")],
    "DATEADD": [(r"(?i)\binterval\b", "SELECT placed + interval '7 day' FROM orders")],
    "IFNULL": [(r"(?i)\bcoalesce\b", "SELECT COALESCE(city, 'none') FROM customers")],
    "GETDATE": [(r"(?i)\bnow\(\)|\bcurrent_(timestamp|date)\b", "SELECT now() AS now")],
    "strftime": [(r"(?i)\bto_char\b", "SELECT to_char(placed, 'YYYY-MM') FROM orders")],
    "YEAR": [(r"(?i)\b(extract|date_part)\b", "SELECT EXTRACT(year FROM placed) FROM orders")],
    "LIMIT x, y": [(r"(?i)\boffset\b", "SELECT name FROM customers ORDER BY id LIMIT 2 OFFSET 1")],
    "backticks": [(r"(?i)double quotes|no quotes", 'SELECT "name" FROM "customers"')],
    "a label of an enumeration": [(r"\bshipped\b", "SELECT id FROM shipments WHERE status = 'shipped'")],
    "a date in another form": [
        (r"(?i)\bto_date\b", "SELECT id FROM orders WHERE placed > to_date('31/12/2025', 'DD/MM/YYYY')"),
        (r"(?i)yyyy-mm-dd|2025-12-31", "SELECT id FROM orders WHERE placed > '2025-12-31'"),
    ],
    "division by zero": [(r"(?i)\bnullif\b", "SELECT total / NULLIF(id - id, 0) FROM orders")],
    "a text where a number is due": [(r"(?i)\b(integer|number)\b", "SELECT name FROM customers WHERE id = 1")],
    "a text in double quotes": [(r"(?i)single quotes|'Gdańsk'", "SELECT id FROM customers WHERE city = 'Gdańsk'")],
    "+ between texts": [(r"\|\||(?i:\bconcat\b)", "SELECT name || ' of ' || city FROM customers")],
    "a boolean as a number": [(r"(?i)\b(true|boolean)\b", "SELECT id FROM shipments WHERE fragile = true")],
    "round": [(r"(?i)\bnumeric\b", "SELECT round(weight::numeric, 1) FROM shipments")],
    "LIKE on a number": [(r"\btext\b", "SELECT id FROM customers WHERE id::text LIKE '1%'")],
    "an interval": [(r"(?i)interval '7", "SELECT now() - INTERVAL '7 day' AS then")],
    "a subquery of several rows": [
        (r"\bIN\b|\bANY\b|LIMIT 1", "SELECT name FROM customers WHERE id IN (SELECT customer_id FROM orders)"),
    ],
    "an alias in WHERE": [
        (r"(?i)\bFROM \(|\bsubquery\b|\bexpression\b|\balias\b",
         "SELECT total * 2 AS twice FROM orders WHERE total * 2 > 1"),
    ],
    "a schema's name": [(r"\bpublic\b", "SELECT name FROM public.customers")],
    "a procedure's name": [(r"\bweight_of\b", "SELECT weight_of(1)")],
}
# Of these, those that no knowledge of SQL mends: the word is the database's own.
ITS_OWN = {"a table's name", "a column's name", "a column of the other table", "a name with capitals",
           "a table with capitals", "a label of an enumeration", "a schema's name", "a procedure's name"}
# The one mistake that is no statement: the argument has another name.
WRONG_ARGUMENT = "an unknown argument"


def tokens(text: str) -> int:
    return -(-len(text.encode()) // 4)


def compact(value) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def shown(tools: list[dict]) -> str:
    """What a model is shown of tools, as tests/it/mcp/agents/mod.rs has it."""
    return "".join(f"{tool['name']}\n{tool.get('description', '')}\n{compact(tool['inputSchema'])}\n" for tool in tools)


def facts(query: str) -> list[str]:
    """What a statement says that is not SQL's own: its names but for aliases, and its literals."""
    found = {}
    for at, piece in enumerate(query.split("'")):
        if at % 2 == 1:
            found[piece] = None
            continue
        for word in re.findall(r"\w+", piece):
            if (len(word) > 1 or word.isdigit()) and word.lower() not in SQL:
                found[word] = None
    return [fact for fact in found if fact not in COMMON]


def stands(fact: str, text: str, asks: str) -> bool:
    """Whether a fact stands in a text as a word of its own; the number of a reason only before its meaning."""
    if fact == "1" and fact not in asks:
        return re.search(r"\b1\b[^\n]{0,6}\s{0,20}(\"meaning\": ?)?[\"']damaged", text) is not None
    return re.search(rf"(?<!\w){re.escape(fact)}(?!\w)", text) is not None


def same(found, wanted) -> bool:
    """Equal as values; a number may come as a text."""
    def one(a, b):
        try:
            return Decimal(str(a)) == Decimal(str(b))
        except InvalidOperation:
            return a == b

    return len(found) == len(wanted) and all(
        len(f) == len(w) and all(map(one, f, w)) for f, w in zip(found, wanted))


def told(text: str, statement: str) -> str:
    """What a server says beside the statement that it was sent: some send it back."""
    return text.replace(statement, "").replace(json.dumps(statement, ensure_ascii=False)[1:-1], "")


class Conversation:
    """What was said and shown so far, and what reading it again at each turn comes to."""

    def __init__(self, server: Server, statement: str):
        self.server, self.statement = server, statement
        self.calls = self.spent = self.turns = self.again = 0
        self.seen = ""

    def question(self, asks: str) -> None:
        self.spent += tokens(asks)

    def turn(self, *calls: tuple[str, dict]) -> str:
        """Makes these calls at once, as most clients let a model do; the text of the last one."""
        text = ""
        if calls:
            self.answered()
        for tool, arguments in calls:
            succeeded, text = self.server.call(tool, arguments)
            if not succeeded:
                raise SystemExit(f"{tool} {arguments}: {text}")
            self.calls += 1
            self.spent += tokens(f"{tool} {compact(arguments)}") + tokens(text)
            self.seen += told(text, arguments.get(self.statement, "")) + "\n"
        return text

    def answered(self) -> None:
        """The model has its turn: it reads all that was said, and the tools."""
        self.turns += 1
        self.again += self.spent

    def cost(self, sizes: list[int]) -> str:
        read = " or ".join(str(self.again + self.turns * size) for size in sorted({sizes[-1], sizes[0]}))
        return f"{self.calls} calls, {self.spent} tokens, {read} as read over all turns"


def ask_questions(peer, server: Server, path: int, questions, look_up: bool):
    """One conversation, the facts that it needs, those not shown before a look-up, and the answers that are not right."""
    talk = Conversation(server, peer.argument)
    known: set[str] = set()
    wanted, missing, wrong = 0, [], []
    for at, (asks, query, answer, tables) in enumerate(questions):
        talk.question(asks)
        if at == 0:
            talk.turn(*peer.first(path))
        talk.turn(*peer.look(path, [table for table in tables if table not in known]))
        known.update(tables)
        look_ups = {}
        for fact in facts(query):
            if stands(fact, asks, asks):
                continue
            wanted += 1
            if not stands(fact, talk.seen, asks):
                missing.append(f"{fact} for {asks}")
                look_ups[LOOK_UPS[fact]] = None
        if look_up:
            talk.turn(*map(peer.sql, look_ups))
        text = talk.turn(peer.sql(query))
        if not same(peer.rows(text), answer):
            wrong.append(f"{asks}: {text}")
        talk.answered()
    return talk, wanted, missing, wrong


def make_mistakes(peer, server: Server, verbose: bool):
    """How many mistakes the errors' words alone mend, those that are none here, the mean size of an error."""
    mended, none, unmended, sizes = 0, [], [], []

    def judge(name, statement, call, ways):
        nonlocal mended
        succeeded, text = server.call(*call)
        if verbose:
            print(f"    [{name}] {text!r}")
        if succeeded:
            none.append(name)
            return
        sizes.append(tokens(text))
        words = told(text, statement)
        for needs, second in ways:
            if re.search(needs, words):
                right, again = server.call(*second)
                if right:
                    mended += 1
                    return
                print(f"    {name}: the second call fails: {again}")
        unmended.append(name)

    for name, statement in mistakes_of_the_tests().items():
        judge(name, statement, peer.sql(statement), [(needs, peer.sql(second)) for needs, second in MENDS[name]])
    statement = "SELECT name FROM customers"
    tool, right = peer.sql(statement)
    needs = rf"(?<!\w){peer.argument}(?!\w)"
    judge(WRONG_ARGUMENT, statement, (tool, {"qurey": statement}), [(needs, (tool, right))])
    return mended, none, unmended, sum(sizes) // len(sizes)


def psql(url: str, *arguments: str, text: str = "") -> str:
    done = subprocess.run(["psql", url, "-qtAX", "-v", "ON_ERROR_STOP=1", *arguments], input=text, text=True,
                          capture_output=True)
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    return done.stdout.strip()


def drop(url: str, name: str) -> None:
    quietly = ["-c", "SET client_min_messages = error"]
    psql(f"{url}/postgres", *quietly, "-c", f"DROP DATABASE IF EXISTS peers_{name} WITH (FORCE)")


def schema_of_mistakes() -> str:
    """The tables of the tests' mistakes, out of the tests' own files."""
    shop = re.search(r'const SCHEMA: &str = "(.*?)";', (ROOT / "tests/it/support/fixture.rs").read_text(), re.S)
    more = re.search(r'const POSTGRES: &str = r#"(.*?)"#;', (AGENTS / "mistakes.rs").read_text(), re.S)
    return shop[1] + more[1]


def literal(text: str) -> str:
    """A string literal of Rust, without its quotes."""
    return re.sub(r"\\\n\s*", "", text).replace('\\"', '"')


# A string literal of Rust.
STRING = r'"((?:[^"\\]|\\.|\\\n)*)"'


def questions_of_the_tests() -> list[tuple]:
    """Each question, its right SQL, its answer, and the tables that have to be looked up for it."""
    text = (AGENTS / "questions.rs").read_text()
    found = re.findall(rf'select\(\s*{STRING},\s*{STRING},\s*json!\((\[\[.*?\]\])\)', text, re.S)
    found = [(literal(asks), literal(query), json.loads(answer, parse_float=Decimal)) for asks, query, answer in found]
    # The test calls execute_procedure, which the peers do not have.
    asks, answer = re.search(rf'asks: {STRING},.*?"turnover".*?answer: json!\((\[\[.*?\]\])\)', text, re.S).groups()
    found.append((asks, "SELECT turnover(of_country => 'PT')", json.loads(answer)))
    return [(*question, tables) for question, tables in zip(found, TABLES, strict=True)]


def mistakes_of_the_tests() -> dict[str, str]:
    """The statement of each mistake that can be made with every server."""
    text = (AGENTS / "mistakes.rs").read_text()
    start = r'(?:select\(\s*|Call\(\s*"execute_insert",\s*json!\(\{"query": )'
    found = {name: literal(query) for name, query in re.findall(rf'mistake\(\s*"([^"]+)",\s*{start}{STRING}', text)}
    # The tests make these two by arguments of Portico's.
    found |= {"a text where a number is due": "SELECT name FROM customers WHERE id = 'one'",
              "a procedure's name": "SELECT wieght_of(1)"}
    return {name: found[name] for name in MENDS}


def measure(peer, server_url: str, verbose: bool) -> None:
    questions, urls = questions_of_the_tests(), []
    for name in ("questions", "mistakes"):
        drop(server_url, name)
        psql(f"{server_url}/postgres", "-c", f"CREATE DATABASE peers_{name}")
        urls.append(f"{server_url}/peers_{name}")
    psql(urls[0], "-1", "-f", str(AGENTS / "questions.sql"))
    psql(urls[1], "-1", text=schema_of_mistakes())
    sizes = []
    for name, server in peer.lists(urls[0]):
        with server:
            if not sizes:
                about = server.about
                print(f"{peer.name} {about['serverInfo']['version']}")
            tools = server.tools()
            sizes.append(tokens(shown(tools)))
            print(f"  tools/list, {name}: {len(tools)} tools, {sizes[-1]} tokens")
    if about.get("instructions"):
        print(f"  instructions of initialize: {tokens(about['instructions'])} tokens, counted nowhere")
    with peer.start(urls[0], True) as server:
        one, many = (tokens(server.call(*peer.sql(query))[1]) for query in ANSWERS)
        print(f"  an answer of one number: {one} tokens, of 200 rows with four columns: {many}")
        for path, what in enumerate(peer.paths):
            talk, wanted, missing, wrong = ask_questions(peer, server, path, questions, False)
            print(f"  {what}: {talk.cost(sizes)}")
            print(f"    facts shown {wanted - len(missing)} of {wanted}, answers right {12 - len(wrong)} of 12")
            if missing:
                print(f"    not shown: {'; '.join(missing)}")
            for one in wrong:
                print(f"    not right: {one}")
            if missing:
                talk = ask_questions(peer, server, path, questions, True)[0]
                print(f"    and what is missing looked up by SQL: {talk.cost(sizes)}")
            alone = Conversation(server, peer.argument)
            for one in questions:
                talk = ask_questions(peer, server, path, [one], True)[0]
                for member in ("calls", "spent", "turns", "again"):
                    setattr(alone, member, getattr(alone, member) + getattr(talk, member))
            print(f"    each question by itself, nothing missing: {alone.cost(sizes)}")
    with peer.start(urls[1], True) as server:
        mended, none, unmended, mean = make_mistakes(peer, server, verbose)
        print(f"  mistakes: {mended} mended by the error's words and {len(none)} that are none here, of"
              f" {len(MENDS) + 1}; an error has {mean} tokens")
        own = len(ITS_OWN.difference(unmended))
        print(f"    of those that need a word of the database's own: {own} of {len(ITS_OWN)}")
        print(f"    none here: {', '.join(none) or '-'}")
        print(f"    not mended: {', '.join(unmended) or '-'}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("server", help="a PostgreSQL: postgres://user:password@host:port, without a database")
    for name, kind in (("portico", Portico), ("dbhub", Dbhub), ("toolbox", Toolbox)):
        parser.add_argument(f"--{name}", metavar="COMMAND", help=f"the command that starts {kind.name}")
    parser.add_argument("--verbose", action="store_true", help="print every error")
    given = parser.parse_args()
    server = given.server.rstrip("/")
    print("PostgreSQL", psql(f"{server}/postgres", "-c", "SHOW server_version"))
    peers = [(Portico, given.portico), (Dbhub, given.dbhub), (Toolbox, given.toolbox)]
    try:
        for kind, command in peers:
            if command:
                measure(kind(command), server, given.verbose)
    finally:
        for name in ("questions", "mistakes"):
            drop(server, name)


if __name__ == "__main__":
    main()
