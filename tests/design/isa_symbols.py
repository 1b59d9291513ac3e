# SPDX-License-Identifier: Apache-2.0
"""Code compiled for one instruction set is never shared: in the libraries hanzo_<isa> every weak function
lies in the unit's own namespace, or the linker could keep the AVX-512 copy of a function that all call."""
import pathlib
import re
import shutil
import subprocess

import checks


def weak_functions(library):
    run = subprocess.run(["nm", "-C", "--defined-only", str(library)], capture_output=True, text=True, check=True)
    # "0000000000000000 W name": W is a weak function or untyped weak symbol, V weak data, which is not code.
    return [m[1] for m in re.finditer(r"^[0-9a-f]+ [Ww] (.+)$", run.stdout, re.M)]


def complaints(library, isa):
    own = re.compile(rf"\b{re.escape(isa)}::")
    for name in weak_functions(library):
        if not own.search(name):
            yield f"{library.name}: weak function outside namespace {isa}: {name}"


def main():
    args = checks.arguments(__doc__, (["--build"], {"type": pathlib.Path, "required": True}),
                            (["--optimization"], {"default": "3"}))
    result = checks.Checks()
    libraries = sorted(args.build.rglob("libhanzo_*.a"))
    if shutil.which("nm") is None:
        result.skip("instruction-set units", "nm is not here")
    elif args.optimization not in ("2", "3", "s"):
        result.skip("instruction-set units", f"at -O{args.optimization} nothing is inlined, as no release is built")
    else:
        for library in libraries:
            isa = re.match(r"libhanzo_(.+)\.a", library.name)[1]
            result.case(f"{library.name} shares no code", complaints(library, isa))
        if not libraries:
            expected = (args.root / "kernels/cpu").is_dir()
            if expected:
                result.case("instruction-set units", ["kernels/cpu is there, but no libhanzo_<isa>.a was built"])
            else:
                result.skip("instruction-set units", "no kernels yet")
    result.finish()


if __name__ == "__main__":
    main()
