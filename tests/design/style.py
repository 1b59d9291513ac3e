# SPDX-License-Identifier: Apache-2.0
"""Files say what they are and stay small: an SPDX line, a line of purpose, at most 500 lines (tables excepted) of at most
140 columns (raw strings excepted); the library neither prints nor ends the process; no machine's paths."""
import re

import checks

MAX_LINES = 500
MAX_COLUMNS = 140
ENDS_OR_SPEAKS = re.compile(r"(?<![\w.:>])(?:std::)?(?:abort|exit|_exit|quick_exit|terminate|assert|printf|puts|perror)\s*\(|std::c(?:out|err)\b")


def is_table(file):
    return "table" in file.stem or "grid" in file.stem


def head_complaints(file, lines):
    if not lines or "SPDX-License-Identifier: Apache-2.0" not in lines[0]:
        yield f"{file}: the first line is not the SPDX line"
    elif len(lines) < 2 or not re.match(r"(//|#|\"\"\"|/\*)\s*\S", lines[1]):
        yield f"{file}: the second line does not say what the file is"


def wide_lines(text):
    """Numbers of the lines that are too wide, but for those of raw strings."""
    raw = set()
    for match in re.finditer(r'R"(\w*)\(.*?\)\1"', text, flags=re.S):
        raw.update(range(text.count("\n", 0, match.start()) + 1, text.count("\n", 0, match.end()) + 2))
    return [n for n, line in enumerate(text.splitlines(), 1) if len(line) > MAX_COLUMNS and n not in raw]


def without_comments_and_strings(text):
    text = re.sub(r'"(?:[^"\\\n]|\\.)*"', '""', text)
    return re.sub(r"//[^\n]*|/\*.*?\*/", lambda m: "\n" * m[0].count("\n"), text, flags=re.S)


def main():
    args = checks.arguments(__doc__)
    result = checks.Checks()
    heads, sizes, wide, speaking, paths = [], [], [], [], []
    for file in checks.sources(args.root, "include", "src", "kernels", "tools", "tests", "bench", "examples"):
        text = (args.root / file).read_text()
        lines = text.splitlines()
        heads += head_complaints(file, lines)
        if len(lines) > MAX_LINES and not is_table(file):
            sizes.append(f"{file}: {len(lines)} lines, at most {MAX_LINES} (tables are named *table* or *grid*)")
        if not is_table(file) and "points" not in file.stem:
            wide += [f"{file}:{n}: over {MAX_COLUMNS} columns" for n in wide_lines(text)]
        if file.parts[0] in ("include", "src", "kernels"):
            for number, line in enumerate(without_comments_and_strings(text).splitlines(), 1):
                if ENDS_OR_SPEAKS.search(line):
                    speaking.append(f"{file}:{number}: {line.strip()}")
        for number, line in enumerate(lines, 1):
            if re.search(r'"/(?:work|root|home)/', line):
                paths.append(f"{file}:{number}: {line.strip()}")
    result.case("every source says its licence and purpose", heads)
    result.case(f"no source is over {MAX_LINES} lines", sizes)
    result.case(f"no line is over {MAX_COLUMNS} columns", wide)
    result.case("the library neither prints nor ends the process", speaking)
    result.case("no source names a machine's folder", paths)
    result.finish()


if __name__ == "__main__":
    main()
