# SPDX-License-Identifier: Apache-2.0
"""hz-run --chat on a tiny model: over pipes, and on a pseudo-terminal as a person sees it."""
import json
import os
import pathlib
import pty
import select
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "design"))
import checks  # noqa: E402

TOOL, MAKER = sys.argv[1:3]
result = checks.Checks()
folder = tempfile.TemporaryDirectory()
HERE = pathlib.Path(folder.name)
MODEL = str(HERE / "chat.gguf")
subprocess.run([MAKER, MODEL], check=True)
ENV = {k: v for k, v in os.environ.items() if k != "NO_COLOR"} | {"TERM": "xterm", "XDG_STATE_HOME": str(HERE / "xdg"), "HOME": str(HERE)}
ENV.pop("HANZO_HISTORY", None)


def check(name, condition, shown=""):
    result.case(name, [] if condition else [repr(shown)])


def piped(text, *args):
    return subprocess.run([TOOL, "-m", MODEL, "--chat", "-n", "6", "--seed", "1", "--ignore-eos", *args], input=text.encode(), capture_output=True, timeout=120, env=ENV)


class Terminal:
    """hz-run with stdin and stderr on a pseudo-terminal, stdout too unless `out` is piped."""

    def __init__(self, *args, limit="6", out_piped=False, env=None):
        self.master, slave = pty.openpty()
        self.process = subprocess.Popen([TOOL, "-m", MODEL, "-n", limit, "--seed", "1", "--ignore-eos", *args], stdin=slave, stderr=slave,
                                        stdout=subprocess.PIPE if out_piped else slave, env=ENV | (env or {}), start_new_session=True,
                                        preexec_fn=lambda: __import__("fcntl").ioctl(0, __import__("termios").TIOCSCTTY, 0))
        os.close(slave)
        self.text = b""
        self.seen = 0

    def wait(self, words, seconds=60):
        """Waits until `words` appear behind what was waited for before; returns what came since."""
        end = time.monotonic() + seconds
        while True:
            at = self.text.find(words, self.seen)
            if at >= 0:
                part, self.seen = self.text[self.seen:at], at + len(words)
                return part
            if time.monotonic() > end or not self.read(0.2):
                return None

    def read(self, seconds):
        if select.select([self.master], [], [], seconds)[0]:
            try:
                chunk = os.read(self.master, 65536)
            except OSError:
                return False
            self.text += chunk
            return bool(chunk)
        return True

    def send(self, text):
        os.write(self.master, text)

    def end(self, seconds=30):
        end = time.monotonic() + seconds
        while time.monotonic() < end and self.read(0.1):
            pass
        try:
            code = self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = None
        out = self.process.stdout.read() if self.process.stdout else b""
        os.close(self.master)
        return code, out


