// SPDX-License-Identifier: Apache-2.0
#include "hanzo/io/line_chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace hz::io {
namespace {

constexpr double kWidth = 720, kHeight = 360, kLeft = 56, kRight = 16, kTop = 34, kBottom = 40;

using Point = std::pair<double, double>;

std::string escaped(const std::string& text) {
  std::string s;
  for (const char c : text) {
    if (c == '&') s += "&amp;";
    else if (c == '<') s += "&lt;";
    else if (c == '\'') s += "&apos;";
    else s += c;
  }
  return s;
}

// A step of 1, 2 or 5 times a power of ten, so that about `count` of them span the range.
double tick_step(double range, int count) {
  const double raw = range / count, power = std::pow(10.0, std::floor(std::log10(raw)));
  for (const double m : {1.0, 2.0, 5.0})
    if (raw <= m * power) return m * power;
  return 10 * power;
}

bool drawable(const Point& p) { return std::isfinite(p.first) && std::isfinite(p.second); }

struct Frame {
  double x0 = 0, x1 = 1, y0 = 0, y1 = 1;
  double x(double v) const { return kLeft + (v - x0) / (x1 - x0) * (kWidth - kLeft - kRight); }
  double y(double v) const { return kHeight - kBottom - (v - y0) / (y1 - y0) * (kHeight - kTop - kBottom); }
};

Frame frame_of(const LineChart& chart) {
  Frame f{0, 1, std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()};
  for (const LineChart::Series& s : chart.series)
    for (const Point& p : s.points) {
      if (!drawable(p)) continue;
      f.x1 = std::max(f.x1, p.first);
      f.y0 = std::min(f.y0, p.second);
      f.y1 = std::max(f.y1, p.second);
    }
  if (!(f.y0 <= f.y1)) return {0, f.x1, 0, 1};
  if (chart.from_zero || f.y0 < 0.4 * f.y1) f.y0 = std::min(0.0, f.y0);
  if (f.y1 - f.y0 < 1e-9) f.y1 = f.y0 + std::max(1.0, 1e-6 * std::fabs(f.y0));
  return f;
}

// Multiples of `step` from `first` to `last`; none where doubles no longer tell them apart.
std::vector<double> ticks(double first, double last, double step) {
  constexpr double kExact = 0x1p52;
  std::vector<double> at;
  const double start = std::ceil(first / step);
  if (!(std::fabs(start) < kExact)) return at;
  for (auto i = static_cast<std::int64_t>(start); static_cast<double>(i) * step <= last + 1e-9; ++i)
    at.push_back(static_cast<double>(i) * step);
  return at;
}

std::string axes(const Frame& f, const std::string& x_label) {
  std::string s;
  const double dy = tick_step(f.y1 - f.y0, 5), dx = std::max(1.0, tick_step(f.x1 - f.x0, 8));
  for (const double v : ticks(f.y0, f.y1, dy))
    s += fmt::format(
        "<line x1='{:.1f}' x2='{:.1f}' y1='{:.1f}' y2='{:.1f}' stroke='#ddd'/><text x='{:.1f}' y='{:.1f}' "
        "text-anchor='end'>{:.4g}</text>\n",
        kLeft, kWidth - kRight, f.y(v), f.y(v), kLeft - 6, f.y(v) + 4, v);
  for (const double v : ticks(0, f.x1, dx))
    s += fmt::format("<text x='{:.1f}' y='{:.1f}' text-anchor='middle'>{:.0f}</text>\n", f.x(v), kHeight - kBottom + 18, v);
  return s + fmt::format("<text x='{:.1f}' y='{:.1f}' text-anchor='middle'>{}</text>\n", (kLeft + kWidth - kRight) / 2, kHeight - 6,
                         escaped(x_label));
}

std::string line(const Frame& f, const LineChart::Series& series) {
  std::string points, dots;
  for (const Point& p : series.points) {
    if (!drawable(p)) continue;
    points += fmt::format("{:.1f},{:.1f} ", f.x(p.first), f.y(p.second));
    if (series.dots)
      dots += fmt::format("<circle cx='{:.1f}' cy='{:.1f}' r='3.5' fill='{}'/>\n", f.x(p.first), f.y(p.second), series.color);
  }
  if (points.empty()) return {};
  return fmt::format("<polyline id='{}' fill='none' stroke='{}' stroke-width='{}' points='{}'/>\n", escaped(series.name), series.color,
                     series.width, points) +
         dots;
}

}  // namespace

std::string LineChart::svg() const {
  const Frame f = frame_of(*this);
  std::string s = fmt::format(
      "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {0} {1}' font-family='sans-serif' font-size='12'>\n<rect width='{0}' "
      "height='{1}' fill='white'/>\n",
      kWidth, kHeight);
  s += fmt::format("<text x='{}' y='20'>", kLeft);
  for (const Series& one : series) s += fmt::format("<tspan fill='{}'>{}</tspan>  ", one.color, escaped(one.name));
  s += "</text>\n" + axes(f, x_label);
  for (const Series& one : series) s += line(f, one);
  return s + "</svg>\n";
}

}  // namespace hz::io
