// SPDX-License-Identifier: Apache-2.0
#include "tools/common/prompt.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <hanzo/core/parallel.hpp>
#include <hanzo/text/utf8.hpp>

#include "tools/common/run.hpp"

namespace hz::tools {
namespace {

[[noreturn]] void too_long(const std::string& name, std::uint64_t most) {
  const std::string size = most >> 30 != 0 ? fmt::format("{} GiB", most >> 30) : fmt::format("{} MiB", most >> 20);
  throw Error(ErrorKind::bad_file, fmt::format("{} holds more than {}", name, size), name, "name a file of text");
}

// Up to `most` bytes. A device that is no terminal may be empty, as /dev/null is: others never end.
std::string read_fd(int fd, const std::string& name, const Console& console, std::uint64_t most = kMostText) {
  struct stat st {};
  const bool known = ::fstat(fd, &st) == 0;
  if (known && S_ISREG(st.st_mode) && static_cast<std::uint64_t>(st.st_size) > most) too_long(name, most);
  const bool endless = known && (S_ISBLK(st.st_mode) || (S_ISCHR(st.st_mode) && ::isatty(fd) == 0));
  std::string s;
  char buffer[65536];
  for (;;) {
    const ssize_t n = ::read(fd, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) {
      if (console.stop_token().stop_requested()) throw Error(ErrorKind::cancelled, "stopped while reading " + name);
      continue;
    }
    if (n < 0) throw Error(ErrorKind::io, "cannot read " + name + ": " + std::string(std::strerror(errno)), name);
    if (n == 0) return s;
    if (endless) throw Error(ErrorKind::bad_file, "this is a device, not a file", name, "name a file of text");
    s.append(buffer, static_cast<std::size_t>(n));
    if (s.size() > most) too_long(name, most);
  }
}

struct FdCloser {
  int fd;
  ~FdCloser() { ::close(fd); }
};

// A pipe, file or socket that was given as stdin: never a terminal, nor a device such as /dev/null's absence.
bool stdin_is_piped() {
  struct stat st {};
  if (::isatty(0) || ::fstat(0, &st) != 0) return false;
  return S_ISFIFO(st.st_mode) || S_ISREG(st.st_mode) || S_ISSOCK(st.st_mode);
}

}  // namespace

std::string read_text_file(const std::string& name, const Console& console, std::uint64_t most) {
  // Not blocking: the signal that asks to stop may reach another thread than the one that waits for a FIFO's writer.
  const int fd = ::open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0)
    throw Error(ErrorKind::bad_file, "cannot open the file: " + std::string(std::strerror(errno)), name,
                errno == ENOENT ? "check the path" : "check its permissions");
  const FdCloser closer{fd};
  struct stat st {};
  if (::fstat(fd, &st) == 0 && S_ISDIR(st.st_mode))
    throw Error(ErrorKind::bad_file, "this is a folder, not a file", name, "name the file itself");
  pollfd wait{.fd = fd, .events = POLLIN, .revents = 0};
  while (S_ISFIFO(st.st_mode) && ::poll(&wait, 1, 50) <= 0)
    if (console.stop_token().stop_requested()) throw Error(ErrorKind::cancelled, "stopped while opening " + name);
  ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) & ~O_NONBLOCK);
  return read_fd(fd, name, console, most);
}

std::vector<std::int32_t> tokens_of_text(const text::Tokenizer& tokenizer, std::string_view text, const std::stop_token& stop) {
  const StopScope scope(stop);
  return tokenizer.encode(text, {.add_special = true, .parse_special = false});
}

PromptArgs::PromptArgs(CLI::App& app) {
  text_given = app.add_option("-p,--prompt", text, "prompt; - reads it from stdin");
  file_given = add_path(app, "-f,--file", file, "file that holds the prompt");
  ids_given = app.add_option("--ids", ids, "token ids in place of a prompt: 1,2,3 or a file of ids");
  text_given->excludes(file_given);
  ids_given->excludes(text_given)->excludes(file_given);
}

std::optional<std::string> read_prompt_if_any(const PromptArgs& args, Console& console) {
  const bool dash = is_given(args.text_given) && args.text == "-";
  if (dash) return read_fd(0, "stdin", console);
  std::string prompt = is_given(args.file_given) ? read_text_file(args.file, console) : args.text;
  const bool given = is_given(args.text_given) || is_given(args.file_given);
  if (stdin_is_piped()) {
    const std::string piped = read_fd(0, "stdin", console);
    if (!piped.empty()) prompt += (prompt.empty() || prompt.back() == '\n' ? "" : "\n") + piped;
    if (given || !piped.empty()) return prompt;
  }
  return given ? std::optional(prompt) : std::nullopt;
}

std::string read_prompt(const PromptArgs& args, Console& console) {
  auto prompt = read_prompt_if_any(args, console);
  if (!prompt) throw Error(ErrorKind::usage, "no prompt", "", "give one with -p TEXT, -f FILE or through a pipe");
  return *std::move(prompt);
}

void check_utf8(std::string_view text, const std::string& source) {
  const std::size_t at = text::first_invalid_utf8(text);
  if (at == text.size()) return;
  const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n');
  throw Error(ErrorKind::usage, "the prompt is not valid UTF-8 at byte " + std::to_string(at) + " (line " + std::to_string(line) + ")",
              source, "convert it (iconv -f LATIN1 -t UTF-8), or pass --raw to send the bytes as they are");
}

std::vector<std::int32_t> parse_ids(const std::string& text, const Console& console) {
  std::string list = text;
  const bool is_list = text.find_first_not_of("0123456789, \t\n") == std::string::npos;
  std::error_code error;  // what cannot be looked at is no file of ids
  if (!is_list && std::filesystem::exists(text, error)) list = read_text_file(text, console);
  std::vector<std::int32_t> ids;
  const char *at = list.data(), *end = at + list.size();
  while (at < end) {
    if (*at == ',' || *at == ' ' || *at == '\n' || *at == '\t' || *at == '\r') {
      ++at;
      continue;
    }
    std::int32_t id = 0;
    const auto [next, error] = std::from_chars(at, end, id);
    if (error != std::errc() || id < 0)
      throw Error(ErrorKind::usage, "--ids: '" + std::string(at, end - at < 20 ? end : at + 20) + "' is no token id", "",
                  "write ids as 1,2,3");
    ids.push_back(id);
    at = next;
  }
  if (ids.empty()) throw Error(ErrorKind::usage, "--ids holds no token id");
  return ids;
}

}  // namespace hz::tools
