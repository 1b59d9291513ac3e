// SPDX-License-Identifier: Apache-2.0
// Checks of the sampling options, and the order of the stages.
#include <array>
#include <cmath>
#include <limits>
#include <random>

#include "hanzo/core/error.hpp"
#include "hanzo/engine/sampling.hpp"

namespace hz {
namespace {

constexpr float kLargest = std::numeric_limits<float>::max();

struct StageName {
  std::string_view name;
  SamplingStage stage;
  char letter;
};
// In the default order; aliases without a letter follow.
constexpr std::array kStages{
    StageName{"penalties", SamplingStage::penalties, 'e'}, StageName{"dry", SamplingStage::dry, 'd'},
    StageName{"top_n_sigma", SamplingStage::top_n_sigma, 's'}, StageName{"top_k", SamplingStage::top_k, 'k'},
    StageName{"typical", SamplingStage::typical, 'y'}, StageName{"top_p", SamplingStage::top_p, 'p'},
    StageName{"min_p", SamplingStage::min_p, 'm'}, StageName{"xtc", SamplingStage::xtc, 'x'},
    StageName{"temperature", SamplingStage::temperature, 't'}, StageName{"typ_p", SamplingStage::typical, '\0'},
    StageName{"typical_p", SamplingStage::typical, '\0'}, StageName{"temp", SamplingStage::temperature, '\0'}};

std::string shown(float x) {
  if (std::isnan(x)) return "NaN";
  if (std::isinf(x)) return x > 0 ? "infinity" : "-infinity";
  std::string s = std::to_string(x);
  s.erase(s.find_last_not_of('0') + 1);
  if (!s.empty() && s.back() == '.') s.pop_back();
  return s;
}

[[noreturn]] void fail(std::string_view field, const std::string& value, std::string_view wanted) {
  throw Error(ErrorKind::usage, std::string(field) + " is " + value + "; it must be " + std::string(wanted), "sampling options");
}

void check_range(std::string_view field, float x, float low, float high, std::string_view wanted) {
  if (!(x >= low && x <= high)) fail(field, shown(x), wanted);
}
void check_share(std::string_view field, float x) { check_range(field, x, 0, 1, "from 0 to 1"); }
void check_finite(std::string_view field, float x) { check_range(field, x, -kLargest, kLargest, "a finite number"); }
void check_not_negative(std::string_view field, float x) { check_range(field, x, 0, kLargest, "a finite number, 0 or more"); }
void check_positive(std::string_view field, float x) {
  if (!(x > 0 && x <= kLargest)) fail(field, shown(x), "a finite number above 0");
}
void check_at_least(std::string_view field, std::int32_t x, std::int32_t low, std::string_view wanted) {
  if (x < low) fail(field, std::to_string(x), wanted);
}

[[noreturn]] void fail_order(const std::string& what) {
  std::string known;
  for (const StageName& s : kStages)
    if (s.letter != '\0') known += (known.empty() ? "" : ", ") + std::string(s.name) + " (" + s.letter + ")";
  throw Error(ErrorKind::usage, "sampling_order " + what, "sampling options", "stages are " + known);
}

const StageName* stage_named(std::string_view name) {
  for (const StageName& s : kStages)
    if (s.name == name) return &s;
  return nullptr;
}

std::string_view trimmed(std::string_view s) {
  while (!s.empty() && (s.front() == ' ' || s.front() == '\t')) s.remove_prefix(1);
  while (!s.empty() && (s.back() == ' ' || s.back() == '\t')) s.remove_suffix(1);
  return s;
}

std::vector<std::string_view> names_in(std::string_view order) {
  std::vector<std::string_view> names;
  const bool letters =
      order.find_first_of(";,") == order.npos && stage_named(order) == nullptr && order.find_first_not_of("edskypmxt") == order.npos;
  if (letters) {
    for (const char c : order)
      for (const StageName& s : kStages)
        if (s.letter == c) names.push_back(s.name);
    return names;
  }
  for (std::size_t begin = 0; begin <= order.size();) {
    const std::size_t end = std::min(order.find_first_of(";,", begin), order.size());
    names.push_back(trimmed(order.substr(begin, end - begin)));
    begin = end + 1;
  }
  return names;
}

}  // namespace

std::string_view name_of(SamplingStage stage) { return kStages[static_cast<std::size_t>(stage)].name; }

std::vector<SamplingStage> parse_sampling_order(std::string_view order) {
  const std::string_view text = trimmed(order);
  if (text.empty()) fail_order("is empty");
  std::vector<SamplingStage> stages;
  for (const std::string_view name : names_in(text)) {
    const StageName* s = stage_named(name);
    if (s == nullptr) fail_order("'" + std::string(order) + "' names '" + std::string(name) + "', which is no stage");
    for (const SamplingStage earlier : stages)
      if (earlier == s->stage) fail_order("'" + std::string(order) + "' names " + std::string(name_of(earlier)) + " twice");
    stages.push_back(s->stage);
  }
  return stages;
}

void SamplingOptions::validate() const {
  check_finite("temperature", temperature);
  check_not_negative("dynatemp_range", dynatemp_range);
  check_not_negative("dynatemp_exponent", dynatemp_exponent);
  check_share("top_p", top_p);
  check_share("min_p", min_p);
  check_share("typical_p", typical_p);
  check_finite("top_n_sigma", top_n_sigma);
  check_share("xtc_probability", xtc_probability);
  check_share("xtc_threshold", xtc_threshold);
  check_at_least("min_keep", min_keep, 0, "0 or more");
  check_at_least("repeat_last_n", repeat_last_n, -1, "-1 (the whole history), 0 (none) or a number of tokens");
  check_positive("repeat_penalty", repeat_penalty);
  check_finite("frequency_penalty", frequency_penalty);
  check_finite("presence_penalty", presence_penalty);
  check_not_negative("dry_multiplier", dry_multiplier);
  check_range("dry_base", dry_base, 1, kLargest, "a finite number, 1 or more");
  check_at_least("dry_allowed_length", dry_allowed_length, 0, "0 or more");
  check_at_least("dry_last_n", dry_last_n, -1, "-1 (the whole history), 0 (none) or a number of tokens");
  for (const std::string& b : dry_breakers)
    if (b.empty()) fail("dry_breakers", "a list with an empty string", "strings of at least one byte");
  if (mirostat == 1) throw Error(ErrorKind::unsupported, "mirostat 1 is not built", "sampling options", "use mirostat 2");
  if (mirostat != 0 && mirostat != 2) fail("mirostat", std::to_string(mirostat), "0 (off) or 2");
  check_positive("mirostat_tau", mirostat_tau);
  check_not_negative("mirostat_eta", mirostat_eta);
  for (const TokenBias& b : logit_bias) {
    if (b.id < 0) fail("logit_bias", "for token " + std::to_string(b.id), "for an id of the vocabulary");
    if (!(b.bias <= kLargest))
      fail("logit_bias", shown(b.bias) + " for token " + std::to_string(b.id), "a finite number, or -infinity to ban the token");
  }
  parse_sampling_order(sampling_order);
}

std::uint64_t fresh_sampling_seed() {
  std::random_device device;
  return (static_cast<std::uint64_t>(device()) << 32) | device();
}

}  // namespace hz
