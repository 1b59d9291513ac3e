#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A LoRA step of torch + PEFT beside hanzo's, in turn: same shape, rank, targets, tokens and threads.

usage: training_peft.py MODEL.gguf [--tool build/bench/hz-bench-training] [--tokens 512] [--pairs 5] [--threads 2]

Needs torch, transformers and peft (PyPI). The peer's model has the shape of the file and random weights: speed and memory
do not depend on their values. Each measurement is a process of its own, so that its peak of memory is its own."""
import argparse
import json
import os
import re
import resource
import statistics
import subprocess
import sys
import time

LINEARS = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]


def peer(shape, dtype_name, tokens, threads, steps):
    import torch
    from peft import LoraConfig, get_peft_model
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.set_num_threads(threads)
    torch.manual_seed(7)
    model = LlamaForCausalLM(LlamaConfig(**shape)).to(getattr(torch, dtype_name))
    model = get_peft_model(model, LoraConfig(r=16, lora_alpha=32, target_modules=LINEARS, task_type="CAUSAL_LM"))
    model.train()
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=2e-4)
    ids = torch.randint(0, shape["vocab_size"], (1, tokens))
    seconds = []
    for _ in range(steps):
        begin = time.perf_counter()
        loss = model(input_ids=ids, labels=ids).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        seconds.append(time.perf_counter() - begin)
    print(json.dumps({"tokens_per_s": tokens / min(seconds[1:]), "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000}))


def ours(tool, model, tokens, threads, steps, keep):
    args = [tool, model, str(tokens), str(steps), str(threads)] + (["keep"] if keep else [])
    lines = subprocess.run(args, check=True, capture_output=True, text=True).stdout.splitlines()
    rates = [float(re.search(r"([\d.]+) tokens/s", line)[1]) for line in lines]
    return {"tokens_per_s": max(rates[1:]), "peak_mb": float(re.search(r"peak (\d+) MB", lines[-1])[1])}


def shape_of(tool_info):
    """hidden sizes from `hz-run --info --json` of the file."""
    meta = tool_info["metadata"]
    arch = meta["general.architecture"]
    get = lambda key: meta[f"{arch}.{key}"]
    vocab = next(t["shape"][0] for t in tool_info["tensors"] if t["name"] == "token_embd.weight")
    return dict(hidden_size=get("embedding_length"), intermediate_size=get("feed_forward_length"), num_hidden_layers=get("block_count"),
                num_attention_heads=get("attention.head_count"), num_key_value_heads=get("attention.head_count_kv"), vocab_size=vocab,
                tie_word_embeddings=not any(t["name"] == "output.weight" for t in tool_info["tensors"]), max_position_embeddings=8192)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--tool", default="build/bench/hz-bench-training")
    parser.add_argument("--run", default="build/tools/hz-run")
    parser.add_argument("--tokens", type=int, default=512)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--steps", type=int, default=4, help="of each process; the first is not counted, the best of the others is")
    parser.add_argument("--dtypes", default="float32,bfloat16")
    parser.add_argument("--peer", help=argparse.SUPPRESS)
    a = parser.parse_args()
    if a.peer:
        return peer(json.loads(a.model), a.peer, a.tokens, a.threads, a.steps)

    shape = shape_of(json.loads(subprocess.run([a.run, "-m", a.model, "--info", "--json"], check=True, capture_output=True, text=True).stdout))
    contenders = {"ours": lambda: ours(a.tool, a.model, a.tokens, a.threads, a.steps, False),
                  "ours, without checkpointing": lambda: ours(a.tool, a.model, a.tokens, a.threads, a.steps, True)}
    for dtype in a.dtypes.split(","):
        command = [sys.executable, os.path.abspath(__file__), json.dumps(shape), "--peer", dtype, "--tokens", str(a.tokens), "--threads", str(a.threads), "--steps", str(a.steps)]
        contenders[f"torch + PEFT, {dtype}"] = lambda command=command: json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[-1])
    samples = {name: [] for name in contenders}
    for pair in range(a.pairs):
        for name, measure in contenders.items():
            samples[name].append(measure())
            print(f"{pair + 1}/{a.pairs} {name}: {samples[name][-1]}", file=sys.stderr)
    print("| step | tokens/s | peak MB | ours against it, speed | memory |\n| --- | ---: | ---: | ---: | ---: |")
    for name, got in samples.items():
        median = lambda key: statistics.median(s[key] for s in got)
        ratio = lambda key: statistics.median(o[key] / s[key] for o, s in zip(samples["ours"], got))
        print(f"| {name} | {median('tokens_per_s'):.0f} | {median('peak_mb'):.0f} | {ratio('tokens_per_s'):.2f} | {ratio('peak_mb'):.2f} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
