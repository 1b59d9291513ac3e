# SPDX-License-Identifier: Apache-2.0
"""The pages keep to the code: links and named paths exist, the README's example is the one that is built and run."""
import re
import subprocess

import checks

FOLDERS = ("include", "src", "kernels", "tools", "tests", "examples", "bench", "docs", "scripts", ".ci")


def pages(root):
    found = subprocess.run(["git", "-C", str(root), "ls-files", "*.md"], capture_output=True, text=True)
    names = found.stdout.split() if found.returncode == 0 else []
    return [root / n for n in names] or sorted(root.glob("*.md")) + sorted(root.glob("docs/*.md"))


def path_complaints(root, page):
    text = page.read_text()
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text):
        if "://" not in target and not (page.parent / target).exists():
            yield f"{page.relative_to(root)}: link to {target}, which is not there"
    for named in re.findall(r"`([\w./-]+)`", text):
        if named.startswith(tuple(f + "/" for f in FOLDERS)) and not (root / named).exists():
            yield f"{page.relative_to(root)}: names {named}, which is not there"


def word_complaints(root, page):
    """`tests/a_test.cpp` "words": the words of a test's name that stand in that file."""
    for named, words in re.findall(r'`(tests/[\w./-]+)`((?:,? "[^"]+")+)', page.read_text()):
        file = root / named
        source = file.read_text() if file.is_file() else ""
        for phrase in re.findall(r'"([^"]+)"', words):
            if phrase not in source:
                yield f'{page.relative_to(root)}: "{phrase}" is not in {named}'


def example_complaints(root):
    code = re.search(r"```cpp\n(.*?)```", (root / "README.md").read_text(), re.S)
    example = (root / "examples/generate.cpp").read_text().split("\n", 2)[2]  # without the licence and purpose lines
    if not code or code[1] != example:
        yield "README.md: the first ```cpp block is not examples/generate.cpp"


def main():
    args = checks.arguments(__doc__)
    result = checks.Checks()
    for page in pages(args.root):
        result.case(f"{page.relative_to(args.root)} names only what is there",
                    [*path_complaints(args.root, page), *word_complaints(args.root, page)])
    result.case("the README's example is built and run", example_complaints(args.root))
    result.finish()


if __name__ == "__main__":
    main()
