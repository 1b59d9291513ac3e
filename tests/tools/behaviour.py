# SPDX-License-Identifier: Apache-2.0
"""How every tool behaves, shown on hz-sample: streams, terminals, colours, exit codes, Ctrl-C, closed pipes."""
import json
import os
import pathlib
import pty
import resource
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "design"))
import checks  # noqa: E402

TOOL = sys.argv[1]
CLEAN = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "TERM")} | {"TERM": "xterm"}
result = checks.Checks()


def run(*args, env=None, **options):
    return subprocess.run([TOOL, *args], capture_output=True, text=True, timeout=60, env=CLEAN | (env or {}), **options)


def check(name, condition, shown=""):
    result.case(name, [] if condition else [str(shown)])


def on_terminal(*args, env=None, out_too=True, interrupt_after=None):
    """Runs with stderr (and stdout) on a pseudo-terminal; returns exit code, terminal text, piped stdout."""
    master, slave = pty.openpty()
    process = subprocess.Popen([TOOL, *args], stdin=subprocess.DEVNULL, stdout=slave if out_too else subprocess.PIPE,
                               stderr=slave, env=CLEAN | (env or {}))
    os.close(slave)
    text = b""
    begun = time.monotonic()
    while time.monotonic() - begun < 60:
        if interrupt_after is not None and interrupt_after in text:
            process.send_signal(signal.SIGINT)
            interrupt_after = None
        if select.select([master], [], [], 0.1)[0]:
            try:
                chunk = os.read(master, 65536)
            except OSError:
                break
            if not chunk:
                break
            text += chunk
    piped = process.stdout.read() if process.stdout else b""
    code = process.wait(10)
    os.close(master)
    return code, text.decode(), piped.decode()


def limits():
    """Without a thread or a pipe for Ctrl-C. A user of its own, whom the limit of processes binds, has to be able to run the tool."""
    r = run("say", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (4, 4)))
    check("no pipe for signals: says so and what to do", r.returncode == 3 and "pipe" in r.stderr and "ulimit -n" in r.stderr, r)
    if os.getuid() != 0:
        return
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        tool = shutil.copy(TOOL, folder)

        def alone():
            os.setgroups([])
            os.setgid(54321)
            os.setuid(54321)
            resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))

        r = subprocess.run([tool, "say"], capture_output=True, text=True, timeout=60, preexec_fn=alone)
        check("no thread for signals: says so and what to do", r.returncode == 1 and "thread" in r.stderr and "ulimit -u" in r.stderr, r)


def streams():
    r = run("say")
    check("stdout is the data alone", r.stdout == "data\n" and r.returncode == 0, r)
    check("stderr has notes and warnings, without colours", r.stderr == "a note\nwarning: a warning\n", r)
    r = run("say", "-q")
    check("--quiet leaves warnings only", r.stderr == "warning: a warning\n", r)
    check("--verbose shows details", "a detail\n" in run("say", "-v").stderr)
    r = run("json", "--text", 'a"b\n')
    check("--json lines parse", json.loads(r.stdout) == {"text": 'a"b\n', "count": 1} and r.stdout.count("\n") == 1, r)
    r = subprocess.run([TOOL, "json", "--text", b"\xff\xfe"], capture_output=True, timeout=60)
    check("invalid UTF-8 becomes valid JSON", json.loads(r.stdout.decode())["text"] == "\ufffd\ufffd", r)


def terminals():
    code, text, _ = on_terminal("say")
    check("a terminal gets colours", "\x1b[1;33mwarning: \x1b[0m" in text and code == 0, repr(text))
    for env in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        _, text, _ = on_terminal("say", env=env)
        check(f"no colours with {env}", "\x1b" not in text, repr(text))
    check("--color never", "\x1b" not in on_terminal("say", "--color", "never")[1])
    check("--color always", "\x1b[1;33m" in run("say", "--color", "always").stderr)
    _, text, _ = on_terminal("work", "-n", "25", "-q")
    check("--quiet has no progress", "work " not in text, repr(text))
    _, text, piped = on_terminal("work", "-n", "25", out_too=False)
    check("progress on a terminal is one line rewritten", "\rwork " in text and "ETA" in text and text.count("\n") == 3, repr(text))
    check("progress never reaches stdout", piped == "begun\ndone\n", repr(piped))
    r = run("work", "-n", "25")
    check("a pipe gets no terminal codes", "\r" not in r.stderr and "\x1b" not in r.stderr, r)


