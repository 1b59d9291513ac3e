# SPDX-License-Identifier: Apache-2.0
"""Sums the test cases of a Meson test run; ends with `N passed, N failed`. Exit 1 when one failed or none ran.

Each program ends its output with `N passed, N failed, N skipped`; one that says nothing of the kind, or that broke off,
counts as one case."""
import json
import pathlib
import re
import sys

SHOWN = 60  # lines of a failed program's output


def counts(test):
    lines = re.findall(r"^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$", test.get("stdout", ""), re.M)
    passed, failed, skipped = (int(n or 0) for n in lines[-1]) if lines else (0, 0, 0)
    good = test["result"] in ("OK", "EXPECTEDFAIL", "SKIP")
    if not lines and test["result"] == "SKIP":
        skipped = 1
    elif not lines and good:
        passed = 1
    if not good and failed == 0:
        failed = 1
    return passed, failed, skipped


def main():
    path = pathlib.Path(sys.argv[1])
    tests = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    total = [0, 0, 0]
    for test in tests:
        some = counts(test)
        total = [a + b for a, b in zip(total, some)]
        print(f"{test['name']}: {some[0]} passed, {some[1]} failed, {some[2]} skipped, {test['duration']:.1f} s")
        output = (test.get("stdout") or "") + (test.get("stderr") or "")
        if some[1]:
            print(f"  ended with {test['result']}; its last lines:")
            print("\n".join("  | " + line for line in output.splitlines()[-SHOWN:]))
        else:
            print("".join(f"  {line}\n" for line in re.findall(r"^skipped: .*$", output, re.M)), end="")
    print(f"{total[2]} skipped")
    print(f"{total[0]} passed, {total[1]} failed")
    sys.exit(1 if total[1] or not total[0] else 0)


main()
