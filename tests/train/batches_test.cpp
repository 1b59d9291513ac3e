// SPDX-License-Identifier: Apache-2.0
// Batches: every unit once an epoch, the same order from the same seed, packs that are full and whole.
#include "hanzo/train/batches.hpp"

#include <algorithm>
#include <set>

#include "hanzo/core/error.hpp"
#include "tests/catch.hpp"

using namespace hz;
using namespace hz::train;

namespace {

std::vector<Example> of_sizes(std::initializer_list<std::size_t> sizes) {
  std::vector<Example> all;
  for (const std::size_t n : sizes) {
    Example e;
    e.ids.assign(n, 7);
    e.labels.assign(n, 7);
    e.labels[0] = kIgnore;
    all.push_back(std::move(e));
  }
  return all;
}

}  // namespace

TEST_CASE("each epoch sees every unit once, in another order; the last step may be smaller", "[train]") {
  const Batches batches(10, {.micro_batch = 2, .accumulate = 2, .seed = 3});
  CHECK(batches.steps_per_epoch() == 3);
  std::vector<std::int32_t> orders[2];
  for (std::int64_t s = 0; s < 6; ++s) {
    const StepBatch b = batches.step(s);
    CHECK(b.epoch == s / 3);
    CHECK(b.micro_batches.size() == (s % 3 == 2 ? 1u : 2u));
    for (const auto& m : b.micro_batches) orders[s / 3].insert(orders[s / 3].end(), m.begin(), m.end());
  }
  for (const auto& o : orders) CHECK(std::set<std::int32_t>(o.begin(), o.end()).size() == 10);
  CHECK(orders[0] != orders[1]);
  CHECK(Batches(10, {.micro_batch = 2, .accumulate = 2, .seed = 3}).step(4).micro_batches == batches.step(4).micro_batches);
  CHECK(epoch_order(3, 0, 10) != epoch_order(4, 0, 10));
}

TEST_CASE("a dataset smaller than a batch is one step", "[train]") {
  const Batches batches(3, {.micro_batch = 4, .accumulate = 8});
  CHECK(batches.steps_per_epoch() == 1);
  CHECK(batches.step(0).micro_batches.size() == 1);
  CHECK(batches.step(0).micro_batches[0].size() == 3);
  CHECK_THROWS_AS(Batches(0, {}), Error);
}

TEST_CASE("packing fills units by best fit and loses nothing", "[train]") {
  const auto examples = of_sizes({5, 7, 3, 10, 2, 2});
  const auto packs = make_units(examples, true, 10);
  std::multiset<std::int32_t> seen;
  for (const Unit& u : packs) {
    CHECK(u.tokens <= 10);
    std::int64_t tokens = 0, trained = 0;
    for (const std::int32_t i : u.examples) {
      seen.insert(i);
      tokens += static_cast<std::int64_t>(examples[static_cast<std::size_t>(i)].ids.size());
      trained += examples[static_cast<std::size_t>(i)].trained();
    }
    CHECK(u.tokens == tokens);
    CHECK(u.trained == trained);
  }
  CHECK(seen == std::multiset<std::int32_t>{0, 1, 2, 3, 4, 5});
  CHECK(packs.size() == 3);  // 10, 7 + 3, 5 + 2 + 2
  CHECK(make_units(examples, false, 10).size() == 6);
}
