# SPDX-License-Identifier: Apache-2.0
"""Makes the reference cases of this folder: tiny llama models with random weights, and their logits in double
precision from the plain formulas below. Needs Python alone. Run: python3 make.py"""
import json
import math
import pathlib
import random
import struct

here = pathlib.Path(__file__).parent
HIDDEN, FF, VOCAB, HEADS, KV_HEADS, HEAD_DIM, EPS, BASE = 64, 96, 96, 4, 2, 16, 1e-5, 10000.0
LENGTHS = (1, 7, 70)  # the last one reaches a second page of 64 positions
F32, Q8_0 = 0, 8


def float32(x):
    return struct.unpack("<f", struct.pack("<f", x))[0]


def matrix(rng, rows, cols, gain=1.0):
    return [[float32(rng.gauss(0, gain / math.sqrt(cols))) for _ in range(cols)] for _ in range(rows)]


def half(x):
    return struct.unpack("<e", struct.pack("<e", x))[0]


def q8_0(row):
    """GGUF Q8_0: blocks of 32, a half scale amax / 127, codes rounded half away from zero. Returns bytes, values."""
    data, values = b"", []
    for at in range(0, len(row), 32):
        block = row[at:at + 32]
        d = float32(max(abs(v) for v in block) / 127)
        codes = [int(math.copysign(math.floor(abs(float32(v * float32(1 / d))) + 0.5), v)) for v in block]
        data += struct.pack("<e32b", d, *codes)
        values += [half(d) * c for c in codes]
    return data, values


class Model:
    """Weights by GGUF name: (type, rows as lists of what a reader decodes, bytes)."""

    def __init__(self, seed, layers, kind):
        self.layers, self.tensors = layers, {}
        rng = random.Random(seed)
        self.add("token_embd.weight", matrix(rng, VOCAB, HIDDEN, 4.0), kind)
        for i in range(layers):
            p = f"blk.{i}."
            for name, rows, cols, gain in (("attn_q", HEADS * HEAD_DIM, HIDDEN, 1.5), ("attn_k", KV_HEADS * HEAD_DIM, HIDDEN, 1.5),
                                           ("attn_v", KV_HEADS * HEAD_DIM, HIDDEN, 1), ("attn_output", HIDDEN, HEADS * HEAD_DIM, 1),
                                           ("ffn_gate", FF, HIDDEN, 1), ("ffn_up", FF, HIDDEN, 1), ("ffn_down", HIDDEN, FF, 1)):
                self.add(p + name + ".weight", matrix(rng, rows, cols, gain), kind)
            for name in ("attn_norm", "ffn_norm"):
                self.add(p + name + ".weight", [[float32(1 + rng.uniform(-0.25, 0.25)) for _ in range(HIDDEN)]], F32)
        self.add("output_norm.weight", [[float32(1 + rng.uniform(-0.25, 0.25)) for _ in range(HIDDEN)]], F32)
        self.add("output.weight", matrix(rng, VOCAB, HIDDEN, 2.0), kind)

    def add(self, name, rows, kind):
        if kind == Q8_0:
            encoded = [q8_0(row) for row in rows]
            self.tensors[name] = (kind, [v for _, v in encoded], b"".join(d for d, _ in encoded))
        else:
            self.tensors[name] = (kind, rows, b"".join(struct.pack(f"<{len(r)}f", *r) for r in rows))

    def rows(self, name):
        return self.tensors[name + ".weight"][1]


def product(rows, x):
    return [math.fsum(w * v for w, v in zip(row, x)) for row in rows]


def norm(x, weight):
    r = 1 / math.sqrt(math.fsum(v * v for v in x) / len(x) + EPS)
    return [v * r * w for v, w in zip(x, weight)]


