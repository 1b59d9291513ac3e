# SPDX-License-Identifier: Apache-2.0
"""make_corpus.py FUZZ_SEEDS: writes the seeds of tests/fuzz/corpus anew (names seed-*); what fuzzing found stays."""
import json
import pathlib
import subprocess
import sys

CORPUS = pathlib.Path(__file__).resolve().parent / "corpus"

TEMPLATES = [
    "{% for m in messages %}<|{{ m.role }}|>{{ m['content'] | trim }}{{ eos_token }}\n{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}",
    "{%- set ns = namespace(n=0) -%}{%- for m in messages if m.role != 'system' -%}{%- set ns.n = ns.n + 1 -%}{{ ns.n }}:{{ m.content[:3] | upper }}{{ loop.index0 }}{%- endfor -%}",
    "{% macro show(x, y='d') %}[{{ x }}|{{ y }}]{% endmacro %}{{ show(1) }}{{ show('a', y={'k': [1, 2.5, none]}) | tojson }}",
    "{% for m in messages %}{% if m.role == 'assistant' %}{% generation %}{{ m.content }}{% endgeneration %}{% else %}{{ m.content }}{% endif %}{% endfor %}",
    "{{ tools | tojson(indent=2) }}{{ messages | map(attribute='role') | join(',') }}{{ 'x' ~ 3 // 2 ~ 7 % 4 ~ (2 ** 5) }}",
    "{% for i in range(5) %}{% if i is even %}{% continue %}{% endif %}{% if i > 3 %}{% break %}{% endif %}{{ i }}{% endfor %}{{ '%s-%d' | format('a', 3) }}",
    "{{ raise_exception('no ' + messages[0].role) }}",
    "{{ strftime_now('%Y-%m-%d') }}{{ messages | selectattr('role', 'equalto', 'user') | list | length }}{{ 'a-b'.split('-')[::-1] }}{{ messages[0] | dictsort }}",
]
GRAMMARS = [
    'root ::= "a" | "b" root',
    'root ::= object\nobject ::= "{" ws (pair ("," ws pair)*)? "}" ws\npair ::= string ":" ws value\nvalue ::= object | string | number\n'
    'string ::= "\\"" [^"\\\\]* "\\"" ws\nnumber ::= "-"? [0-9]+ ws\nws ::= [ \\t\\n]*',
    'root ::= [a-z]{2,4} "." [^\\x00-\\x1f]? # comment\n',
    'root ::= ("h" "e"? | [\\u00e9-\\u00ff])+ "\\n"',
    'root ::= root "x"',
]
SCHEMAS = [
    {"type": "object", "properties": {"name": {"type": "string", "maxLength": 8}, "age": {"type": "integer", "minimum": 0, "maximum": 150}}, "required": ["name"]},
    {"type": "array", "items": {"anyOf": [{"type": "boolean"}, {"type": "null"}, {"const": [1, "a"]}]}, "minItems": 1, "maxItems": 3},
    {"$defs": {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}, "additionalProperties": False}}, "$ref": "#/$defs/node"},
    {"enum": ["red", 1, 2.5, None, {"a": []}]},
    {"type": "string", "pattern": "^[a-c]{1,3}(-[0-9]+)?$"},
    {"type": "number", "exclusiveMinimum": -1.5, "multipleOf": 1},
    {"allOf": [{"type": "object"}, {"required": ["x"]}], "properties": {"x": {"type": "string", "format": "date"}}},
]
# Format, then a file of data: a line a row.
CALL = {"role": "assistant", "content": None, "tool_calls": [{"type": "function", "function": {"name": "f", "arguments": "{\"x\": [1, 2]}"}}]}
ROWS = [
    (0, [{"text": "hello world"}, {"text": "it's \u00e9\u4e2d"}]),
    (0, [{"messages": [{"role": "system", "content": "be"}, {"role": "user", "content": "hi"}, {"role": "assistant", "content": "yo", "weight": 0},
                       {"role": "user", "content": "go"}, CALL, {"role": "tool", "content": "7"}, {"role": "assistant", "content": "7"}],
          "tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {"x": {"type": "array"}}}}}]}]),
    (0, [{"messages": [{"role": "user", "content": [{"type": "text", "text": "a"}]}, {"role": "assistant", "content": "b", "train": True}], "tools": "[]"}]),
    (0, [{"prompt": "2 + 2 =", "completion": " 4"}, {"prompt": [{"role": "user", "content": "q"}], "completion": [{"role": "assistant", "content": "a"}]}]),
    (0, [{"instruction": "add", "input": "2 2", "output": "4"}, {"instruction": "say", "input": None, "output": "yes"}]),
    (0, [{"conversations": [{"from": "human", "value": "hi"}, {"from": "gpt", "value": "yo"}], "tools": None}]),
    (32, [{"input_ids": [4, 5, 6, 7], "labels": [-100, 5, 6, 7]}, {"input_ids": [9, 10]}]),
    (8, [{"text": "a long row that is cut after a dozen tokens, and said so"}, {"text": ""}]),
    (0, [{"messages": [{"role": "user", "content": [{"type": 1, "text": "a"}]}, {"role": "assistant", "content": "b"}]}, {"text": "good"}]),
    (64, [{"text": "x" * 200}, {"text": "short"}]),
]
TEXTS = ["hello world", "it's 3333+777 \u00e9\u0301 \u4e2d\u6587 \U0001f468\u200d\U0001f469", "aaaaaaaaaaaaaaaa\n\n\n   \t\r\n", "<|im_start|>user</s>"]


def write(target, name, data):
    folder = CORPUS / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"seed-{name}").write_bytes(data)


def main():
    for i, text in enumerate(TEMPLATES):
        write("template", f"{i}", text.encode() + b"\0" + TEXTS[i % len(TEXTS)].encode())
    for i, text in enumerate(GRAMMARS):
        write("grammar", f"gbnf-{i}", b"\0" + text.encode() + b"\0" + bytes(range(40)))
    for i, schema in enumerate(SCHEMAS):
        write("grammar", f"schema-{i}", b"\1" + json.dumps(schema).encode() + b"\0" + bytes(range(7, 60)))
    for i, text in enumerate(TEXTS):
        for kind in (0, 3, 9, 20, 40, 58, 59, 60, 61):
            write("tokenizer", f"text-{kind}-{i}", bytes([kind]) + text.encode())
    for file in sorted((CORPUS.parent.parent / "data" / "tokenizers").glob("*.json")):
        write("tokenizer", f"json-{file.stem}", b"\xff" + file.read_bytes() + b"\0" + TEXTS[1].encode())
    for i, (choice, rows) in enumerate(ROWS):
        write("jsonl", f"lines-{i}", bytes([choice]) + "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode())
        write("jsonl", f"array-{i}", bytes([choice]) + json.dumps(rows, indent=1).encode())
    write("jsonl", "plain", b"\7one line\n\nand another\r\n")
    write("jsonl", "marked", b"\0\xef\xbb\xbf" + json.dumps({"text": "after a mark"}).encode())
    for target in ("adapter", "gguf", "imatrix", "safetensors"):
        (CORPUS / target).mkdir(parents=True, exist_ok=True)
    subprocess.run([sys.argv[1], CORPUS], check=True)


main()