def over_pipes():
    r = piped("hello\nagain\n")
    check("two questions give two answers on stdout, prompts nowhere", r.returncode == 0 and r.stdout.count(b"\n") >= 2 and b"> " not in r.stderr, r)
    r = piped("hello\nagain\n", "--json")
    lines = [json.loads(line) for line in r.stdout.splitlines()]
    check("--json gives one object an answer", len(lines) == 2 and lines[1]["usage"]["prompt_tokens"] > lines[0]["usage"]["prompt_tokens"] and lines[1]["usage"]["cached_tokens"] > 10, r)
    check("the end of input ends it, with no blank turns", piped("").returncode == 0 and piped("\n\n  \n", "--json").stdout == b"")
    r = piped("first \\\nsecond\n\"\"\"block\n/not a command\n\nend\"\"\"\n//slash\n/save " + str(HERE / "talk.json") + "\n", "--system", "sys")
    users = [m["content"] for m in json.loads((HERE / "talk.json").read_text())["messages"] if m["role"] == "user"]
    check("lines join by a backslash and in blocks; // is a slash", users == ["first \nsecond", "block\n/not a command\n\nend", "/slash"], (users, r))
    r = piped('"""\n/exit is no command here\nend"""\n"""/tmp"""\n/save ' + str(HERE / "block.json") + "\n")
    users = [m["content"] for m in json.loads((HERE / "block.json").read_text())["messages"] if m["role"] == "user"]
    check("a block that begins with a slash is a message", r.returncode == 0 and users == ["/exit is no command here\nend", "/tmp"], (users, r))
    r = piped(f"/load {HERE / 'talk.json'}\n/regen\n/save {HERE / 'again.json'}\n")
    before, after = (json.loads((HERE / n).read_text())["messages"] for n in ("talk.json", "again.json"))
    check("/load and /regen", before[:-1] == after[:-1] and before[-1] != after[-1] and after[0] == {"role": "system", "content": "sys"}, (r, before, after))
    r = piped(f"a\n/reset\n/system be kind\nb\n/save {HERE / 'reset.json'}\n/system \"\"\n/save {HERE / 'none.json'}\n")
    talk = json.loads((HERE / "reset.json").read_text())["messages"]
    check("/reset and /system", [m["role"] for m in talk] == ["system", "user", "assistant"] and talk[1]["content"] == "b" and talk[0]["content"] == "be kind", talk)
    check('/system "" removes it', json.loads((HERE / "none.json").read_text())["messages"][0]["role"] == "user")
    r = piped("a\n/stats\n/help\n/exit\nnever\n")
    check("/stats, /help, /exit", r.returncode == 0 and b"tokens of context" in r.stderr and b"seed 1" in r.stderr and b"/regen" in r.stderr, r)
    r = piped("/regn\nx\n")
    check("a script ends at an unknown command, which names the near one", r.returncode == 2 and b"/regen" in r.stderr and r.stdout == b"", r)
    check("/regen without an answer", piped("/regen\n").returncode == 2)
    for line in (f"/load {HERE}", "/load /dev/zero", f"/load {HERE / 'absent.json'}", f"/save {HERE}", "/save /none/talk.json"):
        r = piped(line + "\n")
        check(f"{line.split()[0]} of what is no file is told by name", r.returncode == 3 and line.split()[1].encode() in r.stderr and b"basic_" not in r.stderr, r)
    check("/save without a name", b"needs a file name" in piped("/save\n").stderr)
    r = subprocess.run([TOOL, "-m", MODEL, "--chat"], input=b"bad \xff\n", capture_output=True, timeout=60, env=ENV)
    check("bytes that are no UTF-8 are refused", r.returncode == 2 and b"UTF-8" in r.stderr, r)
    r = piped("next\n", "-p", "hello", "--json")
    check("-p is the first question", len(r.stdout.splitlines()) == 2, r)
    state = str(HERE / "chat.state")
    want = [json.loads(line)["ids"] for line in piped("one\ntwo\nthree\n", "--json").stdout.splitlines()]
    piped("one\ntwo\n", "--save-state", state)
    r = piped("three\n", "--json", "--load-state", state)
    check("a conversation goes on from its state file", json.loads(r.stdout)["ids"] == want[2], (r, want))
    check("no history is kept of pipes", not (HERE / "xdg/hanzo/hz-run-history").exists())


