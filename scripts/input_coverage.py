# SPDX-License-Identifier: Apache-2.0
"""input_coverage.py EXPORT.json --root FOLDER [--least PERCENT]: the line coverage of the code that reads input, as a table by file,
lowest first, from `llvm-cov export -summary-only`. Exit 1 below PERCENT in all."""
import argparse
import json
import pathlib
import re
import sys

# Readers, and what checks and interprets what they read.
INPUT = re.compile(r"src/(?:io|text|engine/(?:grammar|schema))/|src/engine/(?:state|chat_session)\.cpp$|"
                   r"src/model/(?:adapter\w*|convert/\w+|hparams|importance|kv_state|metadata_hash|model|recipe|weights)\.cpp$|"
                   r"src/train/(?:checkpoint|dataset|encode|row|row_chat|run_folder|run_log)\.cpp$")


def main():
    args = argparse.ArgumentParser()
    args.add_argument("export", type=pathlib.Path)
    args.add_argument("--root", type=pathlib.Path, required=True)
    args.add_argument("--least", type=float, default=0)
    args = args.parse_args()
    rows = []
    for file in json.loads(args.export.read_text())["data"][0]["files"]:
        name = str(pathlib.Path(file["filename"]).resolve()).removeprefix(str(args.root.resolve()) + "/")
        lines = file["summary"]["lines"]
        if INPUT.search(name) and lines["count"]:
            rows.append((100 * lines["covered"] / lines["count"], lines["covered"], lines["count"], name))
    if not rows:
        sys.exit("no file of the input code is in the report")
    for percent, covered, count, name in sorted(rows):
        print(f"{percent:6.1f} %  {covered:5} of {count:5}  {name}")
    covered, count = sum(r[1] for r in rows), sum(r[2] for r in rows)
    percent = 100 * covered / count
    print(f"input code: {percent:.2f} % of lines ({covered} of {count}) in {len(rows)} files, {args.least:g} % wanted")
    sys.exit(0 if percent >= args.least else 1)


main()