def errors():
    r = run("fail", "--kind", "bad_file")
    check("an error says what, where, what next; control characters are shown",
          r.stderr == "error: what \\x1b[31mhappened\n  in: model.gguf\n  try: another file\n", r)
    check("data before an error is not lost", r.stdout == "before\n", r)
    codes = {"usage": 2, "bad_file": 3, "io": 3, "out_of_memory": 4, "memory": 4, "failed": 1, "numeric": 1, "unsupported": 1,
             "other": 1, "cancelled": 130}
    for kind, code in codes.items():
        r = run("fail", "--kind", kind)
        check(f"{kind} exits with {code}", r.returncode == code and r.stderr.startswith("error: "), r)
    check("a failed check exits with 5", run("check").returncode == 5)
    r = run("say", "--thread", "3")
    check("an unknown option suggests the nearest", r.returncode == 2 and "--threads" in r.stderr and r.stdout == "", r)
    r = run("say", "--frobnicate=3")
    check("a far unknown option suggests --help", r.returncode == 2 and "--frobnicate" in r.stderr and "hz-sample --help" in r.stderr, r)
    r = run("sey")
    check("a wrong word suggests the nearest", r.returncode == 2 and "did you mean say?" in r.stderr, r)
    r = run("say", "more")
    check("a surplus argument is named", r.returncode == 2 and "more" in r.stderr, r)
    r = run("say", "-n", "many")
    check("a wrong number is a usage error", r.returncode == 2 and "many" in r.stderr, r)
    r = run("--help")
    check("--help goes to stdout", r.returncode == 0 and "--threads" in r.stdout and r.stderr == "", r)
    r = run("--version")
    check("--version shows version, build, devices", r.returncode == 0 and r.stdout.startswith("hz-sample ") and "device cpu: " in r.stdout
          and "build: " in r.stdout, r)


def pipes():
    process = subprocess.Popen([TOOL, "say", "-n", "1000000"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=CLEAN)
    first = process.stdout.readline()
    process.stdout.close()
    text = process.stderr.read()
    code = process.wait(30)
    check("a closed pipe ends quietly", first == b"data\n" and code == 0 and text == b"", (code, text))
    with open("/dev/full", "w") as full:
        r = subprocess.run([TOOL, "say"], stdout=full, stderr=subprocess.PIPE, text=True, timeout=30)
    check("a full disk is an error", r.returncode == 1 and "No space left" in r.stderr, r)


def interrupted(signals, *args, gap=0.3):
    process = subprocess.Popen([TOOL, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=CLEAN)
    first = process.stdout.readline()
    begun = time.monotonic()
    for s in signals:
        process.send_signal(s)
        time.sleep(gap)
    out, err = process.communicate(timeout=30)
    return process.returncode, first, out, err, time.monotonic() - begun


def interrupts():
    code, first, out, err, took = interrupted([signal.SIGINT], "work", "-n", "2000")
    check("Ctrl-C ends cleanly with 130", code == 130 and first == "begun\n" and out == "" and took < 25 and "error" not in err, (code, out, err, took))
    code, _, _, _, took = interrupted([signal.SIGINT, signal.SIGINT], "ignore")
    check("the second Ctrl-C ends at once", code == 130 and took < 25, (code, took))
    code, *_ = interrupted([signal.SIGTERM], "work", "-n", "2000")
    check("SIGTERM stops like Ctrl-C", code == 143, code)
    code, text, _ = on_terminal("work", "-n", "2000", interrupt_after=b"ETA")
    check("Ctrl-C leaves the terminal on a fresh line", code == 130 and text.endswith("\n") and "stopped during work" in text, repr(text[-200:]))
    with tempfile.TemporaryDirectory() as folder:
        target = os.path.join(folder, "out.bin")
        code, *_ = interrupted([signal.SIGINT], "save", "-o", target, "-n", "2000")
        check("an interrupted output leaves nothing", code == 130 and os.listdir(folder) == [], os.listdir(folder))
        r = run("save", "-o", target, "-n", "1")
        check("a finished output is there alone", r.returncode == 0 and os.listdir(folder) == ["out.bin"], r)


def cut_file():
    with tempfile.TemporaryDirectory() as folder:
        model = pathlib.Path(folder) / "model.gguf"
        model.write_bytes((pathlib.Path(__file__).resolve().parent.parent / "data/arch/llama/model.gguf").read_bytes())
        for keep, code in ((None, 0), (8192, 3)):
            process = subprocess.Popen([TOOL, "map", "-m", model, "-n", "6", "-q"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=CLEAN)
            begun = process.stdout.readline()
            if keep is not None:
                os.truncate(model, keep)
            out, err = process.communicate(timeout=30)
            good = begun == "begun\n" and process.returncode == code and out.startswith("sum ") == (keep is None) and (keep is None or "model.gguf" in err)
            check(f"a mapped file {'cut meanwhile is an error before data leaves' if keep else 'that stays is read'}", good, (process.returncode, out, err))


for part in (cut_file, limits, streams, terminals, errors, pipes, interrupts):
    part()
result.finish()
