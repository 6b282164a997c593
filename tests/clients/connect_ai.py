"""Uses a running demo through the published client cdata-connect-ai.

    connect_ai.py PAGE.json
"""

import json
import os
import pathlib
import sys

import cdata_connect_ai

ROWS = 50_000
# The demo's own connection is named, since a caller may have several.
QUERY = (
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %(rows)s) "
    "SELECT n.i, 'row ' || n.i AS label, n.i * 0.5 AS half "
    "FROM n CROSS JOIN (SELECT count(*) AS customers FROM shop.main.customers) c WHERE c.customers > 0"
)

os.environ["NO_PROXY"] = "*"
page = json.loads(pathlib.Path(sys.argv[1]).read_text())
client = cdata_connect_ai.Connection(
    base_url=f"{page['baseUrl']}/api", username=page["user"], password=page["pat"], max_retries=3
)

with client.cursor() as cursor:
    cursor.execute(QUERY, {"rows": ROWS})
    assert [column[0] for column in cursor.description] == ["i", "label", "half"], cursor.description
    count = total = 0
    for i, label, half in cursor:
        assert label == f"row {i}" and float(half) == i / 2, (i, label, half)
        count, total = count + 1, total + i
assert (count, total) == (ROWS, ROWS * (ROWS + 1) // 2), (count, total)

with client.cursor() as cursor:
    cursor.executemany("SELECT @a AS a FROM shop.main.customers LIMIT 1", [{"a": 1}, {"a": 2}])
    assert [row[0] for row in cursor.fetchall()] == [1, 2], "the rows of both runs"
    try:
        cursor.execute("SELECT nothing FROM shop.main.customers")
    except cdata_connect_ai.OperationalError as refused:
        assert "1400" in str(refused) and "nothing" in str(refused), refused
    else:
        raise AssertionError("a column that is not there was read")

print(f"ok cdata-connect-ai {cdata_connect_ai.__version__}: {count} rows")
