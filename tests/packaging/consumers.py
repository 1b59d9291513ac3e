# SPDX-License-Identifier: Apache-2.0
"""An installed hanzo is found and used by a Makefile (pkg-config), CMake and Meson, shared and static, after it
was moved; and by Meson as a subproject."""
import argparse
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "design"))
import checks  # noqa: E402

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--root", type=pathlib.Path, required=True)
parser.add_argument("--build", type=pathlib.Path, required=True)
parser.add_argument("--prefix", required=True)
parser.add_argument("--compile-subproject", action="store_true", help="compile the library once more, as a subproject")
args = parser.parse_args()
args.root, args.build = args.root.resolve(), args.build.resolve()
result = checks.Checks()


class Failed(Exception):
    pass


def call(*command, cwd=None, **env):
    run = subprocess.run([str(c) for c in command], cwd=cwd, env=os.environ | env, capture_output=True, text=True)
    if run.returncode != 0:
        raise Failed(f"{' '.join(map(str, command))} exits with {run.returncode}:\n{run.stdout[-2000:]}{run.stderr[-4000:]}")
    return run.stdout


def case(name, action):
    try:
        result.case(name, action() or [])
    except Failed as failure:
        result.case(name, [str(failure)])


def installed(folder):
    """Installs into a folder and moves the tree, as a package manager or a user would."""
    call("meson", "install", "-C", args.build, "--no-rebuild", "--quiet", "--destdir", folder / "stage")
    prefix = folder / "moved here"
    shutil.move(folder / "stage" / args.prefix.lstrip("/"), prefix)
    return prefix


def header_complaints(prefix):
    have = {str(p.relative_to(prefix / "include")) for p in (prefix / "include/hanzo").rglob("*") if p.is_file()}
    want = set()
    for p in (args.root / "include").rglob("*"):
        if p.name.endswith((".hpp", ".h", ".hpp.in", ".h.in")):
            want.add(str(p.relative_to(args.root / "include")).removesuffix(".in"))
    yield from (f"not installed: {h}" for h in sorted(want - have))
    yield from (f"should not be installed: {h}" for h in sorted(have - want))


def consumer(folder, kind):
    copy = folder / kind
    shutil.copytree(args.root / "examples/consumer", copy)
    return copy


def answer_complaints(program, libdir):
    text = call(program, LD_LIBRARY_PATH=str(libdir))
    if not text.startswith("hanzo ") or "Q8_0: 544 bytes for 2048" not in text:
        yield f"unexpected output: {text!r}"


def with_make(folder, libdir, static):
    copy = consumer(folder, "make")
    call("make", f"PKG_CONFIG=pkg-config{' --static' if static else ''}", cwd=copy, PKG_CONFIG_PATH=str(libdir / "pkgconfig"))
    return answer_complaints(copy / "consumer", libdir)


def with_cmake(folder, libdir, prefix):
    copy = consumer(folder, "cmake")
    call("cmake", "-S", copy, "-B", copy / "b", f"-DCMAKE_PREFIX_PATH={prefix}")
    call("cmake", "--build", copy / "b")
    return answer_complaints(copy / "b/consumer", libdir)


def examples(folder, libdir, static):
    """Every example builds with the compiler and pkg-config alone; the one that needs no model runs."""
    env = {"PKG_CONFIG_PATH": str(libdir / "pkgconfig")}
    flags = call("pkg-config", "--cflags", "--libs", *(["--static"] if static else []), "hanzo", "fmt", **env).split()
    out = folder / "examples"
    out.mkdir()
    for source in sorted((args.root / "examples").glob("*.cpp")):
        call(os.environ.get("CXX", "c++"), "-std=c++20", source, "-o", out / source.stem, *shlex.split(" ".join(flags)))
    call(out / "custom_op", LD_LIBRARY_PATH=str(libdir))
    return []


def refused_version(folder, prefix):
    copy = consumer(folder, "cmake-version")
    text = (copy / "CMakeLists.txt").read_text().replace("hanzo 0.1", "hanzo 0.2")
    (copy / "CMakeLists.txt").write_text(text)
    try:
        call("cmake", "-S", copy, "-B", copy / "b", f"-DCMAKE_PREFIX_PATH={prefix}")
    except Failed:
        return []
    return ["find_package(hanzo 0.2) accepts version 0.1"]


def with_meson(folder, libdir):
    copy = consumer(folder, "meson")
    call("meson", "setup", copy / "b", copy, "--wrap-mode=nofallback", PKG_CONFIG_PATH=str(libdir / "pkgconfig"))
    call("ninja", "-C", copy / "b")
    return answer_complaints(copy / "b/consumer", libdir)


def as_subproject(folder):
    copy = consumer(folder, "subproject")
    (copy / "subprojects").mkdir()
    (copy / "subprojects/hanzo").symlink_to(args.root, target_is_directory=True)
    call("meson", "setup", copy / "b", copy, "--force-fallback-for=hanzo")
    targets = call("meson", "introspect", "--targets", copy / "b")
    if "hz-run" in targets or "hanzo-tests" in targets:
        yield "the subproject builds tools or tests"
    if args.compile_subproject:
        call("ninja", "-C", copy / "b")
        yield from answer_complaints(copy / "b/consumer", copy)


def uses(folder, prefix, static):
    libdir = next(prefix.rglob("hanzo.pc")).parent.parent
    kind = "static" if static else "shared"
    if static:
        for library in libdir.glob("libhanzo.so*"):
            library.unlink()
    folder = folder / kind
    folder.mkdir()
    case(f"a Makefile uses the {kind} library", lambda: with_make(folder, libdir, static))
    case(f"the examples build against the {kind} library", lambda: examples(folder, libdir, static))
    for tool, name, action in (("cmake", "CMake", lambda: with_cmake(folder, libdir, prefix)),
                               ("ninja", "Meson", lambda: with_meson(folder, libdir))):
        if shutil.which(tool):
            case(f"{name} uses the {kind} library", action)
        else:
            result.skip(f"{name} uses the {kind} library", f"{tool} is not here")


def main():
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        prefix = installed(folder)
        case("exactly the public headers are installed", lambda: header_complaints(prefix))
        for tool in sorted((prefix / "bin").glob("hz-*")):
            case(f"the installed {tool.name} runs", lambda: [] if call(tool, "--version").startswith(tool.name) else ["no version"])
        if list(prefix.rglob("libhanzo.so")):
            uses(folder, prefix, static=False)
        else:
            result.skip("the shared library", "this build has none (-Ddefault_library=both)")
        if list(prefix.rglob("libhanzo.a")):
            uses(folder, prefix, static=True)
        if shutil.which("cmake"):
            case("CMake refuses another minor version", lambda: refused_version(folder, prefix))
        case("Meson takes hanzo as a subproject", lambda: as_subproject(folder))
    result.finish()


main()
