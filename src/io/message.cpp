// SPDX-License-Identifier: Apache-2.0
// Error texts: grouping of digits, what may reach a terminal, hints by errno.
#include "src/io/message.hpp"

#include <cerrno>
#include <system_error>

namespace hz::io {
namespace {

// Bytes of the well-formed UTF-8 character at the front of `s` (Unicode 15, table 3-7), or 0.
std::size_t utf8_length(std::string_view s) {
  const auto byte = [&](std::size_t i) { return i < s.size() ? static_cast<unsigned char>(s[i]) : 0u; };
  const auto tail = [&](std::size_t i) { return (byte(i) & 0xc0u) == 0x80u; };
  const unsigned a = byte(0), b = byte(1);
  if (a < 0x80) return 1;
  if (a < 0xc2 || a > 0xf4 || !tail(1)) return 0;
  if (a < 0xe0) return 2;
  if (a < 0xf0) return (a == 0xe0 && b < 0xa0) || (a == 0xed && b > 0x9f) || !tail(2) ? 0 : 3;
  return (a == 0xf0 && b < 0x90) || (a == 0xf4 && b > 0x8f) || !tail(2) || !tail(3) ? 0 : 4;
}

std::string hint_of(int error_number) {
  switch (error_number) {
    case ENOENT: return "check the path";
    case EACCES:
    case EPERM: return "check the permissions of the file and its folder";
    case ENOSPC:
    case EDQUOT: return "free some space on this disk, or write elsewhere";
    case EFBIG: return "raise the limit of a file's size (ulimit -f), or write to another file system";
    case EIO: return "the disk or its connection has a fault: check it, then try again";
    case ELOOP: return "the links of this path lead in a circle: name the file itself";
    case ENAMETOOLONG: return "a shorter name";
    case ENOTDIR: return "a part of this path is a file: check the path";
    case EMFILE:
    case ENFILE: return "close other files or raise the limit (ulimit -n)";
    case EROFS: return "this file system is read-only: write elsewhere";
    default: return {};
  }
}

}  // namespace

std::string grouped(std::uint64_t n) {
  std::string s = std::to_string(n);
  for (std::size_t i = s.size(); i > 3; i -= 3) s.insert(i - 3, 1, ',');
  return s;
}

bool valid_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t n = utf8_length(text);
    if (n == 0) return false;
    text.remove_prefix(n);
  }
  return true;
}

std::string printable(std::string_view text, std::size_t limit) {
  constexpr std::string_view hex = "0123456789abcdef";
  std::string s;
  while (!text.empty() && s.size() < limit) {
    std::size_t n = utf8_length(text);
    const auto c = static_cast<unsigned char>(text[0]);
    const bool c1 = n == 2 && c == 0xc2 && static_cast<unsigned char>(text[1]) < 0xa0;  // control characters U+0080..9f
    if (n == 0 || c < 0x20 || c == 0x7f || c1) {
      n = n == 0 ? 1 : n;
      for (std::size_t i = 0; i < n; ++i) {
        const auto b = static_cast<unsigned char>(text[i]);
        s += {'\\', 'x', hex[b >> 4], hex[b & 15u]};
      }
    } else {
      s += text.substr(0, n);
    }
    text.remove_prefix(n);
  }
  if (!text.empty()) s += "...";
  return s;
}

std::string shown(const std::filesystem::path& file) {
  return printable(file.string(), 4096);
}

// "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error while ..."
std::string json_reason(std::string what, bool place) {
  if (const std::size_t name = what.find("] "); name != std::string::npos) what.erase(0, name + 2);
  constexpr std::string_view kAt = "parse error at ";
  if (const std::size_t colon = what.find(": "); what.starts_with(kAt) && colon != std::string::npos)
    what.erase(0, place ? kAt.size() : colon + 2);
  return printable(what, 160);
}

Error system_error(std::string_view doing, int error_number, const std::filesystem::path& file) {
  const auto kind = error_number == ENOMEM ? ErrorKind::out_of_memory : ErrorKind::io;
  return Error(kind, "cannot " + std::string(doing) + ": " + std::generic_category().message(error_number), shown(file),
               hint_of(error_number));
}

}  // namespace hz::io
