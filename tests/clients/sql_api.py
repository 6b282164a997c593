"""Reads a million rows of a running demo as streams: newline-delimited JSON, the result document, CSV and Arrow.

    sql_api.py PAGE.json PROCESS
"""

import csv
import json
import pathlib
import sys
import time

import pyarrow
import requests

ROWS = 1_000_000
# Far below what a million rows are, in any form.
MOST_MEMORY = 64 << 20
QUERY = (
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < @rows) "
    "SELECT i, 'row ' || i AS label, i * 0.5 AS half FROM n"
)
SUM = ROWS * (ROWS + 1) // 2

page = json.loads(pathlib.Path(sys.argv[1]).read_text())
process = int(sys.argv[2])
session = requests.Session()
session.trust_env = False
session.auth = (page["user"], page["pat"])


def resident():
    """Octets of memory that the server has."""
    return int(pathlib.Path(f"/proc/{process}/statm").read_text().split()[1]) * 4096


def query(accept, rows=ROWS, **more):
    # The person of the demo has several connections.
    body = {"query": QUERY, "defaultCatalog": page["connectionName"], "parameters": {"@rows": {"dataType": 8, "value": rows}}, "timeout": 300, **more}
    answer = session.post(f"{page['baseUrl']}/api/query", json=body, headers={"Accept": accept}, stream=True)
    answer.raise_for_status()
    return answer


def lines():
    count = total = 0
    with query("application/x-ndjson") as answer:
        for line in answer.iter_lines(chunk_size=1 << 16):
            row = json.loads(line)
            assert row["label"] == f"row {row['i']}" and row["half"] == row["i"] / 2, row
            count, total = count + 1, total + row["i"]
    return count, total


def document():
    """Reads row by row, as a client would that never holds the document whole."""
    decoder, count, total, text, inside = json.JSONDecoder(), 0, 0, "", False
    with query("application/json") as answer:
        answer.encoding = "utf-8"
        for chunk in answer.iter_content(1 << 16, decode_unicode=True):
            text += chunk
            if not inside:
                head, found, rest = text.partition('"rows":[')
                if not found:
                    continue
                assert len(json.loads(head.split('"schema":')[1].rstrip(","))) == 3, head
                inside, text = True, rest
            at = 0
            while text.startswith(("[", ",["), at):
                try:
                    row, at = decoder.raw_decode(text, at + (text[at] == ","))
                except json.JSONDecodeError:
                    break
                count, total = count + 1, total + row[0]
            text = text[at:]
    assert text == '],"affectedRows":-1}]}', text
    return count, total


def table():
    with query("text/csv") as answer:
        answer.encoding = "utf-8"
        rows = csv.reader(answer.iter_lines(chunk_size=1 << 16, decode_unicode=True))
        assert next(rows) == ["i", "label", "half"]
        count = total = 0
        for number, _, _ in rows:
            count, total = count + 1, total + int(number)
    return count, total


def arrow():
    count = total = 0
    with query("application/vnd.apache.arrow.stream") as answer:
        answer.raw.decode_content = True
        with pyarrow.ipc.open_stream(answer.raw) as stream:
            assert stream.schema.names == ["i", "label", "half"], stream.schema
            for batch in stream:
                count, total = count + batch.num_rows, total + sum(batch.column(0).to_pylist())
    return count, total


def leaves():
    """A client that takes the first rows of very many and leaves."""
    for _ in range(20):
        with query("application/x-ndjson", rows=1_000_000_000) as answer:
            assert json.loads(next(answer.iter_lines(chunk_size=512)))["i"] == 1
    assert lines() == (ROWS, SUM), "the service goes on for others"


before = resident()
for read in (lines, document, table, arrow):
    start = time.monotonic()
    assert read() == (ROWS, SUM), read.__name__
    grown = resident() - before
    assert grown < MOST_MEMORY, f"{read.__name__}: the server has grown by {grown} octets"
    print(f"{read.__name__}: {ROWS} rows in {time.monotonic() - start:.1f} s, the server has grown by {grown >> 20} MiB")
leaves()
refused = session.post(f"{page['baseUrl']}/api/query", json={"query": "SELEC 1", "defaultCatalog": page["connectionName"]})
assert (refused.status_code, refused.json()["error"]["code"]) == (400, 1400), refused.text
dry = session.post(f"{page['baseUrl']}/api/query", json={"query": "UPDATE shop.main.products SET name = name", "dryRun": True}).json()
assert dry["dryRun"] and dry["results"][0]["affectedRows"] > 0, dry
print("ok")
