# SPDX-License-Identifier: Apache-2.0
"""The design tests can fail: each is run on a small tree that is right and on ones with one fault."""
import pathlib
import shutil
import subprocess
import sys
import tempfile

import checks

HEAD = "// SPDX-License-Identifier: Apache-2.0\n// A file.\n"
GOOD = {
    "include/hanzo/hanzo.hpp": HEAD + '#pragma once\n#include "hanzo/core/a.hpp"\n#include "hanzo/nn/b.hpp"\n',
    "include/hanzo/core/a.hpp": HEAD + "#pragma once\n#include <vector>\ninline int a() { return 1; }\n",
    "include/hanzo/nn/b.hpp": HEAD + '#pragma once\n#include "hanzo/core/a.hpp"\n',
    "include/hanzo/quant/formats.list": "# comment\nq9 9 q9.h\n",
    "include/hanzo/quant/format/q9.h": HEAD + "#pragma once\nstruct q9 {\n  static constexpr int kElems = 32;\n};\n",
    "src/nn/b.cpp": HEAD + '#include "hanzo/nn/b.hpp"\n',
    "src/quant/meson.build": "",
    "src/quant/encode/q9.cpp": HEAD,
    "src/model/archs.list": "llama\n",
    "src/model/arch/llama.cpp": HEAD,
    "README.md": "See [the page](docs/a.md) and `tools/hz-run.cpp`.\n```cpp\nint main() {}\n```\n",
    "docs/a.md": "A page.\n",
    "examples/generate.cpp": HEAD + "int main() {}\n",
    "tools/tools.list": "hz-run\n",
    "tools/hz-run.cpp": HEAD + '#include <hanzo/core/a.hpp>\n#include "tools/common/run.hpp"\n',
}
FAULTS = [
    ("layers.py", "core including nn", "include/hanzo/core/a.hpp", HEAD + '#include "hanzo/nn/b.hpp"\n'),
    ("layers.py", "a relative include to the right", "src/core/x.cpp", HEAD + '#include "../nn/b.cpp"\n'),
    ("layers.py", "the library including a test", "src/nn/b.cpp", HEAD + '#include "tests/catch.hpp"\n'),
    ("layers.py", "a public header including a private one", "include/hanzo/nn/b.hpp", HEAD + '#include "src/nn/p.hpp"\n'),
    ("layers.py", "a room the design does not have", "src/misc/x.cpp", HEAD),
    ("layers.py", "a tool including src", "tools/hz-run.cpp", HEAD + '#include "src/nn/p.hpp"\n'),
    ("layers.py", "a tool quoting a public header", "tools/hz-run.cpp", HEAD + '#include "hanzo/core/a.hpp"\n'),
    ("layers.py", "interop used by nn", "src/nn/b.cpp", HEAD + '#include "hanzo/interop/eigen.hpp"\n'),
    ("lists.py", "a format not listed", "include/hanzo/quant/format/q8.h", HEAD + "struct q8 {\n  static constexpr int kElems = 32;\n};\n"),
    ("lists.py", "a listed format without header", "include/hanzo/quant/formats.list", "q9 9 q9.h\nq7 7 q7.h\n"),
    ("lists.py", "a format number used twice", "include/hanzo/quant/formats.list", "q9 9 q9.h\nq9 9 q9.h\n"),
    ("lists.py", "an encoder of no format", "src/quant/encode/q1.cpp", HEAD),
    ("lists.py", "an architecture not listed", "src/model/arch/qwen3.cpp", HEAD),
    ("lists.py", "a listed architecture without file", "src/model/archs.list", "llama\nqwen3\n"),
    ("lists.py", "a header that hanzo.hpp lacks", "include/hanzo/nn/c.hpp", HEAD + "#pragma once\n"),
    ("lists.py", "a tool not listed", "tools/hz-bench.cpp", HEAD),
    ("docs.py", "a dead link", "docs/a.md", "[x](b.md)\n"),
    ("docs.py", "a path that is not there", "docs/a.md", "`src/gone.cpp`\n"),
    ("docs.py", "a test's words that are nowhere", "docs/a.md", '`tests/meson.build` "never tested"\n'),
    ("docs.py", "an example that is not the README's", "examples/generate.cpp", HEAD + "int main() { return 1; }\n"),
    ("style.py", "no SPDX line", "src/nn/b.cpp", "int x;\n"),
    ("style.py", "no line of purpose", "src/nn/b.cpp", HEAD.splitlines()[0] + "\n#include <vector>\n"[1:]),
    ("style.py", "a file of 501 lines", "src/nn/b.cpp", HEAD + "\n" * 499),
    ("style.py", "a line of 141 columns", "src/nn/b.cpp", HEAD + "//" + "x" * 139 + "\n"),
    ("style.py", "a library that prints", "src/nn/b.cpp", HEAD + "void f() { std::cerr << 1; }\n"),
    ("style.py", "a library that exits", "src/nn/b.cpp", HEAD + "void f() { exit(1); }\n"),
    ("style.py", "an assert", "src/nn/b.cpp", HEAD + "void f(int x) { assert(x > 0); }\n"),
    ("headers.py", "a header that needs another one first", "include/hanzo/nn/b.hpp", HEAD + "#pragma once\nstd::string s();\n"),
    ("headers.py", "a header without guard", "include/hanzo/nn/b.hpp", HEAD + "struct B {};\n"),
    ("headers.py", "a header with a warning", "include/hanzo/nn/b.hpp", HEAD + "#pragma once\ninline int f(long x) { return x; }\n"),
]
SHARED = "template <class T> __attribute__((noinline)) T twice(T x) { return x + x; }\n"


