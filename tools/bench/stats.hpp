// SPDX-License-Identifier: Apache-2.0
// Times of several runs and what is told of them.
#pragma once
#include <chrono>
#include <vector>

namespace hz::tools {

using Clock = std::chrono::steady_clock;
// Seconds.
inline double since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

// All of at least one value.
struct MeanStd {
  double mean = 0, std = 0;  // std: of the sample, 0 for one value
};
MeanStd mean_std(const std::vector<double>& values);
// The middle one, the mean of the middle two when their number is even.
double median(std::vector<double> values);
// The value below which `share` of the sorted values lie, nearest rank.
double quantile(std::vector<double> values, double share);

}  // namespace hz::tools
