# SPDX-License-Identifier: Apache-2.0
"""hz-quantize as a program, on tiny models of ours: options, refusals, inputs that are outputs, full disks, kills, folders."""
import json
import os
import pathlib
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "design"))
import checks  # noqa: E402

TOOL, RUN, TINY_CHAT = (str(pathlib.Path(a).resolve()) for a in sys.argv[1:4])
result = checks.Checks()


def run(*args, tool=TOOL, **options):
    return subprocess.run([tool, *map(str, args)], stdin=subprocess.DEVNULL, capture_output=True, timeout=300, text=True, **options)


def check(name, condition, shown=""):
    result.case(name, [] if condition else [str(shown)])


def refused(name, wanted, *args, code=2, **options):
    r = run(*args, **options)
    check(f"{name} is refused", r.returncode == code and wanted in r.stderr and r.stdout == "", r)


def files(folder):
    return sorted(p.name for p in pathlib.Path(folder).iterdir())


def tiny_folder(path, hidden=64, layers=2, vocab=96, seed=1):
    """A llama in Hugging Face's form, F32, with values from a small generator of its own."""
    path.mkdir()
    ffn, heads, keys, dim = 2 * hidden, 4, 2, hidden // 4
    config = {"model_type": "llama", "hidden_size": hidden, "intermediate_size": ffn, "num_hidden_layers": layers, "num_attention_heads": heads,
              "num_key_value_heads": keys, "head_dim": dim, "max_position_embeddings": 256, "vocab_size": vocab, "rms_norm_eps": 1e-5,
              "tie_word_embeddings": False, "hidden_act": "silu"}
    shapes = {"model.embed_tokens.weight": [vocab, hidden], "model.norm.weight": [hidden], "lm_head.weight": [vocab, hidden]}
    for i in range(layers):
        p = f"model.layers.{i}."
        shapes |= {p + "input_layernorm.weight": [hidden], p + "post_attention_layernorm.weight": [hidden],
                   p + "self_attn.q_proj.weight": [heads * dim, hidden], p + "self_attn.k_proj.weight": [keys * dim, hidden],
                   p + "self_attn.v_proj.weight": [keys * dim, hidden], p + "self_attn.o_proj.weight": [hidden, heads * dim],
                   p + "mlp.gate_proj.weight": [ffn, hidden], p + "mlp.up_proj.weight": [ffn, hidden], p + "mlp.down_proj.weight": [hidden, ffn]}
    tensors, state = {}, seed
    for name, shape in shapes.items():
        n = shape[0] * (shape[1] if len(shape) > 1 else 1)
        values = []
        for _ in range(n):
            state = (1103515245 * state + 12345) % 2**31
            values.append((1.0 if len(shape) == 1 else 0.0) + 0.2 * (state / 2**31 - 0.5))
        tensors[name] = ("F32", shape, struct.pack(f"<{n}f", *values))
    (path / "config.json").write_text(json.dumps(config))
    write_safetensors(path / "model.safetensors", tensors)
    return config, tensors


