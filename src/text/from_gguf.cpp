// SPDX-License-Identifier: Apache-2.0
// Tokenizer::from_gguf: one maker per `tokenizer.ggml.model`.
#include <fmt/format.h>

#include <algorithm>

#include "src/text/body.hpp"
#include "src/text/bpe.hpp"
#include "src/text/greedy.hpp"
#include "src/text/plamo2.hpp"
#include "src/text/sentencepiece.hpp"
#include "src/text/unigram.hpp"
#include "src/text/wordpiece.hpp"

namespace hz::text {
namespace {

using namespace detail;
using io::Metadata;
using Body = Tokenizer::Body;
using Kind = NormStep::Kind;
using When = NormStep::When;

constexpr std::string_view kModel = "tokenizer.ggml.model", kPre = "tokenizer.ggml.pre", kTokens = "tokenizer.ggml.tokens";
constexpr std::string_view kAddPrefix = "tokenizer.ggml.add_space_prefix";

const PreSpec& pre_spec(const Metadata& m, std::string_view override_name) {
  std::string name(override_name);
  if (name.empty()) name = m.get_or<std::string>(kPre, "");
  std::string hint = "name one with --pre; known are";
  for (const std::string_view known : pre_names()) (hint += ' ') += known;
  if (name.empty())
    throw Error(ErrorKind::bad_file, fmt::format("{} is missing: how text is cut before byte-pair merges is unknown", kPre), m.source(),
                hint);
  const PreSpec* spec = find_pre(name);
  if (!spec) throw Error(ErrorKind::unsupported, fmt::format("{}: the pre-tokenizer '{}' is not known", kPre, name), m.source(), hint);
  return *spec;
}

// BOS and EOS around a text, by the keys of the file or the kind's defaults.
void finish_bos_eos(Body& b, const Metadata& m, bool default_bos, bool default_eos) {
  const auto wanted = [&](std::string_view key, bool fallback, Role role, std::string_view name) {
    const auto given = m.get<bool>(key);
    if (given.value_or(false) && !b.vocab.role(role))
      throw Error(ErrorKind::bad_file, fmt::format("{} is true, but the file names no {} token", key, name), m.source());
    return given.value_or(fallback) && b.vocab.role(role).has_value();
  };
  b.add_bos = wanted("tokenizer.ggml.add_bos_token", default_bos, Role::bos, "BOS");
  b.add_eos = wanted("tokenizer.ggml.add_eos_token", default_eos, Role::eos, "EOS");
  if (b.add_bos) b.prefix = {*b.vocab.role(Role::bos)};
  if (b.add_eos) b.suffix = {*b.vocab.role(Role::eos)};
}

NormStep spaces_to_marks() { return {.kind = Kind::replace, .from = " ", .to = std::string(kSpaceMark)}; }

void make_bpe(Body& b, const Metadata& m, std::string_view pre_name) {
  const PreSpec& spec = pre_spec(m, pre_name);
  b.kind = TokenizerKind::bpe;
  b.pre = spec.name;
  b.clean_up = spec.clean_up;
  b.vocab = read_vocab(m, false);
  read_roles(b.vocab, m, {});
  classify(b.vocab);
  Merges merges = read_merges(b.vocab, m);
  fill_pieces(b.vocab, spec.raw ? spaces_for_marks : decode_byte_chars);
  finish_bos_eos(b, m, spec.add_bos, false);
  std::vector<NormStep> chain;
  if (spec.nfc) chain.push_back({.kind = Kind::form, .form = Form::nfc});
  if (spec.raw) chain.push_back(spaces_to_marks());
  BpeOptions options{.byte_level = !spec.raw, .ignore_merges = spec.ignore_merges, .newline_runs = spec.raw};
  b.algorithm = std::make_unique<Pipeline>(NormChain(std::move(chain)), PreTokenizer(spec.steps),
                                           std::make_unique<Bpe>(b.vocab, std::move(merges), std::move(options)));
}

// Words between white space, characters as symbols (jina-embeddings-v2-base-zh).
void make_whitespace_bpe(Body& b, const Metadata& m) {
  constexpr CutStep kWords[] = {{Cut::keep_matches, "\\S+"}};
  b.kind = TokenizerKind::bpe;
  b.pre = "whitespace";
  b.clean_up = true;
  b.vocab = read_vocab(m, false);
  read_roles(b.vocab, m, {});
  classify(b.vocab);
  Merges merges = read_merges(b.vocab, m);
  fill_pieces(b.vocab, [](std::string_view text) { return std::string(text); });
  finish_bos_eos(b, m, false, false);
  std::vector<NormStep> chain;
  if (m.get_or<bool>("tokenizer.ggml.normalizer.lowercase", false)) chain.push_back({.kind = Kind::lowercase});
  b.algorithm = std::make_unique<Pipeline>(NormChain(std::move(chain)), PreTokenizer(kWords),
                                           std::make_unique<Bpe>(b.vocab, std::move(merges), BpeOptions{.byte_level = false}));
}

void make_sentencepiece(Body& b, const Metadata& m) {
  b.kind = TokenizerKind::sentencepiece;
  b.vocab = read_vocab(m, true);
  read_roles(b.vocab, m, {{Role::bos, 1}, {Role::eos, 2}, {Role::unk, 0}});
  classify(b.vocab);
  fill_pieces(b.vocab, spaces_for_marks);
  finish_bos_eos(b, m, true, false);
  b.add_space_prefix = m.get_or<bool>(kAddPrefix, true);
  std::vector<NormStep> chain;
  if (b.add_space_prefix) chain.push_back({.kind = Kind::prepend, .to = " ", .when = When::after_special});
  chain.push_back(spaces_to_marks());
  b.algorithm = std::make_unique<Pipeline>(NormChain(std::move(chain)), PreTokenizer({}), std::make_unique<SentencePieceBpe>(b.vocab));
}

void make_unigram(Body& b, const Metadata& m) {
  b.kind = TokenizerKind::unigram;
  b.vocab = read_vocab(m, true);
  read_roles(b.vocab, m, {{Role::eos, 1}, {Role::unk, 2}, {Role::pad, 0}});
  classify(b.vocab);
  fill_pieces(b.vocab, spaces_for_marks);
  finish_bos_eos(b, m, false, true);
  b.add_space_prefix = m.get_or<bool>(kAddPrefix, false);
  std::vector<NormStep> chain;
  constexpr std::string_view kMap = "tokenizer.ggml.precompiled_charsmap";
  if (m.contains(kMap)) {
    const auto* array = std::get_if<io::Array>(&m.find(kMap)->data);
    std::string blob;
    if (const auto* u = array ? std::get_if<std::vector<std::uint8_t>>(array) : nullptr)
      blob.assign(u->begin(), u->end());
    else if (const auto* i = array ? std::get_if<std::vector<std::int8_t>>(array) : nullptr)
      blob.assign(i->begin(), i->end());
    else
      throw Error(ErrorKind::bad_file, fmt::format("{}: is not an array of bytes", kMap), m.source());
    b.origin = io::Sha256().update(blob).hex();
    if (!blob.empty()) chain.push_back({.kind = Kind::charsmap, .map = std::make_shared<const Charsmap>(blob, kMap, m.source())});
  }
  if (m.get_or<bool>("tokenizer.ggml.remove_extra_whitespaces", false)) chain.push_back({.kind = Kind::squeeze});
  if (b.add_space_prefix) chain.push_back({.kind = Kind::prepend, .to = " "});
  chain.push_back(spaces_to_marks());
  b.algorithm = std::make_unique<Pipeline>(NormChain(std::move(chain)), PreTokenizer({}), std::make_unique<Unigram>(b.vocab, true));
}

void make_wordpiece(Body& b, const Metadata& m) {
  constexpr CutStep kWords[] = {{Cut::remove, "\\s+"}, {Cut::isolate, "[\\p{P}!-/:-@\\[-`{-~]"}};
  b.kind = TokenizerKind::wordpiece;
  b.clean_up = true;
  b.vocab = read_vocab(m, false);
  read_roles(b.vocab, m, {{Role::bos, 101}, {Role::unk, 100}, {Role::sep, 102}, {Role::pad, 0}, {Role::mask, 103}});
  if (!m.contains("tokenizer.ggml.bos_token_id") && b.vocab.role(Role::cls))
    b.vocab.roles[static_cast<std::size_t>(Role::bos)] = b.vocab.role(Role::cls);
  classify(b.vocab);
  fill_pieces(b.vocab, spaces_for_marks);
  b.add_bos = b.vocab.role(Role::bos).has_value();
  if (b.add_bos) b.prefix = {*b.vocab.role(Role::bos)};
  if (const auto sep = b.vocab.role(Role::sep)) b.suffix = {*sep};
  const bool lower = m.get_or<bool>("tokenizer.ggml.normalizer.lowercase", true);
  std::vector<NormStep> chain{{.kind = Kind::clean}, {.kind = Kind::space_han}};
  if (m.get_or<bool>("tokenizer.ggml.normalizer.strip_accents", lower)) {
    chain.push_back({.kind = Kind::form, .form = Form::nfd});
    chain.push_back({.kind = Kind::strip_accents});
  }
  if (lower) chain.push_back({.kind = Kind::lowercase});
  b.algorithm = std::make_unique<Pipeline>(
      NormChain(std::move(chain)), PreTokenizer(kWords),
      std::make_unique<WordPiece>(b.vocab, WordPieceOptions{.first = std::string(kSpaceMark), .continuing = {}}));
}

void make_rwkv(Body& b, const Metadata& m) {
  b.kind = TokenizerKind::rwkv;
  b.vocab = read_vocab(m, false);
  read_roles(b.vocab, m, {});
  classify(b.vocab);
  for (TokenId id = 0; id < b.vocab.size(); ++id)
    if (b.vocab.in_text(id) && !unescape_rwkv(b.vocab.texts[id]))
      throw Error(ErrorKind::bad_file, fmt::format("{}: token {} has a broken escape: '{}'", kTokens, id, b.vocab.texts[id]), m.source());
  fill_pieces(b.vocab, [](std::string_view text) { return unescape_rwkv(text).value_or(std::string(text)); });
  finish_bos_eos(b, m, false, false);
  b.algorithm = std::make_unique<Pipeline>(NormChain(), PreTokenizer({}), std::make_unique<Greedy>(b.vocab));
}

void make_plamo2(Body& b, const Metadata& m) {
  b.kind = TokenizerKind::plamo2;
  b.vocab = read_vocab(m, true);
  read_roles(b.vocab, m, {{Role::bos, 1}, {Role::eos, 2}, {Role::unk, 0}, {Role::pad, 3}});
  classify(b.vocab);
  if (!byte_tokens(b.vocab).complete)
    throw Error(ErrorKind::bad_file, fmt::format("{}: <0x00> to <0xFF> are not all there", kTokens), m.source());
  fill_pieces(b.vocab, [](std::string_view text) { return std::string(text); });
  finish_bos_eos(b, m, false, false);
  b.algorithm = std::make_unique<Pipeline>(NormChain(), PreTokenizer({}), std::make_unique<Plamo2>(b.vocab));
}

// White space beside special tokens that some models' tokenizers swallow. GGUF has no key for it, so families are
// known by name.
void find_affixes(Vocab& vocab, const Metadata& m, std::string_view pre) {
  std::string name = m.get_or<std::string>("general.name", "");
  std::erase_if(name, [](char c) { return c == '-' || c == '_' || c == ' '; });
  std::transform(name.begin(), name.end(), name.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  const std::string arch = m.get_or<std::string>("general.architecture", "");
  const auto strip_left = [&](std::string_view text) {
    if (const auto id = vocab.find(text)) vocab.affixes.push_back({*id, {.strip_left = true}});
  };
  if (pre == "jina-v2-de" || pre == "jina-v2-es" || pre == "jina-v2-code" || arch == "nomic-bert-moe" || arch == "jina-bert-v3")
    strip_left("<mask>");
  else if (name.find("modernbert") != std::string::npos)
    strip_left("[MASK]");
  else if (name.find("phi3") != std::string::npos)
    for (TokenId id = 0; id < vocab.size(); ++id) {
      const std::string_view text = vocab.texts[id];
      if (vocab.special[static_cast<std::size_t>(id)] != Special::no && text != "<unk>" && text != "<s>" && text != "<|endoftext|>")
        vocab.affixes.push_back({id, {.strip_right = true}});
    }
}

void make(Body& b, const Metadata& m, std::string_view pre) {
  if (!m.contains(kModel))
    throw Error(ErrorKind::bad_file, fmt::format("the file has no tokenizer: the metadata key {} is missing", kModel), m.source(),
                "the model runs on token ids; for text give a tokenizer.json");
  const auto model = m.require<std::string>(kModel);
  if (model == "gpt2") return make_bpe(b, m, pre);
  if (model == "gemma4") return make_bpe(b, m, pre.empty() ? "gemma4" : pre);
  if (model == "whitespace") return make_whitespace_bpe(b, m);
  if (model == "llama") return make_sentencepiece(b, m);
  if (model == "t5") return make_unigram(b, m);
  if (model == "bert") return make_wordpiece(b, m);
  if (model == "rwkv") return make_rwkv(b, m);
  if (model == "plamo2") return make_plamo2(b, m);
  if (model == "none" || model == "no_vocab")
    throw Error(ErrorKind::unsupported, fmt::format("{}: the model has no tokenizer; it takes token ids only", kModel), m.source());
  throw Error(ErrorKind::unsupported, fmt::format("{}: the tokenizer kind '{}' is not built", kModel, model), m.source(),
              "the model still runs on token ids");
}

}  // namespace

std::shared_ptr<const Tokenizer> Tokenizer::from_gguf(const Metadata& metadata, std::string_view pre_override) {
  auto body = std::make_unique<Body>();
  make(*body, metadata, pre_override);
  for (const std::string_view key :
       {"tokenizer.ggml.normalizer.lowercase", "tokenizer.ggml.normalizer.strip_accents", "tokenizer.ggml.remove_extra_whitespaces"})
    body->origin += metadata.contains(key) ? (metadata.get_or<bool>(key, false) ? '1' : '0') : '-';
  find_affixes(body->vocab, metadata, body->pre);
  body->specials = std::make_unique<SpecialSplit>(body->vocab);
  return std::make_shared<const Tokenizer>(std::move(body));
}

}  // namespace hz::text
