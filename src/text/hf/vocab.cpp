// SPDX-License-Identifier: Apache-2.0
// The vocabulary of a tokenizer.json.
#include "src/text/hf/vocab.hpp"

#include <fmt/format.h>

#include <cmath>

#include "hanzo/text/utf8.hpp"

namespace hz::text::hf {
namespace {

using namespace detail;

struct Entry {
  std::string text;
  TokenType type = TokenType::undefined;  // undefined: no token has this id
  double score = 0;
};

class Collector {
 public:
  explicit Collector(std::int64_t limit) : limit_(limit) {}

  Entry& put(const Node& where, std::int64_t id, std::string text, TokenType type) {
    if (id < 0 || id > limit_) where.bad(fmt::format("the id {} of '{}' is out of range", id, text));
    if (text.size() > kMaxTokenBytes) where.bad(fmt::format("token {} has {} bytes, more than {}", id, text.size(), kMaxTokenBytes));
    bytes_ += text.size();
    if (bytes_ > kMaxVocabBytes) where.bad(fmt::format("all tokens have more than {} bytes", kMaxVocabBytes));
    const auto i = static_cast<std::size_t>(id);
    if (i >= entries_.size()) entries_.resize(i + 1);
    Entry& e = entries_[i];
    if (e.type != TokenType::undefined && e.text != text) where.bad(fmt::format("id {} is both '{}' and '{}'", id, e.text, text));
    e.text = std::move(text);
    e.type = type;
    return e;
  }

  Vocab finish(const Node& where, bool scores) {
    Vocab vocab;
    if (entries_.empty()) where.bad("holds no token");
    vocab.texts.reserve(entries_.size(), bytes_);
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      Entry& e = entries_[i];
      const bool hole = e.type == TokenType::undefined;
      if (hole || e.text.empty()) e.text = fmt::format("[EMPTY_{}]", i);
      if (!vocab.texts.add(e.text)) where.bad(fmt::format("ids {} and {} are both '{}'", vocab.texts.find(e.text), i, e.text));
      vocab.types.push_back(hole ? TokenType::unused : e.type);
      if (scores) vocab.scores.push_back(e.score);
    }
    return vocab;
  }

 private:
  std::vector<Entry> entries_;
  std::size_t bytes_ = 0;
  std::int64_t limit_;
};

void collect_map(const Node& vocab, bool bytes, Collector& tokens) {
  if (!vocab.present() || !vocab.value().is_object()) vocab.bad("is not an object of tokens");
  for (const auto& [text, id] : vocab.value().items()) {
    if (!id.is_number_integer()) vocab.bad(fmt::format("the id of '{}' is not an integer", text));
    tokens.put(vocab, id.get<std::int64_t>(), text, bytes && byte_of(text) ? TokenType::byte : TokenType::normal);
  }
}

void collect_scored(const Node& vocab, bool bytes, Collector& tokens) {
  if (!vocab.present() || !vocab.value().is_array()) vocab.bad("is not a list of tokens and scores");
  std::int64_t id = 0;
  for (const json& item : vocab.value()) {
    if (!item.is_array() || item.size() != 2 || !item[0].is_string() || !item[1].is_number())
      vocab.bad(fmt::format("item {} is not a token and a score", id));
    const auto text = item[0].get<std::string>();
    const double score = item[1].get<double>();
    if (!std::isfinite(score)) vocab.bad(fmt::format("the score of '{}' is not finite", text));
    tokens.put(vocab, id, text, bytes && byte_of(text) ? TokenType::byte : TokenType::normal).score = score;
    ++id;
  }
}

}  // namespace

std::string model_type(const Node& model) {
  if (!model.present()) model.bad("is missing");
  if (model["type"].present()) return model["type"].text();
  if (model["merges"].present()) return "BPE";
  if (model["vocab"].present() && model["vocab"].value().is_array()) return "Unigram";
  return model["continuing_subword_prefix"].present() ? "WordPiece" : "WordLevel";
}

