// SPDX-License-Identifier: Apache-2.0
// Meter: turns progress reports into lines: one that is rewritten on a terminal, one every few seconds elsewhere.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace hz::tools {

class Meter {
 public:
  // write: gets text for stderr. seconds: a monotonic clock.
  Meter(bool terminal, std::function<void(std::string_view)> write, std::function<double()> seconds);

  // A report of hz::Progress; a new stage, or fewer done than before, begins anew. Not thread-safe.
  void report(std::string_view stage, std::uint64_t done, std::uint64_t total);
  // A line of another's making: rewritten on a terminal, a plain line elsewhere.
  void status(std::string_view line);
  // Removes the line being rewritten, so that other text can stand there; the next report draws it again.
  void clear();
  // Ends the stage: what was shown stays as a finished line.
  void finish();

 private:
  std::string line(double now) const;
  void show(double now);

  bool terminal_;
  std::function<void(std::string_view)> write_;
  std::function<double()> seconds_;
  std::string stage_;
  std::uint64_t first_ = 0, done_ = 0, total_ = 0;
  double begun_ = 0, shown_ = 0;
  bool drawn_ = false;   // a line of this stage stands on the terminal now
  bool spoken_ = false;  // at least one line of this stage was written
};

// "1.5 GB", "812 kB", powers of ten as disks and networks count.
std::string bytes_text(double bytes);
// "0:07", "12:30", "3:05:00".
std::string time_text(double seconds);

}  // namespace hz::tools
