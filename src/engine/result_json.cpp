// SPDX-License-Identifier: Apache-2.0
// A generation as one JSON object; docs/hz-run.md lists the fields.
#include <cmath>
#include <nlohmann/json.hpp>

#include "hanzo/engine/generator.hpp"
#include "hanzo/text/utf8.hpp"

namespace hz {
namespace {

using nlohmann::json;

// Tokens may hold parts of characters: their bytes are told beside the text.
json token_json(const TokenLogprob& t, const text::Tokenizer* tokenizer) {
  json j{{"id", t.id}, {"logprob", std::isinf(t.logprob) ? json(nullptr) : json(t.logprob)}};
  if (tokenizer == nullptr) return j;
  const std::string_view piece = tokenizer->piece(t.id);
  j["token"] = text::repair_utf8(piece);
  j["bytes"] = std::vector<unsigned char>(piece.begin(), piece.end());
  return j;
}

double rate(std::int64_t tokens, double seconds) { return tokens > 0 && seconds > 0 ? static_cast<double>(tokens) / seconds : 0; }

}  // namespace

json to_json(const Generation& g, const text::Tokenizer* tokenizer) {
  const GenerationStats& s = g.stats();
  json j{{"text", g.text()}, {"ids", g.ids()}, {"finish_reason", name_of(g.finish_reason())}, {"seed", g.seed()}};
  j["stop_string"] = g.matched_stop() < 0 ? json(nullptr) : json(g.options().stop_strings[static_cast<std::size_t>(g.matched_stop())]);
  j["usage"] = {{"prompt_tokens", s.prompt_tokens},
                {"cached_tokens", s.reused_tokens},
                {"completion_tokens", s.generated_tokens},
                {"total_tokens", s.prompt_tokens + s.generated_tokens}};
  j["timings"] = {{"prompt_seconds", s.prompt_seconds},
                  {"decode_seconds", s.decode_seconds},
                  {"first_token_seconds", s.first_token_seconds},
                  {"grammar_seconds", s.grammar_seconds},
                  {"prompt_per_second", rate(s.prompt_tokens - s.reused_tokens, s.prompt_seconds)},
                  {"decode_per_second", rate(s.generated_tokens - 1, s.decode_seconds)}};
  if (!g.options().logprobs) return j;
  json list = json::array();
  for (const Logprobs& l : g.token_logprobs()) {
    json token = token_json(l.chosen, tokenizer);
    token["top"] = json::array();
    for (const TokenLogprob& t : l.top) token["top"].push_back(token_json(t, tokenizer));
    list.push_back(std::move(token));
  }
  j["logprobs"] = std::move(list);
  return j;
}

}  // namespace hz
