// SPDX-License-Identifier: Apache-2.0
// Sampler: greedy, order, bias, masks, determinism, statistics and refusals.
#include "hanzo/engine/sampling.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "hanzo/core/error.hpp"
#include "tests/catch.hpp"
#include "tests/engine/logits.hpp"
#include "tests/engine/tables.hpp"
#include "tests/sanitized.hpp"

using namespace hz;
using test::kNegInf;
using test::random_logits;

namespace {

Sampled sample(SamplingOptions o, const std::vector<float>& logits, std::int64_t position = 0,
               const std::vector<std::int32_t>& history = {}, std::span<const std::uint64_t> mask = {},
               std::shared_ptr<const TokenTable> table = nullptr) {
  if (!o.seed) o.seed = 1;
  Sampler s(o, static_cast<std::int32_t>(logits.size()), std::move(table));
  SamplerState state = s.initial_state();
  return s.sample(logits, position, history, state, mask);
}

SamplingOptions plain(float temperature = 1) {  // nothing but temperature
  SamplingOptions o;
  o.temperature = temperature;
  o.sampling_order = "temperature";
  return o;
}

std::int32_t argmax(const std::vector<float>& x) { return static_cast<std::int32_t>(std::max_element(x.begin(), x.end()) - x.begin()); }

std::string error_of(const SamplingOptions& o, ErrorKind kind = ErrorKind::usage) {
  try {
    o.validate();
  } catch (const Error& e) {
    CHECK(e.kind() == kind);
    return e.what();
  }
  return "accepted";
}

// How often each id is drawn at positions 0 … n - 1.
std::map<std::int32_t, int> counts_of(const SamplingOptions& options, const std::vector<float>& logits, int n) {
  SamplingOptions o = options;
  o.seed = 99;
  Sampler s(o, static_cast<std::int32_t>(logits.size()));
  std::map<std::int32_t, int> counts;
  for (int i = 0; i < n; ++i) {
    SamplerState state = s.initial_state();
    ++counts[s.sample(logits, i, {}, state).id];
  }
  return counts;
}

}  // namespace

TEST_CASE("greedy takes the greatest logit, equal ones the lower id", "[engine]") {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    const auto logits = random_logits(random, 1 + random() % 2000, 3, round % 2 == 0, round % 3 == 0);
    for (const float t : {0.0f, -1.0f, -1e30f}) CHECK(sample(plain(t), logits).id == argmax(logits));
    // top_k 1 is greedy at any temperature, by the default order.
    SamplingOptions one;
    one.top_k = 1;
    one.temperature = 5;
    CHECK(sample(one, logits).id == argmax(logits));
    CHECK(sample(one, logits).probability == 1.0f);
  }
  CHECK(sample(plain(0), {1, 3, 3, 2}).id == 1);
}

