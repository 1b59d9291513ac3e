# SPDX-License-Identifier: Apache-2.0
"""test_summary.py LOG... [--cut LOG] [--skip WHAT]: sums the test cases of Meson test runs; WHAT counts as one skipped case, and so does
each test of a cut LOG that was ended because its time was up. Ends with `N passed, N failed`. Exit 1 when one failed or none ran.

Each program ends its output with `N passed, N failed, N skipped`; one that says nothing of the kind, or that broke off,
counts as one case."""
import argparse
import json
import pathlib
import re
import sys

SHOWN = 60  # lines of a failed program's output


def counts(test, cut):
    lines = re.findall(r"^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$", test.get("stdout", ""), re.M)
    passed, failed, skipped = (int(n or 0) for n in lines[-1]) if lines else (0, 0, 0)
    good = test["result"] in ("OK", "EXPECTEDFAIL", "SKIP")
    if cut and test["result"] == "INTERRUPT":
        return passed, failed, skipped + 1
    if not lines and test["result"] == "SKIP":
        skipped = 1
    elif not lines and good:
        passed = 1
    if not good and failed == 0:
        failed = 1
    return passed, failed, skipped


def read(path):
    """A run without a log failed before its first test: one failed case."""
    if not path.exists():
        return [{"name": "no test ran", "result": "FAIL", "duration": 0.0}]
    return [json.loads(line) for line in path.read_text().splitlines()]


def main():
    args = argparse.ArgumentParser()
    args.add_argument("logs", nargs="+", type=pathlib.Path)
    args.add_argument("--cut", action="append", default=[], type=pathlib.Path)
    args.add_argument("--skip", action="append", default=[])
    args = args.parse_args()
    total = [0, 0, len(args.skip)]
    for what in args.skip:
        print(f"skipped: {what}")
    for log, test in ((log, test) for log in args.logs + args.cut for test in read(log)):
        folder, some = log.parent.parent.name, counts(test, log in args.cut)
        total = [a + b for a, b in zip(total, some)]
        print(f"{folder} {test['name']}: {some[0]} passed, {some[1]} failed, {some[2]} skipped, {test['duration']:.1f} s")
        output = (test.get("stdout") or "") + (test.get("stderr") or "")
        if some[1]:
            print(f"  ended with {test['result']}; its last lines:")
            print("\n".join("  | " + line for line in output.splitlines()[-SHOWN:]))
        else:
            print("".join(f"  {line}\n" for line in re.findall(r"^(?:skipped:|fuzz) .*$", output, re.M)), end="")
    print(f"{total[2]} skipped")
    print(f"{total[0]} passed, {total[1]} failed")
    sys.exit(1 if total[1] or not total[0] else 0)


main()