Vocab read_vocab(const Node& model, const Node& added) {
  // Placeholders cost memory that the file does not back.
  const std::size_t count = (model["vocab"].present() ? model["vocab"].value().size() : 0) + added.size();
  Collector tokens(static_cast<std::int64_t>(2 * count + 1024));
  const bool scored = model_type(model) == "Unigram", bytes = model["byte_fallback"].flag(false);
  if (scored)
    collect_scored(model["vocab"], bytes, tokens);
  else
    collect_map(model["vocab"], bytes, tokens);
  std::vector<std::pair<TokenId, Affix>> affixes;
  for (std::size_t i = 0; i < added.size(); ++i) {
    const Node token = added.at(i);
    const std::int64_t id = token["id"].integer();
    std::string text = token["content"].text();
    // Byte tokens stay what they are, also where they are listed as added.
    const TokenType type = bytes && byte_of(text)        ? TokenType::byte
                           : token["special"].flag(false) ? TokenType::control
                                                          : TokenType::user_defined;
    tokens.put(token, id, std::move(text), type);
    const Affix affix{token["lstrip"].flag(false), token["rstrip"].flag(false), token["single_word"].flag(false)};
    if (affix.strip_left || affix.strip_right || affix.whole_word) affixes.emplace_back(static_cast<TokenId>(id), affix);
  }
  Vocab vocab = tokens.finish(model["vocab"], scored);
  std::sort(affixes.begin(), affixes.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  vocab.affixes = std::move(affixes);
  return vocab;
}

Merges read_merges(const Node& rules, const Vocab& vocab, const std::string& continuing) {
  if (!rules.present() || !rules.value().is_array()) rules.bad("is not a list of merge rules");
  Merges merges;
  merges.reserve(rules.size());
  std::uint32_t rank = 0;
  for (const json& rule : rules.value()) {
    std::string left, right;
    if (rule.is_string()) {
      const auto text = rule.get<std::string>();
      const std::size_t space = text.find(' ', 1);
      if (space != std::string::npos) left = text.substr(0, space), right = text.substr(space + 1);
    } else if (rule.is_array() && rule.size() == 2 && rule[0].is_string() && rule[1].is_string()) {
      left = rule[0].get<std::string>(), right = rule[1].get<std::string>();
    }
    const TokenId a = vocab.texts.find(left), b = vocab.texts.find(right);
    const bool inside = !continuing.empty() && right.starts_with(continuing);
    const TokenId result = vocab.texts.find(left + (inside ? right.substr(continuing.size()) : right));
    if (a < 0 || b < 0 || result < 0)
      rules.bad(fmt::format("rule {} ('{}' and '{}') is not made of two tokens whose union is a token", rank, left, right));
    if (vocab.in_text(result)) merges.add(a, b, {rank, result});
    ++rank;
  }
  return merges;
}

void read_roles(Vocab& vocab, const Node& model, const Node& config) {
  const auto set = [&](Role role, const std::string& text) {
    if (const auto id = vocab.find(text)) vocab.roles[static_cast<std::size_t>(role)] = *id;
  };
  constexpr std::pair<const char*, Role> kKeys[] = {{"bos_token", Role::bos},  {"eos_token", Role::eos}, {"unk_token", Role::unk},
                                                    {"pad_token", Role::pad},  {"sep_token", Role::sep}, {"cls_token", Role::cls},
                                                    {"mask_token", Role::mask}};
  for (const auto& [key, role] : kKeys) {
    const Node token = config[key];
    if (!token.present()) continue;
    set(role, token.value().is_object() ? token["content"].text() : token.text());
  }
  if (model["unk_token"].present()) set(Role::unk, model["unk_token"].text());
  if (model["unk_id"].present()) {
    const std::int64_t id = model["unk_id"].integer();
    if (id < 0 || id >= vocab.size()) model["unk_id"].bad(fmt::format("is {}, the vocabulary has {} tokens", id, vocab.size()));
    vocab.roles[static_cast<std::size_t>(Role::unk)] = static_cast<TokenId>(id);
  }
}

namespace {

void read_template(const Node& node, const Vocab& vocab, std::vector<TokenId>& prefix, std::vector<TokenId>& suffix) {
  const Node single = node["single"];
  bool behind = false;
  for (std::size_t i = 0; i < single.size(); ++i) {
    const Node part = single.at(i);
    if (part["Sequence"].present()) {
      behind = true;
      continue;
    }
    const std::string name = part["SpecialToken"]["id"].text();
    const Node ids = node["special_tokens"][name.c_str()]["ids"];
    for (std::size_t k = 0; k < ids.size(); ++k) {
      const std::int64_t id = ids.at(k).integer();
      if (id < 0 || id >= vocab.size()) ids.bad(fmt::format("names token {}, the vocabulary has {}", id, vocab.size()));
      (behind ? suffix : prefix).push_back(static_cast<TokenId>(id));
    }
  }
}

}  // namespace

void read_frame(const Node& node, const Vocab& vocab, std::vector<TokenId>& prefix, std::vector<TokenId>& suffix) {
  if (!node.present()) return;
  const std::string type = node["type"].text();
  if (type == "Sequence") {
    const Node list = node["processors"];
    for (std::size_t i = 0; i < list.size(); ++i) read_frame(list.at(i), vocab, prefix, suffix);
  } else if (type == "TemplateProcessing") {
    read_template(node, vocab, prefix, suffix);
  } else if (type == "BertProcessing" || type == "RobertaProcessing") {
    for (const auto& [key, to] : {std::pair{"cls", &prefix}, std::pair{"sep", &suffix}}) {
      const Node token = node[key];
      if (token.size() != 2) token.bad("is not a token and its id");
      const auto id = vocab.find(token.at(0).text());
      if (!id) token.bad("is not in the vocabulary");
      to->push_back(*id);
    }
  } else if (type != "ByteLevel") {
    node.unsupported(fmt::format("the post-processor '{}' is not built", type));
  }
}

}  // namespace hz::text::hf
