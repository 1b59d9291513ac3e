# SPDX-License-Identifier: Apache-2.0
"""Perplexity, size and time of files that hz-quantize and llama-quantize make from one F16 source, in turn.

    bench/quantize.py --build build --peer PEER_BIN --model F16.gguf --text TEXT [--types Q4_K_M,Q3_K_M,IQ4_XS,IQ3_S,Q2_K]

Every file's perplexity is taken with hz-bench; with --both also with llama-perplexity. Prints a Markdown table."""
import argparse
import json
import pathlib
import re
import subprocess
import tempfile
import time


def run(*command):
    begin = time.monotonic()
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))}\n{done.stderr[-2000:]}")
    return done, time.monotonic() - begin


def our_perplexity(args, file):
    done, _ = run(args.build / "tools/hz-bench", "-m", file, "-t", args.threads, "-q", "ppl", "-f", args.text, "--json")
    return json.loads(done.stdout)["perplexity"]


def peer_perplexity(args, file):
    done, _ = run(args.peer / "llama-perplexity", "-m", file, "-f", args.text, "-t", args.threads)
    return float(re.search(r"Final estimate: PPL = ([\d.]+)", done.stdout + done.stderr)[1])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--peer", type=pathlib.Path, required=True, help="folder with llama-quantize and llama-perplexity")
    parser.add_argument("--model", type=pathlib.Path, required=True)
    parser.add_argument("--text", type=pathlib.Path, required=True)
    parser.add_argument("--types", default="Q4_K_M,Q3_K_M,IQ4_XS,IQ3_S,Q2_K")
    parser.add_argument("--imatrix", type=pathlib.Path)
    parser.add_argument("--threads", default="2")
    parser.add_argument("--both", action="store_true")
    args = parser.parse_args()
    print(f"source: perplexity {our_perplexity(args, args.model):.4f}\n")
    print("| type | our size | peer's size | our ppl | peer's ppl | ratio | our seconds | peer's seconds |" + (" llama.cpp on ours | llama.cpp on its own |" if args.both else ""))
    print("|---|---|---|---|---|---|---|---|" + ("---|---|" if args.both else ""))
    imatrix = ["--imatrix", args.imatrix] if args.imatrix else []
    with tempfile.TemporaryDirectory() as folder:
        ours, theirs = pathlib.Path(folder) / "ours.gguf", pathlib.Path(folder) / "theirs.gguf"
        for name in args.types.split(","):
            _, our_time = run(args.build / "tools/hz-quantize", args.model, ours, name, "-t", args.threads, "-q", *imatrix)
            _, peer_time = run(args.peer / "llama-quantize", *imatrix, args.model, theirs, name, args.threads)
            a, b = our_perplexity(args, ours), our_perplexity(args, theirs)
            row = f"| {name} | {ours.stat().st_size} | {theirs.stat().st_size} | {a:.4f} | {b:.4f} | {a / b:.4f} | {our_time:.2f} | {peer_time:.2f} |"
            if args.both:
                row += f" {peer_perplexity(args, ours):.4f} | {peer_perplexity(args, theirs):.4f} |"
            print(row, flush=True)


if __name__ == "__main__":
    main()
