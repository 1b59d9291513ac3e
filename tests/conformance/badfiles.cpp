// SPDX-License-Identifier: Apache-2.0
// badfiles: malformed and unusual input gets the manifest's verdict, within 5 s and 1 GiB, and never a signal.
#include "hanzo/text/chat_template.hpp"
#include "tests/conformance/badfiles.hpp"

#include <fstream>
#include <nlohmann/json.hpp>

#include "hanzo/core/error.hpp"
#include "tests/conformance/runner.hpp"
#include "tests/conformance/sandbox.hpp"

namespace hz::conformance {
namespace {

using Json = nlohmann::json;
constexpr std::uint64_t kSpareMemory = std::uint64_t{16} << 20;  // a refused file costs less than its size and this

BadFile entry_of(const Json& j) {
  BadFile f;
  f.file = j.at("file").get<std::string>();
  f.kind = j.at("kind").get<std::string>();
  f.what = j.value("what", "");
  f.level = j.value("level", "");
  f.expect = j.at("expect").get<std::string>();
  f.container_expect = j.value("container_expect", "");
  f.base = j.value("base", "");
  if (const auto needs = j.find("needs"); needs != j.end())
    f.needs = needs->is_array() ? needs->get<std::vector<std::string>>() : std::vector{needs->get<std::string>()};
  f.prompt = j.value("prompt", "hi");
  f.ref_prompt = j.value("ref_prompt_tokens", std::vector<std::int32_t>{});
  f.ref_tokens = j.value("ref_tokens", std::vector<std::int32_t>{});
  if (j.contains("messages")) f.messages = j["messages"].dump();
  if (j.contains("expect_output")) f.output = j["expect_output"].get<std::string>();
  f.rows = j.value("rows", std::int64_t{-1});
  f.line = j.value("line", std::int64_t{0});
  f.strict = j.value("strict", true);
  f.bytes = j.value("bytes", std::uint64_t{0});
  return f;
}

const FileKind* kind_of(const BadFile& file) {
  for (const FileKind& k : file_kinds())
    if (k.kind == file.kind) return &k;
  return nullptr;
}

// What is wrong with an outcome that has the wanted verdict: an error names its file and cause, and costs little.
std::string flaw(const BadFile& file, const Outcome& o) {
  if (o.kind != Outcome::Kind::refused) return {};
  if (o.what.empty()) return "an error without a cause";
  if (o.where.find(file.file) == std::string::npos && o.what.find(file.file) == std::string::npos)
    return "an error that does not name the file";
  if (file.line > 0 && !(o.where + " ").ends_with("line " + std::to_string(file.line) + " "))
    return "an error that does not name line " + std::to_string(file.line);
  // A template's bound is on what it makes (TemplateLimits), not on its size.
  const std::uint64_t spare =
      file.kind == "template" ? text::TemplateLimits{}.live_bytes + text::TemplateLimits{}.output_bytes : kSpareMemory;
  if (memory_limits_apply() && o.grown_rss > file.bytes + spare)
    return "an error after taking " + std::to_string(o.grown_rss) + " bytes of memory";
  return {};
}

enum class Verdict { as_expected, tolerated, wrong };

// Runs one check; reports a failure itself.
Verdict judge(const std::filesystem::path& dir, const BadFile& file, FileCheck check, const std::string& expect, std::string_view stage,
              Report& report) {
  const Outcome o = run_limited([&] { check(dir, file); });
  const std::string wanted = expect + " (" + std::string(stage) + "): " + file.what;
  const bool ended = o.kind != Outcome::Kind::died;
  const bool equal = ended && (o.kind == Outcome::Kind::ok) == (expect == "ok");
  if (!ended || (!equal && file.strict)) {
    report.fail(file.file, wanted, o.text());
    return Verdict::wrong;
  }
  if (const std::string fault = flaw(file, o); !fault.empty()) {
    report.fail(file.file, wanted, fault + ": " + o.text());
    return Verdict::wrong;
  }
  return equal ? Verdict::as_expected : Verdict::tolerated;
}

void finish(const BadFile& file, Verdict verdict, Report& report) {
  if (verdict == Verdict::as_expected) report.pass(file.file);
  if (verdict == Verdict::tolerated) report.skip(file.file, "the manifest accepts either outcome, and this is the other one");
}

void run_case(const std::filesystem::path& dir, const BadFile& file, Report& report) {
  const FileKind* kind = kind_of(file);
  if (kind == nullptr) return report.skip(file.file, "files of kind " + file.kind + " are not built yet");
  const bool parse_only = file.level == "container" && kind->container != nullptr;
  if (kind->container != nullptr && (parse_only || !file.container_expect.empty())) {
    const std::string& expect = file.container_expect.empty() ? file.expect : file.container_expect;
    const Verdict parsed = judge(dir, file, kind->container, expect, "parsing", report);
    if (parsed == Verdict::wrong) return;
    if (parse_only) return finish(file, parsed, report);
  }
  if (kind->whole == nullptr)
    return report.skip(file.file, file.kind + " parses as it should; the check of its " + file.level + " level is not built yet");
  finish(file, judge(dir, file, kind->whole, file.expect, file.level, report), report);
}

}  // namespace

void run_badfiles(const std::filesystem::path& dir, const Options& options, Report& report);

void run_badfiles(const std::filesystem::path& dir, const Options&, Report& report) {
  std::ifstream in(dir / "manifest.json");
  const Json manifest = Json::parse(in, nullptr, false);
  if (!manifest.is_array()) throw Error(ErrorKind::bad_file, "no readable list of files", (dir / "manifest.json").string());
  for (const Json& j : manifest) {
    const BadFile file = entry_of(j);
    if (!report.wants(file.file)) continue;
    if (!std::filesystem::exists(dir / file.file)) report.skip(file.file, "the file is not there");
    else run_case(dir, file, report);
  }
}

}  // namespace hz::conformance