TEST_CASE("extreme but legal settings are safe", "[engine]") {
  std::mt19937 random(2);
  const auto logits = random_logits(random, 1000, 3, false, true);
  for (const std::int32_t k : {-5, 0, 1, 1'000'000'000, std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()})
    for (const float t : {0.0f, -1.0f, 1e-45f, 1e-38f, 1e-9f, 1.0f, 1e6f, 3e38f}) {
      SamplingOptions o;
      o.top_k = k;
      o.temperature = t;
      const Sampled s = sample(o, logits);
      CHECK(logits[static_cast<std::size_t>(s.id)] > kNegInf);
      CHECK((s.probability > 0 && s.probability <= 1));
      if (t < 1e-6f) CHECK(s.id == argmax(logits));
      o.sampling_order = "temperature;top_k;top_p;min_p;typical;xtc";
      CHECK(logits[static_cast<std::size_t>(sample(o, logits).id)] > kNegInf);
      o.mirostat = 2;
      CHECK(logits[static_cast<std::size_t>(sample(o, logits).id)] > kNegInf);
    }
  SamplingOptions strict;
  strict.top_p = 0;
  strict.min_p = 1;
  strict.typical_p = 0;
  CHECK_NOTHROW(sample(strict, logits));
  SamplingOptions huge;
  huge.repeat_penalty = 3e38f;
  huge.frequency_penalty = 3e38f;
  huge.presence_penalty = -3e38f;
  huge.dry_multiplier = 3e38f;
  huge.dry_base = 3e38f;
  huge.dry_breakers.clear();
  std::vector<std::int32_t> history;
  for (int i = 0; i < 60; ++i) history.push_back(i % 3);
  CHECK_NOTHROW(sample(huge, std::vector<float>(1000, -1e38f), 0, history));
  CHECK_NOTHROW(sample(huge, {3e38f, -3e38f, 0, kNegInf}, 0, history));
}

TEST_CASE("top-k off and top-k above the vocabulary are the same", "[engine]") {
  std::mt19937 random(3);
  const auto logits = random_logits(random, 5000);
  for (std::int64_t position = 0; position < 50; ++position) {
    SamplingOptions a, b;
    a.top_k = 0;
    b.top_k = 1'000'000'000;
    CHECK(sample(a, logits, position).id == sample(b, logits, position).id);
  }
}

TEST_CASE("options outside their range are refused by the name of the field", "[engine]") {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  const std::pair<const char*, float SamplingOptions::*> floats[] = {{"temperature", &SamplingOptions::temperature},
                                                                     {"dynatemp_range", &SamplingOptions::dynatemp_range},
                                                                     {"dynatemp_exponent", &SamplingOptions::dynatemp_exponent},
                                                                     {"top_p", &SamplingOptions::top_p},
                                                                     {"min_p", &SamplingOptions::min_p},
                                                                     {"typical_p", &SamplingOptions::typical_p},
                                                                     {"top_n_sigma", &SamplingOptions::top_n_sigma},
                                                                     {"xtc_probability", &SamplingOptions::xtc_probability},
                                                                     {"xtc_threshold", &SamplingOptions::xtc_threshold},
                                                                     {"repeat_penalty", &SamplingOptions::repeat_penalty},
                                                                     {"frequency_penalty", &SamplingOptions::frequency_penalty},
                                                                     {"presence_penalty", &SamplingOptions::presence_penalty},
                                                                     {"dry_multiplier", &SamplingOptions::dry_multiplier},
                                                                     {"dry_base", &SamplingOptions::dry_base},
                                                                     {"mirostat_tau", &SamplingOptions::mirostat_tau},
                                                                     {"mirostat_eta", &SamplingOptions::mirostat_eta}};
  for (const auto& [name, field] : floats)
    for (const float bad : {nan, inf, -inf}) {
      SamplingOptions o;
      o.*field = bad;
      CHECK_THAT(error_of(o), Catch::Matchers::StartsWith(name));
    }
  const auto refused = [](auto&& set, const std::string& name) {
    SamplingOptions o;
    set(o);
    CHECK_THAT(error_of(o), Catch::Matchers::StartsWith(name));
  };
  refused([](auto& o) { o.top_p = 1.01f; }, "top_p is 1.01");
  refused([](auto& o) { o.min_p = -0.1f; }, "min_p");
  refused([](auto& o) { o.repeat_penalty = 0; }, "repeat_penalty");
  refused([](auto& o) { o.repeat_last_n = -2; }, "repeat_last_n");
  refused([](auto& o) { o.dry_last_n = -2; }, "dry_last_n");
  refused([](auto& o) { o.dry_base = 0.5f; }, "dry_base");
  refused([](auto& o) { o.dry_breakers = {"a", ""}; }, "dry_breakers");
  refused([](auto& o) { o.min_keep = -1; }, "min_keep");
  refused([](auto& o) { o.mirostat = 3; }, "mirostat");
  refused([&](auto& o) { o.logit_bias = {{5, nan}}; }, "logit_bias");
  refused([&](auto& o) { o.logit_bias = {{5, inf}}; }, "logit_bias");
  refused([&](auto& o) { o.logit_bias = {{-1, 0}}; }, "logit_bias");
  SamplingOptions one;
  one.mirostat = 1;
  CHECK_THAT(error_of(one, ErrorKind::unsupported), Catch::Matchers::StartsWith("mirostat 1"));
  SamplingOptions bias;
  bias.logit_bias = {{10, 1}};
  CHECK_THROWS_AS(Sampler(bias, 10), Error);
  SamplingOptions eos;
  eos.ignore_eos = true;
  CHECK_THROWS_AS(Sampler(eos, 10), Error);
  CHECK_THROWS_AS(Sampler({}, 0), Error);
  CHECK_NOTHROW(SamplingOptions{}.validate());
}

TEST_CASE("the order of the stages is parsed or refused", "[engine]") {
  using S = SamplingStage;
  const std::vector<S> all{S::penalties, S::dry, S::top_n_sigma, S::top_k, S::typical, S::top_p, S::min_p, S::xtc, S::temperature};
  CHECK(parse_sampling_order(kDefaultSamplingOrder) == all);
  CHECK(parse_sampling_order("edskypmxt") == all);
  CHECK(parse_sampling_order("temperature") == std::vector<S>{S::temperature});
  CHECK(parse_sampling_order("t") == std::vector<S>{S::temperature});
  CHECK(parse_sampling_order(" top_k , temp; typ_p") == std::vector<S>{S::top_k, S::temperature, S::typical});
  for (const char* bad : {"", " ", ";", "top_k;", "top_k;;temp", "top_k;nosuch", "nosuch", "top_k;top_k", "kk", "kz", "temp;temperature",
                          "top_k temp", "\xff", "topk"}) {
    INFO(bad);
    CHECK_THROWS_AS(parse_sampling_order(bad), Error);
    SamplingOptions o;
    o.sampling_order = bad;
    CHECK_THAT(error_of(o), Catch::Matchers::StartsWith("sampling_order"));
  }
  CHECK(name_of(S::xtc) == "xtc");
}

TEST_CASE("the order of the stages matters as documented", "[engine]") {
  // p = 0.5, 0.3, 0.2. top_k 2 then top_p 0.6 keeps one token (0.5 / 0.8 = 0.625), the other way round two.
  const std::vector<float> logits{std::log(0.5f), std::log(0.3f), std::log(0.2f)};
  SamplingOptions o;
  o.top_k = 2;
  o.top_p = 0.6f;
  o.temperature = 1;
  o.sampling_order = "top_k;top_p;temperature";
  CHECK(counts_of(o, logits, 300).size() == 1);
  o.sampling_order = "top_p;top_k;temperature";
  CHECK(counts_of(o, logits, 300).size() == 2);
  o.sampling_order = "temperature";  // neither runs
  CHECK(counts_of(o, logits, 300).size() == 3);
}

TEST_CASE("the draw follows the distribution", "[engine]") {
  constexpr int kDraws = static_cast<int>(test::long_run(40000));
  std::mt19937 random(4);
  // From a list (top-k), from the whole vocabulary in one block, in several blocks.
  for (const std::size_t n : {20u, 500u, 3000u}) {
    auto logits = random_logits(random, n, 1.5f);
    logits[n / 2] = kNegInf;
    for (const bool list : {false, true}) {
      SamplingOptions o = plain(0.7f);
      if (list) {
        o.top_k = 10;
        o.sampling_order = "top_k;temperature";
      }
      std::vector<std::pair<double, std::int32_t>> weights;
      for (std::size_t i = 0; i < n; ++i)
        weights.emplace_back(std::exp(static_cast<double>(logits[i]) / static_cast<double>(0.7f)), static_cast<std::int32_t>(i));
      std::sort(weights.rbegin(), weights.rend());
      if (list) weights.resize(10);
      double sum = 0;
      for (const auto& w : weights) sum += w.first;
      const auto counts = counts_of(o, logits, kDraws);
      double chi = 0, rest_expected = 0, rest_seen = 0;
      int cells = 0;
      for (const auto& [w, id] : weights) {
        const double expected = w / sum * kDraws;
        const double seen = counts.count(id) ? counts.at(id) : 0;
        if (expected < 20) {
          rest_expected += expected;
          rest_seen += seen;
          continue;
        }
        chi += (seen - expected) * (seen - expected) / expected;
        ++cells;
      }
      if (rest_expected > 20) {
        chi += (rest_seen - rest_expected) * (rest_seen - rest_expected) / rest_expected;
        ++cells;
      }
      INFO(n << " tokens, list " << list << ": chi2 " << chi << " over " << cells);
      CHECK(chi < cells + 5 * std::sqrt(2.0 * cells));
      if (list) CHECK(counts.size() <= 10);
      CHECK(counts.count(static_cast<std::int32_t>(n / 2)) == 0);
    }
  }
}

TEST_CASE("the probability told is that of the distribution drawn from", "[engine]") {
  const std::vector<float> logits{std::log(0.5f), std::log(0.3f), std::log(0.2f)};
  SamplingOptions o = plain();
  o.top_k = 2;
  o.sampling_order = "top_k;temperature";
  for (std::int64_t i = 0; i < 20; ++i) {
    const Sampled s = sample(o, logits, i);
    CHECK(s.probability == Approx(s.id == 0 ? 0.625 : 0.375));
  }
}

TEST_CASE("the choice is a function: other calls, other objects and the order of calls change nothing", "[engine]") {
  std::mt19937 random(5);
  const auto a = random_logits(random, 3000), b = random_logits(random, 3000);
  SamplingOptions o;
  o.seed = 7;
  o.xtc_probability = 0.5f;
  Sampler s(o, 3000), t(o, 3000);
  SamplerState state = s.initial_state();
  std::vector<std::int32_t> forward, backward;
  for (int i = 0; i < 100; ++i) forward.push_back(s.sample(i % 2 ? a : b, i, {}, state).id);
  for (int i = 99; i >= 0; --i) {
    backward.insert(backward.begin(), t.sample(i % 2 ? a : b, i, {}, state).id);
    t.sample(b, 1000 + i, {}, state);
  }
  CHECK(forward == backward);
  CHECK(std::set<std::int32_t>(forward.begin(), forward.end()).size() > 5);
  // Another seed, another stream: other text.
  SamplingOptions other = o;
  other.stream = 1;
  Sampler u(other, 3000);
  std::vector<std::int32_t> streamed;
  for (int i = 0; i < 100; ++i) streamed.push_back(u.sample(i % 2 ? a : b, i, {}, state).id);
  CHECK(streamed != forward);
}

TEST_CASE("without a seed a fresh one is taken and told", "[engine]") {
  Sampler a({}, 100), b({}, 100);
  CHECK(a.seed() != b.seed());
  SamplingOptions o;
  o.seed = a.seed();
  Sampler again(o, 100);
  std::mt19937 random(6);
  const auto logits = random_logits(random, 100);
  SamplerState state = a.initial_state();
  for (int i = 0; i < 50; ++i) CHECK(a.sample(logits, i, {}, state).id == again.sample(logits, i, {}, state).id);
}

TEST_CASE("logit bias adds up and bans", "[engine]") {
  const std::vector<float> logits{1, 2, 3, 4};
  SamplingOptions o = plain(0);
  o.logit_bias = {{3, kNegInf}};
  CHECK(sample(o, logits).id == 2);
  o.logit_bias = {{0, 2}, {0, 1.5f}};
  CHECK(sample(o, logits).id == 0);
  o.logit_bias = {{0, 3e38f}, {0, 3e38f}};
  CHECK(sample(o, logits).id == 0);
  o.temperature = 1;
  CHECK(sample(o, logits).id == 0);
  o.logit_bias = {{0, kNegInf}, {1, kNegInf}, {2, kNegInf}, {3, kNegInf}};
  CHECK_THROWS_AS(sample(o, logits), Error);
}

TEST_CASE("a mask is never left, also where the vocabulary is no multiple of 64", "[engine]") {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    const std::size_t n = 1 + random() % 300;
    const auto logits = random_logits(random, n);
    std::vector<std::uint64_t> mask((n + 63) / 64, round % 3 == 0 ? ~0ull : 0);
    std::set<std::int32_t> allowed;
    for (std::size_t i = 0; i < n; ++i) {
      if (round % 3 != 0 && random() % (round % 3 == 1 ? 2 : 50) == 0) mask[i / 64] |= 1ull << (i % 64);
      if ((mask[i / 64] >> (i % 64)) & 1) allowed.insert(static_cast<std::int32_t>(i));
    }
    SamplingOptions o;
    o.temperature = round % 2 ? 2.0f : 0.0f;
    if (allowed.empty()) {
      CHECK_THROWS_AS(sample(o, logits, round, {}, mask), Error);
      continue;
    }
    CHECK(allowed.count(sample(o, logits, round, {}, mask).id) == 1);
  }
  const std::vector<float> logits(100, 0.0f);
  const std::vector<std::uint64_t> one(1, ~0ull);
  CHECK_THROWS_AS(sample({}, logits, 0, {}, one), Error);
}

TEST_CASE("ignore_eos bans the ends of turns, unless the grammar allows nothing else", "[engine]") {
  const auto table = test::table_of({"", "a", "b", ""}, {0, 3});
  const std::vector<float> logits{9, 1, 2, 8};
  SamplingOptions o = plain(0);
  CHECK(sample(o, logits, 0, {}, {}, table).id == 0);
  o.ignore_eos = true;
  CHECK(sample(o, logits, 0, {}, {}, table).id == 2);
  const std::vector<std::uint64_t> ends_only{0b1001}, some{0b1011}, none_possible{0b0001};
  CHECK(sample(o, logits, 0, {}, some, table).id == 1);
  CHECK(sample(o, logits, 0, {}, ends_only, table).id == 0);
  const std::vector<float> no_end{kNegInf, 1, 2, 8};
  CHECK_THROWS_AS(sample(o, no_end, 0, {}, none_possible, table), Error);
  CHECK_THROWS_AS(sample(o, {1, kNegInf, kNegInf, 1}, 0, {}, {}, table), Error);  // without a grammar the ban stands
}

TEST_CASE("bad logits and sizes are errors, never a token", "[engine]") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto kind_of = [](const std::vector<float>& logits, const std::vector<std::int32_t>& history) {
    SamplingOptions o;
    o.repeat_penalty = 1.1f;
    try {
      sample(o, logits, 3, history);
    } catch (const Error& e) {
      return e.kind();
    }
    return ErrorKind::cancelled;
  };
  CHECK(kind_of({1, nan, 2}, {}) == ErrorKind::numeric);
  CHECK(kind_of({1, -nan, 2}, {}) == ErrorKind::numeric);
  CHECK(kind_of({1, std::numeric_limits<float>::infinity(), 2}, {}) == ErrorKind::numeric);
  CHECK(kind_of({kNegInf, kNegInf}, {}) == ErrorKind::failed);
  CHECK(kind_of({1, 2}, {2}) == ErrorKind::usage);
  CHECK(kind_of({1, 2}, {-1}) == ErrorKind::usage);
  Sampler s({}, 3);
  SamplerState state;
  CHECK_THROWS_AS(s.sample(std::vector<float>{1, 2}, 0, {}, state), Error);
}

