# SPDX-License-Identifier: Apache-2.0
"""hz-bench as a program, on a tiny model of ours: grids, formats, subcommands, and the peer mode with a stand-in peer."""
import csv
import io
import json
import os
import pathlib
import signal
import sqlite3
import stat
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "design"))
import checks  # noqa: E402

TOOL, MODEL, TINY_CHAT = sys.argv[1:4]
result = checks.Checks()


def run(*args):
    return subprocess.run([TOOL, *map(str, args)], stdin=subprocess.DEVNULL, capture_output=True, timeout=300, text=True)


def check(name, condition, shown=""):
    result.case(name, [] if condition else [str(shown)])


def speed(*args):
    return run("-m", MODEL, "-r", 2, "-q", *args)


def formats(folder):
    r = speed("-p", "8,16", "-n", "4", "-t", "1,2", "-o", "json", "--check")
    records = json.loads(r.stdout)
    check("a grid gives a record per combination", len(records) == 6, r)
    check("prompt and generation are told by n_prompt and n_gen",
          [(x["n_threads"], x["n_prompt"], x["n_gen"]) for x in records] == [(t, p, g) for t in (1, 2) for p, g in ((8, 0), (16, 0), (0, 4))], records)
    check("one logits hash for all rows", len({x["logits_hash"] for x in records}) == 1, r)
    wanted = {"avg_ts", "stddev_ts", "avg_ns", "stddev_ns", "samples_ns", "samples_ts", "ttft_ms", "load_seconds", "peak_memory", "bytes_per_token", "read_bandwidth",
              "fma_peak", "int8_peak", "model_size", "model_n_params", "n_depth", "n_ubatch", "type_k", "test_time", "build_commit"}
    check("records have the keys", all(wanted <= x.keys() for x in records), wanted - records[0].keys())
    check("the peak of memory is the model's, in every row", max(x["peak_memory"] for x in records) < 200e6, [x["peak_memory"] for x in records])
    check("rates fit the samples", all(abs(x["avg_ts"] - sum(x["samples_ts"]) / 2) < 1e-6 * x["avg_ts"] for x in records))
    check("generated tokens have percentiles", all(x["token_ms_p50"] <= x["token_ms_p95"] for x in records if x["n_gen"]))
    r = speed("-p", "0", "-n", "2", "-d", "64", "-o", "jsonl")
    x = json.loads(r.stdout)
    check("the bytes of the cache are those of 2 layers with 2 heads of 16 halves, K and V, for each position", x["cache_bytes_per_token"] == 65.5 * 2 * 2 * 16 * 2 * 2, x)
    check("the share of the bandwidth counts weights and cache",
          abs(x["bandwidth_share"] * x["read_bandwidth"] / x["avg_ts"] - x["bytes_per_token"] - x["cache_bytes_per_token"]) < 1, x)
    r = speed("-p", "8", "-n", "0", "-d", "0,8", "-o", "jsonl", "--oe", "csv")
    check("jsonl: one object a line", [json.loads(line)["n_depth"] for line in r.stdout.splitlines()] == [0, 8], r)
    r = speed("-p", "8", "-n", "2", "-o", "csv")
    rows = list(csv.DictReader(io.StringIO(r.stdout)))
    check("csv: all rows have all columns", len(rows) == 2 and rows[0]["n_prompt"] == "8" and rows[1]["n_gen"] == "2" and None not in rows[0], r)
    r = speed("-p", "8", "-n", "2", "-o", "sql")
    base = sqlite3.connect(":memory:")
    base.executescript(r.stdout)
    check("sql: runs as it is", base.execute("select count(*), sum(n_prompt), sum(n_gen) from hz_bench").fetchone() == (2, 8, 2), r)
    r = speed("-p", "8", "-n", "2", "-pg", "4,2", "-ub", "4", "--plot", f"{folder}/s.svg")
    check("md: a table with pp, tg and both", all(t in r.stdout for t in ("| pp8 |", "| tg2 |", "| pp4+tg2 |")), r)
    check("--plot writes a picture", "<polyline" in pathlib.Path(folder, "s.svg").read_text())


