// SPDX-License-Identifier: Apache-2.0
// The picture of a run: losses over steps, as SVG.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "hanzo/train/run_log.hpp"

namespace hz::train {
namespace {

constexpr double kWidth = 720, kHeight = 360, kLeft = 56, kRight = 16, kTop = 34, kBottom = 40;

using Point = std::pair<double, double>;  // step, loss

// A step of 1, 2 or 5 times a power of ten, so that about `count` of them span the range.
double tick_step(double range, int count) {
  const double raw = range / count, power = std::pow(10.0, std::floor(std::log10(raw)));
  for (const double m : {1.0, 2.0, 5.0})
    if (raw <= m * power) return m * power;
  return 10 * power;
}

struct Frame {
  double x0 = 0, x1 = 1, y0 = 0, y1 = 1;
  double x(double v) const { return kLeft + (v - x0) / (x1 - x0) * (kWidth - kLeft - kRight); }
  double y(double v) const { return kHeight - kBottom - (v - y0) / (y1 - y0) * (kHeight - kTop - kBottom); }
};

Frame frame_of(const std::vector<Point>& train, const std::vector<Point>& eval) {
  Frame f{0, 1, std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()};
  for (const auto* list : {&train, &eval})
    for (const auto& [step, loss] : *list) {
      f.x1 = std::max(f.x1, step);
      f.y0 = std::min(f.y0, loss);
      f.y1 = std::max(f.y1, loss);
    }
  if (!(f.y0 <= f.y1)) return {0, f.x1, 0, 1};
  if (f.y1 - f.y0 < 1e-9) f.y1 = f.y0 + 1;
  f.y0 = f.y0 < 0.4 * f.y1 ? std::min(0.0, f.y0) : f.y0;  // zero is shown where it is near
  return f;
}

std::string axes(const Frame& f) {
  std::string s;
  const double dy = tick_step(f.y1 - f.y0, 5), dx = std::max(1.0, tick_step(f.x1 - f.x0, 8));
  for (double v = std::ceil(f.y0 / dy) * dy; v <= f.y1 + 1e-9; v += dy)
    s += fmt::format("<line x1='{:.1f}' x2='{:.1f}' y1='{:.1f}' y2='{:.1f}' stroke='#ddd'/><text x='{:.1f}' y='{:.1f}' text-anchor='end'>{:.3g}</text>\n", kLeft, kWidth - kRight, f.y(v), f.y(v),
                     kLeft - 6, f.y(v) + 4, v);
  for (double v = 0; v <= f.x1 + 1e-9; v += dx) s += fmt::format("<text x='{:.1f}' y='{:.1f}' text-anchor='middle'>{:.0f}</text>\n", f.x(v), kHeight - kBottom + 18, v);
  return s + fmt::format("<text x='{:.1f}' y='{:.1f}' text-anchor='middle'>step</text>\n", (kLeft + kWidth - kRight) / 2, kHeight - 6);
}

std::string line(const Frame& f, const std::vector<Point>& points, const char* color, double width, const char* id) {
  if (points.empty()) return {};
  std::string s = fmt::format("<polyline id='{}' fill='none' stroke='{}' stroke-width='{}' points='", id, color, width);
  for (const auto& [step, loss] : points) s += fmt::format("{:.1f},{:.1f} ", f.x(step), f.y(loss));
  return s + "'/>\n";
}

std::string dots(const Frame& f, const std::vector<Point>& points, const char* color) {
  std::string s;
  for (const auto& [step, loss] : points) s += fmt::format("<circle cx='{:.1f}' cy='{:.1f}' r='3.5' fill='{}'/>\n", f.x(step), f.y(loss), color);
  return s;
}

}  // namespace

std::string loss_picture(const std::vector<MetricRow>& rows) {
  std::vector<Point> train, smooth, eval;
  double mean = 0;
  for (const MetricRow& r : rows) {
    const double loss = r.eval_loss ? *r.eval_loss : r.loss;
    if (!std::isfinite(loss)) continue;
    if (r.eval_loss) {
      eval.emplace_back(static_cast<double>(r.step), loss);
      continue;
    }
    mean = train.empty() ? loss : 0.9 * mean + 0.1 * loss;
    train.emplace_back(static_cast<double>(r.step), loss);
    smooth.emplace_back(static_cast<double>(r.step), mean);
  }
  const Frame f = frame_of(train, eval);
  std::string s = fmt::format("<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {} {}' font-family='sans-serif' font-size='12'>\n<rect width='{}' height='{}' fill='white'/>\n", kWidth, kHeight,
                              kWidth, kHeight);
  s += fmt::format("<text x='{}' y='20'><tspan fill='#7aa6d8'>training loss</tspan>  <tspan fill='#1f5fa8'>running mean</tspan>  <tspan fill='#c0392b'>evaluation</tspan></text>\n", kLeft);
  s += axes(f) + line(f, train, "#7aa6d8", 1, "loss") + line(f, smooth, "#1f5fa8", 2, "mean") + line(f, eval, "#c0392b", 1.5, "eval") + dots(f, eval, "#c0392b");
  return s + "</svg>\n";
}

}  // namespace hz::train
