# SPDX-License-Identifier: Apache-2.0
"""Makes the reference cases of this folder: what jinja2, set up as Hugging Face transformers sets it up, renders of
our own templates and snippets. Needs jinja2 3.1 (pip install jinja2). Run: python3 make.py"""
import datetime
import hashlib
import json
import pathlib

import jinja2
from jinja2.ext import Extension, loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment

here = pathlib.Path(__file__).parent
NOW = datetime.datetime(2026, 3, 9, 14, 5, 7)


class Generation(Extension):
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_body"), [], [], body).set_lineno(line)

    def _body(self, caller):
        return caller()


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


env = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[Generation, loopcontrols])
env.filters["tojson"] = tojson
env.globals.update(raise_exception=raise_exception, strftime_now=lambda f: NOW.strftime(f))


def render(source, variables):
    variables = json.loads(json.dumps(variables))
    try:
        text = env.from_string(source).render(**variables)
        text.encode("utf-8")
        return {"expect": text}
    except Exception as e:  # noqa: BLE001  any failure is the expected result
        kind = "raise_exception" if type(e) is jinja2.exceptions.TemplateError else "runtime"
        if isinstance(e, jinja2.exceptions.TemplateSyntaxError):
            kind = "compile"
        return {"expect": "error", "error": {"kind": kind, "type": type(e).__name__, "message": str(e)}}


CONTEXT = {
    "who": "Bo", "n": 12, "x": 2.25, "yes": True, "nil": None, "empty": [], "blank": "",
    "words": ["pear", "Apple", "fig"], "nums": [4, 2, 9, 2], "map": {"b": [1], "a": {"c": None}, "Z": 0},
    "talk": [{"role": "user", "content": "one"}, {"role": "assistant", "content": "two"}, {"role": "user", "content": "three"}],
    "wide": "Straße ΑΣΟΣ 漢字 🙂", "odd": "q\"s's<t>&\\\n\t", "pairs": [["a", 1], ["b", 2]],
}

TOOL = {"type": "function", "function": {"name": "area", "description": "Area of a land", "parameters": {
    "type": "object", "properties": {"land": {"type": "string"}}, "required": ["land"]}}}
CALL = {"type": "function", "function": {"name": "area", "arguments": {"land": "Åland"}}}


def say(*turns):
    return [{"role": role, "content": content} for role, content in turns]


def conversation(messages, tools=None, prompt=True):
    return {"messages": messages, "tools": tools, "add_generation_prompt": prompt}


CONVERSATIONS = {
    "one": conversation(say(("user", "Hi <|im_end|>"))),
    "system": conversation(say(("system", "Be short."), ("user", "Why?"), ("assistant", "So."), ("user", "  And? "))),
    "closed": conversation(say(("user", "Why?"), ("assistant", "So."), ("user", "And?"), ("assistant", "Then.")), prompt=False),
    "tools": conversation(
        say(("user", "How large is Åland?"))
        + [{"role": "assistant", "content": "<think>\nlook it up\n</think>\n\n", "tool_calls": [CALL, CALL]}]
        + say(("tool", "1580"), ("tool", "\"km²\""), ("assistant", "1,580 km².")), [TOOL]),
    "thought": conversation(say(("user", "a"), ("assistant", "<think>\nb\n</think>\n\nc"), ("user", "d"), ("assistant", "<think>\ne\n</think>\nf")),
                            prompt=False),
    "parts": conversation([{"role": "user", "content": [{"type": "text", "text": "x"}, {"type": "image"}, {"type": "text", "text": "y"}]}]),
    "twice": conversation(say(("user", "a"), ("user", "b"))),
    "stranger": conversation(say(("user", "a"), ("judge", "b"))),
    "silent": conversation([]),
}
EXTRAS = [{}, {"enable_thinking": False}]
TOKENS = {"bos_token": "<s>", "eos_token": "</s>"}

UNITS = (here / "units.txt").read_text(encoding="utf-8").split("\n--\n")


def main():
    (here / "units_context.json").write_text(json.dumps(CONTEXT, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    (here / "conversations.json").write_text(json.dumps(CONVERSATIONS, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    dump = lambda rows: "".join(json.dumps(r, ensure_ascii=False) + "\n" for r in rows)
    units = [{"id": i, "template": t, **render(t, CONTEXT)} for i, t in enumerate(UNITS)]
    (here / "units.jsonl").write_text(dump(units), encoding="utf-8")
    cases, hashes = [], {}
    for path in sorted((here / "templates").glob("*.jinja")):
        source = path.read_text(encoding="utf-8")
        hashes[path.name] = hashlib.sha256(source.encode()).hexdigest()
        for name, c in CONVERSATIONS.items():
            for extra in EXTRAS:
                variables = {**c, "documents": None, **TOKENS, **extra}
                key = name if not extra else name + "+"
                cases.append({"template": path.name, "conv": name, "id": key, "extra": {**TOKENS, **extra}, **render(source, variables)})
    (here / "cases.jsonl").write_text(dump(cases), encoding="utf-8")
    manifest = {"tool": f"jinja2 {jinja2.__version__}, make.py", "strftime_now": NOW.isoformat(), "templates_sha256": hashes,
                "cases": len(cases), "units": len(units), "errors": sum("error" in r for r in cases + units)}
    (here / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