def lists():
    def tests(*args):
        r = run("-m", MODEL, "-r", 1, "-q", "-o", "jsonl", *args)
        return [tuple(json.loads(line)[k] for k in ("n_batch", "n_ubatch", "type_k", "n_prompt", "n_gen")) for line in r.stdout.splitlines()] or r

    told = tests("-p", 4, "-p", "2-3", "-n", 0, "-b", "3,64", "-ub", 2, "-ub", 8, "-ctk", "f32", "-ctv", "f32", "--delay", 0.01)
    check("a flag given twice is a longer list; -b, -ctk and -ctv are llama-bench's",
          told == [(b, u, "f32", p, 0) for b in (3, 64) for u in (2, 8) for p in (4, 2, 3)], told)
    r = speed("-p", 4, "-n", 0, "-ub", "512,3", "--activations", "f32")
    head = r.stdout.splitlines()[0] if r.stdout else ""
    check("md: a column for what is not as usual, none for the rest", "ubatch" in head and "activations" in head and "batch |" in head
          and "pack" not in head and " batch |" not in head, r)
    check("the model is told with its weights", "| llama F32 |" in r.stdout, r)
    r = speed("-p", 4, "-n", 0, "-d", 200)
    check("a depth beyond the model's context is warned of", r.returncode == 0 and "positions that the model was made for" in r.stderr, r)


def refused_early(folder):
    """What cannot end well is said before anything is measured."""
    for args in (["-p", "4", "-n", "0"], ["batch", "--npp", "4", "--ntg", "1"]):
        r = run(*args[:-2], "-m", MODEL, *args[-2:], "--plot", f"{folder}/none/x.svg", "-q")
        check(f"{args[0]}: a picture that cannot be written is refused first", r.returncode == 3 and r.stdout == "" and "x.svg" in r.stderr, r)
    r = run("-m", MODEL, "ppl", "-f", __file__)
    check("an option before a subcommand is not dropped", r.returncode == 2 and "--model" in r.stderr, r)
    r = run("ppl", "-m", MODEL, "-f", __file__, "-p", 4)
    check("nor is one that the subcommand does not have", r.returncode == 2 and "--n-prompt" in r.stderr, r)
    for sub, flag in (("quality", ["--activations", "f32", "-f", __file__]), ("batch", ["-c", 8]), ("cost", ["-c", 8, "--price-per-hour", 1])):
        r = run(sub, "-m", MODEL, *flag)
        check(f"{sub} has no {flag[0]}, which it would not follow", r.returncode == 2 and ("unknown option" in r.stderr or "not of" in r.stderr), r)
    for args in (["--ab", "", "-f", __file__], ["--plot", ""], ["--ab", "/bin/true", "-f", ""]):
        r = speed("-p", 4, "-n", 0, *args)
        check(f"{' '.join(args[:2])}: an empty name is refused, not taken as none", r.returncode == 2 and "an empty name" in r.stderr and r.stdout == "", r)
    for price in ("nan", "inf", "0", "-1", "1x"):
        r = run("cost", "-m", MODEL, "--price-per-hour", price, "-p", 1, "-n", 1, "-r", 1)
        check(f"cost: {price} is no price", r.returncode == 2 and "no price above 0" in r.stderr, r)


def packing():
    told = {}
    for args in (["--pack", "auto"], ["--pack", "expanded"], ["--pack", "none"], ["--no-pack"], []):
        r = speed("-p", "8", "-n", "0", "-o", "json", "--check", *args)
        told[" ".join(args)] = [(x["pack"], x["logits_hash"]) for x in json.loads(r.stdout or "[]")]
    check("--pack is told in the records, --no-pack is its none, auto the default",
          [v[0][0] if v else None for v in told.values()] == ["auto", "expanded", "none", "none", "auto"], told)
    check("no packing changes a bit", len({v[0][1] for v in told.values() if v}) == 1, told)


def refused():
    for name, args, word in (("a word in a grid", ["-p", "8,x"], "'x' is no number"), ("an endless range", ["-p", "0-8*2"], "never grows"), ("a backward range", ["-t", "4-1"], "not within"),
                             ("nothing to measure", ["-p", "0", "-n", "0"], "nothing to measure"), ("an unknown cache", ["--kv", "f61"], "did you mean f16"),
                             ("half a pair", ["-pg", "5"], "no pair"), ("an unknown packing", ["--pack", "expand"], "did you mean expanded"),
                             ("two packings", ["--pack", "auto", "--no-pack"], "excludes"), ("--ab without a text", ["--ab", "/bin/true"], "needs a text"),
                             ("a text without --ab", ["-f", __file__], "--ab"), ("--ab with a picture", ["--ab", "/bin/true", "-f", __file__, "--plot", "x.svg"], "excludes"),
                             ("K and V that differ", ["-ctk", "f16", "-ctv", "q8_0"], "kept alike"), ("an unknown second format", ["-oe", "jsno"], "did you mean json")):
        r = speed(*args)
        check(f"refused: {name}", r.returncode == 2 and word in r.stderr and r.stdout == "", r)


