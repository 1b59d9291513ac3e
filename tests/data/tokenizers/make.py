# SPDX-License-Identifier: Apache-2.0
"""Makes the small tokenizers beside this file and what Hugging Face's library says of some texts.

Needs `pip install tokenizers==0.23.3`. Everything is trained on the sentences below, which were written for this
project. Writes NAME.json (a tokenizer), cases.json (ids and decoded text) and splits.json (pre-tokenizer pieces).
Training is not reproducible to the last token: cases.json belongs to the NAME.json of the same run."""
import json
import pathlib

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

HERE = pathlib.Path(__file__).parent
CORPUS = [
    "The tokenizer cuts a text into pieces, and the pieces into tokens.",
    "Tokens that occur together often are merged; the others stay apart.",
    "It's 3 o'clock, we've 12 apples, they'll want 1234567 more.",
    "Der Bäcker grüßt die Füchse, ça va très bien, ¿cómo estás, mañana?",
    "日本語の文章と中文的句子。한국어 문장.",
    "Привет, мир! Это маленький корпус.",
    "def merge(left, right):\n    return left + right\n\n\nprint(merge('a', 'b'))\n",
    "  two spaces,   three spaces,\ttabs\t\tand\nnew\r\nlines\n\n",
] * 6
TEXTS = [
    "", " ", "  ", "   a", "a   ", "\n", "\n\n\n", "\t\n \n x", "Hello world", " Hello  world!", "It's we've THEY'LL don't 'S 's", "don''t 'll're",
    "1 12 123 1234 12345 1234567", "1234567abc 12,345.678", "½ ² ٣ ١٢٣ Ⅷ", "x=1;y[2]+=3 // z", "snake_case camelCase XMLHttp HTML5", "e\u0301 é ế ữ",
    "ÀÉÎ ñandú ß ẞ ŒUVRE", "日本語 カタカナ ひらがな 漢字", "中文,测试。！？", "한국어 문장", "Привет МИР", "नमस्ते दुनिया", "ภาษาไทย", "العربية ١٢", "😀 👍🏽 👨‍👩‍👧 🇩🇪", "a\u00a0b\u3000c\u2028d\u0085e",
    "\u200bzero\u200dwidth", "tab\tsep\r\nline\r\rend", "<|end|> <s> </s> [MASK] <unk>", "▁mark ▁ x▁y", "((nested)) [[x]] {{y}}", "-- --- ---- ....", "http://a.b/c?d=e&f#g", "İstanbul ΣΑΣ ſ K",
    "a" * 60, " " * 40 + "b", "!?" * 30, "ab" * 40,
]

CONTRACTION = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
QWEN2 = CONTRACTION + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
LLAMA3 = QWEN2.replace(r"\p{N}| ?", r"\p{N}{1,3}| ?")
CASED = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+TAIL|"
         r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*TAIL")
