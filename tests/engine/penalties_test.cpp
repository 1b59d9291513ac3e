// SPDX-License-Identifier: Apache-2.0
// Penalties and DRY against plain implementations, and DRY's breakers.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "src/engine/stages.hpp"
#include "tests/catch.hpp"
#include "tests/engine/logits.hpp"
#include "tests/engine/tables.hpp"

using namespace hz;
using engine::Candidates;

namespace {

using History = std::vector<std::int32_t>;

std::map<std::int32_t, float> logits_of(Candidates& c) {
  std::map<std::int32_t, float> m;
  if (c.dense()) {
    for (std::size_t i = 0; i < c.logits().size(); ++i)
      if (c.logits()[i] > test::kNegInf) m[static_cast<std::int32_t>(i)] = c.logits()[i];
  } else {
    REQUIRE(std::is_sorted(c.list().begin(), c.list().end(), engine::before));
    for (const auto& t : c.list()) m[t.id] = t.logit;
  }
  return m;
}

// DRY by its definition: for each earlier place whose end equals the end of the history, what came after it.
std::map<std::int32_t, int> plain_dry(const History& h, int allowed, const std::set<std::int32_t>& breakers) {
  std::map<std::int32_t, int> lengths;
  const int n = static_cast<int>(h.size());
  for (int end = 0; end + 1 < n; ++end) {  // an occurrence that ends at `end`
    int length = 0;
    while (length <= end && h[static_cast<std::size_t>(end - length)] == h[static_cast<std::size_t>(n - 1 - length)] &&
           breakers.count(h[static_cast<std::size_t>(n - 1 - length)]) == 0)
      ++length;
    const std::int32_t next = h[static_cast<std::size_t>(end) + 1];
    if (length >= std::max(allowed, 1) && breakers.count(next) == 0) lengths[next] = std::max(lengths[next], length);
  }
  return lengths;
}

}  // namespace

TEST_CASE("repetition, frequency and presence penalties follow their formula", "[engine]") {
  std::mt19937 random(21);
  for (int round = 0; round < 200; ++round) {
    const auto logits = test::random_logits(random, 50, 3, false, round % 2 == 0);
    History history(random() % 120);
    for (auto& id : history) id = static_cast<std::int32_t>(random() % 50);
    SamplingOptions o;
    o.repeat_penalty = 0.5f + static_cast<float>(random() % 100) / 50;
    o.frequency_penalty = static_cast<float>(random() % 10) / 10 - 0.5f;
    o.presence_penalty = static_cast<float>(random() % 10) / 10;
    o.repeat_last_n = round % 4 == 0 ? -1 : round % 4 == 1 ? 0 : 20;
    const std::size_t window = o.repeat_last_n < 0 ? history.size() : std::min(history.size(), static_cast<std::size_t>(o.repeat_last_n));
    std::map<std::int32_t, int> counts;
    for (std::size_t i = history.size() - window; i < history.size(); ++i) ++counts[history[i]];
    for (const bool list : {false, true}) {
      Candidates c;
      c.reset(logits, 0);
      if (list) c.keep_top(30);
      const auto before = logits_of(c);
      engine::RepetitionPenalty penalty;
      penalty.apply(c, o, history, 50);
      penalty.apply(c, o, {}, 50);
      const auto after = logits_of(c);
      REQUIRE(after.size() == before.size());
      for (const auto& [id, x] : before) {
        float expected = x;
        if (counts.count(id) > 0)
          expected = (x > 0 ? x / o.repeat_penalty : x * o.repeat_penalty) - static_cast<float>(counts[id]) * o.frequency_penalty -
                     o.presence_penalty;
        CHECK(after.at(id) == Approx(expected).margin(1e-5));
      }
    }
  }
}

TEST_CASE("DRY equals its plain definition", "[engine]") {
  std::mt19937 random(22);
  const auto table = test::table_of({"a", "b", "c", "\n", "d:", "e"}, {});
  for (int round = 0; round < 500; ++round) {
    History history(random() % 80);
    const auto kinds = 2 + random() % 5;
    for (auto& id : history) id = static_cast<std::int32_t>(random() % kinds);
    SamplingOptions o;
    o.dry_multiplier = 0.8f;
    o.dry_allowed_length = static_cast<std::int32_t>(random() % 5);
    o.dry_last_n = round % 3 == 0 ? -1 : 30;
    if (round % 2 == 0) o.dry_breakers.clear();
    const History window(history.end() - static_cast<std::ptrdiff_t>(engine::last_of(history, o.dry_last_n).size()), history.end());
    const auto lengths = plain_dry(window, o.dry_allowed_length, round % 2 == 0 ? std::set<std::int32_t>{} : std::set<std::int32_t>{3, 4});
    engine::DryPenalty dry;
    dry.configure(o, table.get());
    const auto logits = test::random_logits(random, 6);
    for (const bool list : {false, true}) {
      Candidates c;
      c.reset(logits, 0);
      if (list) c.keep_top(4);
      const auto before = logits_of(c);
      dry.apply(c, o, history);
      for (const auto& [id, x] : logits_of(c)) {
        const auto found = lengths.find(id);
        const double penalty = found == lengths.end() ? 0 : 0.8 * std::pow(1.75, found->second - o.dry_allowed_length);
        CHECK(static_cast<double>(x) == Approx(std::max(static_cast<double>(before.at(id)) - penalty, -3.4028234e38)).margin(1e-4));
      }
    }
  }
}

TEST_CASE("a breaker that spans tokens stops a repetition too", "[engine]") {
  // "a" "b" "c" "-" "x": the breaker "-x" ends in token 4 only after a token 3.
  const auto table = test::table_of({"a", "b", "c", "-", "x"}, {});
  const std::vector<float> logits(5, 0.0f);
  SamplingOptions o;
  o.dry_multiplier = 1;
  o.dry_allowed_length = 1;
  o.dry_breakers = {"-x"};
  engine::DryPenalty dry;
  dry.configure(o, table.get());
  const auto penalised = [&](const History& h) {
    Candidates c;
    c.reset(logits, 0);
    dry.apply(c, o, h);
    std::map<std::int32_t, float> changed;
    for (const auto& [id, x] : logits_of(c))
      if (x != 0) changed[id] = -x;
    return changed;
  };
  CHECK(penalised({1, 4, 0, 2, 1, 4, 0}) == std::map<std::int32_t, float>{{2, 1.75f * 1.75f}});           // "bxa" repeats: 3
  CHECK(penalised({3, 4, 0, 2, 3, 4, 0}) == std::map<std::int32_t, float>{{2, 1.0f}});                    // after "-x" only "a"
  CHECK(penalised({0, 2, 3, 4}).empty());                                                                   // the end is a breaker
  CHECK(penalised({}).empty());
  CHECK(penalised({0}).empty());
}

TEST_CASE("DRY takes linear time on a long uniform history", "[engine]") {
  const History history(300'000, 0);
  SamplingOptions o;
  o.dry_multiplier = 1;
  o.dry_last_n = -1;
  o.dry_breakers = {"zz"};
  const auto table = test::table_of({"a", "b"}, {});
  engine::DryPenalty dry;
  dry.configure(o, table.get());
  const std::vector<float> logits{5, 1};
  Candidates c;
  c.reset(logits, 0);
  dry.apply(c, o, history);
  CHECK(c.logits()[0] == -std::numeric_limits<float>::max());
  CHECK(c.logits()[1] == 1.0f);
}
