// SPDX-License-Identifier: Apache-2.0
// RunLog: rows on disk.
#include "hanzo/train/run_log.hpp"

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "hanzo/core/error.hpp"
#include "hanzo/io/atomic_file.hpp"
#include "src/train/files.hpp"

namespace hz::train {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kMetrics = "metrics.jsonl";
constexpr const char* kEvents = "events.out.tfevents.0000000000.hanzo";

// JSON has no NaN: null.
Json number(double v) { return std::isfinite(v) ? Json(v) : Json(nullptr); }
double number(const Json& j, const char* key) {
  const auto found = j.find(key);
  return found == j.end() ? 0.0 : found->is_null() ? std::nan("") : found->get<double>();
}

// Rows of the file up to step `keep`, its evaluation only when `evaluated`; a last line that was cut ends them.
std::vector<MetricRow> read_rows(const std::filesystem::path& file, std::int64_t keep, bool evaluated) {
  std::vector<MetricRow> rows;
  if (!io::is_there(file)) return rows;
  std::istringstream in(read_text(file));
  for (std::string line; std::getline(in, line);) {
    try {
      rows.push_back(parse_metric_line(line));
    } catch (const Error&) {
      break;
    }
    if (rows.back().step > keep || (rows.back().step == keep && rows.back().eval_loss && !evaluated)) {
      rows.pop_back();
      break;
    }
  }
  return rows;
}

}  // namespace

std::string metric_line(const MetricRow& r) {
  Json j{{"step", r.step}, {"epoch", number(r.epoch)}};
  if (r.eval_loss) {
    j["eval_loss"] = number(*r.eval_loss);
  } else {
    j.update(Json{{"loss", number(r.loss)},
                  {"lr", number(r.lr)},
                  {"grad_norm", number(r.grad_norm)},
                  {"tokens_per_s", number(r.tokens_per_s)},
                  {"tokens", r.tokens},
                  {"trained_tokens", r.trained_tokens},
                  {"skipped_steps", r.skipped}});
  }
  j["elapsed_s"] = number(r.elapsed_s);
  return j.dump();
}

MetricRow parse_metric_line(std::string_view line) {
  try {
    const Json j = Json::parse(line);
    MetricRow r;
    r.step = j.at("step").get<std::int64_t>();
    r.epoch = number(j, "epoch");
    r.loss = number(j, "loss");
    r.lr = number(j, "lr");
    r.grad_norm = number(j, "grad_norm");
    r.tokens_per_s = number(j, "tokens_per_s");
    r.elapsed_s = number(j, "elapsed_s");
    r.tokens = j.value("tokens", std::int64_t{0});
    r.trained_tokens = j.value("trained_tokens", std::int64_t{0});
    r.skipped = j.value("skipped_steps", std::int64_t{0});
    if (j.contains("eval_loss")) r.eval_loss = number(j, "eval_loss");
    return r;
  } catch (const Json::exception&) {
    throw Error(ErrorKind::bad_file, "a line of the metrics is damaged", kMetrics);
  }
}

RunLog::RunLog(std::filesystem::path folder, std::int64_t keep, bool evaluated)
    : folder_(std::move(folder)), rows_(read_rows(folder_ / kMetrics, keep, evaluated)) {
  std::string lines, events = tensorboard_header(0);
  for (const MetricRow& r : rows_) {
    lines += metric_line(r) + "\n";
    events += tensorboard_record(r, r.elapsed_s);
  }
  io::write_file(folder_ / kMetrics, lines);
  io::write_file(folder_ / kEvents, events);
}

void RunLog::append(const std::string& file, const std::string& bytes) const {
  std::ofstream out(folder_ / file, std::ios::binary | std::ios::app);
  out << bytes;
  out.close();
  if (!out) throw Error(ErrorKind::io, "cannot add to the file", (folder_ / file).string(), "free some space on this disk");
}

void RunLog::add(const MetricRow& row) {
  rows_.push_back(row);
  append(kMetrics, metric_line(row) + "\n");
  append(kEvents, tensorboard_record(row, row.elapsed_s));
}

void RunLog::write_picture() const { io::write_file(folder_ / "loss.svg", loss_picture(rows_)); }

}  // namespace hz::train
