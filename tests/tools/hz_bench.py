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

TOOL, MODEL = sys.argv[1:3]
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


def refused():
    for name, args, word in (("a word in a grid", ["-p", "8,x"], "'x' is no number"), ("an endless range", ["-p", "0-8*2"], "never grows"), ("a backward range", ["-t", "4-1"], "not within"),
                             ("nothing to measure", ["-p", "0", "-n", "0"], "nothing to measure"), ("an unknown cache", ["--kv", "f61"], "did you mean f16"),
                             ("half a pair", ["-pg", "5"], "no pair"), ("--ab without a text", ["--ab", "/bin/true"], "needs a text")):
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


def peer(folder):
    fake = pathlib.Path(folder, "llama-bench")
    fake.write_text("#!/bin/sh\necho '[{\"avg_ts\": 50.0}]'\n")
    gate = pathlib.Path(folder, "llama-perplexity")
    gate.write_text("#!/bin/sh\necho 'Final estimate: PPL = 1.0 +/- 0.1' >&2\n")
    for f in (fake, gate):
        f.chmod(f.stat().st_mode | stat.S_IXUSR)
    text = pathlib.Path(folder, "t.txt")
    text.write_text("hello " * 400)
    r = speed("-p", "8", "-n", "0", "--ab", fake, "-f", text)
    check("--ab refuses a model without text before it measures", r.returncode != 0 and "tok" in r.stderr, r)


with tempfile.TemporaryDirectory() as temporary:
    formats(temporary)
    subcommands(temporary)
    peer(temporary)
refused()
result.finish()
