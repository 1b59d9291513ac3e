#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A GGUF file of a llama shape with random weights, for speed alone: generate_shape.py OUT.gguf [--experts 8] [--imatrix OUT.gguf]

Without experts: hidden 1024, feed-forward 2816, 12 layers, 16 heads over 4 kv heads, 32,000 tokens; with them a Mixtral
shape of 6 layers, two experts a token. All widths divide by 256, so that every block format fits. There is no tokenizer:
speed tests feed ids. Needs numpy and gguf (PyPI). Quantize with `hz-quantize --pure`."""
import argparse

import gguf
import numpy as np

HIDDEN, FEED_FORWARD, HEADS, KV_HEADS, VOCAB, CONTEXT = 1024, 2816, 16, 4, 32000, 8192


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out")
    parser.add_argument("--experts", type=int, default=0)
    parser.add_argument("--layers", type=int)
    parser.add_argument("--imatrix", help="also an importance file in which all columns are equal: some types are refused without one")
    args = parser.parse_args()
    layers = args.layers or (6 if args.experts else 12)
    random = np.random.default_rng(7)
    writer = gguf.GGUFWriter(args.out, "llama")
    writer.add_name("random weights")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(HIDDEN)
    writer.add_block_count(layers)
    writer.add_feed_forward_length(FEED_FORWARD)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_freq_base(10000.0)
    writer.add_rope_dimension_count(HIDDEN // HEADS)
    writer.add_vocab_size(VOCAB)
    writer.add_tokenizer_model("no_vocab")
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_F16)
    if args.experts:
        writer.add_expert_count(args.experts)
        writer.add_expert_used_count(2)

    columns = {}

    def matrix(name, *shape):
        columns[name] = shape[:-2] + shape[-1:]
        # Rows of unit gain, so that activations stay in range through the layers.
        values = random.standard_normal(shape, dtype=np.float32) / np.float32(np.sqrt(shape[-1]))
        writer.add_tensor(name, values.astype(np.float16))

    def ones(name):
        writer.add_tensor(name, np.ones(HIDDEN, dtype=np.float32))

    kv = HIDDEN // HEADS * KV_HEADS
    matrix("token_embd.weight", VOCAB, HIDDEN)
    ones("output_norm.weight")
    matrix("output.weight", VOCAB, HIDDEN)
    for i in range(layers):
        block = f"blk.{i}."
        ones(block + "attn_norm.weight")
        ones(block + "ffn_norm.weight")
        for name, rows, cols in (("attn_q", HIDDEN, HIDDEN), ("attn_k", kv, HIDDEN), ("attn_v", kv, HIDDEN), ("attn_output", HIDDEN, HIDDEN)):
            matrix(f"{block}{name}.weight", rows, cols)
        for name, rows, cols in (("ffn_gate", FEED_FORWARD, HIDDEN), ("ffn_up", FEED_FORWARD, HIDDEN), ("ffn_down", HIDDEN, FEED_FORWARD)):
            if args.experts:
                matrix(f"{block}{name}_exps.weight", args.experts, rows, cols)
            else:
                matrix(f"{block}{name}.weight", rows, cols)
        if args.experts:
            matrix(block + "ffn_gate_inp.weight", args.experts, HIDDEN)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    if args.imatrix:
        write_imatrix(args.imatrix, columns)


def write_imatrix(path, columns):
    writer = gguf.GGUFWriter(path, "")
    writer.add_type("imatrix")
    writer.add_array("imatrix.datasets", ["equal columns"])
    writer.add_uint32("imatrix.chunk_count", 1)
    writer.add_uint32("imatrix.chunk_size", 512)
    for name, shape in columns.items():
        experts = shape[0] if len(shape) == 2 else 1
        writer.add_tensor(name + ".in_sum2", np.ones((experts, shape[-1]), dtype=np.float32))
        writer.add_tensor(name + ".counts", np.ones((experts, 1), dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    main()
