// SPDX-License-Identifier: Apache-2.0
// The pre-tokenizers that GGUF names, as data. The patterns are those of the models' own tokenizer files; where such
// a pattern takes quadratic time on long runs it is written so that it does not, with the same matches.
#include <iterator>

#include "src/text/pretokenizer.hpp"

namespace hz::text::detail {
namespace {

// Parts that many patterns share.
#define HZ_CONTRACTION "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define HZ_PUNCT_WORD "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+"
#define HZ_UPPER "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define HZ_LOWER "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"
#define HZ_SPACES "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define HZ_CASED(tail) "[^\\r\\n\\p{L}\\p{N}]?" HZ_UPPER "*" HZ_LOWER "+" tail "|[^\\r\\n\\p{L}\\p{N}]?" HZ_UPPER "+" HZ_LOWER "*" tail
#define HZ_GPT2 "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"
#define HZ_QWEN2 HZ_CONTRACTION "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|" HZ_SPACES
#define HZ_LLAMA3 HZ_CONTRACTION "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|" HZ_SPACES
#define HZ_BLOOM " ?[^(\\s|.,!?\\x{2026}\\x{3002}\\x{FF0C}\\x{3001}\\x{964}\\x{6D4}\\x{60C})]+"

// Runs of spaces at the end only; (?<!\s) keeps a long run inside the text from being tried at every position.
#define HZ_FINAL_SPACES "(?<!\\s)\\s++\\z"

constexpr CutStep kGpt2[] = {{Cut::isolate, HZ_GPT2}};
constexpr CutStep kDigitGpt2[] = {{Cut::isolate, "\\p{N}"}, {Cut::isolate, HZ_GPT2}};
constexpr CutStep kLlama3[] = {{Cut::isolate, HZ_LLAMA3}};
constexpr CutStep kQwen2[] = {{Cut::isolate, HZ_QWEN2}};
constexpr CutStep kQwen35[] = {{Cut::isolate, HZ_CONTRACTION "|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N}"
     "| ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*|" HZ_SPACES}};
constexpr CutStep kJais2[] = {{Cut::isolate, HZ_CONTRACTION "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}"
     "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s{512}(?!\\S)|\\s{256}(?!\\S)|\\s{128}(?!\\S)|\\s{64}(?!\\S)"
     "|\\s{32}(?!\\S)|\\s{16}(?!\\S)|\\s{8}(?!\\S)|\\s{4}(?!\\S)|\\s{1,2}(?!\\S)|\\s{1}"}};
constexpr CutStep kDeepSeekLlm[] = {
    {Cut::isolate, "[\\r\\n]"},
    {Cut::isolate, "\\s?[A-Za-z\\x{B5}\\x{C0}-\\x{D6}\\x{D8}-\\x{F6}\\x{F8}-\\x{1BA}\\x{1BC}-\\x{1BF}\\x{1C4}-\\x{293}"
     "\\x{295}-\\x{2AF}\\x{370}-\\x{373}\\x{376}\\x{377}\\x{37B}-\\x{37D}\\x{37F}\\x{386}\\x{388}-\\x{38A}\\x{38C}"
     "\\x{38E}-\\x{3A1}\\x{3A3}-\\x{3F5}\\x{3F7}-\\x{481}\\x{48A}-\\x{52F}\\x{531}-\\x{556}\\x{10A0}-\\x{10C5}\\x{13A0}-"
     "\\x{13F5}\\x{13F8}-\\x{13FD}\\x{1C90}-\\x{1CBA}\\x{1CBD}-\\x{1CBF}\\x{1D00}-\\x{1D2B}\\x{1D6B}-\\x{1D77}\\x{1D79}-"
     "\\x{1D9A}\\x{1E00}-\\x{1F15}\\x{1F18}-\\x{1F1D}\\x{1F20}-\\x{1F45}\\x{1F48}-\\x{1F4D}\\x{1F50}-\\x{1F57}\\x{1F59}"
     "\\x{1F5B}\\x{1F5D}\\x{1F5F}-\\x{1F7D}\\x{1F80}-\\x{1FB4}\\x{1FB6}-\\x{1FBC}\\x{1FBE}\\x{1FC2}-\\x{1FC4}\\x{1FC6}-"
     "\\x{1FCC}\\x{1FD0}-\\x{1FD3}\\x{1FD6}-\\x{1FDB}\\x{1FE0}-\\x{1FEC}\\x{1FF2}-\\x{1FF4}\\x{1FF6}-\\x{1FFC}\\x{2102}"
     "\\x{2107}\\x{210A}-\\x{2113}\\x{2115}\\x{2119}-\\x{211D}\\x{2124}\\x{2126}\\x{2128}\\x{212A}-\\x{212D}\\x{212F}-"
     "\\x{2134}\\x{2139}\\x{213C}-\\x{213F}\\x{2145}-\\x{2149}\\x{214E}\\x{2183}\\x{2184}\\x{2C00}-\\x{2C7B}\\x{2C7E}-"
     "\\x{2CE4}\\x{2CEB}-\\x{2CEE}\\x{2CF2}\\x{2CF3}\\x{A640}-\\x{A66D}\\x{A680}-\\x{A69B}\\x{A722}-\\x{A76F}\\x{A771}-"
     "\\x{A787}\\x{A78B}-\\x{A78E}\\x{AB70}-\\x{ABBF}\\x{FB00}-\\x{FB06}\\x{FB13}-\\x{FB17}\\x{FF21}-\\x{FF3A}\\x{FF41}-"
     "\\x{FF5A}\\x{10400}-\\x{1044F}\\x{104B0}-\\x{104D3}\\x{104D8}-\\x{104FB}\\x{10C80}-\\x{10CB2}\\x{10CC0}-\\x{10CF2}"
     "\\x{118A0}-\\x{118DF}\\x{1E900}-\\x{1E943}]+"},
    {Cut::isolate, "\\s?[!-/:-~\\x{FF01}-\\x{FF0F}\\x{FF1A}-\\x{FF5E}\\x{2018}-\\x{201F}\\x{3000}-\\x{3002}]+"},
    {Cut::isolate, HZ_FINAL_SPACES},
    {Cut::isolate, "[\\x{4E00}-\\x{9FA5}\\x{800}-\\x{4E00}\\x{AC00}-\\x{D7FF}]+"},
    {Cut::isolate, "\\p{N}+"}};
constexpr CutStep kDeepSeekCoder[] = {{Cut::isolate, "[\\r\\n]"},
                                      {Cut::isolate, "\\s?\\p{L}+"},
                                      {Cut::isolate, "\\s?\\p{P}+"},
                                      {Cut::isolate, "[\\x{4E00}-\\x{9FA5}\\x{800}-\\x{4E00}\\x{AC00}-\\x{D7FF}]+"},
                                      {Cut::isolate, "\\p{N}"}};
constexpr CutStep kDeepSeek3[] = {
    {Cut::isolate, "\\p{N}{1,3}"},
    {Cut::isolate, "[\\x{4E00}-\\x{9FA5}\\x{3040}-\\x{309F}\\x{30A0}-\\x{30FF}]+"},
    {Cut::isolate, HZ_PUNCT_WORD "|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\\r\\n]*|" HZ_SPACES}};
constexpr CutStep kSpark25[] = {
    {Cut::isolate, "\\p{N}{1,3}"},
    {Cut::isolate, "[\\x{4E00}-\\x{9FA5}\\x{3040}-\\x{309F}\\x{30A0}-\\x{30FF}]+"},
    {Cut::isolate, HZ_PUNCT_WORD "|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+|[\\r\\n]|\\s+(?!\\S)|\\s+"},
    {Cut::isolate, "\\p{N}"}};
constexpr CutStep kYoutu[] = {
    {Cut::isolate, "[\\x{AC00}-\\x{D7A3}\\x{3131}-\\x{318E}]+|[\\x{FF01}\\x{2026}\\x{201C}\\x{201D}\\x{2018}\\x{2019}"
     "\\x{2014}\\x{FF1A}\\x{FF1B}\\x{FF0C}\\x{3001}-\\x{303F}\\x{FE30}-\\x{FE4F}]+|[\\x{3105}-\\x{312F}]+|[\\x{4E00}-"
     "\\x{9FA5}\\x{3040}-\\x{309F}\\x{30A0}-\\x{30FF}]+"},
    {Cut::isolate, HZ_CASED(HZ_CONTRACTION "?") "|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|" HZ_SPACES}};
constexpr CutStep kFalcon[] = {
    {Cut::isolate, "[\\p{P}\\$\\+<=>\\^~\\|`]+"}, {Cut::isolate, HZ_GPT2}, {Cut::isolate, "[0-9][0-9][0-9]"}};
constexpr CutStep kDefault[] = {
    {Cut::isolate, "[\\p{P}\\$\\+<=>\\^~\\|]+"}, {Cut::isolate, HZ_GPT2}, {Cut::isolate, "\\p{N}+"}, {Cut::isolate, "[0-9][0-9][0-9]"}};
constexpr CutStep kBloom[] = {{Cut::isolate, HZ_BLOOM}};
constexpr CutStep kViking[] = {{Cut::isolate, HZ_BLOOM}, {Cut::isolate, "\\p{N}"}};
constexpr CutStep kTekken[] = {{Cut::isolate, HZ_CASED("") "|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|" HZ_SPACES}};
constexpr CutStep kGpt4o[] = {{Cut::isolate, HZ_CASED(HZ_CONTRACTION "?") "|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|" HZ_SPACES}};
constexpr CutStep kTinyAya[] = {{Cut::word_digits, {}}, kGpt4o[0]};
constexpr CutStep kChameleon[] = {
    {Cut::isolate, "<sentinel:[0-9]+>"}, {Cut::isolate, "(IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z"},
    {Cut::isolate, "([\\t\\n]|    |  )"}, {Cut::isolate, "\\p{N}"},
    {Cut::isolate, "[\\p{P}!-/:-@\\[-`{-~]"}, {Cut::isolate, HZ_GPT2}};
// Upper- and lower-case runs without Han characters; the intersection is written as a negated union.
#define HZ_UPPER_NOT_HAN "[^\\p{Ll}\\p{N}\\p{P}\\p{S}\\p{Z}\\p{C}\\p{sc:Han}]"
#define HZ_LOWER_NOT_HAN "[^\\p{Lu}\\p{Lt}\\p{N}\\p{P}\\p{S}\\p{Z}\\p{C}\\p{sc:Han}]"
constexpr CutStep kKimiK2[] = {{Cut::isolate,
    "\\p{sc:Han}+|[^\\r\\n\\p{L}\\p{N}]?" HZ_UPPER_NOT_HAN "*" HZ_LOWER_NOT_HAN "+" HZ_CONTRACTION "?"
    "|[^\\r\\n\\p{L}\\p{N}]?" HZ_UPPER_NOT_HAN "+" HZ_LOWER_NOT_HAN "*" HZ_CONTRACTION "?"
    "|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|" HZ_SPACES}};
constexpr CutStep kSuperBpe[] = {{Cut::isolate, "\\p{N}+"}, {Cut::digits, {}}};
constexpr CutStep kBailing[] = {{Cut::isolate, "'(?i:[sdmt]|ll|ve|re)|[^\\r\\n\\p{L}\\p{N}]?+\\p{L}+|\\p{N}"
     "| ?[^\\s\\p{L}\\p{N}]++[\\r\\n]*|\\s*[\\r\\n]|\\s+(?!\\S)|\\s+"}};
constexpr CutStep kSeedCoder[] = {{Cut::isolate, HZ_CONTRACTION "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1}"
     "| ?[^\\s\\p{L}\\p{N}\\r\\n]+|" HZ_SPACES}};
constexpr CutStep kUfakzeka[] = {{Cut::isolate, "[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|" HZ_SPACES}};
constexpr CutStep kAfmoe[] = {
    {Cut::word_digits, {}},
    {Cut::isolate, "[\\x{4E00}-\\x{9FFF}\\x{3400}-\\x{4DBF}\\x{F900}-\\x{FAFF}\\x{3040}-\\x{309F}\\x{30A0}-\\x{30FF}"
     "\\x{FF65}-\\x{FF9F}\\x{2F00}-\\x{2FDF}\\x{E40}-\\x{E7F}\\x{E80}-\\x{EFF}\\x{1780}-\\x{17FF}\\x{1000}-\\x{109F}"
     "\\x{AA60}-\\x{AA7F}\\x{A9E0}-\\x{A9FF}\\x{AC00}-\\x{D7AF}\\x{1100}-\\x{11FF}]+"},
    {Cut::isolate, HZ_PUNCT_WORD "|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\\r\\n]*|" HZ_SPACES}};
constexpr CutStep kLaguna[] = {{Cut::isolate, "[^\\n]+|[\\n]+"}, {Cut::isolate, HZ_QWEN2}};
constexpr CutStep kExaoneMoe[] = {{Cut::isolate, HZ_CONTRACTION ""
     "|[^\\r\\n\\p{L}\\p{N}]?(?:\\p{L}\\p{M}*+(?: \\p{L}\\p{M}*+)*+)++|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]?"
     "|\\s*[\\r\\n]|\\s+(?!\\S)|\\s+"}};
constexpr CutStep kLines[] = {{Cut::isolate, "[^\\n]+|[\\n]+"}};
constexpr CutStep kMiniCpm5[] = {{Cut::isolate, "\\p{N}{1,3}"}, {Cut::isolate, HZ_CONTRACTION ""
     "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}+| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|" HZ_SPACES}};

constexpr PreSpec kTable[] = {
    {.name = "default", .steps = kDefault, .clean_up = true},
    {.name = "gpt-2", .steps = kGpt2, .clean_up = true},
    {.name = "phi-2", .steps = kGpt2, .clean_up = true},
    {.name = "jina-es", .steps = kGpt2, .clean_up = true},
    {.name = "jina-de", .steps = kGpt2, .clean_up = true},
    {.name = "jina-v1-en", .steps = kGpt2, .clean_up = true},
    {.name = "jina-v2-es", .steps = kGpt2, .clean_up = true},
    {.name = "jina-v2-de", .steps = kGpt2, .clean_up = true},
    {.name = "jina-v2-code", .steps = kGpt2, .clean_up = true},
    {.name = "roberta-bpe", .steps = kGpt2, .clean_up = true},
    {.name = "gigachat", .steps = kGpt2, .clean_up = true},
    {.name = "a.x-4.0", .steps = kGpt2, .clean_up = true},
    {.name = "mellum", .steps = kGpt2, .clean_up = true},
    {.name = "modern-bert", .steps = kGpt2, .clean_up = true, .nfc = true},
    {.name = "exaone4", .steps = kGpt2, .clean_up = true},
    {.name = "mpt", .steps = kGpt2, .clean_up = true, .nfc = true},
    {.name = "olmo", .steps = kGpt2, .clean_up = true, .nfc = true},
    {.name = "jais", .steps = kGpt2, .clean_up = true},
    {.name = "trillion", .steps = kGpt2},
    {.name = "granite-docling", .steps = kGpt2},
    {.name = "starcoder", .steps = kDigitGpt2, .clean_up = true},
    {.name = "refact", .steps = kDigitGpt2, .clean_up = true},
    {.name = "command-r", .steps = kDigitGpt2, .nfc = true},
    {.name = "smollm", .steps = kDigitGpt2},
    {.name = "codeshell", .steps = kDigitGpt2, .clean_up = true},
    {.name = "exaone", .steps = kDigitGpt2, .clean_up = true},
    {.name = "minerva-7b", .steps = kDigitGpt2, .clean_up = true},
    {.name = "mellum2", .steps = kDigitGpt2, .clean_up = true},
    {.name = "llama3", .steps = kLlama3, .ignore_merges = true, .add_bos = true, .clean_up = true},
    {.name = "llama-v3", .steps = kLlama3, .ignore_merges = true, .add_bos = true, .clean_up = true},
    {.name = "llama-bpe", .steps = kLlama3, .ignore_merges = true, .add_bos = true, .clean_up = true},
    {.name = "falcon3", .steps = kLlama3, .ignore_merges = true, .add_bos = true, .clean_up = true},
    {.name = "falcon-h1", .steps = kLlama3, .ignore_merges = true, .add_bos = true, .clean_up = true},
    {.name = "pixtral", .steps = kLlama3, .ignore_merges = true, .add_bos = true, .clean_up = true},
    {.name = "midm-2.0", .steps = kLlama3, .ignore_merges = true, .add_bos = true, .clean_up = true},
    {.name = "lfm2", .steps = kLlama3, .ignore_merges = true, .add_bos = true, .clean_up = true},
    {.name = "jina-v5-nano", .steps = kLlama3, .ignore_merges = true, .add_bos = true, .clean_up = true},
    {.name = "dbrx", .steps = kLlama3, .clean_up = true},
    {.name = "smaug-bpe", .steps = kLlama3, .clean_up = true},
    {.name = "chatglm-bpe", .steps = kLlama3, .clean_up = true},
    {.name = "glm4", .steps = kLlama3, .ignore_merges = true, .clean_up = true},
    {.name = "glm5", .steps = kLlama3, .ignore_merges = true, .clean_up = true},
    {.name = "minicpm5", .steps = kMiniCpm5, .ignore_merges = true, .clean_up = true},
    {.name = "jais-2", .steps = kJais2, .clean_up = true},
    {.name = "deepseek-llm", .steps = kDeepSeekLlm},
    {.name = "deepseek-coder", .steps = kDeepSeekCoder},
    {.name = "deepseek-v3", .steps = kDeepSeek3},
    {.name = "hunyuan-dense", .steps = kDeepSeek3},
    {.name = "hy_v4", .steps = kDeepSeek3},
    {.name = "joyai-llm", .steps = kDeepSeek3},
    {.name = "spark2_5", .steps = kSpark25},
    {.name = "youtu", .steps = kYoutu, .ignore_merges = true},
    {.name = "falcon", .steps = kFalcon, .clean_up = true},
    {.name = "qwen2", .steps = kQwen2, .nfc = true},
    {.name = "deepseek-r1-qwen", .steps = kQwen2, .nfc = true},
    {.name = "kormo", .steps = kQwen2},
    {.name = "f2llmv2", .steps = kQwen2, .nfc = true},
    {.name = "megrez", .steps = kQwen2, .clean_up = true, .nfc = true},
    {.name = "stablelm2", .steps = kQwen2, .clean_up = true},
    {.name = "hunyuan", .steps = kQwen2},
    {.name = "solar-open", .steps = kQwen2},
    {.name = "grok-2", .steps = kQwen2},
    {.name = "qwen35", .steps = kQwen35},
    {.name = "poro-chat", .steps = kBloom},
    {.name = "bloom", .steps = kBloom, .clean_up = true},
    {.name = "gpt3-finnish", .steps = kBloom, .clean_up = true},
    {.name = "viking", .steps = kViking},
    {.name = "tekken", .steps = kTekken, .ignore_merges = true, .add_bos = true},
    {.name = "chameleon", .steps = kChameleon, .add_bos = true},
    {.name = "gpt-4o", .steps = kGpt4o},
    {.name = "llama4", .steps = kGpt4o},
    {.name = "kanana2", .steps = kGpt4o},
    {.name = "talkie", .steps = kGpt4o},
    {.name = "minimax-m2", .steps = kGpt4o},
    {.name = "granite-embed-multi-97m", .steps = kGpt4o, .ignore_merges = true},
    {.name = "tiny_aya", .steps = kTinyAya},
    {.name = "cohere2moe", .steps = kTinyAya},
    {.name = "kimi-k2", .steps = kKimiK2},
    {.name = "superbpe", .steps = kSuperBpe},
    {.name = "bailingmoe", .steps = kBailing},
    {.name = "bailingmoe2", .steps = kBailing},
    {.name = "llada-moe", .steps = kBailing},
    {.name = "seed-coder", .steps = kSeedCoder},
    {.name = "ufakzeka", .steps = kUfakzeka},
    {.name = "afmoe", .steps = kAfmoe},
    {.name = "laguna", .steps = kLaguna},
    {.name = "exaone-moe", .steps = kExaoneMoe, .clean_up = true},
    {.name = "gemma4", .steps = kLines, .add_bos = true, .clean_up = true, .raw = true},
    {.name = "granite-embed-multi-311m", .steps = kLines, .add_bos = true, .clean_up = true, .raw = true},
    {.name = "sarvam-moe", .steps = kLines, .raw = true},
};

}  // namespace

const PreSpec* find_pre(std::string_view name) {
  for (const PreSpec& spec : kTable)
    if (spec.name == name) return &spec;
  return nullptr;
}

std::vector<std::string_view> pre_names() {
  std::vector<std::string_view> names;
  for (const PreSpec& spec : kTable) names.push_back(spec.name);
  return names;
}

}  // namespace hz::text::detail
