// SPDX-License-Identifier: Apache-2.0
// Learning-rate schedules.
#include "hanzo/nn/schedule.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include "hanzo/core/error.hpp"
#include "hanzo/core/near_names.hpp"

namespace hz::optim {
namespace {

constexpr std::string_view kNames[] = {"constant", "linear", "cosine", "wsd", "inverse-sqrt"};

double half_cosine(double progress) { return 0.5 * (1.0 + std::cos(std::numbers::pi * progress)); }
double share(std::int64_t a, std::int64_t b) { return static_cast<double>(a) / static_cast<double>(std::max<std::int64_t>(1, b)); }

[[noreturn]] void bad(const std::string& what, const std::string& hint = "") {
  throw Error(ErrorKind::usage, "[schedule] " + what, "", hint);
}

}  // namespace

ScheduleKind schedule_kind(std::string_view name) {
  for (std::size_t i = 0; i < std::size(kNames); ++i)
    if (kNames[i] == name) return static_cast<ScheduleKind>(i);
  const std::string_view near = meant(name, kNames);
  throw Error(ErrorKind::usage, "'" + std::string(name) + "' is no schedule", "",
              near.empty() ? "constant, linear, cosine, wsd or inverse-sqrt" : std::string(near));
}

std::string_view name_of(ScheduleKind kind) { return kNames[static_cast<std::size_t>(kind)]; }

Schedule::Schedule(const ScheduleOptions& options) : o_(options) {
  if (o_.total < 0 || !(o_.warmup >= 0) || o_.decay < 0 || o_.timescale < 0) bad("a length is negative");
  if (!(o_.min_ratio >= 0 && o_.min_ratio <= 1)) bad("the least share " + std::to_string(o_.min_ratio) + " is not between 0 and 1");
  warmup_ = static_cast<std::int64_t>(std::ceil(o_.warmup < 1 ? o_.warmup * static_cast<double>(o_.total) : o_.warmup));
  if (warmup_ > o_.total)
    bad("a warm-up of " + std::to_string(warmup_) + " steps is longer than the run of " + std::to_string(o_.total),
        "fewer steps, or a share of the run below 1 (--warmup 0.03)");
  decay_ = o_.decay > 0 ? o_.decay : (o_.total + 9) / 10;
  if (o_.kind == ScheduleKind::wsd && warmup_ + decay_ > o_.total) {
    if (o_.decay > 0)
      bad("warm-up and decay, " + std::to_string(warmup_ + decay_) + " steps, are longer than the run of " + std::to_string(o_.total));
    decay_ = o_.total - warmup_;
  }
  if (o_.timescale == 0) o_.timescale = warmup_ > 0 ? warmup_ : 10000;
}

double Schedule::decayed(double progress) const {
  switch (o_.shape) {
    case DecayShape::linear: return 1.0 - progress;
    case DecayShape::one_minus_sqrt: return 1.0 - std::sqrt(progress);
    case DecayShape::cosine: break;
  }
  return half_cosine(progress);
}

double Schedule::factor(std::int64_t step) const {
  const auto least = [&](double f) { return std::max(0.0, f * (1.0 - o_.min_ratio) + o_.min_ratio); };
  if (step < warmup_) return o_.kind == ScheduleKind::wsd ? least(share(step, warmup_)) : share(step, warmup_);
  switch (o_.kind) {
    case ScheduleKind::constant: return 1.0;
    case ScheduleKind::linear: return std::max(0.0, share(o_.total - step, o_.total - warmup_));
    case ScheduleKind::cosine: return least(half_cosine(std::min(1.0, share(step - warmup_, o_.total - warmup_))));
    case ScheduleKind::wsd: {
      const std::int64_t begin = o_.total - decay_;
      if (step < begin) return 1.0;
      return step < o_.total ? least(decayed(share(step - begin, decay_))) : o_.min_ratio;
    }
    case ScheduleKind::inverse_sqrt: break;
  }
  return 1.0 / std::sqrt(share(step + o_.timescale - warmup_, o_.timescale));
}

}  // namespace hz::optim
