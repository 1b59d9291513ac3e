# SPDX-License-Identifier: Apache-2.0
"""hz-bench as a program, on a tiny model of ours: grids, formats, subcommands, and the peer mode with a stand-in peer."""
import csv
import io
import json
import os
import pathlib
import sqlite3
import stat
import subprocess
import sys
import tempfile

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
                             ("two packings", ["--pack", "auto", "--no-pack"], "excludes"), ("--ab without a text", ["--ab", "/bin/true"], "needs a text")):
        r = speed(*args)
        check(f"refused: {name}", r.returncode == 2 and word in r.stderr and r.stdout == "", r)


def subcommands(folder):
    r = run("batch", "-m", MODEL, "--npp", 4, "--ntg", 3, "-npl", "1,2,4", "-r", 1, "-q", "-o", "json", "--plot", f"{folder}/b.svg")
    check("batch: a record per number of sequences", [x["pl"] for x in json.loads(r.stdout)] == [1, 2, 4] and os.path.exists(f"{folder}/b.svg"), r)
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
    tasks = pathlib.Path(folder, "tasks.jsonl")
    tasks.write_text('{"prompt": "hello", "choices": [" world", " hell"], "answer": 0}\n{"prompt": "hello", "choices": [" world", " hell"], "answer": 1}\n')
    r = run("choice", "-m", model, "-f", tasks, "--json", "-q")
    check("choice: of two opposite answers one is right", json.loads(r.stdout)["accuracy"] == 0.5, r)
    for name, line in (("no object", "[1]"), ("answer out of range", '{"prompt": "a", "choices": ["b", "c"], "answer": 2}'), ("no JSON", "{")):
        tasks.write_text('{"prompt": "a", "choices": ["b", "c"], "answer": 0}\n' + line + "\n")
        r = run("choice", "-m", model, "-f", tasks, "-q")
        check(f"choice: {name} is refused with its line", r.returncode == 3 and "line 2" in r.stderr, r)


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
    packing()
    subcommands(temporary)
    measures(temporary)
    peer(temporary)
refused()
result.finish()