def write_safetensors(path, tensors):
    header, data = {}, b""
    for name, (kind, shape, raw) in tensors.items():
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def options(folder, model):
    out = folder / "out.gguf"
    r = run(model, out, "Q4_K_M", "--json", "-q")
    record = json.loads(r.stdout)
    check("--json is one object that says what came out", record["files"] == [str(out)] and record["fallbacks"] == 0 and
          {t["type"] for t in record["types"]} >= {"Q4_K", "F32"} and all("bits_per_weight" in t for t in record["types"]), r)
    first = out.read_bytes()
    for threads in (1, 2, 3, 7):
        run(model, out, "Q4_K_M", "-t", threads, "-q")
        check(f"the same bytes with {threads} threads", out.read_bytes() == first)
    r = run(model, "Q4_K_M", "--dry-run", "--json")
    check("--dry-run does without an output", r.returncode == 0 and json.loads(r.stdout)["bytes_out"] == record["bytes_out"], r)
    r = run(model, out, "Q4_K_M", "--pure", "--tensor-type", "ffn_down=Q8_0", "--dry-run", "--json")
    kinds = {t["name"]: t["to"] for t in json.loads(r.stdout)["tensors"]}
    check("--tensor-type goes before --pure", kinds["blk.0.ffn_down.weight"] == "Q8_0" and kinds["blk.0.ffn_up.weight"] == "Q4_K", kinds)
    r = run(model, out, "Q4_0", "--tensor-type", "no_such=Q8_0", "-q")
    check("a pattern that finds nothing is told", r.returncode == 0 and "no_such decides no tensor" in r.stderr, r)
    r = run("types", "--json")
    check("types are listed", {"Q4_K_M", "IQ1_S", "MXFP4"} <= {t["name"] for t in json.loads(r.stdout)["types"]}, r)
    check("--json may stand before a command", json.loads(run("--json", "types").stdout) == json.loads(r.stdout))
    check("info sums up", json.loads(run("info", "--json", out).stdout)["architecture"] == "llama")
    for name, wanted, args in [
            ("an unknown type", "near names: Q4_K_M", (model, out, "Q4KM")), ("a missing type", "no type given", (model, out)),
            ("a missing output", "output file is missing", (model, "Q4_0")), ("an empty matrix name", "empty name", (model, out, "Q4_0", "--imatrix", "")),
            ("an empty type", "no weight type", (model, out, "Q4_0", "--output-type", "")), ("an activation type", "no weight type", (model, out, "Q4_0", "--output-type", "Q8_K")),
            ("a pattern without a type", "PATTERN=TYPE", (model, out, "Q4_0", "--tensor-type", "ffn_down")),
            ("a broken pattern", "no pattern", (model, out, "Q4_0", "--tensor-type", "(=Q8_0")),
            ("a type that needs a matrix", "hz-quantize imatrix", (model, out, "IQ2_XXS")),
            ("a surplus argument", "too many", (model, out, "Q4_0", "more")), ("an option of another command", "imatrix has no --pure", ("imatrix", "--pure", "-m", model, "-o", out)),
            ("a quantized input", "--requantize", (out, folder / "again.gguf", "Q8_0")),
            ("parts without a name", "empty name", ("split", model, "", "--max-tensors", 3)), ("parts in a folder that is none", "", ("split", model, f"{folder}/", "--max-tensors", 3))]:
        refused(name, wanted, *args)
    refused("a missing input", "No such file", folder / "none.gguf", out, "Q4_0", code=3)
    refused("a folder as output", "folder", model, folder, "Q4_0", code=3)


def same_file(folder, model):
    """The input under every name it has."""
    inside = folder / "same"
    inside.mkdir()
    shutil.copy(model, inside / "in.gguf")
    before = (inside / "in.gguf").read_bytes()
    os.symlink("in.gguf", inside / "soft.gguf")
    os.link(inside / "in.gguf", inside / "hard.gguf")
    os.symlink(inside, folder / "door")
    for out in (inside / "in.gguf", inside / "soft.gguf", inside / "hard.gguf", folder / "door" / "in.gguf", inside / ".." / "same" / "in.gguf"):
        refused(f"{out.name} as input and output", "the output is the input", inside / "in.gguf", out, "Q4_0")
        refused(f"{out.name} as model and matrix", "the output is the input", "imatrix", "-m", inside / "in.gguf", "-f", __file__, "-o", out)
    refused("the input by a relative path", "the output is the input", "in.gguf", "./in.gguf", "Q4_0", cwd=inside)
    run("split", inside / "in.gguf", inside / "p", "--max-tensors", 8)
    part = inside / "p-00002-of-00004.gguf"
    keep = part.read_bytes()
    refused("merging onto a part", "the output is the input", "merge", inside / "p-00001-of-00004.gguf", part)
    refused("quantizing onto a part", "the output is the input", inside / "p-00001-of-00004.gguf", part, "Q4_0")
    check("inputs are as they were", (inside / "in.gguf").read_bytes() == before and part.read_bytes() == keep)
    r = run("merge", inside / "p-00001-of-00004.gguf", inside / "whole.gguf", "--json")
    check("merge undoes split", r.returncode == 0 and json.loads(r.stdout)["bytes"] == len(before) and (inside / "whole.gguf").read_bytes() == before, r)
    part.unlink()
    refused("a set without a part", "part 2 of 4 is missing", inside / "p-00001-of-00004.gguf", folder / "x.gguf", "Q4_0", code=3)
    r = run(inside / "in.gguf", inside / "single.gguf", "Q4_0", "--keep-split", "-q")
    check("--keep-split of one file is one file", r.returncode == 0 and (inside / "single.gguf").exists(), r)


