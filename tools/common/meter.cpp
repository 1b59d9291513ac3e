// SPDX-License-Identifier: Apache-2.0
// Meter: when to speak, and what a line says.
#include "tools/common/meter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace hz::tools {
namespace {

constexpr double kQuietStart = 0.5;    // s: a stage shorter than this says nothing on a terminal
constexpr double kRedraw = 0.1;        // s between redraws
constexpr double kPlainInterval = 5;   // s between plain lines
constexpr std::uint64_t kByteLike = 1'000'000;  // totals from here on are bytes; steps and tensors are fewer

}  // namespace

std::string bytes_text(double bytes) {
  constexpr const char* kUnits[] = {"B", "kB", "MB", "GB", "TB"};
  std::size_t unit = 0;
  while (bytes >= 999.5 && unit + 1 < std::size(kUnits)) {
    bytes /= 1000;
    ++unit;
  }
  return fmt::format("{:.{}f} {}", bytes, bytes < 9.95 && unit > 0 ? 1 : 0, kUnits[unit]);
}

std::string time_text(double seconds) {
  if (!(seconds >= 0) || seconds > 1e7) return "--:--";
  const auto s = static_cast<long>(std::lround(seconds));
  if (s >= 3600) return fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
  return fmt::format("{}:{:02}", s / 60, s % 60);
}

Meter::Meter(bool terminal, std::function<void(std::string_view)> write, std::function<double()> seconds)
    : terminal_(terminal), write_(std::move(write)), seconds_(std::move(seconds)) {}

void Meter::report(std::string_view stage, std::uint64_t done, std::uint64_t total) {
  const double now = seconds_();
  if (stage != stage_ || done < done_) {
    finish();
    stage_ = stage;
    first_ = done;
    begun_ = shown_ = now;
    spoken_ = false;
  }
  done_ = done;
  total_ = total;
  const bool due = terminal_ ? now - begun_ >= kQuietStart && now - shown_ >= kRedraw : now - shown_ >= kPlainInterval;
  if (due) show(now);
}

void Meter::show(double now) {
  write_(terminal_ ? "\r" + line(now) + "\x1b[K" : line(now) + "\n");
  shown_ = now;
  drawn_ = terminal_;
  spoken_ = true;
}

void Meter::status(std::string_view line) {
  if (!stage_.empty()) finish();
  write_(terminal_ ? "\r" + std::string(line) + "\x1b[K" : std::string(line) + "\n");
  drawn_ = terminal_;
}

void Meter::clear() {
  if (drawn_) write_("\r\x1b[K");
  drawn_ = false;
}

void Meter::finish() {
  if (spoken_) {
    if (terminal_) {
      show(seconds_());
      write_("\n");
    } else if (total_ != 0 && done_ == total_) {
      show(seconds_());
    }
  }
  stage_.clear();
  first_ = done_ = total_ = 0;
  drawn_ = spoken_ = false;
}

std::string Meter::line(double now) const {
  const double elapsed = now - begun_, rate = elapsed > 0 ? static_cast<double>(done_ - first_) / elapsed : 0;
  const bool bytes = std::max(total_, done_) >= kByteLike;
  const auto amount = [&](double v) { return bytes ? bytes_text(v) : fmt::format("{:.0f}", v); };
  std::string s = stage_ + " ";
  if (total_ != 0) {
    s += fmt::format("{:3.0f}%  {} / {}", 100.0 * static_cast<double>(done_) / static_cast<double>(total_),
                     amount(static_cast<double>(done_)), amount(static_cast<double>(total_)));
  } else {
    s += amount(static_cast<double>(done_));
  }
  if (rate > 0) s += "  " + (bytes ? bytes_text(rate) : fmt::format("{:.{}f}", rate, rate < 100 ? 1 : 0)) + "/s";
  if (total_ > done_ && rate > 0) s += "  ETA " + time_text(static_cast<double>(total_ - done_) / rate);
  else if (total_ != 0 && done_ >= total_) s += "  in " + time_text(elapsed);
  return s;
}

}  // namespace hz::tools
