# SPDX-License-Identifier: Apache-2.0
"""hz-train as a program, on a tiny chat model: data shown as trained, runs, Ctrl-C, kill -9, resuming, configuration."""
import hashlib
import json
import os
import pathlib
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "design"))
import checks  # noqa: E402

TOOL, MAKE_MODEL = sys.argv[1:3]
KILLS = int(os.environ.get("HANZO_KILLS", "12"))
result = checks.Checks()


def check(name, condition, shown=""):
    result.case(name, [] if condition else [str(shown)[:3000]])


def run(*args):
    return subprocess.run([TOOL, *map(str, args)], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300)


def talk(i):
    return {"messages": [{"role": "user", "content": f"hello {i % 5}"}, {"role": "assistant", "content": f"world {i % 5}"}]}


def adapter(folder):
    return [hashlib.sha256((folder / n).read_bytes()).hexdigest() for n in ("adapter_model.safetensors", "adapter_config.json")]


with tempfile.TemporaryDirectory() as name:
    home = pathlib.Path(name)
    model, data = home / "m.gguf", home / "d.jsonl"
    subprocess.run([MAKE_MODEL, model], check=True)
    data.write_text("".join(json.dumps(talk(i)) + "\n" for i in range(20)))
    common = ["-m", model, "--data", data, "--rank", 4, "--lr", "0.01", "--epochs", 6, "--accumulate", 2, "--micro-batch", 2, "--ctx", 64, "--seed", 3, "--dropout", "0.1"]

    # data
    r = run("inspect", "-m", model, "--data", data)
    check("inspect marks what is trained", "<|im_start|>assistant\n[[world 0<|im_end|>]]" in r.stdout and r.returncode == 0, r)
    r = run("inspect", "-m", model, "--data", data, "--json", "-n", 1)
    lines = [json.loads(x) for x in r.stdout.splitlines()]
    check("inspect as JSON", lines[0]["parts"][1]["text"] == "world 0<|im_end|>" and lines[1]["rows"] == 20 and lines[1]["format"] == "messages", r)
    bad = home / "bad.jsonl"
    bad.write_bytes(b'{"text": "hello"}\n{"text": 5}\n\n{"text": "hel\xff"}\n')
    r = run("inspect", "-m", model, "--data", bad)
    check("bad rows are told by line", "line 2: " in r.stderr and "line 4: " in r.stderr and r.returncode == 0, r)
    r = run("inspect", "-m", model, "--data", bad, "--strict")
    check("--strict refuses the first with exit code 3", r.returncode == 3 and "bad.jsonl, line 2" in r.stderr, r)

    # usage
    check("no data", run("sft", "-m", model, "-o", home / "x").returncode == 2)
    r = run("sft", "--rank", "x")
    check("a wrong flag names the subcommand whose help has it", r.returncode == 2 and "hz-train sft --help" in r.stderr, r)
    r = run("sft", *common, "-o", home / "x", "--warmup", 1000)
    check("a warm-up longer than the run says what to do", r.returncode == 2 and "--warmup" in r.stderr and not (home / "x").exists(), r)
    r = run("inspect", "-m", model, "--data", data, "--pre", "nothing-known")
    check("a pre-tokenizer that is none", r.returncode == 2 and "--pre" in r.stderr, r)
    check("no folder", "-o" in run("sft", "-m", model, "--data", data).stderr)
    r = run("sft", *common, "-o", home / "x", "--schedule", "cosin")
    check("a mistyped schedule", r.returncode == 2 and "did you mean cosine" in r.stderr, r)
    r = run("sft", *common, "-o", home / "x", "--targets", "attn_qq")
    check("a target that no layer has", r.returncode == 2, r)
    check("data that is not there", run("sft", "-m", model, "--data", home / "none.jsonl", "-o", home / "x2").returncode == 3)

    numbers = ["--lr", "--weight-decay", "--lora-plus", "--beta1", "--beta2", "--eps", "--clip", "--warmup", "--min-lr-ratio", "--eval-split", "--alpha", "--dropout"]
    counts = ["--rank", "--epochs", "--steps", "--micro-batch", "--accumulate", "--seed", "--eval-every", "--checkpoint-every", "--keep", "--threads", "--ctx"]
    for flag in numbers + counts:
        for value in ("nan", "inf", "-inf", "-1e30", "1e39", "x", ""):
            r = run("sft", "-m", model, "--data", data, "-o", home / "x", f"{flag}={value}")
            good = r.returncode == 2 and flag in r.stderr and len(r.stderr) < 300 and not (home / "x").exists()
            if not good:
                check(f"{flag} {value!r} is refused by name, and leaves no folder", False, r)
    check("numbers that are none are refused by name", True)
    check("a negative seed", run("sft", *common, "-o", home / "x", "--seed", "-1").returncode == 2)
    for flag in (["--rank", 4], ["--alpha", 8], ["--targets", "attn_q"], ["--dropout", 0.1], ["--lora-plus", 4], ["--rank-pattern", "attn_q=2"], ["--alpha-pattern", "attn_q=2"]):
        r = run("sft", "-m", model, "--data", data, "-o", home / "x", "--method", "full", *flag)
        check(f"{flag[0]} with --method full", r.returncode == 2 and flag[0] in r.stderr and "--method lora" in r.stderr, r)
    r = run("sft", "-m", model, "--data", data, "-o", home / "x", "--method", "full")
    check("--method full over a quantized base says what to do", r.returncode == 1 and "--method lora" in r.stderr and "--requantize" in r.stderr and not (home / "x").exists(), r)

    # a run
    r = run("sft", *common, "-o", home / "whole", "--json", "--eval-split", "0.2")
    last = json.loads(r.stdout.splitlines()[-1]) if r.stdout else {}
    check("a run learns and says what it did", r.returncode == 0 and last.get("finished") and last["last_loss"] < last["first_loss"], r)
    r = run("sft", *common, "-o", home / "a")
    check("a run without --json keeps stdout empty", r.returncode == 0 and r.stdout == "" and "loss" in r.stderr, r)
    metrics = [json.loads(x) for x in (home / "a/metrics.jsonl").read_text().splitlines()]
    check("metrics have every step", [m["step"] for m in metrics] == list(range(1, 31)) and {"loss", "lr", "grad_norm", "tokens_per_s"} <= set(metrics[0]), metrics[:2])
    check("the rate begins at the warm-up and ends low", metrics[0]["lr"] == 0 and metrics[-1]["lr"] < metrics[5]["lr"], metrics[0])
    r = run("sft", *common, "-o", home / "a")
    check("a folder that is not empty is refused", r.returncode == 2 and "--resume" in r.stderr, r)
    r = run("sft", *common, "-o", home / "a", "--resume")
    check("a finished run says so and exits 0", r.returncode == 0 and "finished" in r.stderr, r)
    for flag, value in (("--clip", "0.5"), ("--device", "reference"), ("--pre", "gpt-2"), ("--alpha", 8), ("--kv", "f32"), ("--activations", "f32"), ("--seed", 4), ("--targets", "attn_q"), ("--eval-split", "0.1"), ("--format", "messages")):
        r = run("sft", *[x for i, x in enumerate(common) if x != flag and (i == 0 or common[i - 1] != flag)], "-o", home / "a", "--resume", flag, value)
        check(f"another {flag} is refused by name", r.returncode == 2 and flag in r.stderr, r)
    r = run("sft", *common, "-o", home / "a", "--resume", "-t", 2, "--checkpoint-every", 7, "--keep", 3, "--json", "--no-recompute")
    check("what changes no result may differ", r.returncode == 0 and "finished" in r.stderr, r)

    # configuration
    config = home / "run.toml"
    config.write_text(f'model = "{model}"\ndata = "{data}"\nrank = 4\nlr = 0.5\nepochs = 6\naccumulate = 2\nmicro_batch = 2\nctx = 64\nseed = 3\ndropout = 0.1\n')
    r = run("sft", "--config", config, "--lr", "0.01", "-o", home / "c")
    check("a TOML file gives options, flags win", r.returncode == 0 and adapter(home / "c") == adapter(home / "a"), r)
    config.write_text("rnak = 4\n")
    r = run("sft", "--config", config, "-o", home / "c2")
    check("a name that is no option", r.returncode == 2 and "rank" in r.stderr and "line 1" in r.stderr, r)
    config.write_text("steps = 3\nepochs = 2\n")
    r = run("sft", "-m", model, "--data", data, "--config", config, "-o", home / "c2")
    check("options of a file that exclude each other", r.returncode == 2 and "excludes" in r.stderr and "line" in r.stderr, r)
    config.write_text("steps = 3\n")
    r = run("plan", "-m", model, "--data", data, "--config", config, "--epochs", 2, "--accumulate", 20, "--json")
    check("a flag wins over what it excludes in the file", r.returncode == 0 and json.loads(r.stdout)["steps"] == 2, r)
    for text, says in (("early_stop = -1", "--early-stop is -1"), ("rank = 4.5", "--rank"), ("lr = [1, 2]", "--lr"), ("config = 'x'", "config is no option"), ("rank_pattern = {attn_q = 99999999999}", "--rank-pattern"), ("[train]\nlr = 1", "train is no option")):
        config.write_text(text + "\n")
        r = run("sft", "-m", model, "--data", data, "--config", config, "-o", home / "c2")
        check(f"{text!r} in a file", r.returncode == 2 and says in r.stderr and "try: config" not in r.stderr and not (home / "c2").exists(), r)
    config.write_text('targets = ["attn_q", "ffn_up"]\nrank_pattern = {attn_q = 2}\n')
    r = run("plan", "-m", model, "--data", data, "--config", config, "--json")
    flags = run("plan", "-m", model, "--data", data, "--targets", "attn_q, ffn_up", "--rank-pattern", "attn_q=2", "--json")
    check("lists and tables in a file are those of the flags", r.returncode == 0 and json.loads(r.stdout)["parameters"] == json.loads(flags.stdout)["parameters"], (r, flags))
    config.write_text('lr = nan\n')
    r = run("sft", "-m", model, "--data", data, "--config", config, "-o", home / "c2")
    check("NaN in a file", r.returncode == 2 and "--lr is nan" in r.stderr and not (home / "c2").exists(), r)
    config.write_text("rank = \n")
    check("no valid TOML", run("sft", "--config", config, "-o", home / "c2").returncode == 3)
    r = run("sft", "--config", home, "-o", home / "c2")
    check("a configuration that is a folder is refused as one", r.returncode == 3 and "folder" in r.stderr and str(home) in r.stderr, r)
    dots = "x." * 50000
    for name, text in (("key", dots + "y = 1"), ("header", "[" + dots + "y]"), ("inline table", "a = {" + "x . " * 50000 + "y = 1}"),
                       ("key after a string", 'a = """b""""\n' + "'x'." * 50000 + "y = 1"), ("nest of lists", "a = " + "[" * 50000)):
        config.write_text(text)
        r = run("sft", "--config", config, "-o", home / "c2")
        check(f"a {name} of fifty thousand parts in a configuration is refused", r.returncode == 3 and "line " in r.stderr, (r.returncode, r.stderr[-300:]))
    config.write_text("text = '" + "." * 70 + "'  # " + "." * 70)
    check("dots in strings and comments make no key", "parts" not in run("sft", "--config", config, "-o", home / "c2").stderr)
    check("a configuration without end is refused", run("sft", "--config", "/dev/zero", "-o", home / "c2").returncode == 3)

    # Ctrl-C
    text = home / "long.txt"
    text.write_text("hello world of texts without an end " * 2_000_000)
    process = subprocess.Popen([TOOL, "inspect", "-m", str(model), "--data", str(text)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    time.sleep(1)
    begin = time.monotonic()
    process.send_signal(signal.SIGINT)
    err = process.communicate(timeout=120)[1]
    check("Ctrl-C ends the tokenizing of a long text", process.returncode == 130 and time.monotonic() - begin < 5, (process.returncode, time.monotonic() - begin, err))
    text.unlink()
    slow = ["-t", 1, "--checkpoint-every", 3]
    process = subprocess.Popen([TOOL, *map(str, ["sft", *common, *slow, "-o", home / "stop", "--json"])], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    for line in process.stdout:
        if json.loads(line).get("step", 0) >= 4:
            process.send_signal(signal.SIGINT)
            break
    _, err = process.communicate(timeout=120)
    check("Ctrl-C saves a checkpoint and exits 130", process.returncode == 130 and "--resume" in err and any((home / "stop/checkpoints").iterdir()), err)
    r = run("sft", *common, "-o", home / "stop", "--resume")
    check("what was stopped ends in the same bytes", r.returncode == 0 and adapter(home / "stop") == adapter(home / "a"), r)

    # kill -9
    random.seed(1)
    kills = ends = wrong = 0
    folder = home / "kill0"
    while kills < KILLS:
        process = subprocess.Popen([TOOL, *map(str, ["sft", *common, "--checkpoint-every", 2, "-t", 1 + kills % 2, "-o", folder, "--resume"])], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        time.sleep(random.uniform(0.0, 0.5))
        process.kill()
        err = process.communicate(timeout=60)[1]
        if process.returncode == -signal.SIGKILL:
            kills += 1
            continue
        if process.returncode != 0:
            wrong += 1
            check("a run after kill -9 goes on", False, err)
            break
        ends += 1
        wrong += adapter(folder) != adapter(home / "a")
        folder = home / f"kill{ends}"
    r = run("sft", *common, "-o", folder, "--resume")
    check(f"after {kills} times kill -9 every run ends in the same bytes", r.returncode == 0 and wrong == 0 and adapter(folder) == adapter(home / "a"), r)

    # a full disk
    def small_files():
        resource.setrlimit(resource.RLIMIT_FSIZE, (40000, 40000))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    r = subprocess.run([TOOL, *map(str, ["sft", *common, "-o", home / "disk", "--checkpoint-every", 2])], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300, preexec_fn=small_files)
    check("what cannot be written is an error with the file's name", r.returncode == 3 and "disk" in r.stderr, r)
    r = run("sft", *common, "-o", home / "disk", "--resume")
    check("with room again the run goes on to the same bytes", r.returncode == 0 and adapter(home / "disk") == adapter(home / "a"), r)

    # a finished run of other files
    other = home / "other.jsonl"
    other.write_text(data.read_text() + json.dumps(talk(3)) + "\n")
    r = run("sft", *[other if x is data else x for x in common], "-o", home / "a", "--resume")
    check("a finished run of other data is no finished run", r.returncode == 2 and "data" in r.stderr, r)

    # the model's own weights
    floats = home / "f.gguf"
    subprocess.run([MAKE_MODEL, floats, "1", "default", "f16"], check=True)
    full = ["-m", floats, "--data", data, "--method", "full", "--lr", "0.002", "--epochs", 6, "--accumulate", 2, "--micro-batch", 2, "--ctx", 64, "--seed", 3]
    model_of = lambda folder: hashlib.sha256((folder / "model.gguf").read_bytes()).hexdigest()
    r = run("sft", *full, "-o", home / "full", "--json")
    last = json.loads(r.stdout.splitlines()[-1]) if r.stdout else {}
    check("--method full learns, and writes a model", r.returncode == 0 and last["last_loss"] < last["first_loss"] and last["model_sha256"] == model_of(home / "full"), r)
    before, after = (json.loads(run("eval", "-m", m, "--data", data, "--ctx", 64, "--json").stdout)["loss"] for m in (floats, home / "full/model.gguf"))
    check("which is better on its rows", after < 0.8 * before, (before, after))
    folder, kills, ends, wrong = home / "fkill0", 0, 0, 0
    while kills < KILLS // 4:
        process = subprocess.Popen([TOOL, *map(str, ["sft", *full, "--checkpoint-every", 2, "-t", 1 + kills % 2, "-o", folder, "--resume"])], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        time.sleep(random.uniform(0.0, 0.5))
        process.kill()
        err = process.communicate(timeout=60)[1]
        if process.returncode == -signal.SIGKILL:
            kills += 1
            continue
        if process.returncode != 0:
            check("a full run after kill -9 goes on", False, err)
            break
        ends += 1
        wrong += model_of(folder) != model_of(home / "full")
        folder = home / f"fkill{ends}"
    r = run("sft", *full, "-o", folder, "--resume")
    check(f"after {kills} times kill -9 every full run ends in the same bytes", r.returncode == 0 and wrong == 0 and model_of(folder) == model_of(home / "full"), r)
    r = run("plan", *full, "--json")
    check("plan of a full run", r.returncode == 0 and json.loads(r.stdout)["parameters"] > 30000, r)

    # adapters
    r = run("eval", "-m", model, "--data", data, "--ctx", 64, "--json")
    base = json.loads(r.stdout)["loss"] if r.stdout else 0
    r = run("eval", "-m", model, "--data", data, "--ctx", 64, "--lora", home / "a", "--json")
    check("eval measures base and adapter", r.returncode == 0 and json.loads(r.stdout)["loss"] < 0.8 * base, r)
    r = run("export", "-m", model, "--lora", home / "a", "-o", home / "a.gguf")
    check("export to GGUF", r.returncode == 0 and (home / "a.gguf").exists(), r)
    r = run("export", "-m", model, "--lora", home / "a.gguf", "-o", home / "peft")
    check("and back to a PEFT folder", r.returncode == 0 and (home / "peft/adapter_config.json").exists(), r)
    r = run("diff", "-m", model, home / "a", home / "peft", "--json")
    check("the same change", json.loads(r.stdout)["relative"] < 1e-6, r)
    check("diff of one adapter with itself", run("diff", "-m", model, home / "a", home / "c").returncode == 0)
    check("diff of two adapters exits with 5", run("diff", "-m", model, home / "a", home / "whole").returncode == 5)
    for command in (["merge", "--force"], ["export", "--to", "gguf"]):
        before = model.read_bytes()
        r = run(command[0], "-m", model, "--lora", home / "a", "-o", model, *command[1:])
        check(f"{command[0]} does not replace its base", r.returncode == 2 and "replace the base" in r.stderr and model.read_bytes() == before, r)
    r = run("merge", "-m", model, "--lora", home / "a", "-o", home / "merged.gguf", "--json", "--force")
    check("merge tells what survives", r.returncode == 0 and 0 < json.loads(r.stdout)["survival"] <= 1, r)
    r = run("merge", "-m", model, "--lora", home / "a", "-o", home / "merged2.gguf", "--least", "1")
    check("and refuses below the limit", r.returncode == 1 and "survive" in r.stderr and not (home / "merged2.gguf").exists(), r)

    # plan
    r = run("plan", *common, "--json")
    plan = json.loads(r.stdout) if r.stdout else {}
    check("plan", r.returncode == 0 and plan["steps"] == 30 and plan["seconds"] > 0 and plan["memory"] > 1e6, r)

result.finish()
