# SPDX-License-Identifier: Apache-2.0
"""What the design tests share: reading the tree, counting cases, the closing line that scripts/test.sh sums."""
import argparse
import pathlib
import re
import sys

SOURCE_SUFFIXES = {".h", ".hpp", ".cpp", ".inc", ".cu", ".cuh", ".hip", ".comp", ".glsl"}


class Checks:
    """Counts cases; a case fails when any complaint was made while it ran."""

    def __init__(self):
        self.passed = self.failed = self.skipped = 0

    def case(self, name, complaints):
        complaints = list(complaints)
        if complaints:
            self.failed += 1
            print(f"FAIL {name}")
            for c in complaints:
                print(f"  {c}")
        else:
            self.passed += 1

    def skip(self, name, reason):
        self.skipped += 1
        print(f"skipped: {name}: {reason}")

    def finish(self):
        print(f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped")
        sys.exit(1 if self.failed or self.passed + self.skipped == 0 else 0)


def arguments(description, *more):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--root", type=pathlib.Path, required=True, help="the source tree")
    for names, options in more:
        parser.add_argument(*names, **options)
    args = parser.parse_args()
    args.root = args.root.resolve()
    return args


def sources(root, *folders):
    """Source files (templates for generated ones included) under the folders, as paths relative to root."""
    for folder in folders:
        for path in sorted((root / folder).rglob("*")):
            plain = path.with_suffix("") if path.suffix == ".in" else path
            if plain.suffix in SOURCE_SUFFIXES and path.is_file():
                yield path.relative_to(root)


def list_lines(path):
    """The lines of a list file, split into words; comments and empty lines left out."""
    lines = path.read_text().splitlines()
    return [line.split() for line in lines if line.strip() and not line.startswith("#")]


def includes(text):
    """(line number, '<' or '"', target) of each #include."""
    for number, line in enumerate(text.splitlines(), 1):
        match = re.match(r'\s*#\s*include\s*([<"])([^>"]+)[>"]', line)
        if match:
            yield number, match[1], match[2]
