// SPDX-License-Identifier: Apache-2.0
// Learning-rate schedules over optimizer steps, as Hugging Face transformers defines them.
#pragma once
#include <cstdint>
#include <string_view>

namespace hz::optim {

enum class ScheduleKind { constant, linear, cosine, wsd, inverse_sqrt };
enum class DecayShape { linear, cosine, one_minus_sqrt };
// By name: constant, linear, cosine, wsd, inverse-sqrt; Error(usage) with the nearest for others.
ScheduleKind schedule_kind(std::string_view name);
std::string_view name_of(ScheduleKind kind);

struct ScheduleOptions {
  ScheduleKind kind = ScheduleKind::cosine;
  std::int64_t total = 0;                 // steps of the whole run
  double warmup = 0;                      // steps; below 1: that share of `total`, rounded up
  double min_ratio = 0;                   // the least share of the rate (cosine, wsd)
  std::int64_t decay = 0;                 // wsd: steps of the last phase; 0: a tenth of the total, rounded up
  DecayShape shape = DecayShape::cosine;  // wsd
  std::int64_t timescale = 0;             // inverse_sqrt; 0: the warm-up, or 10,000 without one
};

class Schedule {
 public:
  // Throws usage for negative lengths, a warm-up beyond the total, or a ratio outside [0, 1].
  explicit Schedule(const ScheduleOptions& options);
  // The share of the base rate at optimizer step `step`, counted from 0. With a warm-up step 0 has rate 0 (wsd: min_ratio).
  double factor(std::int64_t step) const;
  std::int64_t warmup_steps() const { return warmup_; }

 private:
  double decayed(double progress) const;
  ScheduleOptions o_;
  std::int64_t warmup_ = 0, decay_ = 0;
};

}  // namespace hz::optim
