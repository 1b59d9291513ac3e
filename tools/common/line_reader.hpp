// SPDX-License-Identifier: Apache-2.0
// LineReader: what a person or a pipe types, line by line; on a terminal with editing and history (libedit).
#pragma once
#include <memory>
#include <optional>
#include <string>

namespace hz::tools {

// Reads stdin. Prompts go to the terminal of stderr, else to that of stdout, and only where stdin is one too.
class LineReader {
 public:
  // history: the file that keeps what was typed, made if it is not there; empty: nothing is kept. Unreadable ones are
  // passed over.
  explicit LineReader(std::string history);
  ~LineReader();
  LineReader(const LineReader&) = delete;
  LineReader& operator=(const LineReader&) = delete;

  bool is_terminal() const;
  // The next line without its end. nullopt at the end of input (Ctrl-D), or when a stop was asked for.
  // Throws Error(usage) for a line over 64 MiB.
  std::optional<std::string> read(const std::string& prompt);

 private:
  struct Body;
  std::unique_ptr<Body> body_;
};

struct Message {
  std::string text;
  bool is_block = false;  // between """: never a command, whatever it begins with
};

// Several lines as one message: a backslash at the end of a line joins the next, and """ begins a block that ends with
// """ at the end of a line. nullopt as above.
std::optional<Message> read_message(LineReader& reader, const std::string& prompt);

// $HANZO_HISTORY (empty: none), else hanzo/NAME under $XDG_STATE_HOME or ~/.local/state; empty when neither is set.
std::string history_file(const std::string& name);

}  // namespace hz::tools
