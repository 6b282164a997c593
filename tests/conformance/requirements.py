"""Judges a whole set of requirements: no check may fail, warn or be passed over, also where the suite does not score its
scenario, as with the extension for tasks; but for what the suite itself does not look at yet."""

import collections
import glob
import json
import sys

# The suite has no check of its own for these; tests/it/mcp/tasks.rs has.
UNCHECKED = {"tasks-status-notifications"}

version, folder, status = sys.argv[1:4]
counts, extension, problems = collections.Counter(), collections.Counter(), []
for path in sorted(glob.glob(f"{folder}/**/checks.json", recursive=True)):
    scenario = path.split("/")[-2].removeprefix("server-")
    with open(path, encoding="utf-8") as file:
        for check in json.load(file):
            counts[check["status"]] += 1
            if scenario.startswith("tasks-"):
                extension[check["status"]] += 1
            passed_over = check["status"] == "SKIPPED" and check["id"] in UNCHECKED
            if check["status"] not in ("SUCCESS", "INFO") and not passed_over:
                words = (check.get("errorMessage") or "")[:300]
                problems.append(f"{scenario} {check['id']} {check['status']}: {words}")
if status != "0":
    problems.append(f"the suite ended with {status}")
if not counts["SUCCESS"]:
    problems.append("no check passed")
if version >= "2026-07-28" and not extension["SUCCESS"]:
    problems.append("the extension for tasks was not looked at")
print(
    f"{'FAIL' if problems else 'ok'} {version} requirements: {counts['SUCCESS']} checks passed"
    + (f", {extension['SUCCESS']} of them of the tasks extension" if extension else "")
)
for problem in problems:
    print(f"     {problem}")
sys.exit(bool(problems))