TEST_CASE("xtc acts as often as its probability says", "[engine]") {
  const std::vector<float> logits{std::log(0.6f), std::log(0.39f), std::log(0.01f)};
  SamplingOptions o = plain();
  o.sampling_order = "xtc;temperature";
  o.xtc_threshold = 0.3f;
  o.xtc_probability = 1;
  CHECK(counts_of(o, logits, 500).count(0) == 0);
  o.xtc_probability = 0;
  CHECK(counts_of(o, logits, 500)[0] > 200);
  o.xtc_probability = 0.25f;
  const double share = counts_of(o, logits, 20000)[0] / 20000.0;
  CHECK(std::abs(share - 0.75 * 0.6) < 0.02);
  o.xtc_probability = 1;
  o.xtc_threshold = 0.51f;  // off
  CHECK(counts_of(o, logits, 500)[0] > 200);
}

TEST_CASE("mirostat steers the surprise to its target and keeps its state outside", "[engine]") {
  std::mt19937 random(8);
  SamplingOptions o;
  o.seed = 3;
  o.temperature = 1;
  o.mirostat = 2;
  o.mirostat_tau = 3;
  Sampler s(o, 2000);
  SamplerState state = s.initial_state();
  CHECK(state.mirostat_mu == 6.0f);
  double surprise = 0;
  constexpr int kSteps = 3000;
  SamplerState copy;
  std::vector<std::int32_t> tail, again;
  std::vector<std::vector<float>> kept;
  for (int i = 0; i < kSteps; ++i) {
    const auto logits = random_logits(random, 2000, 2);
    if (i == kSteps - 50) copy = state;
    const Sampled x = s.sample(logits, i, {}, state);
    if (i >= 500) surprise -= std::log2(static_cast<double>(x.probability));
    if (i >= kSteps - 50) {
      tail.push_back(x.id);
      kept.push_back(logits);
    }
  }
  CHECK(surprise / (kSteps - 500) == Approx(3).margin(0.1));
  Sampler resumed(o, 2000);
  for (int i = 0; i < 50; ++i) again.push_back(resumed.sample(kept[static_cast<std::size_t>(i)], kSteps - 50 + i, {}, copy).id);
  CHECK(again == tail);
  CHECK(copy.mirostat_mu == state.mirostat_mu);
}

