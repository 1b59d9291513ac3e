# SPDX-License-Identifier: Apache-2.0
"""Runs an example (NAME PROGRAM) on SmolLM2 of the folder HANZO_MODELS, and without a model: a result, and an error."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "design"))
import checks  # noqa: E402

name, example = sys.argv[1:3]
result = checks.Checks()
model = pathlib.Path(os.environ.get("HANZO_MODELS", "")) / "SmolLM2-135M-Instruct.Q4_1.gguf"
have_model = bool(os.environ.get("HANZO_MODELS")) and model.exists()


def run(*args):
    return subprocess.run([example, *map(str, args)], capture_output=True, text=True)


def case(what, good, r):
    result.case(what, [] if good else [f"exit {r.returncode}: {r.stdout}{r.stderr}"])


def needs_model(what, check):
    if have_model:
        check(what)
    else:
        result.skip(what, f"HANZO_MODELS has no {model.name}")


def generate(what):
    r = run(model)
    case(what, r.returncode == 0 and "sky" in r.stdout and len(r.stdout) > 100, r)


def finetune(what):
    with tempfile.TemporaryDirectory() as folder:
        data, adapter = pathlib.Path(folder) / "d.jsonl", pathlib.Path(folder) / "adapter"
        chat = [{"role": "user", "content": "What is a zorb?"}, {"role": "assistant", "content": "A zorb is a blue cube."}]
        data.write_text("".join(json.dumps({"messages": chat}) + "\n" for _ in range(2)))
        r = run(model, data, adapter, 4)
        losses = [float(line.split("loss ")[1]) for line in r.stdout.splitlines() if "loss " in line]
        saved = (adapter / "adapter_model.safetensors").exists() and (adapter / "adapter_config.json").exists()
        case(what, r.returncode == 0 and len(losses) == 8 and losses[-1] < losses[0] and saved, r)


if name == "custom_op":
    r = run()
    case("the op's gradient equals a difference", r.returncode == 0 and r.stdout.count("gradient") == 5, r)
else:
    needs_model("the example does its work", {"generate": generate, "finetune": finetune}[name])
    missing = ["no-such-file.gguf"] + (["no.jsonl", "no-adapter"] if name == "finetune" else [])
    r = run(*missing)
    case("the example reports a missing file", r.returncode == 1 and r.stdout == "" and "no-such-file.gguf" in r.stderr, r)
result.finish()
