// SPDX-License-Identifier: Apache-2.0
// LineChart: what is drawn, what is left out, text that is markup.
#include "hanzo/io/line_chart.hpp"

#include <limits>

#include "tests/catch.hpp"

using hz::io::LineChart;

TEST_CASE("a chart draws its series, names them safely and leaves out what is not finite", "[io]") {
  LineChart chart{.x_label = "depth <tokens>", .from_zero = true, .series = {}};
  chart.series.push_back(
      {.name = "a&b", .color = "#123456", .dots = true, .points = {{0, 10}, {100, std::numeric_limits<double>::quiet_NaN()}, {200, 5}}});
  chart.series.push_back({.name = "empty", .color = "#000000", .points = {}});
  const std::string svg = chart.svg();
  CHECK(svg.starts_with("<svg"));
  CHECK(svg.ends_with("</svg>\n"));
  CHECK(svg.find("depth &lt;tokens>") != std::string::npos);
  CHECK(svg.find("id='a&amp;b'") != std::string::npos);
  CHECK(svg.find("id='empty'") == std::string::npos);
  CHECK(svg.find("nan") == std::string::npos);
  std::size_t marks = 0;
  for (std::size_t at = 0; (at = svg.find("<circle", at)) != std::string::npos; ++at) ++marks;
  CHECK(marks == 2);
}

TEST_CASE("a chart of nothing, of one point and of equal values is a chart", "[io]") {
  CHECK(LineChart{}.svg().find("</svg>") != std::string::npos);
  for (const auto& points :
       {std::vector<std::pair<double, double>>{{3, 7}}, std::vector<std::pair<double, double>>{{0, 2}, {1, 2}, {2, 2}},
        std::vector<std::pair<double, double>>{{0, -1e300}, {1, -1e300}}, std::vector<std::pair<double, double>>{{0, 1e300}, {1, 1e300}}}) {
    LineChart chart;
    chart.series.push_back({.name = "s", .color = "#000000", .points = points});
    CHECK(chart.svg().find("nan") == std::string::npos);
    CHECK(chart.svg().find("<polyline") != std::string::npos);
  }
}