def matrices(folder, model, other):
    out, matrix = folder / "m.gguf", folder / "m.imatrix"
    text = folder / "text.txt"
    text.write_text("a cat sat on a mat. " * 60)
    r = run("imatrix", "-m", model, "-f", text, "-o", matrix, "--window", 32, "--chunks", 4, "--json", "-q")
    check("a matrix is made", r.returncode == 0 and json.loads(r.stdout)["chunks"] == 4, r)
    one = matrix.read_bytes()
    run("imatrix", "-m", model, "-f", text, "-o", matrix, "--window", 32, "--chunks", 4, "-q", "-t", 1)
    check("the matrix is the same with one thread", matrix.read_bytes() == one)
    r = run("imatrix", "--in-file", matrix, "--in-file", matrix, "-o", folder / "twice", "--json")
    check("matrices add up without a model", json.loads(r.stdout)["chunks"] == 8, r)
    check("a matrix is used", run(model, out, "IQ2_XS", "--imatrix", matrix, "-q").returncode == 0)
    refused("a matrix of another shape", "another model", other, out, "Q4_0", "--imatrix", matrix)
    refused("a model as a matrix", "no importance matrix", model, out, "Q4_0", "--imatrix", model, code=3)
    refused("a text as a matrix", "no importance matrix", model, out, "Q4_0", "--imatrix", text, code=3)
    refused("a matrix that cannot be written", "cannot make a file", "imatrix", "-m", model, "-f", text, "-o", folder / "no" / "m", code=3)
    refused("no windows", "--chunks 0", "imatrix", "-m", model, "-f", text, "-o", matrix, "--chunks", 0)
    refused("a short text", "one window needs", "imatrix", "-m", model, "-f", text, "-o", folder / "short", "--window", 4000)
    check("nothing was left", "short" not in files(folder) and not any(n.startswith(".hanzo") for n in files(folder)), files(folder))


def no_room(folder, model, hf):
    """A disk that is full, as a limit of the size of files."""
    inside = folder / "small"
    inside.mkdir()
    limit = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000))}
    for name, args in (("quantize", (model, inside / "o.gguf", "Q8_0")), ("convert", ("convert", hf, inside / "o.gguf")), ("merge", ("merge", model, inside / "o.gguf")),
                       ("convert to a type", ("convert", hf, inside / "o.gguf", "Q4_0")), ("split", ("split", model, inside / "p", "--max-tensors", 4))):
        r = run(*args, **limit)
        check(f"{name} without room fails and leaves nothing", r.returncode == 3 and "File too large" in r.stderr and files(inside) == [], (r, files(inside)))
    r = run("-m", model, "--isq", "Q4_0", "--isq-save", inside / "o.gguf", "--ids", "1,2", "--logits-hash", tool=RUN, **limit)
    check("--isq-save without room fails and leaves nothing", r.returncode == 3 and files(inside) == [], (r, files(inside)))
    r = run("-m", model, "--isq", "Q4_0", "--ids", "1,2", "--logits-hash", tool=RUN, env=os.environ | {"TMPDIR": str(inside)}, **limit)
    check("--isq without room fails and leaves nothing", r.returncode == 3 and files(inside) == [], (r, files(inside)))


