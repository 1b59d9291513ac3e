# SPDX-License-Identifier: Apache-2.0
"""A trained adapter in other engines: our logits against PEFT's over the same weights in float32, and against llama.cpp's.

Needs torch, transformers, peft, gguf and numpy from PyPI. --llama: the path of llama-perplexity. The text is cut to whole
windows; the second half of each is compared, as perplexity does."""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

# The blocks' tensors in a GGUF file of the llama architecture and their Hugging Face names.
NAMES = {"attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm", "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj",
         "attn_v": "self_attn.v_proj", "attn_output": "self_attn.o_proj", "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj"}


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", default="build", help="build folder with tools/hz-train and tools/hz-bench")
    p.add_argument("-m", "--model", required=True, help="GGUF file of the llama architecture")
    p.add_argument("--lora", required=True, help="our adapter folder")
    p.add_argument("-f", "--file", required=True, nargs="+", help="held-out text")
    p.add_argument("--bytes", type=int, default=12000, help="of each text")
    p.add_argument("--window", type=int, default=256)
    p.add_argument("--llama", help="llama-perplexity, to compare with too")
    p.add_argument("--no-peft", action="store_true")
    p.add_argument("-t", type=int, default=2)
    return p.parse_args()


def run(*command):
    r = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    if r.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{r.stderr[-2000:]}")
    return r.stdout


def ids_of(args, text, folder):
    """Token ids, as our tokenizer reads the text."""
    plain = folder / "ids.txt"
    plain.write_text(text)
    out = run(f"{args.build}/tools/hz-train", "inspect", "-m", args.model, "--data", plain, "--format", "plain", "-c", 1 << 20, "--json", "-q")
    return json.loads(out.splitlines()[0])["input_ids"]


def ours(args, text_file, folder, activations):
    from gguf import GGUFReader
    out = folder / f"{activations}.logits"
    run(f"{args.build}/tools/hz-bench", "kl", "-m", args.model, "--lora", args.lora, "-f", text_file, "-c", args.window, "--activations", activations,
        "-t", args.t, "--save", out, "-q")
    t = GGUFReader(out).tensors[0]
    return np.array(t.data, dtype=np.float32).reshape(-1, int(t.shape[0]))


