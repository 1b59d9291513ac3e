// SPDX-License-Identifier: Apache-2.0
// Recipe: which weight format each tensor of a model gets, as the mixes known from llama.cpp name them (Q4_K_M ...).
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "hanzo/quant/wtype.hpp"

namespace hz::model {

struct Recipe {
  std::string_view name;   // "Q4_K_M"
  WType base{};            // what most tensors get
  std::uint32_t file_type = 0;  // general.file_type
  bool needs_importance = false;
};

std::span<const Recipe> recipes();
// The recipe of a name in any case, or null. A weight format that no mix is named after is a recipe of itself.
const Recipe* find_recipe(std::string_view name);
// The names nearest to a mistyped one, for messages.
std::string near_recipes(std::string_view name);

// What a tensor is in a model, as far as recipes care.
enum class Role { output, embedding, attn_q, attn_k, attn_v, attn_qkv, attn_output, ffn_gate, ffn_up, ffn_down, other };
Role role_of(std::string_view tensor_name);

// Where a tensor stands.
struct Place {
  Role role = Role::other;
  std::int64_t layer = 0, layers = 0;
  std::int64_t queries_per_kv = 1;  // heads / kv_heads
  std::int64_t experts = 0;
  bool importance = false;          // an importance matrix is given
  bool tied = false;                // the embedding is the output too
};
// The format that the recipe gives it, whether or not its rows divide into blocks.
WType type_for(const Recipe& recipe, const Place& place);

// What is used where rows of `cols` weights do not divide into blocks of `type`: a format of blocks of 32 (IQ types
// IQ4_NL; Q2_K, Q3_K, TQ Q4_0; Q4_K Q5_0; Q5_K Q5_1; Q6_K Q8_0), else F16. `type` itself where they divide.
WType fallback_for(WType type, std::int64_t cols);

// Whether a format gives nothing usable without an importance matrix (IQ1_S, IQ1_M, IQ2_XXS, IQ2_XS).
bool needs_importance(WType type);

}  // namespace hz::model
