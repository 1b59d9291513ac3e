# SPDX-License-Identifier: Apache-2.0
# Makes the reference vectors of this folder: random blocks and what the PyPI package gguf decodes them to, and rows
# with what it encodes them to. Run: pip install gguf==0.19.0; python make.py
import json
import pathlib

import numpy as np
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType as T, quants

SEED, BLOCKS = 20261130, 2
ENCODED = ["BF16", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "TQ1_0", "TQ2_0", "MXFP4"]
DECODED = ENCODED[1:] + ["NVFP4", "Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K", "IQ1_S", "IQ1_M", "IQ2_XXS", "IQ2_XS", "IQ2_S",
                         "IQ3_XXS", "IQ3_S", "IQ4_NL", "IQ4_XS"]
here = pathlib.Path(__file__).parent
rng = np.random.default_rng(SEED)
files, types = {}, {}


def write(name, array):
    (here / name).parent.mkdir(exist_ok=True)
    (here / name).write_bytes(array.tobytes())
    files[name] = {"dtype": str(array.dtype), "shape": list(array.shape), "bytes": array.nbytes}
    return name


def entry(name):
    elems, size = GGML_QUANT_SIZES[T[name]]
    return types.setdefault(name, {"type_id": int(T[name]), "block_size": elems, "type_size": size})


def finite_blocks(kind, elems, size):
    """Random blocks whose weights are finite."""
    while True:
        blocks = rng.integers(0, 256, (BLOCKS, size), dtype=np.uint8)
        if kind == T.NVFP4:
            blocks[:, :4] %= 0x7f  # 0x7f is forbidden, bit 7 unused
        with np.errstate(all="ignore"):
            values = quants.dequantize(blocks, kind).astype(np.float32).reshape(-1)
        if np.isfinite(values).all():
            return blocks, values


for name in DECODED:
    e = entry(name)
    blocks, values = finite_blocks(T[name], e["block_size"], e["type_size"])
    e["dequant"] = {"blocks": write(f"dequant/{name}.blocks.bin", blocks), "out": write(f"dequant/{name}.f32", values)}

rows = rng.normal(0, 0.05, (4, 256)).astype(np.float32)
rows[1] *= rng.choice([1, 20], 256, p=[0.97, 0.03]).astype(np.float32)
rows[2] = np.abs(rows[2])
rows[3, :64] = 0
source = write("quantize/input.f32", rows)
for name in ENCODED:
    encoded = quants.quantize(rows, T[name])
    entry(name)["quantize"] = {"input": source, "out": write(f"quantize/{name}.bin", encoded)}

manifest = {"generator": "make.py with gguf " + __import__("importlib.metadata").metadata.version("gguf"), "seed": SEED,
            "files": files, "types": types}
(here / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n")
