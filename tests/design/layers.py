# SPDX-License-Identifier: Apache-2.0
"""Folders include only leftwards: core, quant, io, backend, ... (docs/design.md, rule 4).

A file belongs to the room of its second folder (include/hanzo/<room>/, src/<room>/); kernels/ is the
backends' device code. Tools and examples see the library through <hanzo/...> alone."""
import pathlib

import checks

ORDER = ["core", "quant", "io", "backend", "autograd", "ops", "nn", "text", "model", "engine", "train"]
LEFT = {room: set(ORDER[: i + 1]) for i, room in enumerate(ORDER)}
LEFT["kernels"] = LEFT["backend"] | {"kernels"}   # device code of the backends
LEFT["backend"] = LEFT["backend"] | {"kernels"}
LEFT["interop"] = {"core", "quant", "interop"}    # and nothing includes it
PROJECT = {"hanzo", "src", "kernels", "tools", "tests", "bench", "examples"}


def room_of(path):
    """The room of a project path such as src/io/gguf.cpp or hanzo/io/gguf.hpp; None for the umbrella header."""
    parts = pathlib.PurePosixPath(path).parts
    if parts[0] == "include":
        parts = parts[1:]
    if parts[0] == "kernels":
        return "kernels"
    return parts[1] if len(parts) > 2 else None


def resolve(root, file, target):
    """A quoted include as a project path: from the root (or include/), else beside the including file."""
    if target.split("/")[0] in PROJECT:
        return target
    beside = (file.parent / target)
    parts = []
    for part in beside.parts:
        if part == "..":
            parts.pop()
        else:
            parts.append(part)
    path = pathlib.PurePosixPath(*parts)
    return str(path) if (root / path).exists() or (root / (str(path) + ".in")).exists() else None


def library_complaints(root, file, text):
    room = room_of(file)
    if room is None:
        if file != pathlib.PurePath("include/hanzo/hanzo.hpp"):  # the umbrella
            yield f"{file}: lies in no room"
        return
    if room not in LEFT:
        yield f"{file}: '{room}' is no room of the design ({', '.join(LEFT)})"
        return
    for line, kind, target in checks.includes(text):
        project = target.split("/")[0] in PROJECT
        if kind == "<" and not project:
            continue
        path = target if project else resolve(root, file, target)
        where = f"{file}:{line}: includes {target}"
        if path is None:
            yield f"{where}, which is not in the project (third-party headers go in <>)"
        elif path.split("/")[0] in {"tools", "tests", "bench", "examples"}:
            yield f"{where}: the library knows nothing of {path.split('/')[0]}"
        elif room_of(path) is None:
            yield f"{where}: the umbrella header is for users"
        elif room_of(path) not in LEFT[room]:
            yield f"{where}: {room} may include only {', '.join(r for r in LEFT if r in LEFT[room])}"
        elif str(file).startswith("include/") and not path.startswith(("hanzo/", "include/hanzo/")):
            yield f"{where}: a public header needs only public headers"


def user_complaints(root, file, text):
    """Tools and examples: <hanzo/...>, their own files, the standard library and third parties."""
    for line, kind, target in checks.includes(text):
        top = target.split("/")[0]
        where = f"{file}:{line}: includes {target}"
        if top == "hanzo":
            if kind != "<":
                yield f"{where}: write <{target}>, as a user does"
        elif kind == '"' and top not in PROJECT and resolve(root, file, target) is not None:
            continue
        elif top == "tools" and str(file).startswith("tools/"):
            continue
        elif top in PROJECT or kind == '"':
            yield f"{where}: tools and examples see only <hanzo/...>"


def main():
    args = checks.arguments(__doc__)
    result = checks.Checks()
    rooms = {}
    for file in checks.sources(args.root, "include", "src", "kernels"):
        text = (args.root / file).read_text()
        rooms.setdefault(room_of(file) or "hanzo.hpp", []).extend(library_complaints(args.root, file, text))
    for room, complaints in rooms.items():
        result.case(f"{room} includes only to its left", complaints)
    for folder in ("tools", "examples"):
        complaints = []
        for file in checks.sources(args.root, folder):
            complaints += user_complaints(args.root, file, (args.root / file).read_text())
        if (args.root / folder).is_dir():
            result.case(f"{folder} use the library as its users do", complaints)
    result.finish()


if __name__ == "__main__":
    main()
