# SPDX-License-Identifier: Apache-2.0
"""The lists equal the folders: formats, backends, architectures, tools, conformance groups; and every
source file is compiled by the build."""
import json
import pathlib
import re

import checks


def named_files(root, folder, pattern="*.cpp"):
    return {p.stem for p in (root / folder).glob(pattern)}


def duplicates(names):
    return sorted({n for n in names if names.count(n) > 1})


def format_complaints(root):
    """Each format's header exists and defines it; each format that a header defines is listed."""
    folder = root / "include/hanzo/quant/format"
    lines = checks.list_lines(folder.parent / "formats.list")
    for d in duplicates([line[0] for line in lines]) + duplicates([line[1] for line in lines]):
        yield f"formats.list: {d} stands twice"
    defined = {}
    for header in sorted(folder.glob("*.h")):
        for chunk in re.split(r"^(?=struct \w+ )", header.read_text(), flags=re.M)[1:]:
            if re.search(r"static constexpr int kElems\b", chunk):
                defined[re.match(r"struct (\w+)", chunk)[1]] = header.name
    for line in lines:
        if len(line) != 3:
            yield f"formats.list: '{' '.join(line)}' is not: name number header"
        elif defined.get(line[0]) != line[2]:
            yield f"formats.list: {line[0]} should be defined in format/{line[2]}, found in {defined.get(line[0], 'no header')}"
    for name, header in defined.items():
        if name not in [line[0] for line in lines]:
            yield f"format/{header} defines {name}, which formats.list does not name"


def equal_complaints(listed, present, list_name, folder):
    for d in duplicates(listed):
        yield f"{list_name}: {d} stands twice"
    for name in sorted(set(listed) - present):
        yield f"{list_name} names {name}, {folder} has no such file"
    for name in sorted(present - set(listed)):
        yield f"{folder} has {name}, {list_name} does not name it"


def compiled_complaints(root, build):
    """Sources that no target compiles are dead or forgotten. Device code of optional backends is built elsewhere."""
    optional = ("src/backend/vulkan", "src/backend/cuda", "src/backend/hip", "kernels/gpu", "kernels/vulkan", "tests/fuzz")
    compiled = set()
    for entry in json.loads((build / "compile_commands.json").read_text()):
        compiled.add((build / entry["directory"] / entry["file"]).resolve())
    for file in checks.sources(root, "src", "kernels", "tools", "tests"):
        if file.suffix == ".cpp" and not str(file).startswith(optional) and (root / file).resolve() not in compiled:
            yield f"{file}: compiled by no target"


def umbrella_complaints(root):
    """hanzo.hpp reaches every public header but interop's, which need third parties' headers."""
    folder = root / "include"
    reached, waiting = set(), ["hanzo/hanzo.hpp"]
    while waiting:
        name = waiting.pop()
        path = folder / name if (folder / name).exists() else folder / f"{name}.in"
        if name not in reached and path.exists():
            reached.add(name)
            waiting += [target for _, _, target in checks.includes(path.read_text())]
    for header in sorted(p for p in (folder / "hanzo").glob("*/*") if p.name.endswith((".hpp", ".hpp.in"))):
        name = f"hanzo/{header.parent.name}/{header.name.removesuffix('.in')}"
        if header.parent.name != "interop" and name not in reached:
            yield f"hanzo.hpp does not reach {name}"


def main():
    args = checks.arguments(__doc__, (["--build"], {"type": pathlib.Path}), (["--all-built"], {"action": "store_true"}))
    root = args.root
    result = checks.Checks()
    result.case("formats.list equals include/hanzo/quant/format", format_complaints(root))
    for list_name, folder, present in (
        ("src/backend/backends.list", "src/backend", {p.parent.name for p in (root / "src/backend").glob("*/meson.build")}),
        ("src/model/archs.list", "src/model/arch", named_files(root, "src/model/arch")),
        ("tests/fuzz/targets.list", "tests/fuzz", named_files(root, "tests/fuzz") - {"seeds"}),
        ("tools/tools.list", "tools", {t.replace("hz_", "hz-") for t in named_files(root, "tools", "hz*.cpp")}),
    ):
        path = root / list_name
        if path.exists():
            listed = [line[0] for line in checks.list_lines(path)]
            present -= {word.removesuffix(".cpp") for line in checks.list_lines(path) for word in line[1:]}  # further sources
            if list_name.startswith("tools/"):  # a tool may be listed before it is written; meson says which are built
                present |= {t for t in listed if not (root / "tools" / f"{t}.cpp").exists()}
            result.case(f"{list_name} equals {folder}", equal_complaints(listed, present, list_name, folder))
        elif present:
            result.case(f"{list_name} equals {folder}", [f"{folder} has {sorted(present)}, but there is no {list_name}"])
        else:
            result.skip(list_name, f"{folder} is not there yet")
    encoders = named_files(root, "src/quant/encode")
    formats = {line[0] for line in checks.list_lines(root / "include/hanzo/quant/formats.list")}
    build_text = (root / "src/quant/meson.build").read_text()
    result.case("every encoder belongs to a format", (f"src/quant/encode/{e}.cpp: no format {e} and not named in src/quant/meson.build"
                                                      for e in sorted(encoders - formats) if f"{e}.cpp" not in build_text))
    result.case("hanzo.hpp reaches every public header", umbrella_complaints(root))
    if args.build and args.all_built:
        result.case("every source is compiled", compiled_complaints(root, args.build))
    elif args.build:
        result.skip("every source is compiled", "this build leaves out the tests")
    result.finish()


if __name__ == "__main__":
    main()
