// SPDX-License-Identifier: Apache-2.0
// Options from a TOML file.
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <hanzo/core/near_names.hpp>
#include <set>
#include <toml++/toml.h>

#include "tools/common/prompt.hpp"
#include "tools/hz-train.hpp"

namespace hz::tools {
namespace {

constexpr std::size_t kMostConfig = std::size_t{1} << 20;  // bytes
constexpr std::size_t kMostKeyParts = 64;

std::string place(const std::string& file, const toml::node& node) { return fmt::format("{}, line {}", file, node.source().begin.line); }

// A value as the command line would give it.
std::string text_of(const toml::node& node, const std::string& name, const std::string& file) {
  if (const auto s = node.value<std::string>()) return *s;
  if (const auto* b = node.as_boolean()) return b->get() ? "true" : "false";
  if (const auto* i = node.as_integer()) return std::to_string(i->get());
  if (const auto* f = node.as_floating_point()) return fmt::format("{}", f->get());
  throw Error(ErrorKind::bad_file, name + " is neither text nor number nor true or false", place(file, node));
}

// The values of one option: those of an array, NAME=VALUE of a table (rank-pattern = {attn_q = 8}), or one.
std::vector<std::string> texts_of(const toml::node& node, const std::string& name, const std::string& file) {
  std::vector<std::string> all;
  if (const toml::array* list = node.as_array()) {
    for (const toml::node& e : *list) all.push_back(text_of(e, name, file));
  } else if (const toml::table* table = node.as_table()) {
    for (const auto& [key, value] : *table) all.push_back(fmt::format("{}={}", std::string_view(key.str()), text_of(value, name, file)));
  } else {
    all.push_back(text_of(node, name, file));
  }
  return all;
}

// Of the flags given on the command line, or of the file's options so far, one that excludes this; null without any.
const CLI::Option* excluding(const CLI::Option& option, const std::set<const CLI::Option*>& options) {
  for (const CLI::Option* o : option.get_excludes())
    if (options.contains(o)) return o;
  return nullptr;
}

struct Given {
  std::set<const CLI::Option*> flags, file;
};

void apply(CLI::App& app, std::string name, const toml::node& node, const std::string& file, Given& given) {
  std::replace(name.begin(), name.end(), '_', '-');
  CLI::Option* option = app.get_option_no_throw("--" + name);
  if (option == nullptr || name == "config" || name == "help") {
    std::vector<std::string> names;
    for (const CLI::Option* o : app.get_options()) names.insert(names.end(), o->get_lnames().begin(), o->get_lnames().end());
    std::erase_if(names, [](const std::string& n) { return n == "config" || n == "help"; });
    const std::vector<std::string_view> views(names.begin(), names.end());
    const std::string_view near = meant(name, views);
    throw Error(ErrorKind::usage, fmt::format("{} is no option of {}", name, app.get_name()), place(file, node),
                near.empty() ? "names are those of the flags" : std::string(near));
  }
  if (given.flags.contains(option) || excluding(*option, given.flags) != nullptr) return;  // the command line wins
  if (const CLI::Option* other = excluding(*option, given.file))
    throw Error(ErrorKind::usage, fmt::format("{} excludes {}", name, other->get_lnames()[0]), place(file, node), "give one of them");
  given.file.insert(option);
  try {
    std::vector<std::string> texts = texts_of(node, name, file);
    if (option->get_expected_max() <= 1 && texts.size() > 1) texts = {fmt::to_string(fmt::join(texts, ","))};  // as the flag has a list
    for (std::string& text : texts) option->add_result(std::move(text));
    option->run_callback();
  } catch (const CLI::Error& e) {
    throw Error(ErrorKind::usage, e.what(), place(file, node));
  }
}

// The end of the TOML string that begins at `at`: one or three quotes of a kind.
std::size_t end_of_string(std::string_view text, std::size_t at) {
  const char quote = text[at];
  const std::string three(3, quote);
  const bool tripled = text.substr(at, 3) == three;
  for (at += tripled ? 3 : 1; at < text.size(); ++at) {
    if (text[at] == '\\' && quote == '"') ++at;
    else if (!tripled && (text[at] == quote || text[at] == '\n')) return at + 1;
    else if (tripled && text.substr(at, 3) == three) return std::min(text.find_first_not_of(quote, at), std::min(at + 5, text.size()));
  }
  return text.size();
}

// The parser makes a table of each part of a dotted key and frees them by recursion: a long enough key ends the program.
void refuse_long_keys(std::string_view text, const std::string& file) {
  std::size_t parts = 0, line = 1;
  for (std::size_t i = 0, next = 0; i < text.size(); i = next) {
    const char c = text[i];
    next = c == '"' || c == '\'' ? end_of_string(text, i) : c == '#' ? std::min(text.find('\n', i), text.size()) : i + 1;
    if (c == '.') ++parts;
    else if (c == '=' || c == ',' || c == '\n' || c == '[' || c == '{') parts = 0;
    if (parts >= kMostKeyParts)
      throw Error(ErrorKind::bad_file, fmt::format("a key of more than {} parts", kMostKeyParts), fmt::format("{}, line {}", file, line),
                  "names are those of the flags");
    const std::string_view passed = text.substr(i, next - i);
    line += static_cast<std::size_t>(std::count(passed.begin(), passed.end(), '\n'));
  }
}

}  // namespace

void apply_config(CLI::App& app, const std::string& file, const Console& console) {
  const std::string text = read_text_file(file, console, kMostConfig);
  refuse_long_keys(text, file);
  try {
    const toml::table table = toml::parse(text, file);
    Given given;
    for (const CLI::Option* o : app.get_options())
      if (o->count() > 0) given.flags.insert(o);
    for (const auto& [key, node] : table) apply(app, std::string(key.str()), node, file, given);
  } catch (const toml::parse_error& e) {
    throw Error(ErrorKind::bad_file, std::string("no valid TOML: ") + std::string(e.description()),
                fmt::format("{}, line {}", file, e.source().begin.line));
  }
}

}  // namespace hz::tools
