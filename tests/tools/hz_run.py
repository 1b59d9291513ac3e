# SPDX-License-Identifier: Apache-2.0
"""hz-run as a program, on a tiny model of ours: what it refuses before it loads, what each kind of input gives."""
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "design"))
import checks  # noqa: E402

TOOL, MODEL = sys.argv[1:3]
result = checks.Checks()


def run(*args, stdin=subprocess.DEVNULL, model=MODEL, limit=resource.RLIM_INFINITY):
    """limit: bytes that a file written by the tool may have."""
    bound = None if limit == resource.RLIM_INFINITY else lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    return subprocess.run([TOOL, "-m", model, *args], stdin=stdin, capture_output=True, timeout=120, text=True, preexec_fn=bound)


def check(name, condition, shown=""):
    result.case(name, [] if condition else [str(shown)])


def refused(name, code, words, *args, model="no/such/model.gguf"):
    """Refused with the code and the words, although the model does not exist: it is not looked for."""
    r = run(*args, model=model)
    check(name, r.returncode == code and all(w in r.stderr for w in words) and r.stdout == "", r)


def usage(folder):
    refused("-p excludes -f", 2, ["excludes"], "-p", "a", "-f", "b")
    refused("-p excludes --ids", 2, ["excludes"], "-p", "a", "--ids", "1")
    refused("empty --ids", 2, ["--ids holds no token id"], "--ids", "")
    refused("a word among ids", 2, ["'x' is no token id"], "--ids", "1,x")
    refused("an unknown pre-tokenizer names near ones", 2, ["gpt-2"], "--pre", "gpt2", "-p", "a")
    refused("an unknown device names the near one", 2, ["did you mean cpu?"], "--device", "cpuu", "-p", "a")
    refused("a folder as prompt file", 3, ["this is a folder", "name the file itself", folder], "-f", folder)
    refused("a folder as ids", 3, ["this is a folder"], "--ids", folder)
    refused("a prompt file that is not there", 3, ["cannot open", "check the path"], "-f", folder + "/none")
    refused("a context above 2^31", 2, ["--ctx"], "-c", "99999999999", "-p", "a")
    refused("no prompt", 2, ["no prompt"])
    bad = pathlib.Path(folder, "latin1.txt")
    bad.write_bytes(b"two\nlines \xe4\n")
    refused("a prompt that is not UTF-8 names file, byte and line", 2, ["byte 10", "line 2", str(bad), "iconv"], "-f", str(bad))
    for option in ("--logits", "--save-state", "--load-state", "--grammar", "--json-schema", "--template", "--tokenizer", "-f", "--isq-save"):
        more = ["--isq", "q8_0"] if option == "--isq-save" else ["--ids", "1"] if option != "-f" else []
        refused(f"an empty name for {option}", 2, ["an empty name"], option, "", *more)
    for option in ("--logits", "--save-state"):
        r = run("--ids", "1,2,3", option, folder + "/none/x")
        check(f"{option} into a folder that is not there is known before the model is loaded", r.returncode == 3 and "none/x" in r.stderr and "loaded" not in r.stderr and not r.stdout, r)
    for seed in ("18446744073709551616", "-1", "7x", ""):
        refused(f"the seed '{seed}'", 2, ["--seed", "whole number"], "--ids", "1", "--seed", seed)
    r = run("--ids", "1", "-n", "1", "--seed", "18446744073709551615")
    check("the largest seed", r.returncode == 0 and "seed 18446744073709551615" in r.stderr, r)
    refused("text for a model without a tokenizer", 3, ["no tokenizer", "token ids", "tokenizer.json"], "-p", "a", model=MODEL)
    r = run("-p", "a", model="no/such/model.gguf")
    check("a missing model is named as it was typed", r.returncode == 3 and "no/such/model.gguf" in r.stderr, r)


def ids():
    r = run("--ids", "1,2,3", "-n", "4", "--temp", "0")
    check("ids are answered with ids", r.returncode == 0 and len(r.stdout.split()) == 4 and "finish: length" in r.stderr, r)
    r = run("--ids", "1,2,3", "--logits-hash", "-q")
    check("the hash is the last line", len(r.stdout.splitlines()[-1]) == 64, r)
    j = run("--ids", "1,2,3", "--logits-hash", "--json", "-q")
    check("the hash as JSON", json.loads(j.stdout)["logits_hash"] == r.stdout.strip(), j)
    check("one hash for any number of threads", run("--ids", "1,2,3", "--logits-hash", "-q", "-t", "1000").stdout == r.stdout)
    check("devices as JSON", "cpu" in [d["name"] for d in json.loads(run("--list-devices", "--json").stdout)["devices"]])
    r = run("--ids", "1,2", "-c", "2000000000", "-n", "1")
    check("a context beyond the memory exits with 4 and names one that fits", r.returncode == 4 and "-c " in r.stderr, r)
    r = run("--ids", "1,999999999", "-n", "1")
    check("an id outside the vocabulary", r.returncode == 2 and "999999999" in r.stderr, r)


def files(folder):
    out = pathlib.Path(folder, "logits.npy")
    r = run("--ids", "1,2,3", "--logits", str(out), "-q")
    data = out.read_bytes()
    check("logits as a NumPy file", r.returncode == 0 and data[:8] == b"\x93NUMPY\x01\x00" and b"'<f4'" in data[:128] and b"(3, " in data[:128], r)
    check("nothing else is left", os.listdir(folder) and not [f for f in os.listdir(folder) if "tmp" in f], os.listdir(folder))
    r = run("--ids", "1,2,3", "--logits", str(out), limit=64)
    check("a file that may not grow is an error that leaves the old one and no temporary",
          r.returncode == 3 and "File too large" in r.stderr and out.read_bytes() == data and os.listdir(folder) == ["logits.npy"], r)
    fifo = pathlib.Path(folder, "fifo")
    os.mkfifo(fifo)
    waiting = subprocess.Popen([TOOL, "-m", MODEL, "-f", str(fifo)], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    time.sleep(0.5)
    waiting.terminate()
    check("a FIFO that nobody writes to is left at SIGTERM", waiting.wait(20) == 143)
    for option, words in (("--grammar", "device"), ("--json-schema", "device"), ("--template", "device"), ("-f", "device")):
        r = run(*(["-p", "x"] if option != "-f" else []), option, "/dev/zero")
        check(f"{option} of a device without end is refused", r.returncode == 3 and words in r.stderr and "/dev/zero" in r.stderr, r)
    r = run("--info")
    check("--info shows types and the tokenizer's state", r.returncode == 0 and "tensors (" in r.stdout and "tokenizer: " in r.stdout, r)


with tempfile.TemporaryDirectory() as temporary:
    usage(temporary)
with tempfile.TemporaryDirectory() as temporary:
    files(temporary)
ids()
result.finish()
