// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/grid.hpp"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <charconv>
#include <hanzo/core/error.hpp>
#include <hanzo/core/near_names.hpp>

namespace hz::tools {
namespace {

constexpr std::size_t kMostValues = 1000;

std::vector<std::string> split(const std::string& text, char by) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == by) parts.emplace_back();
    else parts.back() += c;
  }
  return parts;
}

struct Range {
  std::int64_t from = 0, to = 0, step = 1;
  bool multiply = false;
};

// "N", "A-B", "A-B+S", "A-B*F"; false when it is none.
bool parse_range(const std::string& text, Range& r) {
  const char *at = text.data(), *end = at + text.size();
  const auto number = [&](std::int64_t& n) {
    const auto [next, error] = std::from_chars(at, end, n);
    at = next;
    return error == std::errc();
  };
  if (!number(r.from)) return false;
  r.to = r.from;
  if (at == end) return true;
  if (*at++ != '-' || !number(r.to)) return false;
  if (at == end) return true;
  r.multiply = *at == '*';
  if (!r.multiply && *at != '+') return false;
  ++at;
  return number(r.step) && at == end && r.step > (r.multiply ? 1 : 0);
}

}  // namespace

std::vector<std::int64_t> parse_grid(const std::string& flag, const std::string& text, std::int64_t least, std::int64_t most) {
  std::vector<std::int64_t> values;
  const auto bad = [&](const std::string& what) -> Error {
    return Error(ErrorKind::usage, flag + ": " + what, "", "write 128,512 or a range such as 1-8+1 or 64-1024*2");
  };
  for (const std::string& part : split(text, ',')) {
    Range r;
    if (!parse_range(part, r)) throw bad("'" + part + "' is no number and no range");
    if (r.from < least || r.to > most || r.to < r.from) throw bad(fmt::format("'{}' is not within {} to {}", part, least, most));
    if (r.multiply && r.from == 0) throw bad("'" + part + "' never grows from 0");
    for (std::int64_t v = r.from; v <= r.to && values.size() <= kMostValues; v = r.multiply ? v * r.step : v + r.step) values.push_back(v);
  }
  if (values.size() > kMostValues) throw bad(fmt::format("more than {} values", kMostValues));
  return values;
}

void add_list(CLI::App& app, const std::string& names, std::string& text, const std::string& help) {
  app.add_option(names, text, help)->join(',')->capture_default_str();
}

std::vector<std::string> parse_words(const std::string& flag, const std::string& text, const std::vector<std::string>& known) {
  std::vector<std::string> words = split(text, ',');
  const std::vector<std::string_view> views(known.begin(), known.end());
  for (const std::string& w : words)
    if (std::find(known.begin(), known.end(), w) == known.end()) {
      const std::string_view near = meant(w, views);
      throw Error(ErrorKind::usage, fmt::format("{}: '{}' is none of {}{}", flag, w, joined(known, "|"),
                                                near.empty() ? "" : fmt::format("; did you mean {}?", near)));
    }
  return words;
}

std::string joined(const std::vector<std::string>& words, const std::string& separator) {
  std::string s;
  for (const std::string& w : words) s += (s.empty() ? "" : separator) + w;
  return s;
}

std::vector<PromptGen> parse_pairs(const std::string& flag, const std::vector<std::string>& texts) {
  std::vector<PromptGen> pairs;
  for (const std::string& text : texts)
    for (const std::string& part : split(text, ';')) {
      const auto numbers = parse_grid(flag, part, 1, std::int64_t{1} << 24);
      if (numbers.size() != 2)
        throw Error(ErrorKind::usage, flag + ": '" + part + "' is no pair of prompt and generated tokens", "", "write 512,128");
      pairs.push_back({numbers[0], numbers[1]});
    }
  return pairs;
}

}  // namespace hz::tools
