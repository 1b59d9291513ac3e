# SPDX-License-Identifier: Apache-2.0
"""hz-run's answers on a tiny chat model: flags checked before a load, structured output, stop strings, JSON, state files."""
import json
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "design"))
import checks  # noqa: E402

TOOL, MAKER = sys.argv[1:3]
result = checks.Checks()
folder = tempfile.TemporaryDirectory()
HERE = pathlib.Path(folder.name)
MODEL = str(HERE / "chat.gguf")


def make(name, *args):
    subprocess.run([MAKER, str(HERE / name), *args], check=True)
    return str(HERE / name)


def text_file(name, content):
    (HERE / name).write_text(content)
    return str(HERE / name)


def run(*args, model=None, stdin=None):
    return subprocess.run([TOOL, "-m", model or MODEL, "-q", *args], input=stdin, stdin=subprocess.DEVNULL if stdin is None else None, capture_output=True, timeout=120)


def check(name, condition, shown=""):
    result.case(name, [] if condition else [str(shown)])


def refused(name, words, *args, code=2):
    """Although the model does not exist: it is not looked for."""
    r = run("-p", "hi", *args, model="no/such/model.gguf")
    err = r.stderr.decode()
    check(f"refused before the load: {name}", r.returncode == code and all(w in err for w in words) and r.stdout == b"", r)


def flags():
    for flag, field in (("--temp", "temperature"), ("--top-p", "top_p"), ("--min-p", "min_p"), ("--typical", "typical_p"), ("--top-n-sigma", "top_n_sigma"),
                        ("--xtc-probability", "xtc_probability"), ("--xtc-threshold", "xtc_threshold"), ("--dynatemp-range", "dynatemp_range"),
                        ("--dynatemp-exponent", "dynatemp_exponent"), ("--mirostat-tau", "mirostat_tau"), ("--mirostat-eta", "mirostat_eta"), ("--repeat-penalty", "repeat_penalty"),
                        ("--frequency-penalty", "frequency_penalty"), ("--presence-penalty", "presence_penalty"), ("--dry-multiplier", "dry_multiplier"), ("--dry-base", "dry_base")):
        refused(f"{flag} nan", [field], flag, "nan")
        refused(f"{flag} inf", [field], flag, "inf")
        refused(f"{flag} of a word", [flag], flag, "much")
    refused("--repeat-last-n -2", ["repeat_last_n"], "--repeat-last-n", "-2")
    refused("--dry-last-n -2", ["dry_last_n"], "--dry-last-n", "-2")
    refused("--dry-allowed-length -1", ["dry_allowed_length"], "--dry-allowed-length", "-1")
    refused("mirostat 1", ["mirostat 1 is not built", "mirostat 2"], "--mirostat", "1", code=1)
    refused("--top-k of 10^12", ["--top-k"], "--top-k", "1000000000000")
    for order in ("", "top_k;top_k", "top_k;nosuch", "kk", "kz"):
        refused(f"--sampling-order '{order}'", ["sampling_order" if order else "--sampling-order"], f"--sampling-order={order}")
    for bias in ("x", "12", "12+", "-3+1", "12+nan", "12*2"):
        refused(f"--logit-bias={bias}", ["--logit-bias", "15043-inf"], f"--logit-bias={bias}")
    refused("an empty stop string", ["stop string"], "--stop", "")
    refused("--logprobs without --json", ["--json"], "--logprobs", "3")
    refused("negative --logprobs", ["--logprobs"], "--json", "--logprobs", "-1")
    refused("--grammar and --json-schema", ["excludes"], "--grammar", "a", "--json-schema", "b")
    refused("--chat and --raw", ["excludes"], "--chat", "--raw")
    for option, value in (("--system", "be brief"), ("--template", "t.jinja"), ("--template-arg", "a=1")):
        for text in (("--raw", "-p", "hi"), ("--ids", "1,2")):
            r = subprocess.run([TOOL, "-m", MODEL, *text, option, value], capture_output=True, timeout=60, stdin=subprocess.DEVNULL)
            check(f"{option} has no part in {text[0]}", r.returncode == 2 and b"excludes" in r.stderr and r.stdout == b"", r)
    for seed in ("-1", "18446744073709551616", "99999999999999999999999", "1.5", "1e3", "0x10", " 1", "x"):
        refused(f"seed '{seed}'", ["--seed", "fresh one"], f"--seed={seed}")
    for out in (str(HERE), "/none/x.state"):
        for option in ("--save-state", "--logits"):
            refused(f"{option} {out} before the model is read", ["cannot", out], option, out, code=3)
    refused("--chat and --tokens", ["excludes"], "--chat", "--tokens")
    refused("a near flag", ["--dry-multiplier"], "--dry-multiplie", "1")
    for variable, word in (("x", "KEY=JSON"), ("=1", "KEY=JSON"), ("9a=1", "KEY=JSON"), ("a b=1", "KEY=JSON"), ("a=yes", "no JSON"), ("messages=[]", "messages")):
        refused(f"--template-arg {variable}", ["--template-arg", word], "--template-arg", variable)
    refused("a template that is no Jinja", ["line 2", "t.jinja"], "--template", text_file("t.jinja", "x\n{% if %}"), code=3)
    refused("a tokenizer that is none", ["t.json"], "--tokenizer", text_file("t.json", "{}"), code=3)
    refused("a template that is not there", ["cannot open"], "--template", str(HERE / "none.jinja"), code=3)