TEST_CASE("greedy ignores truncation and mirostat, but not penalties", "[engine]") {
  const std::vector<float> logits{3, 2, 1};
  SamplingOptions o;
  o.temperature = 0;
  o.typical_p = 0.01f;
  o.xtc_probability = 1;
  o.xtc_threshold = 0.01f;
  o.mirostat = 2;
  CHECK(sample(o, logits).id == 0);
  o.presence_penalty = 1.5f;
  CHECK(sample(o, logits, 0, {0}).id == 1);
}

TEST_CASE("min_keep keeps so many", "[engine]") {
  const std::vector<float> logits{10, 1, 0.5f, 0, -1};
  SamplingOptions o;
  o.temperature = 10;
  o.min_keep = 3;
  o.top_p = 0.01f;
  o.min_p = 0.99f;
  CHECK(counts_of(o, logits, 500).size() == 3);
}

TEST_CASE("logprobs are those of the untruncated softmax, sorted, whatever the options", "[engine]") {
  std::mt19937 random(9);
  for (int round = 0; round < 100; ++round) {
    const auto logits = random_logits(random, 1 + random() % 3000, 4, round % 3 == 0, round % 2 == 0);
    const auto chosen = static_cast<std::int32_t>(random() % logits.size());
    long double max = -1e30L, sum = 0;
    for (const float x : logits) max = std::max(max, static_cast<long double>(x));
    for (const float x : logits) sum += std::exp(static_cast<long double>(x) - max);
    const auto exact = [&](std::int32_t id) {
      return static_cast<double>(static_cast<long double>(logits[static_cast<std::size_t>(id)]) - max - std::log(sum));
    };
    const Logprobs l = logprobs(logits, 5, chosen);
    CHECK(l.chosen.id == chosen);
    if (logits[static_cast<std::size_t>(chosen)] == kNegInf) CHECK(l.chosen.logprob == kNegInf);
    else CHECK(static_cast<double>(l.chosen.logprob) == Approx(exact(chosen)).margin(2e-6));
    double total = 0;
    for (std::size_t i = 0; i < l.top.size(); ++i) {
      CHECK(static_cast<double>(l.top[i].logprob) == Approx(exact(l.top[i].id)).margin(2e-6));
      total += std::exp(static_cast<double>(l.top[i].logprob));
      if (i == 0) continue;
      CHECK(l.top[i].logprob <= l.top[i - 1].logprob);
      if (l.top[i].logprob == l.top[i - 1].logprob) CHECK(l.top[i].id > l.top[i - 1].id);
    }
    CHECK(total <= 1 + 1e-6);
    CHECK(l.top.size() == std::min<std::size_t>(5, static_cast<std::size_t>(
                                                       std::count_if(logits.begin(), logits.end(), [](float x) { return x > kNegInf; }))));
  }
  const std::vector<float> three{1, 2, 3};
  CHECK(logprobs(three, 0, 1).top.empty());
  CHECK(logprobs(three, -3, 1).top.empty());
  CHECK(logprobs(three, 1'000'000'000, 1).top.size() == 3);
  CHECK_THROWS_AS(logprobs(three, 1, 3), Error);
  CHECK_THROWS_AS(logprobs(three, 1, -1), Error);
  CHECK_THROWS_AS(logprobs(std::vector<float>{kNegInf}, 1, 0), Error);
  CHECK_THROWS_AS(logprobs(std::vector<float>{std::nanf("")}, 1, 0), Error);
}
