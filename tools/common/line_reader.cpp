// SPDX-License-Identifier: Apache-2.0
#include "tools/common/line_reader.hpp"

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <clocale>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <hanzo/core/error.hpp>
#include <hanzo/text/utf8.hpp>
#include <string_view>

#include "tools/common/interrupt.hpp"
#if HZ_HAVE_EDIT
#include <histedit.h>
#include <langinfo.h>
#endif

namespace hz::tools {
namespace {

constexpr std::size_t kMostBytes = std::size_t{64} << 20;
constexpr int kLook = 200;  // ms between looks for a stop request; a signal ends the wait at once

// One byte of stdin: 1, 0 at its end, -1 when a stop was asked for.
int read_byte(char& byte) {
  for (;;) {
    if (Interrupt::pending() != 0) return -1;
    pollfd wait{0, POLLIN, 0};
    const int ready = ::poll(&wait, 1, kLook);
    if (ready < 0 && errno != EINTR) return 0;
    if (ready <= 0) continue;
    const ssize_t n = ::read(0, &byte, 1);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    return n > 0 ? 1 : 0;
  }
}

#if HZ_HAVE_EDIT
// libedit asks for one character at a time.
int read_char(EditLine*, wchar_t* out) {
  std::string bytes;
  for (;;) {
    char byte = 0;
    const int n = read_byte(byte);
    if (n <= 0) {
      errno = n < 0 ? EINTR : 0;
      return n;
    }
    bytes += byte;
    if (bytes.size() < 4 && text::incomplete_utf8_tail(bytes) == bytes.size()) continue;
    *out = static_cast<wchar_t>(text::decode_utf8(bytes, 0).cp);
    return 1;
  }
}

// libedit converts by the locale; a minimal system has none, but C.UTF-8.
void use_utf8_locale() {
  if (std::setlocale(LC_CTYPE, "") == nullptr || std::string_view(::nl_langinfo(CODESET)) != "UTF-8")
    static_cast<void>(std::setlocale(LC_CTYPE, "C.UTF-8"));
}
#endif

}  // namespace

struct LineReader::Body {
  explicit Body(std::string file) : history_name(std::move(file)) {}
  // Where prompts are seen: data go to stdout, so it comes second. 0: nowhere.
  int seen = ::isatty(2) == 1 ? 2 : ::isatty(1) == 1 ? 1 : 0;
  bool terminal = ::isatty(0) == 1;
  std::string history_name, prompt;

  std::optional<std::string> plain() {
    if (terminal && seen != 0) static_cast<void>(!::write(seen, prompt.data(), prompt.size()));
    std::string line;
    for (char byte = 0;;) {
      const int n = read_byte(byte);
      if (n < 0 || (n == 0 && line.empty())) return std::nullopt;
      if (n == 0 || byte == '\n') break;
      line += byte;
      if (line.size() > kMostBytes) throw Error(ErrorKind::usage, "a line of stdin holds more than 64 MiB");
    }
    if (!line.empty() && line.back() == '\r') line.pop_back();
    return line;
  }

#if HZ_HAVE_EDIT
  EditLine* edit = nullptr;
  History* past = nullptr;
  HistEvent event{};

  static char* prompt_of(EditLine* e) {
    Body* self = nullptr;
    ::el_get(e, EL_CLIENTDATA, &self);
    return self->prompt.data();
  }
  void open() {
    if (seen == 0) return;
    use_utf8_locale();
    FILE* shown = seen == 2 ? stderr : stdout;
    edit = ::el_init("hz-run", stdin, shown, shown);
    past = ::history_init();
    if (edit == nullptr || past == nullptr) return;
    ::history(past, &event, H_SETSIZE, 1000);
    ::history(past, &event, H_SETUNIQUE, 1);
    if (!history_name.empty()) ::history(past, &event, H_LOAD, history_name.c_str());
    ::el_set(edit, EL_CLIENTDATA, this);
    ::el_set(edit, EL_PROMPT, &prompt_of);
    ::el_set(edit, EL_EDITOR, "emacs");
    ::el_set(edit, EL_HIST, &::history, past);
    ::el_set(edit, EL_GETCFN, &read_char);
    ::el_source(edit, nullptr);  // ~/.editrc
  }
  void close() {
    if (edit != nullptr) ::el_end(edit);
    if (past != nullptr) ::history_end(past);
  }
  std::optional<std::string> edited() {
    ::el_resize(edit);
    int count = 0;
    const char* text = ::el_gets(edit, &count);
    if (text == nullptr || count <= 0) return std::nullopt;
    std::string line(text, static_cast<std::size_t>(count));
    remember(line);
    while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.pop_back();
    return line;
  }
  void remember(const std::string& line) {
    if (line.find_first_not_of(" \t\r\n") == std::string::npos) return;
    ::history(past, &event, H_ENTER, line.c_str());
    if (history_name.empty()) return;
    const mode_t before = ::umask(077);  // what was typed is nobody else's
    ::history(past, &event, H_SAVE, history_name.c_str());
    ::umask(before);
  }
  std::optional<std::string> line() { return terminal && edit != nullptr && past != nullptr ? edited() : plain(); }
#else
  void open() {}
  void close() {}
  std::optional<std::string> line() { return plain(); }
#endif
};

LineReader::LineReader(std::string history) : body_(std::make_unique<Body>(std::move(history))) {
  if (!body_->terminal) return;
  if (!body_->history_name.empty()) {
    std::error_code ignored;
    const auto folder = std::filesystem::path(body_->history_name).parent_path();
    if (std::filesystem::create_directories(folder, ignored)) ::chmod(folder.c_str(), 0700);
  }
  body_->open();
}
LineReader::~LineReader() { body_->close(); }

bool LineReader::is_terminal() const { return body_->terminal; }

std::optional<std::string> LineReader::read(const std::string& prompt) {
  body_->prompt = prompt;
  return body_->line();
}

std::optional<Message> read_message(LineReader& reader, const std::string& prompt) {
  const std::string more(prompt.size() > 1 ? prompt.size() - 1 : 0, '.');
  std::optional<std::string> line = reader.read(prompt);
  if (!line) return std::nullopt;
  std::string message;
  if (line->starts_with("\"\"\"")) {
    line->erase(0, 3);
    for (bool first = true;; first = false) {
      const bool closed = line->ends_with("\"\"\"");
      if (closed) line->resize(line->size() - 3);
      if (!first || !line->empty()) message += *line + (closed ? "" : "\n");
      if (closed) break;
      line = reader.read(more + " ");
      if (!line) break;
    }
    return Message{std::move(message), true};
  }
  while (line && line->ends_with("\\")) {
    line->pop_back();
    message += *line + "\n";
    line = reader.read(more + " ");
  }
  return Message{line ? message + *line : message};
}

std::string history_file(const std::string& name) {
  if (const char* own = std::getenv("HANZO_HISTORY")) return own;
  const char *state = std::getenv("XDG_STATE_HOME"), *home = std::getenv("HOME");
  if (state != nullptr && *state == '/') return std::string(state) + "/hanzo/" + name;
  if (home != nullptr && *home == '/') return std::string(home) + "/.local/state/hanzo/" + name;
  return {};
}

}  // namespace hz::tools