def subcommands(folder):
    r = run("batch", "-m", MODEL, "--npp", 4, "--ntg", 3, "-npl", "1,2,4", "-r", 1, "-q", "-o", "json", "--plot", f"{folder}/b.svg")
    check("batch: a record per number of sequences", [x["pl"] for x in json.loads(r.stdout)] == [1, 2, 4] and os.path.exists(f"{folder}/b.svg"), r)
    r = run("batch", "-m", MODEL, "--npp", 4, "--npp", 5, "--ntg", 1, "--npl", 2, "-r", 1, "-q", "-o", "csv", "--oe", "sql")
    base = sqlite3.connect(":memory:")
    base.executescript(r.stderr)
    check("batch: csv and sql as for speed", [x["n_kv"] for x in csv.DictReader(io.StringIO(r.stdout))] == ["10", "12"]
          and base.execute("select sum(pp), sum(pl) from hz_bench_batch").fetchone() == (9, 4), r)
    r = run("cost", "-m", MODEL, "--price-per-hour", 1, "-p", 2, "-n", 1, "-r", 1, "-q", "--device", "reference")
    check("cost: a backend without peaks has no roof rather than an endless share", r.returncode == 0 and "unknown" in r.stdout and "inf" not in r.stdout, r)
    r = run("cost", "-m", MODEL, "--price-per-hour", 3.6, "-p", 8, "-n", 4, "--json", "-q")
    c = json.loads(r.stdout)
    check("cost: price per token is price per second by rate", abs(c["decode_cost_per_million"] * c["decode_ts"] - 1000) < 1e-6 * 1000, c)
    check("cost: the roofline is bandwidth by bytes", abs(c["roofline_decode_ts"] * c["bytes_per_token"] / c["read_bandwidth"] - 1) < 1e-6, c)
    check("cost without a price", run("cost", "-m", MODEL).returncode == 2)
    for sub in ("ppl", "quality", "kl", "choice"):
        check(f"{sub} without a text", run(sub, "-m", MODEL).returncode == 2)
    r = run("kl", "-m", MODEL, "-f", __file__)
    check("kl needs --save or --base", r.returncode == 2 and "--save" in r.stderr, r)


def text_of(folder):
    """A model with a tokenizer, and a text of some windows."""
    model, text = pathlib.Path(folder, "chat.gguf"), pathlib.Path(folder, "t.txt")
    subprocess.run([TINY_CHAT, model], check=True)
    text.write_text("hello world, it's a hell of a world. " * 60)
    return model, text


def measures(folder):
    model, text = text_of(folder)
    ppl = json.loads(run("ppl", "-m", model, "-f", text, "-c", 64, "--json", "-q").stdout)
    check("ppl: whole windows, second halves", ppl["perplexity"] > 1 and ppl["tokens"] == ppl["windows"] * 31, ppl)
    quality = json.loads(run("quality", "-m", model, "-f", text, "-c", 64, "--json", "-q").stdout)
    base = pathlib.Path(folder, "base.gguf")
    saved = run("kl", "-m", model, "-f", text, "-c", 64, "--activations", "f32", "--save", base, "-q")
    kl = json.loads(run("kl", "-m", model, "-f", text, "-c", 64, "--base", base, "--json", "-q").stdout)
    check("kl against a saved base is what quality measures", saved.returncode == 0 and kl == quality, (kl, quality))
    check("kl of the base with itself is 0",
          json.loads(run("kl", "-m", model, "-f", text, "-c", 64, "--activations", "f32", "--base", base, "--json", "-q").stdout)["kl_mean"] == 0)
    r = run("kl", "-m", model, "-f", text, "-c", 32, "--base", base, "-q")
    check("a base of another window is refused", r.returncode == 3 and "another text or window" in r.stderr, r)
    spoiled = bytearray(base.read_bytes())
    spoiled[-64:-60] = b"\0\0\xc0\x7f"
    base.write_bytes(spoiled)
    r = run("kl", "-m", model, "-f", text, "-c", 64, "--base", base, "-q")
    check("a base with a NaN is refused by row", r.returncode == 3 and "not finite" in r.stderr and r.stdout == "", r)
    tasks = pathlib.Path(folder, "tasks.jsonl")
    tasks.write_text('{"prompt": "hello", "choices": [" world", " hell"], "answer": 0}\n{"prompt": "hello", "choices": [" world", " hell"], "answer": 1}\n')
    r = run("choice", "-m", model, "-f", tasks, "--json", "-q")
    check("choice: of two opposite answers one is right", json.loads(r.stdout)["accuracy"] == 0.5, r)
    for name, line in (("no object", "[1]"), ("answer out of range", '{"prompt": "a", "choices": ["b", "c"], "answer": 2}'), ("no JSON", "{"),
                       ("one choice", '{"prompt": "a", "choices": ["b"], "answer": 0}'), ("an empty choice", '{"prompt": "a", "choices": ["b", ""], "answer": 0}'),
                       ("no prompt", '{"prompt": "", "choices": ["b", "c"], "answer": 0}'),
                       ("more than the context", json.dumps({"prompt": "a " * 5000, "choices": ["b", "c"], "answer": 0}))):
        tasks.write_text('{"prompt": "a", "choices": ["b", "c"], "answer": 0}\n' + line + "\n")
        r = run("choice", "-m", model, "-f", tasks, "-q")
        check(f"choice: {name} is refused with its line", r.returncode == 3 and "line 2" in r.stderr, r)


