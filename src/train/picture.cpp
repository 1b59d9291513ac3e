// SPDX-License-Identifier: Apache-2.0
// The picture of a run: losses over steps, as SVG.
#include <cmath>

#include "hanzo/io/line_chart.hpp"
#include "hanzo/train/run_log.hpp"

namespace hz::train {

std::string loss_picture(const std::vector<MetricRow>& rows) {
  io::LineChart chart{.x_label = "step",
                      .series = {{.name = "training loss", .color = "#7aa6d8", .width = 1, .points = {}},
                                 {.name = "running mean", .color = "#1f5fa8", .width = 2, .points = {}},
                                 {.name = "evaluation", .color = "#c0392b", .dots = true, .points = {}}}};
  auto &train = chart.series[0].points, &smooth = chart.series[1].points, &eval = chart.series[2].points;
  double mean = 0;
  for (const MetricRow& r : rows) {
    const double loss = r.eval_loss ? *r.eval_loss : r.loss, step = static_cast<double>(r.step);
    if (!std::isfinite(loss)) continue;
    if (r.eval_loss) {
      eval.emplace_back(step, loss);
      continue;
    }
    mean = train.empty() ? loss : 0.9 * mean + 0.1 * loss;
    train.emplace_back(step, loss);
    smooth.emplace_back(step, mean);
  }
  return chart.svg();
}

}  // namespace hz::train