def halves_apart(w, heads):
    """Rows of q or k from adjacent pairs back to Hugging Face's order: the halves of a head apart."""
    return w.reshape(heads, w.shape[0] // heads // 2, 2, *w.shape[1:]).swapaxes(1, 2).reshape(w.shape)


def peft_model(args):
    import torch
    from gguf import GGUFReader, dequantize
    from peft import PeftModel
    from transformers import LlamaConfig, LlamaForCausalLM
    reader = GGUFReader(args.model)

    def field(key, fallback=None):
        f = reader.get_field("llama." + key)
        return fallback if f is None else f.contents()
    tensors = {t.name: np.array(dequantize(t.data, t.tensor_type), dtype=np.float32).reshape([int(n) for n in reversed(t.shape)]) for t in reader.tensors}
    heads, kv_heads = field("attention.head_count"), field("attention.head_count_kv")
    vocab, hidden = tensors["token_embd.weight"].shape
    tied = "output.weight" not in tensors
    config = LlamaConfig(vocab_size=vocab, hidden_size=hidden, intermediate_size=field("feed_forward_length"), num_hidden_layers=field("block_count"),
                         num_attention_heads=heads, num_key_value_heads=kv_heads, max_position_embeddings=field("context_length"),
                         rms_norm_eps=field("attention.layer_norm_rms_epsilon"), rope_theta=field("rope.freq_base", 10000.0), tie_word_embeddings=tied)
    state = {"model.embed_tokens.weight": tensors["token_embd.weight"], "model.norm.weight": tensors["output_norm.weight"],
             "lm_head.weight": tensors["token_embd.weight" if tied else "output.weight"]}
    for name, w in tensors.items():
        parts = name.split(".")
        if parts[0] != "blk":
            continue
        if parts[2] in ("attn_q", "attn_k"):
            w = halves_apart(w, heads if parts[2] == "attn_q" else kv_heads)
        state[f"model.layers.{parts[1]}.{NAMES[parts[2]]}.weight"] = w
    model = LlamaForCausalLM(config).float()
    model.load_state_dict({k: torch.from_numpy(np.ascontiguousarray(v)) for k, v in state.items()})
    torch.set_num_threads(args.t)
    return PeftModel.from_pretrained(model, args.lora).eval()


def peft_logits(args, ids):
    import torch
    model = peft_model(args)
    rows = []
    with torch.no_grad():
        for at in range(0, len(ids) - args.window + 1, args.window):
            rows.append(model(torch.tensor([ids[at:at + args.window]])).logits[0, args.window // 2:args.window - 1].numpy())
    return np.concatenate(rows)


def llama_logits(args, text_file, folder, ids):
    """llama-perplexity's file: "_logits_", window, vocabulary, windows, ids; for each row a scale, the least log-probability, 16-bit steps above it."""
    adapter, out = folder / "adapter.gguf", folder / "llama.logits"
    run(f"{args.build}/tools/hz-train", "export", "-m", args.model, "--lora", args.lora, "-o", adapter, "-q")
    run(args.llama, "-m", args.model, "--lora", adapter, "-f", text_file, "-c", args.window, "-b", args.window, "-t", args.t, "--kl-divergence-base", out)
    raw = out.read_bytes()
    assert raw[:8] == b"_logits_", raw[:8]
    window, vocab, windows = np.frombuffer(raw, np.int32, 3, 8)
    read = np.frombuffer(raw, np.int32, window * windows, 20)
    same = read.tolist() == ids[:len(read)]
    print(f"llama.cpp: {windows} windows of {window}, {'the same' if same else 'OTHER'} token ids as ours")
    width, at = 2 * ((vocab + 1) // 2) + 4, 20 + 4 * window * windows
    steps = np.frombuffer(raw, np.uint16, (len(raw) - at) // 2, at).reshape(-1, width)
    head = steps[:, :4].copy().view(np.float32)
    steps = steps[:, 4:4 + vocab]
    # Step 0 is "16 below the likeliest, or less": llama-perplexity leaves such tokens out of its divergence, and so do we.
    return np.where(steps == 0, -np.inf, steps * head[:, :1] + head[:, 1:2])


def log_softmax(x):
    x = x.astype(np.float64)
    x -= x.max(axis=1, keepdims=True)
    return x - np.log(np.exp(x).sum(axis=1, keepdims=True))


def compare(name, base, other):
    """base, other: logits [rows, vocabulary]; the base's may be -inf."""
    n, kl, apart = min(len(base), len(other)), [], []
    for at in range(0, n, 64):
        p, q = log_softmax(base[at:at + 64]), log_softmax(other[at:at + 64])
        there = np.isfinite(p)
        kl.append(np.where(there, np.exp(p) * (np.where(there, p, 0) - q), 0).sum(axis=1))
        apart.append(np.abs(np.where(there, base[at:at + 64].astype(np.float64) - other[at:at + 64], 0)).mean())
    top = np.mean(base[:n].argmax(axis=1) == other[:n].argmax(axis=1))
    print(f"{name}: {n} positions, KL {np.concatenate(kl).mean():.6f}, same top token {100 * top:.2f} %"
          + (f", mean absolute logit difference {np.mean(apart):.6f}" if np.isfinite(base[:n]).all() else ""), flush=True)


def main():
    args = arguments()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        text = "\n".join(pathlib.Path(f).read_bytes()[:args.bytes].decode("utf-8", "ignore") for f in args.file)
        text_file = folder / "text.txt"
        text_file.write_text(text)
        ids = ids_of(args, text, folder)
        mine = {a: ours(args, text_file, folder, a) for a in ("f32", "int8")}
        if not args.no_peft:
            peft = peft_logits(args, ids)
            compare("PEFT, --activations f32", peft, mine["f32"])
            compare("PEFT, served (int8)", peft, mine["int8"])
        if args.llama:
            llama = llama_logits(args, text_file, folder, ids)
            compare("llama.cpp, served (int8)", llama, mine["int8"])


main()
