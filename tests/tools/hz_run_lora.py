# SPDX-License-Identifier: Apache-2.0
"""hz-run --lora on a tiny model of ours: an adapter folder made here changes the logits, by its scale; wrong ones are refused."""
import json
import pathlib
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "design"))
import checks  # noqa: E402

TOOL, MODEL = sys.argv[1:3]
HIDDEN, RANK = 64, 2
result = checks.Checks()


def run(*args):
    return subprocess.run([TOOL, "-m", MODEL, "--ids", "5,17,3,42", "--logits-hash", *map(str, args)], stdin=subprocess.DEVNULL, capture_output=True, timeout=120, text=True)


def check(name, condition, shown=""):
    result.case(name, [] if condition else [str(shown)])


def adapter(folder, b=0.25, columns=HIDDEN, **more):
    """A folder in PEFT's layout for the value projection of layer 0."""
    folder.mkdir()
    name = "base_model.model.model.layers.0.self_attn.v_proj.lora_"
    a_bytes = struct.pack(f"<{RANK * columns}f", *[0.01 * (i % 7 - 3) for i in range(RANK * columns)])
    b_bytes = struct.pack(f"<{32 * RANK}f", *[b * (i % 5 - 2) for i in range(32 * RANK)])
    header = {name + "A.weight": {"dtype": "F32", "shape": [RANK, columns], "data_offsets": [0, len(a_bytes)]},
              name + "B.weight": {"dtype": "F32", "shape": [32, RANK], "data_offsets": [len(a_bytes), len(a_bytes) + len(b_bytes)]}}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    (folder / "adapter_model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + a_bytes + b_bytes)
    (folder / "adapter_config.json").write_text(json.dumps({"peft_type": "LORA", "r": RANK, "lora_alpha": 4, **more}))
    return folder


with tempfile.TemporaryDirectory() as folder:
    top = pathlib.Path(folder)
    base, good = run().stdout, adapter(top / "good")
    one, half, zero = run("--lora", good), run("--lora", f"{good}=0.5"), run("--lora", adapter(top / "zero", b=0))
    check("an adapter changes the logits", one.returncode == 0 and one.stdout != base and len(one.stdout) == len(base), one)
    check("and is named", "adapter good" in one.stderr, one.stderr)
    check("its scale counts", half.returncode == 0 and half.stdout not in (base, one.stdout), half)
    check("a scale of 1 is the adapter's own", run("--lora", f"{good}=1").stdout == one.stdout)
    check("an adapter with B = 0 changes no bit", zero.stdout == base, zero)
    check("two adapters add up", run("--lora", good, "--lora", f"{good}=0.5").stdout not in (base, one.stdout, half.stdout))
    r = run("--lora", adapter(top / "wide", columns=65))
    check("other shapes are refused by name", r.returncode == 3 and "blk.0.attn_v" in r.stderr and "wide" in r.stderr and r.stdout == "", r)
    r = run("--lora", adapter(top / "other", hanzo_base_sha256="0" * 64))
    check("another base is refused", r.returncode == 3 and "another base" in r.stderr and "--force" in r.stderr, r)
    check("--force accepts it", run("--lora", top / "other", "--force").stdout == one.stdout)
    r = run("--lora", f"{good}=much")
    check("a scale that is no number", r.returncode == 2 and "'much' is no scale" in r.stderr, r)
    r = run("--lora", top / "none")
    check("a missing adapter", r.returncode == 3 and "none" in r.stderr, r)
result.finish()