def stopped(folder, hf, big):
    """Killed and stopped at many moments: the old file or the new one, and nothing else after the next run."""
    inside = folder / "killed"
    inside.mkdir()
    out = inside / "o.gguf"
    env = os.environ | {"TMPDIR": str(inside)}
    works = {"quantize": [TOOL, big, out, "IQ3_S", "-q"], "convert": [TOOL, "convert", hf, out, "IQ3_S", "-q"],
             "isq": [RUN, "-m", hf, "--isq", "IQ3_S", "--isq-save", out, "--ids", "1", "--logits-hash", "-q"],
             "isq without a file": [RUN, "-m", hf, "--isq", "IQ3_S", "--ids", "1", "--logits-hash", "-q"]}
    for name, command in works.items():
        command = [str(c) for c in command]
        begun = time.monotonic()
        whole = subprocess.run(command, capture_output=True, env=env, timeout=300)
        lasts = time.monotonic() - begun
        kept = out.read_bytes() if out.exists() else None
        check(f"{name} works", whole.returncode == 0, whole)
        for share in (0.15, 0.4, 0.6, 0.8):
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=env)
            time.sleep(share * lasts)
            process.send_signal(signal.SIGKILL)
            process.wait(60)
            check(f"{name} killed at {share}: the old file", (out.read_bytes() if out.exists() else None) == kept)
        subprocess.run(command, capture_output=True, env=env, timeout=300)
        check(f"{name}: the next run leaves nothing of the killed ones", files(inside) == (["o.gguf"] if kept else []), files(inside))
        for number in (signal.SIGINT, signal.SIGTERM):
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=env)
            time.sleep(0.4 * lasts)
            process.send_signal(number)
            code = process.wait(60)
            check(f"{name} stopped by {number.name}: its code, the old file, nothing else", code in (128 + number, 0) and files(inside) == (["o.gguf"] if kept else []),
                  (code, files(inside)))
        if out.exists():
            out.unlink()


def folders(folder):
    hf, out = folder / "folder", folder / "f.gguf"
    config, tensors = tiny_folder(hf)
    r = run("convert", hf, out, "--json")
    check("a folder converts", r.returncode == 0 and json.loads(r.stdout)["architecture"] == "llama", r)
    plain = run("-m", out, "--ids", "1,2,3", "--logits-hash", "-q", tool=RUN).stdout
    for name in files(hf):
        refused(f"{name} as the output", "the output is the input", "convert", hf, hf / name)
        refused(f"{name} as the output of a type", "the output is the input", "convert", hf, hf / name, "Q4_0")
    check("a file in the folder may be the output, again too", all(run("convert", hf, hf / "own.gguf").returncode == 0 for _ in range(2)))
    run("convert", hf, out, "Q4_0", "--tensor-type", "ffn_down=Q8_0", "-q")
    shown = json.loads(run("info", out, "--json").stdout)
    check("options of quantizing hold for folders too", "Q8_0" in {t["type"] for t in shown["types"]}, shown)
    saved = folder / "saved.gguf"
    hashes = [run("-m", hf, "--isq", "Q4_0", "--isq-save", saved, "--ids", "1,2,3", "--logits-hash", "-q", tool=RUN).stdout,
              run("-m", saved, "--ids", "1,2,3", "--logits-hash", "-q", tool=RUN).stdout]
    check("a folder quantized while loading computes what its file does", hashes[0] == hashes[1] != plain, hashes)
    refused("a folder's file for --isq-save", "the output is the input", "-m", hf, "--isq", "Q4_0", "--isq-save", hf / "model.safetensors", "--ids", "1", "--logits-hash", tool=RUN)
    refused("an option that needs a type", "no TYPE", "convert", hf, out, "--pure")
    refused("a type that needs a matrix", "hz-quantize imatrix", "convert", hf, out, "IQ1_S")
    refused("a folder that is none", "is no folder", "convert", folder / "none", out)
    names = list(tensors)

    def changed(name, wanted, change, code=3):
        other = folder / "changed"
        shutil.rmtree(other, ignore_errors=True)
        shutil.copytree(hf, other)
        change(other)
        out.unlink(missing_ok=True)
        refused(name, wanted, "convert", other, out, code=code)
        check(f"{name} leaves no file", not out.exists())

    def with_config(**values):
        return lambda other: (other / "config.json").write_text(json.dumps(config | values))

    def with_tensors(change):
        def do(other):
            new = dict(tensors)
            change(new)
            write_safetensors(other / "model.safetensors", new)
        return do

    changed("a family that is not built", "'mamba' is not built", with_config(model_type="mamba"), code=1)
    changed("a config of another size", "by config.json it must be", with_config(hidden_size=128, head_dim=32))
    changed("a config of another vocabulary", "by config.json it must be", with_config(vocab_size=97))
    changed("a config that is cut", "is not JSON: line 1, column 2", lambda other: (other / "config.json").write_text("{"))
    changed("a folder without config", "No such file", lambda other: (other / "config.json").unlink())
    changed("a folder without weights", "neither model.safetensors", lambda other: (other / "model.safetensors").unlink())
    changed("a cut file", "", lambda other: os.truncate(other / "model.safetensors", 5000))
    changed("a missing tensor", "up_proj.weight is missing", with_tensors(lambda t: t.pop("model.layers.1.mlp.up_proj.weight")))
    changed("an extra tensor", "extra.weight is not known", with_tensors(lambda t: t.update({"extra.weight": ("F32", [1], bytes(4))})), code=1)
    changed("a norm of another length", "must be a vector of 64", with_tensors(lambda t: t.update({"model.norm.weight": ("F32", [32], bytes(128))})))
    changed("HQQ", "no GGUF type holds them exactly", with_config(quantization_config={"quant_method": "hqq"}), code=1)
    changed("a shard that is missing", "gone.safetensors", lambda other: (other / "model.safetensors.index.json").write_text(
        json.dumps({"weight_map": {n: "gone.safetensors" for n in names}})))
    (hf / "notes.txt").write_text("no part of the model")
    check("other files of the folder do no harm", run("convert", hf, out).returncode == 0)


