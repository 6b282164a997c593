"""Judges a whole set of requirements: no check may fail or warn, also where the suite does not score its scenario. Left
out is the extension for tasks, which Portico does not have and does not declare; how many of its checks fail is told."""

import collections
import glob
import json
import sys

version, folder, status = sys.argv[1:4]
counts, problems = {"": collections.Counter(), "tasks": collections.Counter()}, []
for path in sorted(glob.glob(f"{folder}/**/checks.json", recursive=True)):
    scenario = path.split("/")[-2].removeprefix("server-")
    extension = "tasks" if scenario.startswith("tasks-") else ""
    with open(path, encoding="utf-8") as file:
        for check in json.load(file):
            counts[extension][check["status"]] += 1
            if not extension and check["status"] not in ("SUCCESS", "INFO"):
                words = (check.get("errorMessage") or "")[:300]
                problems.append(f"{scenario} {check['id']} {check['status']}: {words}")
if status != "0":
    problems.append(f"the suite ended with {status}")
if not counts[""]["SUCCESS"]:
    problems.append("no check passed")
left_out = counts["tasks"]
print(
    f"{'FAIL' if problems else 'ok'} {version} requirements: {counts['']['SUCCESS']} checks passed"
    + (f"; left out: the tasks extension, {left_out['SUCCESS']} passed, {left_out['FAILURE']} failed" if left_out else "")
)
for problem in problems:
    print(f"     {problem}")
sys.exit(bool(problems))
