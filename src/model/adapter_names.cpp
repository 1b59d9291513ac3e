// SPDX-License-Identifier: Apache-2.0
// Names of layers, ours and Hugging Face's, and the selection of layers by name, pattern or group.
#include <algorithm>
#include <regex>

#include "hanzo/core/near_names.hpp"
#include "src/model/adapter_body.hpp"

namespace hz::model {
namespace {

struct NamePair {
  std::string_view ours, theirs, short_name;
};
constexpr NamePair kNames[] = {
    {"attn_q", "self_attn.q_proj", "q_proj"},   {"attn_k", "self_attn.k_proj", "k_proj"},         {"attn_v", "self_attn.v_proj", "v_proj"},
    {"attn_output", "self_attn.o_proj", "o_proj"}, {"ffn_gate", "mlp.gate_proj", "gate_proj"},    {"ffn_up", "mlp.up_proj", "up_proj"},
    {"ffn_down", "mlp.down_proj", "down_proj"},
};

// "blk.3.attn_q" into 3 and "attn_q"; false when it is no layer of a block.
bool split_block(std::string_view module, std::string_view prefix, std::string& index, std::string_view& rest) {
  if (!module.starts_with(prefix)) return false;
  module.remove_prefix(prefix.size());
  const std::size_t dot = module.find('.');
  if (dot == 0 || dot == std::string_view::npos || dot > 6) return false;
  index = std::string(module.substr(0, dot));
  if (!std::all_of(index.begin(), index.end(), [](char c) { return c >= '0' && c <= '9'; })) return false;
  rest = module.substr(dot + 1);
  return true;
}

bool selects_name(const std::string& name, const std::string& module) {
  if (module == name) return true;
  const std::size_t dot = module.rfind('.');
  const std::string_view last = dot == std::string::npos ? std::string_view(module) : std::string_view(module).substr(dot + 1);
  if (last == name || (name == "lm_head" && module == "output")) return true;
  return std::any_of(std::begin(kNames), std::end(kNames),
                     [&](const NamePair& n) { return n.ours == last && (name == n.short_name || name == n.theirs); });
}

bool in_all_linear(const std::string& module) {
  std::string index;
  std::string_view rest;
  if (!split_block(module, "blk.", index, rest)) return false;
  return std::any_of(std::begin(kNames), std::end(kNames), [&](const NamePair& n) { return n.ours == rest; });
}

std::regex compiled(const std::string& pattern) {
  try {
    return std::regex(pattern, std::regex::ECMAScript | std::regex::optimize);
  } catch (const std::regex_error& e) {
    throw Error(ErrorKind::usage, "'" + pattern + "' is no regular expression: " + e.what());
  }
}

}  // namespace

std::string peft_name(std::string_view module) {
  if (module == "output") return "lm_head";
  std::string index;
  std::string_view rest;
  if (!split_block(module, "blk.", index, rest)) return {};
  for (const NamePair& n : kNames)
    if (n.ours == rest) return "model.layers." + index + "." + std::string(n.theirs);
  return {};
}

std::string module_of_peft(std::string_view name) {
  if (name == "lm_head") return "output";
  std::string index;
  std::string_view rest;
  if (!split_block(name, "model.layers.", index, rest)) return {};
  for (const NamePair& n : kNames)
    if (n.theirs == rest) return "blk." + index + "." + std::string(n.ours);
  return {};
}

bool pattern_selects(const std::string& pattern, const std::string& module) {
  if (pattern == "all-linear") return in_all_linear(module);
  if (pattern.starts_with("re:")) return std::regex_match(module, compiled(pattern.substr(3)));
  return selects_name(pattern, module);
}

std::vector<std::string> select_modules(const std::vector<std::string>& all, const std::string& targets) {
  std::vector<std::string> parts;
  if (targets.starts_with("re:")) parts.push_back(targets);
  for (std::size_t at = 0; parts.empty() || at <= targets.size();) {
    if (targets.starts_with("re:")) break;
    const std::size_t comma = std::min(targets.find(',', at), targets.size());
    std::string part = targets.substr(at, comma - at);
    part.erase(0, part.find_first_not_of(' '));
    part.erase(part.find_last_not_of(' ') + 1);
    parts.push_back(std::move(part));
    at = comma + 1;
  }
  std::vector<bool> chosen(all.size());
  for (const std::string& part : parts) {
    bool any = false;
    for (std::size_t i = 0; i < all.size(); ++i)
      if (pattern_selects(part, all[i])) chosen[i] = any = true;
    if (!any) {
      std::vector<std::string_view> known{"all-linear"};
      for (const NamePair& n : kNames) known.push_back(n.ours);
      const std::string_view near = meant(part, known);
      if (part == "output" || part == "lm_head" || part == "token_embd" || part == "embed_tokens")
        throw Error(ErrorKind::usage,
                    "adapter target '" + part +
                        "': " + (part == "output" || part == "lm_head" ? "the model's head is its embedding" : "an embedding") +
                        ", which takes no adapter",
                    "", "all-linear, or names such as attn_q, ffn_down");
      throw Error(ErrorKind::usage, "adapter target '" + part + "' selects no layer of the model", "",
                  near.empty() ? "all-linear, or names such as attn_q, q_proj, blk.0.ffn_down" : "did you mean " + std::string(near) + "?");
    }
  }
  std::vector<std::string> selected;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (chosen[i]) selected.push_back(all[i]);
  return selected;
}

}  // namespace hz::model
