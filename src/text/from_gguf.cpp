// SPDX-License-Identifier: Apache-2.0
// Tokenizer::from_gguf: one maker per `tokenizer.ggml.model`.
#include <fmt/format.h>

#include "src/text/body.hpp"
#include "src/text/bpe.hpp"

namespace hz::text {
namespace {

using namespace detail;
using io::Metadata;
using Body = Tokenizer::Body;

constexpr std::string_view kModel = "tokenizer.ggml.model", kPre = "tokenizer.ggml.pre";


std::string spaces_for_marks(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const bool mark = text.substr(i).starts_with(kSpaceMark);
    out.push_back(mark ? ' ' : text[i]);
    i += mark ? kSpaceMark.size() : 1;
  }
  return out;
}

const PreSpec& pre_spec(const Metadata& m, std::string_view override_name) {
  std::string name(override_name);
  if (name.empty()) name = m.get_or<std::string>(kPre, "");
  std::string hint = "name one with --pre; known are";
  for (const std::string_view known : pre_names()) (hint += ' ') += known;
  if (name.empty())
    throw Error(ErrorKind::bad_file, fmt::format("{} is missing: how text is cut before byte-pair merges is unknown", kPre), m.source(), hint);
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

void make_bpe(Body& b, const Metadata& m, std::string_view pre_name) {
  const PreSpec& spec = pre_spec(m, pre_name);
  b.kind = TokenizerKind::bpe;
  b.pre = spec.name;
  b.clean_up = spec.clean_up;
  b.vocab = read_vocab(m, false);
  Merges merges = read_merges(b.vocab, m);
  read_roles(b.vocab, m, {});
  classify(b.vocab);
  fill_pieces(b.vocab, spec.raw ? spaces_for_marks : decode_byte_chars);
  finish_bos_eos(b, m, spec.add_bos, false);
  b.algorithm = std::make_unique<Bpe>(b.vocab, PreTokenizer(spec.steps), std::move(merges),
                                      BpeOptions{.ignore_merges = spec.ignore_merges,
                                                 .nfc = spec.nfc,
                                                 .byte_level = !spec.raw,
                                                 .mark_spaces = spec.raw,
                                                 .newline_runs = spec.raw});
}

}  // namespace

std::shared_ptr<const Tokenizer> Tokenizer::from_gguf(const Metadata& metadata, std::string_view pre_override) {
  const auto model = metadata.require<std::string>(kModel);
  auto body = std::make_unique<Body>();
  if (model == "gpt2")
    make_bpe(*body, metadata, pre_override);
  else if (model == "gemma4")
    make_bpe(*body, metadata, pre_override.empty() ? "gemma4" : pre_override);
  else if (model == "none" || model == "no_vocab")
    throw Error(ErrorKind::unsupported, fmt::format("{}: the model has no tokenizer; it takes token ids only", kModel), metadata.source());
  else
    throw Error(ErrorKind::unsupported, fmt::format("{}: the tokenizer kind '{}' is not built", kModel, model), metadata.source(),
                "the model still runs on token ids");
  body->specials = std::make_unique<SpecialSplit>(body->vocab);
  return std::make_shared<const Tokenizer>(std::move(body));
}

}  // namespace hz::text
