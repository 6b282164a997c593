"""Judges one scenario's checks: every one must pass, but for those listed in `expected`, which must not."""

import glob
import json
import sys

version, scenario, folder = sys.argv[1:4]
expected = {}
with open("tests/conformance/expected", encoding="utf-8") as file:
    for line in file:
        if line.strip() and not line.startswith("#"):
            name, check, _reason = line.split(None, 2)
            if name == scenario:
                expected[check] = False
passed, problems = 0, []
for path in glob.glob(f"{folder}/**/checks.json", recursive=True):
    with open(path, encoding="utf-8") as file:
        for check in json.load(file):
            if check["status"] == "SUCCESS":
                passed += 1
            elif check["status"] == "FAILURE":
                if check["id"] in expected:
                    expected[check["id"]] = True
                else:
                    problems.append(f"{check['id']}: {(check.get('errorMessage') or '')[:300]}")
problems += [f"{check}: is listed as failing, and does not" for check, seen in expected.items() if not seen]
if passed == 0:
    problems.append("no check passed")
print(f"{'FAIL' if problems else 'ok'} {version} {scenario}: {passed} checks passed")
for problem in problems:
    print(f"     {problem}")
sys.exit(bool(problems))