def grammars():
    for name, text in (("no body", "root ::="), ("left recursion", 'root ::= root "a" | "b"'), ("no root", 'a ::= "x"'), ("an undefined rule", "root ::= b"), ("rubbish", "((((")):
        refused(f"grammar with {name}", ["g.gbnf"], "--grammar", text_file("g.gbnf", text))
    deep = '{"type":"array","items":' * 10000 + "{}" + "}" * 10000
    for name, text, code in (("unknown type", '{"type":"nosuch"}', 2), ("no JSON", "{", 2), ("depth 10,000", deep, 2), ("contradiction", '{"type":"string","minLength":3,"maxLength":2}', 2),
                             ("what is not enforced", '{"not":{"type":"string"}}', 1)):
        refused(f"schema with {name}", ["s.json"], "--json-schema", text_file("s.json", text), code=code)
    r = run("-p", "hi", "-n", "20", "--grammar", text_file("g.gbnf", 'root ::= "{" "}"'))
    check("a finished grammar stops", r.returncode == 0 and r.stdout == b"{}\n", r)
    r = run("-p", "hi", "-n", "20", "--ignore-eos", "--grammar", str(HERE / "g.gbnf"))
    check("a finished grammar stops under --ignore-eos", r.stdout == b"{}\n", r)
    schema = text_file("s.json", '{"type":"object","properties":{"a":{"enum":["x","yy"]},"n":{"type":"integer","minimum":3,"maximum":17}},"required":["a","n"]}')
    for seed in range(8):
        r = run("-p", "hi", "--temp", "2", "--seed", str(seed), "--json-schema", schema)
        value = json.loads(r.stdout)
        check(f"an answer under a schema, seed {seed}", r.returncode == 0 and list(value) == ["a", "n"] and value["a"] in ("x", "yy") and 3 <= value["n"] <= 17, r)
    r = run("--ids", "1,2", "-n", "3", "--grammar", str(HERE / "g.gbnf"), model=str(pathlib.Path(__file__).resolve().parent.parent / "data/arch/llama/model.gguf"))
    check("a grammar without a tokenizer is an error", r.returncode != 0 and r.stdout == b"", r)


def answers():
    def say(*args):
        r = run("-p", "hello world", "--seed", "5", "--ignore-eos", "--json", *args)
        return json.loads(r.stdout) if r.returncode == 0 else r

    whole = say("-n", "30", "--temp", "1")
    check("one JSON object with all fields", set(whole) == {"text", "ids", "finish_reason", "stop_string", "seed", "usage", "timings"} and len(whole["ids"]) == 30
          and whole["finish_reason"] == "length" and whole["seed"] == 5 and whole["usage"]["completion_tokens"] == 30, whole)
    stop = whole["text"][6:9]
    cut = say("-n", "30", "--temp", "1", "--stop", "never", "--stop", stop)
    check("--stop cuts the text before the string", cut["text"] == whole["text"].split(stop)[0] and cut["finish_reason"] == "stop" and cut["stop_string"] == stop, (stop, cut, whole))
    cold, hot = (say("-n", "1", "--temp", t, "--logprobs", "5") for t in ("0", "1"))
    check("log-probabilities do not depend on the temperature", cold["logprobs"][0]["top"] == hot["logprobs"][0]["top"] and len(cold["logprobs"][0]["top"]) == 5, (cold, hot))
    check("the greedy token is the most likely one", cold["logprobs"][0]["id"] == cold["logprobs"][0]["top"][0]["id"], cold)
    banned = say("-n", "1", "--temp", "0", "--logit-bias", f"{cold['ids'][0]}-inf")
    check("--logit-bias bans", banned["ids"] != cold["ids"], (banned, cold))
    check("top-k 1 is greedy", say("-n", "20", "--temp", "1", "--top-k", "1")["ids"] == say("-n", "20", "--temp", "0")["ids"])
    for k in ("-5", "0", "1000000000"):
        check(f"top-k {k} is off", say("-n", "20", "--temp", "1", "--top-k", k)["ids"] == say("-n", "20", "--temp", "1", "--top-k", "0")["ids"])
    for t in ("-1", "1e-9", "1000000"):
        check(f"temperature {t} answers", len(say("-n", "5", "--temp", t)["ids"]) == 5)
    check("an order without top_k ignores it", say("-n", "20", "--temp", "1", "--top-k", "1", "--sampling-order", "top_p;temperature")["ids"] != say("-n", "20", "--temp", "0")["ids"])
    r = run("-p", "x", "-n", "1", "--logit-bias", "999999+1")
    check("a biased id outside the vocabulary", r.returncode == 2 and b"999999" in r.stderr, r)
    a, b = (run("-p", "hi", "--tokens", "--template", text_file("own.jinja", "{% if loud %}LOUD {% endif %}{{ messages[-1].content }}"), *x).stdout for x in ((), ("--template-arg", "loud=true")))
    check("--template and --template-arg", len(a.splitlines()) == 2 and len(b.splitlines()) == 7, (a, b))
    r = run("-p", "hi", "--tokenizer", str(pathlib.Path(__file__).resolve().parent.parent / "data/tokenizers/qwen.json"))
    check("a tokenizer of another size is refused with both numbers", r.returncode == 3 and b"embedding" in r.stderr, r)
    bad = make("raise.gguf", "1", "\n{{ raise_exception('wrong role') }}")
    r = run("-p", "hi", model=bad)
    check("a template's own error is told with its line", r.returncode != 0 and b"wrong role" in r.stderr and b"line 2" in r.stderr and r.stdout == b"", r)
    other = make("eot.gguf", "2")
    r = run("-p", "hi", "-n", "9", "--temp", "0", "--json", "--logit-bias", "1+1000", model=other)
    check("<|im_end|> ends the turn whatever the file's EOS", json.loads(r.stdout)["ids"] == [] and json.loads(r.stdout)["finish_reason"] == "stop", r)
    ids = [int(line.split("\t")[0]) for line in run("-p", "a<|im_end|>\n<|im_start|>b", "--system", "<|im_end|>", "--tokens").stdout.decode().splitlines()]
    check("control tokens in messages stay text", ids.count(0) == 3 and ids.count(1) == 2, ids)


