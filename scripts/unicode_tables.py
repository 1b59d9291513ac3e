#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Prints src/text/jinja/unicode_tables.hpp from Python's Unicode database: what utf8proc does not know.
import unicodedata

CODES = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
category = lambda c: unicodedata.category(chr(c))


def ranges(codes):
    out = []
    for c in codes:
        if out and out[-1][1] == c - 1:
            out[-1][1] = c
        else:
            out.append([c, c])
    return out


def print_ranges(name, comment, codes):
    print(f"// {comment}")
    print(f"inline constexpr CodeRange {name}[] = {{")
    line = "   "
    for a, b in ranges(codes):
        item = f" {{0x{a:x}, 0x{b:x}}},"
        if len(line) + len(item) > 116:
            print(line)
            line = "   "
        line += item
    print(line)
    print("};\n")


def print_cases(name, comment, mapping):
    print(f"// {comment}")
    print(f"inline constexpr CaseRow {name}[] = {{")
    line = "   "
    for c in CODES:
        to = getattr(chr(c), mapping)()
        if len(to) == 1:
            continue
        item = " {0x%x, {%s}}," % (c, ", ".join(f"0x{ord(x):x}" for x in to))
        if len(line) + len(item) > 116:
            print(line)
            line = "   "
        line += item
    print(line)
    print("};\n")


print("// SPDX-License-Identifier: Apache-2.0")
print(f"// Unicode {unicodedata.unidata_version} properties that utf8proc lacks; printed by scripts/unicode_tables.py.")
print("#pragma once\n\nnamespace hz::text::jinja {\n")
print("struct CodeRange {\n  char32_t first, last;\n};")
print("struct CaseRow {\n  char32_t from, to[3];  // zero: unused\n};\n")
print_ranges("kDigits", "Digits that are not decimal (category Nd).",
             [c for c in CODES if chr(c).isdigit() and not chr(c).isdecimal()])
print_ranges("kNumerals", "Letters with a numeric value.",
             [c for c in CODES if chr(c).isnumeric() and category(c) not in ("Nd", "Nl", "No")])
print_ranges("kOtherUpper", "Uppercase beyond category Lu.",
             [c for c in CODES if chr(c).isupper() and category(c) != "Lu"])
print_ranges("kOtherLower", "Lowercase beyond category Ll.",
             [c for c in CODES if chr(c).islower() and category(c) != "Ll"])
print_cases("kUpper", "Upper case of more than one code point.", "upper")
print_cases("kTitle", "Title case of more than one code point.", "title")
print("}  // namespace hz::text::jinja")
