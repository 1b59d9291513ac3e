// SPDX-License-Identifier: Apache-2.0
// Console: writing, colours, progress.
#include "tools/common/console.hpp"

#include <fmt/format.h>
#include <hanzo/io/map_guard.hpp>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>

#include "tools/common/interrupt.hpp"
#include "tools/common/meter.hpp"

namespace hz::tools {
namespace {

constexpr std::size_t kHold = 64 << 10;  // bytes of data held back when stdout is no terminal

std::string_view variable(const char* name) {
  const char* v = std::getenv(name);
  return v == nullptr ? std::string_view{} : v;
}

bool wants_color(Color color, bool terminal) {
  if (color != Color::automatic) return color == Color::always;
  return terminal && variable("NO_COLOR").empty() && variable("TERM") != "dumb";
}

// Writes all of it; returns 0 or the error number. A stop request ends a write that waits.
int write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n >= 0) text.remove_prefix(static_cast<std::size_t>(n));
    else if (errno != EINTR || Interrupt::pending() != 0) return errno;
  }
  return 0;
}

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

std::string printable(std::string_view text) {
  std::string s;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    const bool c1 = c == 0xc2 && i + 1 < text.size() && (static_cast<unsigned char>(text[i + 1]) & 0xe0u) == 0x80u;  // U+0080..9F
    if (c1) {
      s += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[++i]));
    } else if ((c < 0x20 && c != '\n' && c != '\t') || c == 0x7f) {
      s += fmt::format("\\x{:02x}", c);
    } else {
      s += text[i];
    }
  }
  return s;
}

Console::Console(const ConsoleOptions& options, Interrupt* interrupt, int out, int err)
    : options_(options),
      interrupt_(interrupt),
      out_(out),
      err_(err),
      out_terminal_(::isatty(out) == 1),
      err_terminal_(::isatty(err) == 1),
      out_color_(wants_color(options.color, out_terminal_)),
      err_color_(wants_color(options.color, err_terminal_)),
      meter_(std::make_unique<Meter>(
          err_terminal_ && variable("TERM") != "dumb", [this](std::string_view s) { to_stderr(s); }, &seconds_now)) {}

Console::~Console() { meter_->finish(); }

void Console::print(std::string_view text) {
  io::check_intact();  // now, while the file is still mapped: the flush may come after its end
  const std::lock_guard lock(mutex_);
  held_ += text;
  if (out_terminal_ || held_.size() >= kHold) flush_locked();
}

void Console::stream(std::string_view text) {
  io::check_intact();
  const std::lock_guard lock(mutex_);
  held_ += text;
  flush_locked();
}

void Console::json(const nlohmann::json& value) {
  print(value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

void Console::flush() {
  const std::lock_guard lock(mutex_);
  flush_locked();
}

void Console::flush_locked() {
  if (held_.empty() || closed_) return;
  if (out_terminal_) meter_->clear();
  const int error = write_all(out_, std::exchange(held_, {}));
  if (error == 0) return;
  closed_ = true;
  if (error == EPIPE) throw ClosedPipe{};
  if (error == EINTR) throw Error(ErrorKind::cancelled, "stopped while writing");
  throw Error(ErrorKind::failed, std::string("cannot write the output: ") + std::strerror(error), "standard output",
              "check the disk or the program that reads it");
}

void Console::to_stderr(std::string_view text) { static_cast<void>(write_all(err_, text)); }

void Console::say(std::string_view head, std::string_view head_code, std::string_view line) {
  const std::lock_guard lock(mutex_);
  meter_->clear();
  const bool colored = err_color_ && !head.empty();
  to_stderr((colored ? fmt::format("\x1b[{}m{}\x1b[0m", head_code, head) : std::string(head)) + printable(line) + "\n");
}

void Console::note(std::string_view line) {
  if (!options_.quiet) say("", "", line);
}

void Console::detail(std::string_view line) {
  if (options_.verbose && !options_.quiet) say("", "", line);
}

void Console::status(std::string_view line) {
  if (options_.quiet) return;
  const std::lock_guard lock(mutex_);
  meter_->status(printable(line));
}

void Console::warn(std::string_view line) { say("warning: ", "1;33", line); }

void Console::error(const Error& error) {
  {
    const std::lock_guard lock(mutex_);
    meter_->finish();
  }
  say("error: ", "1;31", error.what());
  if (!error.where().empty()) say("  in: ", "1", error.where());
  if (!error.hint().empty()) say("  try: ", "1", error.hint());
}

Progress Console::progress() {
  Progress p;
  p.stop = stop_token();
  if (!options_.quiet) {
    p.report = [this](std::string_view stage, std::uint64_t done, std::uint64_t total) {
      const std::lock_guard lock(mutex_);
      meter_->report(stage, done, total);
      if (total != 0 && done >= total) meter_->finish();
    };
  }
  return p;
}

std::stop_token Console::stop_token() const { return interrupt_ == nullptr ? std::stop_token{} : interrupt_->token(); }

void Console::reset_stop() {
  if (interrupt_ != nullptr) interrupt_->reset();
}

std::string Console::colored_out(std::string_view text, std::string_view code) const {
  return out_color_ ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string(text);
}

}  // namespace hz::tools
