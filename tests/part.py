# SPDX-License-Identifier: Apache-2.0
"""part.py PROGRAM PART PARTS [SPEC...]: runs every PARTS-th test case of a Catch2 program, so that parts run side by side.
Catch2 3 can do that itself; 2 gets a list of names."""
import subprocess
import sys
import tempfile

program, part, parts, *spec = sys.argv[1:]
listed = subprocess.run([program, "--list-test-names-only", *spec], capture_output=True, text=True)  # exit code: how many
names = [line for line in listed.stdout.splitlines() if line]
if "--shard-count" in subprocess.run([program, "--help"], capture_output=True, text=True).stdout:
    sys.exit(subprocess.run([program, *spec, "--shard-count", parts, "--shard-index", part]).returncode)
with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
    file.write("".join(name + "\n" for name in names[int(part)::int(parts)]))
    file.flush()
    sys.exit(subprocess.run([program, "-f", file.name]).returncode)
