#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""hz-bench beside other engines' llama-bench, in turn, as rows of a table: median of the ratios of the pairs, and their spread.

usage: against.py --peer llama.cpp=PATH/llama-bench [--peer ik=PATH/llama-bench] [--pairs 5] [-t 2] MODEL.gguf:TEST...

TEST: pp512 (a prompt), tg64 (generation), tg32@4096 (after 4096 tokens); then ,KEY=VALUE for both sides: kv=q8_0, or for
ours: pack=expanded. Every measurement is a process of its own with its own warm-up. A peer that cannot read the file is said to
have none. That both answer alike is the business of `hz-bench --ab`; here also files without a tokenizer can be measured."""
import argparse
import functools
import json
import pathlib
import re
import shlex
import statistics
import subprocess
import sys


def parse(test):
    """(pp or tg, count, depth, options)"""
    name, *options = test.split(",")
    shape = re.fullmatch(r"(pp|tg)(\d+)(?:@(\d+))?", name)
    if not shape:
        sys.exit(f"'{test}' is no test: pp512, tg64, tg32@4096")
    return shape[1], shape[2], shape[3] or "0", dict(o.split("=") for o in options)


def arguments(kind, count, depth, options, has_depth):
    """For a llama-bench without -d a depth is -gp DEPTH,COUNT."""
    args = ["-p", count if kind == "pp" else "0", "-n", count if kind == "tg" else "0", "-r", "1", "-o", "json"]
    if has_depth:
        args += ["-d", depth]
    elif depth != "0":
        args = ["-p", "0", "-n", "0", "-gp", f"{depth},{count}", "-r", "1", "-o", "json"]
    if "kv" in options:
        args += ["-ctk", options["kv"], "-ctv", options["kv"]]
    return args


@functools.cache
def has_depth(tool):
    run = subprocess.run([tool, "-h"], capture_output=True, text=True)
    return re.search(r"^\s*-d\b", run.stdout + run.stderr, re.MULTILINE) is not None


def measure(tool, model, args, threads):
    run = subprocess.run([*tool, "-m", model, "-t", str(threads), *args], capture_output=True, text=True)
    try:
        return json.loads(run.stdout)[0]
    except (json.JSONDecodeError, IndexError):
        return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tool", default="build/tools/hz-bench")
    parser.add_argument("--peer", action="append", required=True, help="NAME=PATH of a llama-bench, with options of its own: 'ik=PATH -rtr 1'")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("-t", "--threads", type=int, default=2)
    parser.add_argument("tests", nargs="+", metavar="MODEL:TEST")
    a = parser.parse_args()
    peers = {name: shlex.split(command) for name, command in (p.split("=", 1) for p in a.peer)}
    print("| file | test | ours t/s | share of the limit | " + " | ".join(f"{p}, ours against it" for p in peers) + " |")
    print("| --- | --- | ---: | --- | " + " | ".join("---:" for _ in peers) + " |", flush=True)
    for item in a.tests:
        model, test = item.rsplit(":", 1)
        test_parts = parse(test)
        options = test_parts[3]
        own = arguments(*test_parts, True) + (["--pack", options["pack"]] if "pack" in options else [])
        ours, ratios, dead = [], {p: [] for p in peers}, set()
        for _ in range(a.pairs):
            mine = measure([a.tool], model, own, a.threads)
            if mine is None:
                sys.exit(f"{a.tool} fails on {item}")
            ours.append(mine)
            for name, tool in peers.items():
                theirs = None if name in dead else measure(tool, model, arguments(*test_parts, has_depth(tool[0])), a.threads)
                if theirs is None:
                    dead.add(name)
                else:
                    ratios[name].append(mine["avg_ts"] / theirs["avg_ts"])
        share = lambda key: [100 * o[key] for o in ours if key in o]
        limit = f"{statistics.median(share('bandwidth_share')):.0f} % of the reads" if share("bandwidth_share") else \
            f"{statistics.median(share('int8_peak_share')):.0f} % of int8" if share("int8_peak_share") else ""
        cells = [f"{statistics.median(r):.2f} ({min(r):.2f} to {max(r):.2f})" if r else "none" for r in ratios.values()]
        print(f"| {pathlib.Path(model).stem} | {test} | {statistics.median(o['avg_ts'] for o in ours):.1f} | {limit} | " + " | ".join(cells) + " |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