def rope(x, position):
    """Rotates adjacent pairs of each head by position * base^(-2i / head_dim)."""
    y = list(x)
    for h in range(0, len(x), HEAD_DIM):
        for i in range(HEAD_DIM // 2):
            angle = position * BASE ** (-2 * i / HEAD_DIM)
            a, b = x[h + 2 * i], x[h + 2 * i + 1]
            y[h + 2 * i] = a * math.cos(angle) - b * math.sin(angle)
            y[h + 2 * i + 1] = a * math.sin(angle) + b * math.cos(angle)
    return y


def attend(q, keys, values):
    out = []
    for h in range(HEADS):
        kv = h // (HEADS // KV_HEADS) * HEAD_DIM
        query = q[h * HEAD_DIM:(h + 1) * HEAD_DIM]
        scores = [sum(a * b for a, b in zip(query, k[kv:kv + HEAD_DIM])) / math.sqrt(HEAD_DIM) for k in keys]
        top = max(scores)
        p = [math.exp(s - top) for s in scores]
        total = math.fsum(p)
        out += [math.fsum(w * v[kv + d] for w, v in zip(p, values)) / total for d in range(HEAD_DIM)]
    return out


def logits(model, ids):
    """One row for each position."""
    cache = [([], []) for _ in range(model.layers)]
    for position, token in enumerate(ids):
        x = model.rows("token_embd")[token]
        for i, (keys, values) in enumerate(cache):
            p = f"blk.{i}."
            y = norm(x, model.rows(p + "attn_norm")[0])
            keys.append(rope(product(model.rows(p + "attn_k"), y), position))
            values.append(product(model.rows(p + "attn_v"), y))
            y = attend(rope(product(model.rows(p + "attn_q"), y), position), keys, values)
            x = [a + b for a, b in zip(x, product(model.rows(p + "attn_output"), y))]
            y = norm(x, model.rows(p + "ffn_norm")[0])
            gate, up = product(model.rows(p + "ffn_gate"), y), product(model.rows(p + "ffn_up"), y)
            y = [g / (1 + math.exp(-g)) * u for g, u in zip(gate, up)]
            x = [a + b for a, b in zip(x, product(model.rows(p + "ffn_down"), y))]
        yield product(model.rows("output"), norm(x, model.rows("output_norm")[0]))


def gguf(model):
    """The model as a GGUF file, version 3, alignment 32."""
    def text(s):
        return struct.pack("<Q", len(s)) + s.encode()

    def key(name, kind, code, value):
        return text(name) + struct.pack("<I" + code, kind, value)

    keys = [text("general.architecture") + struct.pack("<I", 8) + text("llama")]
    for name, value in (("block_count", model.layers), ("context_length", 128), ("embedding_length", HIDDEN), ("feed_forward_length", FF),
                        ("attention.head_count", HEADS), ("attention.head_count_kv", KV_HEADS), ("rope.dimension_count", HEAD_DIM),
                        ("vocab_size", VOCAB)):
        keys.append(key("llama." + name, 4, "I", value))
    keys += [key("llama.attention.layer_norm_rms_epsilon", 6, "f", EPS), key("llama.rope.freq_base", 6, "f", BASE)]
    infos, data = b"", b""
    for name, (kind, rows, content) in model.tensors.items():
        data += b"\0" * (-len(data) % 32)
        dims = [len(rows[0])] + ([len(rows)] if len(rows) > 1 else [])
        infos += text(name) + struct.pack(f"<I{len(dims)}QIQ", len(dims), *dims, kind, len(data))
        data += content
    head = b"GGUF" + struct.pack("<IQQ", 3, len(model.tensors), len(keys)) + b"".join(keys) + infos
    return head + b"\0" * (-len(head) % 32) + data


def case(name, seed, layers, kind, limits):
    folder = here / name
    folder.mkdir(exist_ok=True)
    model = Model(seed, layers, kind)
    rng = random.Random(seed + 1)
    sequences = [[rng.randrange(VOCAB) for _ in range(n)] for n in LENGTHS]
    rows = [row for ids in sequences for row in logits(model, ids)]
    (folder / "model.gguf").write_bytes(gguf(model))
    (folder / "logits.f32").write_bytes(b"".join(struct.pack(f"<{VOCAB}f", *row) for row in rows))
    manifest = {"case": name, "arch": "llama", "generator": "make.py", "seed": seed, "gguf": "model.gguf", "kind": "logits", "vocab": VOCAB,
                "width": VOCAB, "n_ctx": 128, "sequences": sequences,
                "logits": {"file": "logits.f32", "dtype": "float32-le", "shape": [len(rows), VOCAB],
                           "row_offsets": [sum(LENGTHS[:i]) for i in range(len(LENGTHS))]},
                "logits_file": "logits.f32", **limits}
    (folder / "manifest.json").write_text(json.dumps(manifest) + "\n")
    flat = [v for row in rows for v in row]
    print(name, "logits: largest", max(map(abs, flat)), "rms", math.sqrt(math.fsum(v * v for v in flat) / len(flat)))


case("llama", 7, 2, F32, {"tolerance": 2e-4})
case("q-llama-q8_0", 8, 1, Q8_0, {"tolerance": 2e-4, "tolerance_act_quant_max": 0.25, "tolerance_act_quant_rms": 0.05})
