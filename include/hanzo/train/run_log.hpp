// SPDX-License-Identifier: Apache-2.0
// RunLog: what a run measures, as metrics.jsonl, TensorBoard events and a picture.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace hz::train {

// After an optimizer step, or after an evaluation (then eval_loss is set and the rest of the step's numbers stay 0).
struct MetricRow {
  std::int64_t step = 0;  // steps done
  double epoch = 0;       // passes over the data, with their fraction
  double loss = 0;        // mean over the step's trained tokens
  double lr = 0, grad_norm = 0;
  double tokens_per_s = 0, elapsed_s = 0;
  std::int64_t tokens = 0, trained_tokens = 0;  // of the step
  std::int64_t skipped = 0;                     // steps so far whose gradients were not finite
  std::optional<double> eval_loss = {};
};

class RunLog {
 public:
  // Goes on with the files of `folder`: rows after step `keep` are dropped (they will be measured again), without
  // `evaluated` also the evaluation of that step, and the events are written anew. Throws Error(io).
  RunLog(std::filesystem::path folder, std::int64_t keep, bool evaluated = true);
  void add(const MetricRow& row);  // appends to metrics.jsonl and to the events
  const std::vector<MetricRow>& rows() const { return rows_; }
  void write_picture() const;  // loss.svg

 private:
  void append(const std::string& file, const std::string& bytes) const;
  std::filesystem::path folder_;
  std::vector<MetricRow> rows_;
};

// One line of metrics.jsonl, without the line end; and back. Throws Error(bad_file).
std::string metric_line(const MetricRow& row);
MetricRow parse_metric_line(std::string_view line);

// Records of a TensorBoard event file (TFRecord framing with masked CRC-32C; the Event and Summary messages of
// TensorFlow's event.proto and summary.proto).
std::string tensorboard_header(double wall_time);
std::string tensorboard_record(const MetricRow& row, double wall_time);
std::uint32_t crc32c(std::string_view bytes);

// An SVG of training loss, its running mean, and evaluation losses over steps.
std::string loss_picture(const std::vector<MetricRow>& rows);

}  // namespace hz::train
