# SPDX-License-Identifier: Apache-2.0
"""part.py PROGRAM PART PARTS [SPEC...]: runs every PARTS-th test case of a Catch2 program, so that parts run side by side.
Catch2 3 can do that itself; 2 gets a list of names."""
import re
import subprocess
import sys
import tempfile

program, part, parts, *spec = sys.argv[1:]
listed = subprocess.run([program, "--list-test-names-only", *spec], capture_output=True, text=True)  # exit code: how many
names = [line for line in listed.stdout.splitlines() if line and line != "0 passed, 0 failed, 0 skipped"]
if "--shard-count" in subprocess.run([program, "--help"], capture_output=True, text=True).stdout:
    sys.exit(subprocess.run([program, *spec, "--shard-count", parts, "--shard-index", part]).returncode)
with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
    mine = names[int(part)::int(parts)]
    file.write("".join(name.replace("\\", "\\\\").replace(",", "\\,") + "\n" for name in mine))  # a comma would begin another name
    file.flush()
    run = subprocess.run([program, "-f", file.name], stdout=subprocess.PIPE, text=True)
    print(run.stdout, end="")
    counts = re.findall(r"^(\d+) passed, (\d+) failed, (\d+) skipped$", run.stdout, re.M)
    if counts and sum(map(int, counts[-1])) != len(mine):
        print(f"FAIL of {len(mine)} test cases {sum(map(int, counts[-1]))} ran")
        sys.exit(1)
    sys.exit(run.returncode)
