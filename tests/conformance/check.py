# SPDX-License-Identifier: Apache-2.0
"""Runs hz-conformance on the reference data of HANZO_CONFORMANCE and on the project's own small set, there with the
reference backend too, and sums up. check.py RUNNER [OWN_SET]"""
import os
import pathlib
import re
import subprocess
import sys

runner, own = sys.argv[1], sys.argv[2:]
total = [0, 0, 0]
runs = [("HANZO_CONFORMANCE", os.environ.get("HANZO_CONFORMANCE"), [])]
if own:
    runs += [("tests/data", own[0], []), ("tests/data on the reference backend", own[0], ["--only", "arch", "--device", "reference"])]
for name, folder, options in runs:
    if not folder or not pathlib.Path(folder).is_dir():
        print(f"skipped: {name}: no such folder")
        total[2] += 1
        continue
    print(f"{name}: {folder}", flush=True)
    run = subprocess.run([runner, folder, *options], stdout=subprocess.PIPE, text=True)
    print(re.sub(r"^  (.*)$", r"skipped: \1", run.stdout, flags=re.M) if run.returncode == 0 else run.stdout)
    counts = re.search(r"^(\d+) passed, (\d+) failed, (\d+) skipped$", run.stdout, re.M)
    if counts:
        total = [a + int(b) for a, b in zip(total, counts.groups())]
    if run.returncode not in (0, 5) or not counts:
        print(f"FAIL hz-conformance ended with {run.returncode}")
        total[1] += 1
print("{} passed, {} failed, {} skipped".format(*total))
sys.exit(1 if total[1] else 0)
