// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/stats.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace hz::tools {

MeanStd mean_std(const std::vector<double>& values) {
  const auto n = static_cast<double>(values.size());
  MeanStd r{std::accumulate(values.begin(), values.end(), 0.0) / n, 0};
  for (const double x : values) r.std += (x - r.mean) * (x - r.mean);
  r.std = values.size() > 1 ? std::sqrt(r.std / (n - 1)) : 0.0;
  return r;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : 0.5 * (values[half - 1] + values[half]);
}

double quantile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(values.size())));
  return values[std::min(values.size() - 1, rank == 0 ? 0 : rank - 1)];
}

}  // namespace hz::tools
