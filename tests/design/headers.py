# SPDX-License-Identifier: Apache-2.0
"""Every public header compiles alone, without a warning, with each C++ compiler that is here.

Optional headers under interop/ are skipped when the third-party header that they adapt is absent."""
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess

import checks

FLAGS = ["-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Wconversion", "-Wpedantic", "-Werror", "-x", "c++"]


def compile_alone(compiler, include_flags, header):
    source = f"#include <{header}>\n#include <{header}>\n"
    run = subprocess.run([compiler, *FLAGS, *include_flags, "-"], input=source, capture_output=True, text=True)
    return run.returncode, run.stderr


def public_headers(folders):
    found = set()
    for folder in folders:
        for pattern in ("*.hpp", "*.h"):
            found |= {str(p.relative_to(folder)) for p in folder.glob(f"hanzo/**/{pattern}")}
    return sorted(found)


def main():
    args = checks.arguments(__doc__, (["--build-include"], {"type": pathlib.Path, "help": "where the generated headers are"}),
                            (["--compilers"], {"default": "g++ clang++"}))
    folders = [args.root / "include"] + ([args.build_include.resolve()] if args.build_include else [])
    flags = [f for folder in folders for f in ("-I", str(folder))]
    compilers = [c for c in args.compilers.split() if shutil.which(c)]
    result = checks.Checks()
    for missing in sorted(set(args.compilers.split()) - set(compilers)):
        result.skip(f"headers with {missing}", "this compiler is not here")
    headers = public_headers(folders)
    if not headers or not compilers:
        result.case("public headers compile alone", [f"{len(headers)} headers, {len(compilers)} compilers"])
    jobs = [(c, h) for h in headers for c in compilers]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        outcomes = pool.map(lambda job: compile_alone(job[0], flags, job[1]), jobs)
        for (compiler, header), (code, text) in zip(jobs, outcomes):
            absent = re.search(r"fatal error: '?([\w./+-]+)'?(?: file not found|: No such file)", text)
            if code != 0 and "/interop/" in header and absent and not absent[1].startswith("hanzo"):
                result.skip(f"{header} with {compiler}", f"{absent[1]} is not installed")
            else:
                result.case(f"{header} compiles alone with {compiler}", text.splitlines()[:20] if code != 0 else [])
    result.finish()


if __name__ == "__main__":
    main()
