// SPDX-License-Identifier: Apache-2.0
// Schedules: shapes, warm-up, and what is refused.
#include "hanzo/nn/schedule.hpp"

#include <cmath>
#include <string>

#include "hanzo/core/error.hpp"
#include "tests/catch.hpp"

using namespace hz;
using namespace hz::optim;

TEST_CASE("cosine and linear with a warm-up of two of ten steps", "[optim]") {
  const Schedule cosine({.kind = ScheduleKind::cosine, .total = 10, .warmup = 2}),
      linear({.kind = ScheduleKind::linear, .total = 10, .warmup = 2});
  const double c[] = {0, .5, 1, .961940, .853553, .691342, .5, .308658, .146447, .038060},
               l[] = {0, .5, 1, .875, .75, .625, .5, .375, .25, .125};
  for (int i = 0; i < 10; ++i) {
    CHECK(std::fabs(cosine.factor(i) - c[i]) < 1e-6);
    CHECK(std::fabs(linear.factor(i) - l[i]) < 1e-6);
  }
  CHECK(linear.factor(12) == 0.0);
  CHECK(std::fabs(cosine.factor(12)) < 1e-12);
}

TEST_CASE("a warm-up below one is a share of the run, rounded up", "[optim]") {
  CHECK(Schedule({.total = 100, .warmup = 0.03}).warmup_steps() == 3);
  CHECK(Schedule({.total = 10, .warmup = 0.03}).warmup_steps() == 1);
  CHECK(Schedule({.total = 10, .warmup = 1}).warmup_steps() == 1);
  CHECK(Schedule({.total = 10}).warmup_steps() == 0);
}

TEST_CASE("inverse square root and warm-up-stable-decay", "[optim]") {
  const Schedule inverse({.kind = ScheduleKind::inverse_sqrt, .total = 1000, .warmup = 100});
  CHECK(inverse.factor(100) == 1.0);
  CHECK(std::fabs(inverse.factor(400) - 0.5) < 1e-12);
  const Schedule wsd({.kind = ScheduleKind::wsd, .total = 100, .warmup = 10, .min_ratio = 0.1, .decay = 30, .shape = DecayShape::linear});
  CHECK(std::fabs(wsd.factor(0) - 0.1) < 1e-12);
  CHECK(wsd.factor(69) == 1.0);
  CHECK(std::fabs(wsd.factor(85) - 0.55) < 1e-12);
  CHECK(wsd.factor(100) == 0.1);
}

TEST_CASE("schedules are found by name and refuse what cannot be meant", "[optim]") {
  CHECK(schedule_kind("inverse-sqrt") == ScheduleKind::inverse_sqrt);
  try {
    schedule_kind("cosin");
    FAIL("accepted");
  } catch (const Error& e) {
    CHECK(e.hint() == "cosine");
  }
  CHECK_THROWS_AS(Schedule({.total = 10, .warmup = 11}), Error);
  CHECK_THROWS_AS(Schedule({.total = 10, .min_ratio = 1.5}), Error);
  CHECK_THROWS_AS(Schedule({.total = 10, .warmup = std::nan("")}), Error);
  CHECK_THROWS_AS(Schedule({.kind = ScheduleKind::wsd, .total = 10, .warmup = 5, .decay = 6}), Error);
}
