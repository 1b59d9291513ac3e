// SPDX-License-Identifier: Apache-2.0
// LineChart: numbers over numbers as an SVG picture (losses over steps, speed over depth).
#pragma once
#include <string>
#include <utility>
#include <vector>

namespace hz::io {

struct LineChart {
  struct Series {
    std::string name;                               // in the legend; also the element's id
    std::string color;                              // "#1f5fa8"
    double width = 1.5;
    bool dots = false;                              // a mark at every point
    std::vector<std::pair<double, double>> points;  // x ascending; not finite ones are left out
  };
  std::string x_label;
  bool from_zero = false;  // the y axis begins at 0; else where the values do, and at 0 when that is near
  std::vector<Series> series;

  // 720 x 360 units, self-contained. A chart without points is a chart.
  std::string svg() const;
};

}  // namespace hz::io