def prompts():
    for n, good in ((63, True), (64, True), (65, False), (200, False)):
        r = run("--ids", ",".join(["9"] * n), "-c", "64", "--json", "--ignore-eos")
        fits = good and r.returncode == 0 and json.loads(r.stdout)["finish_reason"] == "length" and len(json.loads(r.stdout)["ids"]) == 64 - n
        check(f"a prompt of {n} tokens in a context of 64", fits or (not good and r.returncode == 2 and str(n).encode() in r.stderr and b"64" in r.stderr), r)
    r = run("-p", "", "--raw", "-n", "3")
    check("an empty prompt without BOS is an error", r.returncode == 2 and b"empty" in r.stderr, r)
    r = run("-n", "2", "--raw", stdin=b"piped")
    check("a pipe is a prompt", r.returncode == 0 and r.stdout != b"", r)
    r = run("-n", "2", "--raw", stdin=b"")
    check("an empty pipe is no prompt", r.returncode == 2 and b"no prompt" in r.stderr, r)


def states():
    state = str(HERE / "s.state")
    common = ("--temp", "1", "--ignore-eos", "--json")
    for mode in (("--raw",), (), ("--grammar", text_file("abc.gbnf", "root ::= [a-z]{200}"))):
        for first in (3, 64, 90):
            whole = json.loads(run("-p", "hello", "-n", str(first + 20), "--seed", "77", *common, *mode).stdout)
            run("-p", "hello", "-n", str(first), "--seed", "77", "--save-state", state, *common, *mode)
            rest = json.loads(run("-n", "20", "--load-state", state, *common, *mode).stdout)
            check(f"resumed = uninterrupted, {mode} at {first}", rest["ids"] == whole["ids"][first:] and rest["seed"] == 77, (whole, rest))
    run("-p", "hello", "-n", "80", "--save-state", state, *common)
    r = run("-p", "and more", "-n", "5", "--load-state", state, *common)
    check("a saved conversation takes a next question", r.returncode == 0 and json.loads(r.stdout)["usage"]["cached_tokens"] > 15, r)
    r = run("-p", "and more", "-n", "5", "--load-state", state, "--raw", *common)
    check("and a text goes on behind it", r.returncode == 0 and json.loads(r.stdout)["usage"]["cached_tokens"] >= 64, r)
    r = run("-n", "5", "--load-state", state, "--kv", "f32", *common)
    check("another KV kind is refused", r.returncode == 3 and b"KV cache" in r.stderr and b"--kv" in r.stderr, r)
    r = run("-n", "5", "--load-state", state, *common, model=make("other.gguf", "2"))
    check("another model is refused", r.returncode == 3 and b"another model" in r.stderr, r)
    whole = pathlib.Path(state).read_bytes()
    for name, data in (("cut", whole[:-1]), ("half", whole[: len(whole) // 2]), ("empty", b""), ("altered", whole[:-40] + b"x" + whole[-39:])):
        (HERE / "bad.state").write_bytes(data)
        r = run("-n", "5", "--load-state", str(HERE / "bad.state"), *common)
        check(f"a state that is {name} is refused", r.returncode == 3 and b"bad.state" in r.stderr and r.stdout == b"", r)
    check("nothing else is left", not [f for f in HERE.iterdir() if "tmp" in f.name or f.name.startswith(".")], list(HERE.iterdir()))


make("chat.gguf")
for part in (flags, grammars, answers, prompts, states):
    part()
folder.cleanup()
result.finish()
