# SPDX-License-Identifier: Apache-2.0
"""hz-conformance from outside: exit codes, the account at the end, and that a wrong reference is a failure."""
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "design"))
import checks  # noqa: E402

runner, data = sys.argv[1], pathlib.Path(sys.argv[2])
result = checks.Checks()


def run(*args):
    return subprocess.run([runner, *map(str, args)], capture_output=True, text=True)


def check(name, condition, shown):
    result.case(name, [] if condition else [str(shown)])


r = run(data, "--only", "arch", "--case", "llama/*")
check("right data passes", r.returncode == 0 and r.stdout == "3 passed, 0 failed, 0 skipped\n", r)
with tempfile.TemporaryDirectory() as folder:
    copy = pathlib.Path(folder) / "data"
    shutil.copytree(data / "arch/llama", copy / "arch/llama")
    (copy / "surprise").mkdir()
    logits = bytearray((copy / "arch/llama/logits.f32").read_bytes())
    logits[2] ^= 0x40  # in the first sequence
    (copy / "arch/llama/logits.f32").write_bytes(logits)
    r = run(copy)
    lines = r.stdout.splitlines()
    check("a wrong reference fails with expected and got", r.returncode == 5 and lines[0].startswith("FAIL arch/llama/0")
          and lines[1].startswith("  expected: ") and lines[2].startswith("  got:      "), r)
    check("the others still pass, and the last line counts", lines[-1].startswith("2 passed, 1 failed, "), r)
    check("a folder without a group is skipped by name", "  surprise: no group of this name is known" in lines, r)
    r = run(copy, "--only", "arch", "--case", "nothing*")
    check("no case is no success", r.returncode == 2 and r.stdout == "", r)
    r = run(copy, "--only", "arch", "--device", "abacus")
    check("an unknown device fails every case", r.returncode in (2, 5) and "abacus" in r.stdout + r.stderr, r)
r = run(data / "absent")
check("an unreadable folder exits with 3", r.returncode == 3 and "absent" in r.stderr, r)
check("an unknown group is a usage error", run(data, "--only", "quants").returncode == 2, r)
check("no folder is a usage error", run().returncode == 2, r)
result.finish()