GPT4O = CASED.replace("TAIL", CONTRACTION + "?") + r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
DEEPSEEK3 = (r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
PRE = {  # tokenizer.ggml.pre: the patterns of the model's own file, each applied inside the pieces of the one before
    "gpt-2": [GPT2],
    "smollm": [r"\p{N}", GPT2],
    "llama-bpe": [LLAMA3],
    "qwen2": [QWEN2],
    "qwen35": [CONTRACTION + r"|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"],
    "deepseek-coder": [r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", "[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+", r"\p{N}"],
    "deepseek-v3": [r"\p{N}{1,3}", "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+", DEEPSEEK3],
    "falcon": [r"[\p{P}\$\+<=>\^~\|`]+", GPT2, "[0-9][0-9][0-9]"],
    "bloom": [" ?[^(\\s|.,!?\u2026\u3002\uff0c\u3001\u0964\u06d4\u060c)]+"],
    "tekken": [CASED.replace("TAIL", "") + r"|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"],
    "gpt-4o": [GPT4O],
    "tiny_aya": [r"\d{1,3}(?=(?:\d{3})*\b)", GPT4O],
    "superbpe": [r"\p{N}+", r"(?=(\d{3})+(?!\d))"],
    "kimi-k2": [r"[\p{Han}]+|" + CASED.replace("TAIL", CONTRACTION + "?").replace(r"\p{M}]", r"\p{M}&&[^\p{Han}]]") +
                r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"],
    "bailingmoe": [r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+"],
    "seed-coder": [CONTRACTION + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+|\s+(?!\S)|\s+"],
    "exaone-moe": [CONTRACTION + r"|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+"],
    "jais-2": [CONTRACTION + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s{512}(?!\S)|\s{256}(?!\S)|\s{128}(?!\S)|"
               r"\s{64}(?!\S)|\s{32}(?!\S)|\s{16}(?!\S)|\s{8}(?!\S)|\s{4}(?!\S)|\s{1,2}(?!\S)|\s{1}"],
    "laguna": [r"[^\n]+|[\n]+", QWEN2],
    "minicpm5": [r"\p{N}{1,3}", QWEN2.replace(r"\p{N}| ?", r"\p{N}+| ?")],
}


def split(pattern):
    return pre_tokenizers.Split(Regex(pattern), "isolated")


def byte_level(pre, normalizer=None):
    t = Tokenizer(models.BPE())
    if normalizer:
        t.normalizer = normalizer
    t.pre_tokenizer = pre_tokenizers.Sequence([*pre, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    t.train_from_iterator(CORPUS, trainers.BpeTrainer(vocab_size=420, special_tokens=["<s>", "</s>"], show_progress=False,
                                                      initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    t.decoder = decoders.ByteLevel()
    return t


def make():
    out = {}
    t = out["llama3"] = byte_level([split(LLAMA3)])
    t.post_processor = processors.TemplateProcessing(single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 1)])
    t = out["qwen"] = byte_level([split(QWEN2)], normalizers.NFC())
    t.add_tokens([AddedToken("camel", single_word=True), AddedToken("XML", normalized=False)])
    t.add_special_tokens([AddedToken("[MASK]", lstrip=True), AddedToken("<|end|>", rstrip=True)])
    t = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    t.normalizer = normalizers.Replace(" ", "▁")
    t.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    t.train_from_iterator(CORPUS, trainers.BpeTrainer(vocab_size=260, special_tokens=["<unk>", "<s>", "</s>"], show_progress=False))
    t.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    with_bytes = json.loads(t.to_str())
    vocab = with_bytes["model"]["vocab"]
    vocab.update({f"<0x{b:02X}>": len(vocab) + b for b in range(256)})
    out["gemma"] = Tokenizer.from_str(json.dumps(with_bytes))
    t = out["metaspace"] = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True))
    t.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
    t.train_from_iterator([s[:40] for s in CORPUS], trainers.BpeTrainer(vocab_size=300, special_tokens=["<unk>", "<s>"], show_progress=False))
    t.decoder = decoders.Metaspace(prepend_scheme="first")
    t = out["wordpiece"] = Tokenizer(models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=50))
    t.normalizer = normalizers.BertNormalizer(lowercase=True)
    t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    t.train_from_iterator(CORPUS, trainers.WordPieceTrainer(vocab_size=400, special_tokens=["[UNK]", "[CLS]", "[SEP]", "[MASK]"], show_progress=False))
    t.post_processor = processors.BertProcessing(("[SEP]", 2), ("[CLS]", 1))
    t.decoder = decoders.WordPiece(cleanup=False)
    t = out["unigram"] = Tokenizer(models.Unigram())
    t.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")])
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(prepend_scheme="always")])
    t.train_from_iterator(CORPUS, trainers.UnigramTrainer(vocab_size=260, special_tokens=["<pad>", "</s>", "<unk>"], unk_token="<unk>", show_progress=False))
    t.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    t.decoder = decoders.Metaspace(prepend_scheme="always")
    t = out["wordlevel"] = Tokenizer(models.WordLevel(unk_token="<unk>"))
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Whitespace(), pre_tokenizers.Digits(individual_digits=True)])
    t.train_from_iterator(CORPUS, trainers.WordLevelTrainer(vocab_size=60, special_tokens=["<unk>"], show_progress=False))
    return out


def main():
    cases = {}
    for name, t in make().items():
        t.save(str(HERE / f"{name}.json"), pretty=False)
        cases[name] = []
        for text in TEXTS:
            ids = t.encode(text).ids
            cases[name].append({"text": text, "ids": ids, "decoded": t.decode(ids)})
    splits = {}
    for name, patterns in PRE.items():
        pre = pre_tokenizers.Sequence([split(p) for p in patterns])
        splits[name] = [[piece for piece, _ in pre.pre_tokenize_str(text)] for text in TEXTS]
    dump = lambda value, file: (HERE / file).write_text(json.dumps(value, ensure_ascii=True, separators=(",", ":")) + "\n")
    dump(cases, "cases.json")
    dump({"texts": TEXTS, "pieces": splits}, "splits.json")


if __name__ == "__main__":
    main()