def running(word):
    """Processes that have the word as an argument."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:  # it ended meanwhile
            continue
        if word.encode() in words:
            found.append(words)
    return found


def peer(folder):
    """A stand-in for llama-bench and llama-perplexity that says what it is told."""
    model, text = text_of(folder)

    def script(name, body):
        path = pathlib.Path(folder, name)
        path.write_text("#!/bin/sh\n" + body + "\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return path

    bench = script("llama-bench", "echo '[{\"avg_ts\": 50.0}]'")
    ours = json.loads(run("ppl", "-m", model, "-f", text, "--json", "-q").stdout)["perplexity"]

    def ab():
        return run("-m", model, "-r", 3, "-q", "-p", 8, "-n", 0, "--ab", bench, "-f", text, "-o", "json")

    script("llama-perplexity", f"echo 'Final estimate: PPL = {ours * 1.005:.4f} +/- 0.1' >&2")
    r = ab()
    record = json.loads(r.stdout)[0]
    check("--ab: medians and their ratio, pair by pair", r.returncode == 0 and record["peer_ts"] == 50 and len(record["samples_ours"]) == 3
          and abs(record["ratio"] - record["ours_ts"] / 50) < 1e-9 * record["ratio"], r)
    csv_rows = list(csv.DictReader(io.StringIO(run("-m", model, "-r", 1, "-q", "-p", "8,9", "-n", 0, "--ab", bench, "-f", text, "-o", "csv").stdout)))
    check("--ab: csv is csv", [x.get("n_prompt") for x in csv_rows] == ["8", "9"] and all(float(x["ratio"]) > 0 for x in csv_rows), csv_rows)
    script("llama-bench", "echo '[{\"avg_ts\": 0.0}]'")
    r = ab()
    check("--ab: a peer of no speed has no ratio", r.returncode == 1 and "0 tokens/s" in r.stderr and r.stdout == "", r)
    script("llama-bench", "yes")
    r = ab()
    check("--ab: a peer that never stops writing is ended", r.returncode == 1 and "wrote more" in r.stderr, r.stderr)
    marker = "31.4159"
    script("llama-bench", f"trap '' TERM\nsleep {marker} &\nwait\nsleep {marker}")
    tool = subprocess.Popen([TOOL, "-m", model, "-r", "1", "-q", "-p", "8", "-n", "0", "--ab", bench, "-f", text], stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    while not running(marker) and tool.poll() is None:
        time.sleep(0.05)
    tool.send_signal(signal.SIGTERM)
    tool.communicate(timeout=60)
    check("--ab: a stop ends a peer that will not stop, and what it started", tool.returncode == 143 and not running(marker), (tool.returncode, running(marker)))
    script("llama-bench", "echo '[{\"avg_ts\": 50.0}]'")
    script("llama-perplexity", f"echo 'Final estimate: PPL = {ours * 1.02:.4f} +/- 0.1' >&2")
    r = ab()
    check("--ab measures nothing when the perplexities differ", r.returncode == 1 and "more than 1 %" in r.stderr and r.stdout == "", r)
    script("llama-perplexity", "exit 3")
    r = ab()
    check("--ab names a peer that fails", r.returncode == 1 and "status 3" in r.stderr and "llama-perplexity" in r.stderr, r)
    script("llama-perplexity", f"echo 'Final estimate: PPL = {ours:.4f}'")
    script("llama-bench", "echo nonsense")
    r = ab()
    check("--ab names a peer without JSON", r.returncode == 1 and "avg_ts" in r.stderr, r)


with tempfile.TemporaryDirectory() as temporary:
    formats(temporary)
    lists()
    refused_early(temporary)
    packing()
    subcommands(temporary)
    measures(temporary)
    peer(temporary)
refused()
result.finish()
