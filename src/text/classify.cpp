// SPDX-License-Identifier: Apache-2.0
// Which tokens are special and which end a turn, from types, roles and known names.
#include <algorithm>
#include <array>

#include "src/text/special_names.hpp"
#include "src/text/vocab.hpp"

namespace hz::text::detail {
namespace {

// `<|…|>`, also with DeepSeek's full-width bars: written by chat templates, hence never plain text, whatever
// type a file gives them.
bool looks_like_control(std::string_view text) {
  return (text.size() > 4 && text.starts_with("<|") && text.ends_with("|>")) ||
         (text.size() > 8 && text.starts_with("<\xEF\xBD\x9C") && text.ends_with("\xEF\xBD\x9C>"));
}

std::optional<Role> role_of(KnownAs as) {
  switch (as) {
    case KnownAs::eot: return Role::eot;
    case KnownAs::eom: return Role::eom;
    case KnownAs::fim_prefix: return Role::fim_prefix;
    case KnownAs::fim_suffix: return Role::fim_suffix;
    case KnownAs::fim_middle: return Role::fim_middle;
    case KnownAs::fim_pad: return Role::fim_pad;
    case KnownAs::fim_repo: return Role::fim_repo;
    case KnownAs::fim_file: return Role::fim_file;
    case KnownAs::end: break;
  }
  return std::nullopt;
}

void by_type(Vocab& vocab) {
  vocab.special.assign(static_cast<std::size_t>(vocab.size()), Special::no);
  for (TokenId id = 0; id < vocab.size(); ++id) {
    Special& s = vocab.special[static_cast<std::size_t>(id)];
    const TokenType t = vocab.type(id);
    if (t == TokenType::control || t == TokenType::unknown)
      s = Special::when_parsed;
    else if (t == TokenType::user_defined)
      s = looks_like_control(vocab.texts[id]) ? Special::when_parsed : Special::always;
  }
}

}  // namespace

void classify(Vocab& vocab) {
  by_type(vocab);
  std::vector<TokenId> ends;
  const auto has = [&](std::string_view text) { return vocab.texts.find(text) >= 0; };

  // "</s>" is also a piece of HTML. It ends a turn where the file calls it a control token, and in families whose
  // vocabulary is known to hold it as text it is not special at all.
  const bool plain_s = has("<|tool_response>") || has("<|plamo:eos|>");
  // Where "<|end|>" only closes one of several messages of a turn, these others end the turn.
  const bool end_closes_message = has("<|end|>") && ((has("<|return|>") && has("<|call|>")) ||
                                                     ((has("<|call|>") || has("<|calls|>")) && has("<|flush|>")));

  for (const auto& [text, as] : kKnownNames) {
    const std::int32_t id = vocab.texts.find(text);
    if (id < 0) continue;
    const bool is_s = text == "</s>";
    if (is_s && plain_s && vocab.type(id) != TokenType::control) continue;
    const auto role = role_of(as);
    if (role && !vocab.role(*role)) vocab.roles[static_cast<std::size_t>(*role)] = id;
    const bool html = is_s && vocab.type(id) != TokenType::control;
    vocab.special[static_cast<std::size_t>(id)] = html && vocab.type(id) == TokenType::normal ? Special::also_text : Special::when_parsed;
    const bool ends_turn = as == KnownAs::eot || as == KnownAs::eom || as == KnownAs::end;
    if (ends_turn && !html && !(text == "<|end|>" && end_closes_message)) ends.push_back(id);
  }
  for (Role r : {Role::eos, Role::eot, Role::eom, Role::fim_pad, Role::fim_repo, Role::fim_file})
    if (const auto id = vocab.role(r))
      if (!(end_closes_message && vocab.texts[*id] == "<|end|>")) ends.push_back(*id);
  std::sort(ends.begin(), ends.end());
  ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
  vocab.end_of_turn = std::move(ends);
}

}  // namespace hz::text::detail
