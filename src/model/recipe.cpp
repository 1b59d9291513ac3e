// SPDX-License-Identifier: Apache-2.0
// The mixes as a table of rules: recipe, role, condition, type; the first rule that applies decides.
#include "hanzo/model/recipe.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <vector>

#include "hanzo/core/near_names.hpp"

namespace hz::model {
namespace {

using W = WType;

constexpr Recipe kRecipes[] = {
    {"Q4_0", W::q4_0, 2},           {"Q4_1", W::q4_1, 3},           {"Q5_0", W::q5_0, 8},
    {"Q5_1", W::q5_1, 9},           {"Q8_0", W::q8_0, 7},           {"Q2_K", W::q2_k, 10},
    {"Q2_K_S", W::q2_k, 21},        {"Q3_K_S", W::q3_k, 11},        {"Q3_K_M", W::q3_k, 12},
    {"Q3_K_L", W::q3_k, 13},        {"Q4_K_S", W::q4_k, 14},        {"Q4_K_M", W::q4_k, 15},
    {"Q5_K_S", W::q5_k, 16},        {"Q5_K_M", W::q5_k, 17},        {"Q6_K", W::q6_k, 18},
    {"IQ1_S", W::iq1_s, 24, true},  {"IQ1_M", W::iq1_m, 31, true},  {"IQ2_XXS", W::iq2_xxs, 19, true},
    {"IQ2_XS", W::iq2_xs, 20, true}, {"IQ2_S", W::iq2_xs, 28, true}, {"IQ2_M", W::iq2_s, 29},
    {"IQ3_XXS", W::iq3_xxs, 23},    {"IQ3_XS", W::iq3_s, 22},       {"IQ3_S", W::iq3_s, 26},
    {"IQ3_M", W::iq3_s, 27},        {"IQ4_NL", W::iq4_nl, 25},      {"IQ4_XS", W::iq4_xs, 30},
    {"TQ1_0", W::tq1_0, 36},        {"TQ2_0", W::tq2_0, 37},        {"MXFP4", W::mxfp4, 38},
    {"NVFP4", W::nvfp4, 39},        {"Q1_0", W::q1_0, 40},          {"Q2_0", W::q2_0, 41},
    {"F16", W::f16, 1},             {"BF16", W::bf16, 32},          {"F32", W::f32, 0},
};
// Short names for mixes that come in sizes.
constexpr std::pair<std::string_view, std::string_view> kAliases[] = {{"Q3_K", "Q3_K_M"}, {"Q4_K", "Q4_K_M"}, {"Q5_K", "Q5_K_M"}};

// Where a rule applies within the model.
enum class When {
  always,
  shared_kv,      // four or more query heads to a key head, or four or more experts
  grouped,        // four or more query heads to a key head
  first_2,        // of the layers
  first_4,
  first_8th,
  first_16th,
  middle,         // all but the first and the last eighth
  spread,         // the first and the last eighth, and every third layer between
  first_8th_bare, // the first eighth, without an importance matrix
  first_8th_weighted,
  bare,           // without an importance matrix
  many_experts,   // eight
};

bool applies(When when, const Place& p) {
  const std::int64_t n = p.layers, i = p.layer;
  switch (when) {
    case When::always: return true;
    case When::shared_kv: return p.queries_per_kv >= 4 || p.experts >= 4;
    case When::grouped: return p.queries_per_kv >= 4;
    case When::first_2: return i < 2;
    case When::first_4: return i < 4;
    case When::first_8th: return i < n / 8;
    case When::first_16th: return i < n / 16;
    case When::middle: return i >= n / 8 && i < 7 * n / 8;
    case When::spread: return i < n / 8 || i >= 7 * n / 8 || (i - n / 8) % 3 == 2;
    case When::first_8th_bare: return i < n / 8 && !p.importance;
    case When::first_8th_weighted: return i < n / 8 && p.importance;
    case When::bare: return !p.importance;
    case When::many_experts: return p.experts == 8;
  }
  return false;
}

struct Rule {
  std::string_view recipes;  // names between blanks
  Role role;
  When when;
  WType type;
};
constexpr std::string_view kTiny = " IQ1_S IQ1_M IQ2_XXS IQ2_XS ", kSmall = " IQ2_S IQ2_M ", kIq1 = " IQ1_S IQ1_M ";
constexpr std::string_view kIq2 = " IQ1_S IQ1_M IQ2_XXS IQ2_XS IQ2_S IQ2_M ", kIq4 = " IQ4_NL IQ4_XS ";

constexpr Rule kRules[] = {
    // output, and the embedding where it is the output too
    {" IQ1_S IQ1_M IQ2_XXS IQ2_XS IQ2_S IQ2_M IQ3_XXS ", Role::output, When::always, W::q5_k},
    {" MXFP4 Q8_0 ", Role::output, When::always, W::q8_0},
    {" F16 BF16 F32 NVFP4 Q1_0 Q2_0 ", Role::output, When::always, W::q8_0},  // floating recipes are decided before
    {" Q4_0 Q4_1 Q5_0 Q5_1 Q2_K Q2_K_S Q3_K_S Q3_K_M Q3_K_L Q4_K_S Q4_K_M Q5_K_S Q5_K_M Q6_K IQ3_XS IQ3_S IQ3_M IQ4_NL IQ4_XS TQ1_0 TQ2_0 ",
     Role::output, When::always, W::q6_k},
    {kTiny, Role::embedding, When::always, W::q2_k},
    {kSmall, Role::embedding, When::always, W::iq3_s},
    {" IQ3_XXS ", Role::embedding, When::always, W::iq3_s},
    {" TQ1_0 TQ2_0 ", Role::embedding, When::always, W::q4_k},
    {" MXFP4 ", Role::embedding, When::always, W::q8_0},

    {kIq2, Role::attn_v, When::shared_kv, W::q4_k},
    {kSmall, Role::attn_v, When::always, W::iq3_s},
    {kTiny, Role::attn_v, When::always, W::q2_k},
    {" Q4_0 Q4_1 Q5_0 Q5_1 Q2_K Q2_K_S Q3_K_S Q3_K_M Q3_K_L Q4_K_S Q4_K_M Q5_K_S Q5_K_M Q6_K IQ3_XXS IQ3_XS IQ3_S IQ3_M IQ4_NL IQ4_XS ",
     Role::attn_v, When::many_experts, W::q8_0},
    {" Q2_K Q2_K_S IQ3_XXS IQ3_XS IQ3_S ", Role::attn_v, When::grouped, W::q4_k},
    {" Q2_K ", Role::attn_v, When::always, W::q3_k},
    {" IQ3_XXS ", Role::attn_v, When::bare, W::iq3_s},
    {" IQ3_M ", Role::attn_v, When::always, W::q4_k},
    {" Q3_K_M ", Role::attn_v, When::first_2, W::q5_k},
    {" Q3_K_M ", Role::attn_v, When::always, W::q4_k},
    {" Q3_K_L ", Role::attn_v, When::always, W::q5_k},
    {kIq4, Role::attn_v, When::grouped, W::q5_k},
    {" Q4_K_M Q5_K_M ", Role::attn_v, When::spread, W::q6_k},
    {" Q4_K_S ", Role::attn_v, When::first_4, W::q5_k},

    {kIq2, Role::attn_k, When::many_experts, W::q4_k},
    {" Q4_0 Q4_1 Q5_0 Q5_1 Q2_K Q2_K_S Q3_K_S Q3_K_M Q3_K_L Q4_K_S Q4_K_M Q5_K_S Q5_K_M Q6_K IQ3_XXS IQ3_XS IQ3_S IQ3_M IQ4_NL IQ4_XS ",
     Role::attn_k, When::many_experts, W::q8_0},
    {" IQ3_XS ", Role::attn_k, When::always, W::iq3_xxs},
    {" IQ3_XXS ", Role::attn_k, When::always, W::iq2_s},
    {" IQ3_XS ", Role::attn_q, When::always, W::iq3_xxs},
    {" IQ3_XXS ", Role::attn_q, When::always, W::iq2_s},

    {kSmall, Role::ffn_down, When::first_8th, W::iq3_s},
    {kTiny, Role::ffn_down, When::first_8th, W::q2_k},
    {" Q2_K ", Role::ffn_down, When::always, W::q3_k},
    {" Q2_K_S ", Role::ffn_down, When::first_8th, W::q4_k},
    {" IQ3_XXS ", Role::ffn_down, When::first_8th_bare, W::q4_k},
    {" IQ3_XXS ", Role::ffn_down, When::bare, W::q3_k},
    {" Q3_K_M ", Role::ffn_down, When::first_16th, W::q5_k},
    {" Q3_K_M ", Role::ffn_down, When::always, W::q4_k},
    {" Q3_K_L ", Role::ffn_down, When::always, W::q5_k},
    {" IQ3_M ", Role::ffn_down, When::first_8th, W::q4_k},
    {" Q4_K_M Q5_K_M ", Role::ffn_down, When::spread, W::q6_k},
    {kIq4, Role::ffn_down, When::first_8th_bare, W::q5_k},
    {" Q4_K_S ", Role::ffn_down, When::first_8th, W::q5_k},
    {" Q4_0 ", Role::ffn_down, When::first_8th_weighted, W::q4_1},
    {" Q5_0 ", Role::ffn_down, When::first_8th_weighted, W::q5_1},

    {" IQ1_S IQ1_M IQ2_XXS IQ2_XS IQ2_S IQ2_M Q2_K IQ3_XXS IQ3_XS IQ3_S IQ3_M Q3_K_S Q3_K_M Q4_K_S Q4_K_M IQ4_NL IQ4_XS ",
     Role::attn_output, When::many_experts, W::q5_k},
    {kIq1, Role::attn_output, When::always, W::iq2_xxs},
    {kSmall, Role::attn_output, When::always, W::iq3_s},
    {" Q2_K ", Role::attn_output, When::always, W::q3_k},
    {" IQ3_XXS ", Role::attn_output, When::always, W::iq3_s},
    {" Q3_K_M IQ3_M ", Role::attn_output, When::always, W::q4_k},
    {" Q3_K_L ", Role::attn_output, When::always, W::q5_k},

    {" Q3_K_M Q3_K_L IQ3_M ", Role::attn_qkv, When::always, W::q4_k},
    {" Q4_K_M ", Role::attn_qkv, When::always, W::q5_k},
    {" Q5_K_M ", Role::attn_qkv, When::always, W::q6_k},
    {" IQ3_XS ", Role::ffn_gate, When::middle, W::iq3_xxs},
    {" IQ3_XS ", Role::ffn_up, When::middle, W::iq3_xxs},
};

std::string upper(std::string_view s) {
  std::string r(s);
  for (char& c : r) c = c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return r;
}

}  // namespace

std::span<const Recipe> recipes() { return kRecipes; }

const Recipe* find_recipe(std::string_view name) {
  std::string wanted = upper(name);
  for (const auto& [alias, of] : kAliases)
    if (wanted == alias) wanted = of;
  for (const Recipe& r : kRecipes)
    if (r.name == wanted) return &r;
  return nullptr;
}

std::string near_recipes(std::string_view name) {
  const auto bare = [](std::string_view n) {  // marks between the parts count as nothing: Q4KM is Q4_K_M
    std::string r = upper(n);
    std::erase(r, '_');
    return r;
  };
  std::vector<std::pair<std::size_t, std::string_view>> by_distance;
  for (const Recipe& r : kRecipes) by_distance.emplace_back(edit_distance(bare(name), bare(r.name)), r.name);
  std::stable_sort(by_distance.begin(), by_distance.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::string s;
  for (std::size_t i = 0; i < 4; ++i) s += (s.empty() ? "" : ", ") + std::string(by_distance[i].second);
  return s;
}

Role role_of(std::string_view name) {
  if (name == "output.weight") return Role::output;
  if (name == "token_embd.weight") return Role::embedding;
  static constexpr std::pair<std::string_view, Role> kParts[] = {
      {".attn_q.", Role::attn_q},           {".attn_k.", Role::attn_k},    {".attn_v.", Role::attn_v}, {".attn_qkv.", Role::attn_qkv},
      {".attn_output.", Role::attn_output}, {".ffn_gate", Role::ffn_gate}, {".ffn_up", Role::ffn_up},  {".ffn_down", Role::ffn_down},
  };
  for (const auto& [part, role] : kParts)
    if (name.find(part) != std::string_view::npos) return role;
  return Role::other;
}

WType type_for(const Recipe& recipe, const Place& place) {
  if (quant::info(recipe.base).floating) return recipe.base;
  Place p = place;
  if (p.role == Role::embedding && p.tied) p.role = Role::output;
  const std::string name = " " + std::string(recipe.name) + " ";
  for (const Rule& r : kRules)
    if (r.role == p.role && r.recipes.find(name) != std::string_view::npos && applies(r.when, p)) return r.type;
  return recipe.base;
}

WType fallback_for(WType type, std::int64_t cols) {
  const auto divides = [&](WType t) { return cols % quant::info(t).block_elems == 0; };
  if (divides(type)) return type;
  const std::string_view name = name_of(type);
  const WType narrow = name.starts_with("IQ")  ? W::iq4_nl
                       : type == W::q4_k       ? W::q5_0
                       : type == W::q5_k       ? W::q5_1
                       : type == W::q6_k       ? W::q8_0
                                               : W::q4_0;
  return divides(narrow) ? narrow : W::f16;
}

bool needs_importance(WType type) { return type == W::iq1_s || type == W::iq1_m || type == W::iq2_xxs || type == W::iq2_xs; }

}  // namespace hz::model
