// SPDX-License-Identifier: Apache-2.0
// hz-conformance template: chat templates over conversations (cases.jsonl) and small templates (units.jsonl).
#include "hanzo/text/chat_template.hpp"

#include <fmt/format.h>

#include <algorithm>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "hanzo/core/error.hpp"
#include "tests/conformance/runner.hpp"

namespace hz::conformance {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw Error(ErrorKind::io, "cannot be read", path.string());
  return {std::istreambuf_iterator<char>(in), {}};
}

template <class F>
void each_line(const fs::path& path, F f) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw Error(ErrorKind::io, "cannot be read", path.string());
  for (std::string line; std::getline(in, line);) {
    if (!line.empty()) f(Json::parse(line));
  }
}

// The manifest's "2026-03-09T14:05:07".
std::tm read_time(const std::string& text) {
  std::tm t{};
  const auto number = [&](std::size_t at, std::size_t size) { return std::stoi(text.substr(at, size)); };
  t.tm_year = number(0, 4) - 1900;
  t.tm_mon = number(5, 2) - 1;
  t.tm_mday = number(8, 2);
  t.tm_hour = number(11, 2);
  t.tm_min = number(14, 2);
  t.tm_sec = number(17, 2);
  return t;
}

// The two texts around their first difference.
std::string around(const std::string& text, std::size_t at) {
  const std::size_t from = at < 40 ? 0 : at - 40;
  return (from != 0 ? "..." : "") + text.substr(from, 120) + (from + 120 < text.size() ? "..." : "");
}

class Runner {
 public:
  Runner(const std::tm& now, Report& report) : now_(now), report_(report) {}

  // Renders `source` with `input` and judges by the case's `expect` and `error`.
  void check(const std::string& name, const std::string& source, text::ChatInput input, const Json& wanted) {
    input.now = now_;
    const std::string& expect = wanted.at("expect").get_ref<const std::string&>();
    const bool fails = wanted.contains("error");
    try {
      const std::string got = text::ChatTemplate::parse(source, name).render(input).text;
      if (fails) return report_.fail(name, "an error: " + wanted.at("error").at("message").get<std::string>(), "text: " + around(got, 0));
      if (got == expect) return report_.pass(name);
      const auto at = static_cast<std::size_t>(std::mismatch(got.begin(), got.end(), expect.begin(), expect.end()).first - got.begin());
      report_.fail(name, around(expect, at), around(got, at) + fmt::format(" (differs at byte {})", at));
    } catch (const Error& e) {
      if (e.kind() == ErrorKind::unsupported && !fails) return report_.skip(name, e.what());
      if (!fails) return report_.fail(name, "text", fmt::format("error: {} ({})", e.what(), e.where()));
      const Json& error = wanted.at("error");
      const auto message = error.at("message").get<std::string>();
      if (error.at("kind") == "raise_exception" && message != e.what())
        return report_.fail(name, "the template's message: " + message, e.what());
      if (e.where().find("line ") == std::string::npos) return report_.fail(name, "an error that names a line", e.where());
      report_.pass(name);
    }
  }

 private:
  std::tm now_;
  Report& report_;
};

const Json* value_or_null(const Json& object, const char* key) {
  const auto at = object.find(key);
  return at == object.end() || at->is_null() ? nullptr : &*at;
}

void run_cases(const fs::path& dir, Runner& runner, Report& report) {
  const Json conversations = Json::parse(read_file(dir / "conversations.json"));
  std::map<std::string, std::string> sources;
  each_line(dir / "cases.jsonl", [&](const Json& c) {
    const auto file = c.at("template").get<std::string>();
    const auto conv = c.at("conv").get<std::string>();
    const std::string name = fs::path(file).stem().string() + "/" + conv;
    if (!report.wants(name)) return;
    if (!fs::exists(dir / "templates" / file)) return report.skip(name, "no template file " + file);
    auto [source, fresh] = sources.try_emplace(file);
    if (fresh) source->second = read_file(dir / "templates" / file);
    const Json& conversation = conversations.at(conv);
    text::ChatInput input;
    input.messages = &conversation.at("messages");
    input.tools = value_or_null(conversation, "tools");
    input.add_generation_prompt = conversation.at("add_generation_prompt").get<bool>();
    input.variables = value_or_null(c, "extra");
    runner.check(name, source->second, input, c);
  });
}

void run_units(const fs::path& dir, Runner& runner, Report& report) {
  const Json context = Json::parse(read_file(dir / "units_context.json"));
  each_line(dir / "units.jsonl", [&](const Json& c) {
    const std::string name = fmt::format("unit/{}", c.at("id").get<int>());
    if (!report.wants(name)) return;
    text::ChatInput input;
    input.kwargs = &context;
    runner.check(name, c.at("template").get<std::string>(), input, c);
  });
}

}  // namespace

void run_template(const fs::path& dir, const Options&, Report& report) {
  const Json manifest = Json::parse(read_file(dir / "manifest.json"));
  Runner runner(read_time(manifest.at("strftime_now").get<std::string>()), report);
  if (fs::exists(dir / "cases.jsonl")) run_cases(dir, runner, report);
  if (fs::exists(dir / "units.jsonl")) run_units(dir, runner, report);
}

}  // namespace hz::conformance
