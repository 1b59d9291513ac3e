// SPDX-License-Identifier: Apache-2.0
// Console: stdout is data, stderr is everything else; each is judged by its own isatty.
#pragma once
#include <chrono>
#include <functional>
#include <hanzo/core/error.hpp>
#include <hanzo/core/progress.hpp>
#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <stop_token>
#include <string>
#include <string_view>

namespace hz::tools {

class Interrupt;
class Meter;

enum class Color { automatic, always, never };

struct ConsoleOptions {
  bool quiet = false;    // no notes, no progress; warnings and errors stay
  bool verbose = false;  // details too
  Color color = Color::automatic;
};

// Thrown when the reader of stdout has gone away (`| head`): run() ends quietly with what was asked for done.
struct ClosedPipe {};

// Thread-safe: progress may be reported by any thread while another one prints.
class Console {
 public:
  // interrupt: whose stop requests progress() and stop_token() pass on; may be null.
  explicit Console(const ConsoleOptions& options = {}, Interrupt* interrupt = nullptr, int out = 1, int err = 2);
  ~Console();
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;

  // Data, to stdout. print() may hold text back until flush(), stream() never does. Throw Error(failed) when the
  // system refuses the text, ClosedPipe when nobody reads it, Error(cancelled) when a stop was asked for meanwhile,
  // Error(io) when a mapped file lost pages, so that the text may be computed from zeros.
  void print(std::string_view text);
  void stream(std::string_view text);
  // One object as one line; bytes that are no UTF-8 become U+FFFD.
  void json(const nlohmann::json& value);
  void flush();

  // Lines for people, to stderr; control characters are shown as \x1b and the like.
  void note(std::string_view line);    // not with --quiet
  void detail(std::string_view line);  // only with --verbose
  void status(std::string_view line);  // not with --quiet; on a terminal the next one takes its place
  void warn(std::string_view line);    // "warning: ..."
  void error(const Error& error);      // "error: what", "  in: where", "  try: hint"

  // Shows progress on stderr and carries the stop request of Ctrl-C.
  Progress progress();
  std::stop_token stop_token() const;
  // Forgets a Ctrl-C that was answered (see Interrupt::reset).
  void reset_stop();

  bool out_is_terminal() const { return out_terminal_; }
  bool out_is_closed() const { return closed_; }  // a write to it failed: nothing more is written
  bool err_is_terminal() const { return err_terminal_; }
  bool verbose() const { return options_.verbose; }
  // Text in an SGR code ("1", "31") where colours are wanted on stdout, else as it is.
  std::string colored_out(std::string_view text, std::string_view code) const;

 private:
  void flush_locked();
  void to_stderr(std::string_view text);  // raw
  void say(std::string_view head, std::string_view head_code, std::string_view line);

  ConsoleOptions options_;
  Interrupt* interrupt_;
  int out_, err_;
  bool out_terminal_, err_terminal_, out_color_, err_color_;
  bool closed_ = false;
  std::string held_;
  std::unique_ptr<Meter> meter_;
  std::mutex mutex_;
};

// Text as it can be shown on a terminal: control characters (tab and newline excepted) as \x1b.
std::string printable(std::string_view text);

}  // namespace hz::tools