def affine(folder):
    """MLX's form: one matrix of 4 bits, one of 8, each with its own settings."""
    hf, out = folder / "mlx", folder / "mlx.gguf"
    config, tensors = tiny_folder(hf)
    for stem, bits in (("model.layers.0.mlp.up_proj", 4), ("model.layers.1.mlp.up_proj", 8)):
        rows, cols = tensors.pop(stem + ".weight")[1]
        packed = bytes((13 * i) % 256 for i in range(rows * cols * bits // 8))
        tensors[stem + ".weight"] = ("U32", [rows, cols * bits // 32], packed)
        tensors[stem + ".scales"] = ("F32", [rows, 1], struct.pack(f"<{rows}f", *[0.125] * rows))
        tensors[stem + ".biases"] = ("F32", [rows, 1], struct.pack(f"<{rows}f", *[-1.5] * rows))
    write_safetensors(hf / "model.safetensors", tensors)
    (hf / "config.json").write_text(json.dumps(config | {"quantization": {"group_size": 64, "bits": 4, "model.layers.1.mlp.up_proj": {"group_size": 64, "bits": 8}}}))
    r = run("convert", hf, out)
    kinds = {t["type"]: t["tensors"] for t in json.loads(run("info", out, "--json").stdout)["types"]} if r.returncode == 0 else {}
    check("affine groups of 4 bits are Q4_1, of 8 the floats that hold them", kinds.get("Q4_1") == 1 and kinds.get("F16") == 1, (r, kinds))


with tempfile.TemporaryDirectory() as name:
    place = pathlib.Path(name)
    tiny_folder(place / "big", hidden=256, layers=3, vocab=512)
    run("convert", place / "big", place / "big.gguf")
    subprocess.run([TINY_CHAT, str(place / "chat.gguf"), "1", "default", "F32"], check=True, capture_output=True)
    options(place, place / "big.gguf")
    same_file(place, place / "big.gguf")
    matrices(place, place / "chat.gguf", place / "big.gguf")
    no_room(place, place / "big.gguf", place / "big")
    folders(place)
    affine(place)
    stopped(place, place / "big", place / "big.gguf")
result.finish()