def on_terminal():
    t = Terminal()
    check("a terminal without a prompt is a conversation", t.wait(b"/help lists the commands") is not None and t.wait(b"> ") is not None, t.text)
    t.send(b"hello\n")
    check("the prompt comes back after the answer", t.wait(b"\n") is not None and t.wait(b"> ") is not None, t.text)
    t.send(b"/stats\n")
    check("/stats shows numbers", t.wait(b"tokens of context") is not None and t.wait(b"first token after") is not None and t.wait(b"> ") is not None, t.text)
    t.send(b"/nonsense\n")
    check("an error leaves the conversation open", t.wait(b"unknown command /nonsense") is not None and t.wait(b"> ") is not None, t.text)
    t.send(b"two\\\n")
    check("a line that goes on has another prompt", t.wait(b". ") is not None, t.text)
    t.send(b"lines\n")
    t.wait(b"> ")
    t.send(b"\x04")
    code, _ = t.end()
    check("Ctrl-D ends it with 0", code == 0, (code, t.text))
    history = HERE / "xdg/hanzo/hz-run-history"
    check("history is kept, for nobody else to read", history.exists() and (history.stat().st_mode & 0o77) == 0 and "hello" in history.read_text(), list(HERE.iterdir()))

    t = Terminal(out_piped=True)
    t.wait(b"> ")
    t.send(b"\x1b[A\x1b[A\x1b[A\x1b[A\x1b[A\n")  # five lines back: hello
    check("the up key brings lines back", t.wait(b"hello") is not None and t.wait(b"> ") is not None, t.text)
    t.send(b"/exit\n")
    code, out = t.end()
    check("stdout has the answers alone", code == 0 and b"> " not in out and b"/help" not in out and out.endswith(b"\n"), (code, out))

    t = Terminal(env={"HANZO_HISTORY": ""})
    t.wait(b"> ")
    for command in (b"/save /none/talk.json", b"/save " + str(HERE).encode(), b"/load /none/talk.json", b"/load " + str(HERE).encode()):
        t.send(command + b"\n")
        check(f"{command[:5].decode()} that fails leaves the conversation open", t.wait(b"error: ") is not None and t.wait(b"> ") is not None, t.text[-300:])
    t.send(b"/save " + str(HERE / "told.json").encode() + b"\n")
    check("/save says what it wrote", t.wait(b"messages written") is not None and t.wait(b"> ") is not None, t.text[-300:])
    t.send(b"/reset\n/stats\n")
    check("/stats after /reset", t.wait(b"0 messages, 0 of") is not None and t.wait(b"> ") is not None, t.text[-300:])
    t.send(b"/exit\n")
    check("and /exit ends it with 0", t.end()[0] == 0)

    t = Terminal(env={"HANZO_HISTORY": ""})
    t.wait(b"> ")
    before = history.read_text()
    t.send(b"secret\n")
    t.wait(b"> ")
    t.send(b"\x04")
    t.end()
    check("HANZO_HISTORY= keeps none", history.read_text() == before)


def interrupts():
    t = Terminal("-c", "300000", limit="-1")
    t.wait(b"> ")
    t.send(b"go\n")
    t.wait(b"\n")
    time.sleep(1)
    begun = time.monotonic()
    t.send(b"\x03")
    check("Ctrl-C ends an answer within a second", t.wait(b"(stopped)", 20) is not None and time.monotonic() - begun < 5 and t.wait(b"> ") is not None, t.text[-300:])
    t.send(b"/stats\n")
    check("the conversation goes on", t.wait(b"2 messages") is not None and t.wait(b"> ") is not None, t.text[-300:])
    t.send(b"again\n")
    t.wait(b"\n")
    time.sleep(0.5)
    t.send(b"\x03")
    check("as often as one likes", t.wait(b"(stopped)", 20) is not None and t.wait(b"> ") is not None, t.text[-300:])
    t.send(b"\x03")
    code, _ = t.end()
    check("Ctrl-C at the prompt ends the program with 130", code == 130, code)

    t = Terminal("-c", "300000", limit="-1")
    t.wait(b"> ")
    t.send(b"go\n")
    t.wait(b"\n")
    time.sleep(0.5)
    t.process.send_signal(signal.SIGTERM)
    code, _ = t.end()
    check("SIGTERM ends the program with 143", code == 143, code)
    process = subprocess.Popen([TOOL, "-m", MODEL, "-p", "go", "-n", "-1", "-c", "300000", "--ignore-eos"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENV)
    first = process.stdout.read(20)
    begun = time.monotonic()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    check("Ctrl-C in one answer: text and summary come out, exit 130", process.returncode == 130 and first and b"finish: interrupted" in err and time.monotonic() - begun < 5, (process.returncode, err))


def interrupted_while_loading():
    model = pathlib.Path(os.environ.get("HANZO_MODELS", "/none"), "SmolLM2-135M-Instruct.Q4_1.gguf")
    if not model.exists():
        result.skip("Ctrl-C while a model is loaded and packed", "HANZO_MODELS has no SmolLM2")
        return
    for delay in (0.02, 0.05, 0.1, 0.2, 0.5):
        process = subprocess.Popen([TOOL, "-m", model, "-p", "go on " * 300, "-n", "-1"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENV)
        time.sleep(delay)
        begun = time.monotonic()
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
        took = time.monotonic() - begun
        # Before the first line of the program runs the system itself ends it.
        check(f"Ctrl-C {delay} s after the start ends it soon", process.returncode in (130, -signal.SIGINT) and took < 5 and b"error" not in err, (process.returncode, took, err))


for part in (interrupted_while_loading, over_pipes, on_terminal, interrupts):
    part()
folder.cleanup()
result.finish()
