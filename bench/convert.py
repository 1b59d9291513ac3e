# SPDX-License-Identifier: Apache-2.0
"""Folders written by transformers with tiny random models, converted and run: logits of hanzo against transformers'.

    bench/convert.py --build build        (needs torch and transformers)"""
import argparse
import pathlib
import subprocess
import tempfile

import numpy
import torch
import transformers

COMMON = dict(hidden_size=64, intermediate_size=128, num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=2, vocab_size=200, max_position_embeddings=256)
MODELS = {
    "llama": lambda: transformers.LlamaForCausalLM(transformers.LlamaConfig(**COMMON)),
    "llama3-rope": lambda: transformers.LlamaForCausalLM(transformers.LlamaConfig(**COMMON, rope_scaling={
        "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 64})),
    "mistral": lambda: transformers.MistralForCausalLM(transformers.MistralConfig(**COMMON, sliding_window=None)),
    "mixtral": lambda: transformers.MixtralForCausalLM(transformers.MixtralConfig(**COMMON, num_local_experts=4, num_experts_per_tok=2, sliding_window=None)),
    "qwen2": lambda: transformers.Qwen2ForCausalLM(transformers.Qwen2Config(**COMMON)),
    "qwen3": lambda: transformers.Qwen3ForCausalLM(transformers.Qwen3Config(**COMMON, head_dim=16)),
    "gemma": lambda: transformers.GemmaForCausalLM(transformers.GemmaConfig(**COMMON, head_dim=16)),
    "gemma2": lambda: transformers.Gemma2ForCausalLM(transformers.Gemma2Config(**COMMON, head_dim=16, query_pre_attn_scalar=16, sliding_window=8)),
    "gemma3": lambda: transformers.Gemma3ForCausalLM(transformers.Gemma3TextConfig(**COMMON, head_dim=16, query_pre_attn_scalar=16, sliding_window=8)),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    args = parser.parse_args()
    failed = 0
    for name, make in MODELS.items():
        torch.manual_seed(1)
        model = make().eval()
        ids = [1, 5, 7, 100, 33, 2, 9, 150, 11, 12, 13, 14]
        with torch.no_grad():
            wanted = model(torch.tensor([ids])).logits[0].float().numpy()
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            model.save_pretrained(folder / name)
            subprocess.run([args.build / "tools/hz-quantize", "convert", folder / name, folder / "m.gguf", "-q"], check=True, stdout=subprocess.DEVNULL)
            subprocess.run([args.build / "tools/hz-run", "-m", folder / "m.gguf", "--ids", ",".join(map(str, ids)), "--logits", folder / "l.npy", "--kv", "f32", "-q"],
                           check=True, stdout=subprocess.DEVNULL)
            got = numpy.load(folder / "l.npy")
        error = numpy.abs(got - wanted).max() / numpy.abs(wanted).max()
        failed += error > 1e-3
        print(f"{name:<12} largest difference / largest logit {error:.2e}{'  FAILED' if error > 1e-3 else ''}")
    raise SystemExit(1 if failed else 0)


if __name__ == "__main__":
    main()
