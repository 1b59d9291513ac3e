// SPDX-License-Identifier: Apache-2.0
// Tokenizer::from_hf: a tokenizer.json and the configurations beside it.
#include <fmt/format.h>

#include <algorithm>

#include "hanzo/text/utf8.hpp"
#include "src/io/input_file.hpp"
#include "src/text/body.hpp"
#include "src/text/bpe.hpp"
#include "src/text/hf/steps.hpp"
#include "src/text/hf/vocab.hpp"
#include "src/text/unigram.hpp"
#include "src/text/word_level.hpp"
#include "src/text/wordpiece.hpp"

namespace hz::text {
namespace {

using namespace detail;
using hf::Node;
using Body = Tokenizer::Body;

constexpr std::uintmax_t kMaxFileBytes = 256U << 20;

std::string read_text(const std::filesystem::path& file, bool needed) {
  if (!needed && !io::is_there(file)) return {};
  return io::InputFile(file).text(kMaxFileBytes);
}

std::unique_ptr<const PieceModel> make_model(Body& b, const Node& model, const hf::Steps& steps) {
  const std::string type = hf::model_type(model);
  if (type == "BPE") {
    b.kind = TokenizerKind::bpe;
    BpeOptions options{
        .byte_level = steps.byte_level, .ignore_merges = model["ignore_merges"].flag(false), .fuse_unknown = model["fuse_unk"].flag(false)};
    options.continuing = model["continuing_subword_prefix"].text("");
    options.last = model["end_of_word_suffix"].text("");
    Merges merges = hf::read_merges(model["merges"], b.vocab, options.continuing);
    return std::make_unique<Bpe>(b.vocab, std::move(merges), std::move(options));
  }
  if (type == "Unigram") {
    b.kind = TokenizerKind::unigram;
    return std::make_unique<Unigram>(b.vocab, model["byte_fallback"].flag(false));
  }
  if (type == "WordPiece") {
    b.kind = TokenizerKind::wordpiece;
    const Node longest = model["max_input_chars_per_word"];
    const std::int64_t limit = longest.present() ? longest.integer() : 100;
    if (limit < 1) longest.bad("is not positive");
    return std::make_unique<WordPiece>(b.vocab, WordPieceOptions{.first = {}, .continuing = model["continuing_subword_prefix"].text("##"),
                                                                 .longest_word = static_cast<std::size_t>(limit)});
  }
  if (type == "WordLevel") {
    b.kind = TokenizerKind::wordpiece;
    return std::make_unique<WordLevel>(b.vocab);
  }
  model.unsupported(fmt::format("the model '{}' is not built", type));
}

// What add_special puts around a text: by the post-processor, else by the flags of the configuration.
void frame(Body& b, const Node& processor, const Node& config) {
  hf::read_frame(processor, b.vocab, b.prefix, b.suffix);
  const auto bos = b.vocab.role(Role::bos), eos = b.vocab.role(Role::eos);
  const auto edge = [](std::vector<TokenId>& ids, std::optional<TokenId> id, const Node& flag, bool front) {
    if (!flag.present() || !id) return;
    const auto at = std::find(ids.begin(), ids.end(), *id);
    if (flag.flag(false) && at == ids.end()) ids.insert(front ? ids.begin() : ids.end(), *id);
    if (!flag.flag(false) && at != ids.end()) ids.erase(at);
  };
  edge(b.prefix, bos, config["add_bos_token"], true);
  edge(b.suffix, eos, config["add_eos_token"], false);
  b.add_bos = bos && std::find(b.prefix.begin(), b.prefix.end(), *bos) != b.prefix.end();
  b.add_eos = eos && std::find(b.suffix.begin(), b.suffix.end(), *eos) != b.suffix.end();
}

// generation_config.json may name several tokens that end a turn.
void more_ends(Vocab& vocab, const Node& eos) {
  if (!eos.present()) return;
  const auto add = [&](const Node& node) {
    const std::int64_t id = node.integer();
    if (id < 0 || id >= vocab.size()) node.bad(fmt::format("names token {}, the vocabulary has {}", id, vocab.size()));
    vocab.end_of_turn.push_back(static_cast<TokenId>(id));
  };
  if (eos.value().is_array())
    for (std::size_t i = 0; i < eos.size(); ++i) add(eos.at(i));
  else
    add(eos);
  std::sort(vocab.end_of_turn.begin(), vocab.end_of_turn.end());
  vocab.end_of_turn.erase(std::unique(vocab.end_of_turn.begin(), vocab.end_of_turn.end()), vocab.end_of_turn.end());
}

}  // namespace

std::shared_ptr<const Tokenizer> Tokenizer::from_hf_json(std::string_view tokenizer, std::string_view tokenizer_config,
                                                         std::string_view generation_config, const std::string& source) {
  const auto parse = [&](std::string_view text) { return text.empty() ? hf::json() : hf::parse(text, source); };
  const hf::json document = hf::parse(tokenizer, source), config_document = parse(tokenizer_config),
                 generation_document = parse(generation_config);
  const Node root(&document, "", source), config(&config_document, "tokenizer_config", source),
      generation(&generation_document, "generation_config", source);

  auto body = std::make_unique<Body>();
  Body& b = *body;
  b.origin = io::Sha256().update(tokenizer).hex();
  const Node model = root["model"];
  b.vocab = hf::read_vocab(model, root["added_tokens"]);
  hf::read_roles(b.vocab, model, config);
  classify(b.vocab);
  more_ends(b.vocab, generation["eos_token_id"]);

  hf::Steps steps;
  hf::read_normalizer(root["normalizer"], steps);
  hf::read_pre_tokenizer(root["pre_tokenizer"], steps);
  const hf::Decoder decoder = hf::read_decoder(root["decoder"], steps);
  fill_pieces(b.vocab, decoder.piece);
  b.add_space_prefix = decoder.strips_first_space;
  b.clean_up = config["clean_up_tokenization_spaces"].flag(decoder.clean_up);
  auto pieces = make_model(b, model, steps);
  b.algorithm = std::make_unique<Pipeline>(NormChain(std::move(steps.chain)), PreTokenizer(steps.cuts), std::move(pieces));
  frame(b, root["post_processor"], config);
  b.specials = std::make_unique<SpecialSplit>(b.vocab);
  return std::make_shared<const Tokenizer>(std::move(body));
}

std::shared_ptr<const Tokenizer> Tokenizer::from_hf(const std::filesystem::path& path) {
  const bool folder = io::is_folder(path);
  const std::filesystem::path file = folder ? path / "tokenizer.json" : path, beside = file.parent_path();
  return from_hf_json(read_text(file, true), read_text(beside / "tokenizer_config.json", false),
                      read_text(beside / "generation_config.json", false), file.string());
}

}  // namespace hz::text