def tree(folder, replaced=None, text=None):
    for name, content in GOOD.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    if replaced:
        (folder / replaced).parent.mkdir(parents=True, exist_ok=True)
        (folder / replaced).write_text(text)


def run(script, folder, *more):
    command = [sys.executable, str(pathlib.Path(__file__).parent / script), "--root", str(folder), *more]
    return subprocess.run(command, capture_output=True, text=True)


def isa_library(folder, namespace):
    """A library hanzo_avx2 with one weak function in `namespace`."""
    source = folder / "unit.cpp"
    source.write_text(f"namespace {namespace} {{ {SHARED} }}\nint use(int x) {{ return {namespace}::twice(x); }}\n")
    subprocess.run(["c++", "-O2", "-c", str(source), "-o", str(folder / "unit.o")], check=True)
    subprocess.run(["ar", "rcs", str(folder / "libhanzo_avx2.a"), str(folder / "unit.o")], check=True)


def main():
    result = checks.Checks()
    compiler = next((c for c in ("g++", "clang++") if shutil.which(c)), "c++")
    options = {"headers.py": ["--compilers", compiler]}
    with tempfile.TemporaryDirectory() as temporary:
        base = pathlib.Path(temporary)
        tree(base / "good")
        for script in ("docs.py", "layers.py", "lists.py", "style.py", "headers.py"):
            out = run(script, base / "good", *options.get(script, []))
            result.case(f"{script} accepts a right tree", [out.stdout + out.stderr] if out.returncode else [])
        for number, (script, name, file, text) in enumerate(FAULTS):
            tree(base / str(number), file, text)
            out = run(script, base / str(number), *options.get(script, []))
            noticed = out.returncode == 1 and "FAIL" in out.stdout
            result.case(f"{script} notices {name}", [] if noticed else [f"exit {out.returncode}: {out.stdout}{out.stderr}"])
        for namespace, want in (("hz::avx2", 0), ("hz::shared", 1)):
            folder = base / namespace.replace(":", "_")
            folder.mkdir()
            isa_library(folder, namespace)
            out = run("isa_symbols.py", base / "good", "--build", str(folder))
            result.case(f"isa_symbols.py on a weak function in {namespace}",
                        [] if out.returncode == want else [f"exit {out.returncode}: {out.stdout}{out.stderr}"])
    result.finish()


if __name__ == "__main__":
    main()
