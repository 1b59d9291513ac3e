// SPDX-License-Identifier: Apache-2.0
// hz-conformance tokenizer: ids and text of every string in cases/*.jsonl and in llama.cpp's .inp/.out pairs.
#include "hanzo/text/tokenizer.hpp"

#include <fmt/format.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <sstream>

#include "hanzo/io/gguf.hpp"
#include "tests/conformance/runner.hpp"
#include "tests/conformance/vocab_files.hpp"

namespace hz::conformance {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using text::TokenId;
using text::Tokenizer;
using Ids = std::vector<TokenId>;

struct CaseSet {
  std::string name;
  json entry;  // of manifest.case_sets
  std::shared_ptr<const Tokenizer> tokenizer;
  std::set<int> differing;  // case ids where real tokenizers and llama.cpp differ
};

std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw Error(ErrorKind::io, "cannot be read", path.string());
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string show(const Ids& ids) {
  std::string out = "[";
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (i == 60) return out + fmt::format(" ... {} in all]", ids.size());
    out += fmt::format("{}{}", i ? " " : "", ids[i]);
  }
  return out + "]";
}

std::string show(std::string_view bytes) {
  std::string out;
  for (const char c : bytes.substr(0, 200))
    out += c >= 0x20 && c < 0x7F && c != '\\' ? std::string(1, c) : fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  return out + (bytes.size() > 200 ? "..." : "");
}

std::string from_hex(std::string_view hex) {
  std::string out;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    out.push_back(static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16)));
  return out;
}

std::string from_base64(std::string_view text) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  std::uint32_t bits = 0;
  int have = 0;
  for (const char c : text) {
    const std::size_t digit = kDigits.find(c);
    if (digit == std::string_view::npos) break;  // padding
    bits = bits << 6 | static_cast<std::uint32_t>(digit);
    have += 6;
    if (have >= 8) out.push_back(static_cast<char>(bits >> (have -= 8) & 0xFF));
  }
  return out;
}

std::string input_of(const json& c) {
  if (c.contains("text")) return c.at("text").get<std::string>();
  if (c.contains("text_b64")) return from_base64(c.at("text_b64").get<std::string>());
  const auto unit = c.at("text_repeat").at(0).get<std::string>();
  std::string out;
  for (int n = c.at("text_repeat").at(1).get<int>(); n > 0; --n) out += unit;
  return out;
}

// Runs one mode of one string; why: a reason not to judge the result, which must still not throw.
template <class Result, class F>
void judge(Report& report, const std::string& name, const Result& expected, std::string_view why, F&& work) {
  if (!report.wants(name)) return;
  Result got;
  try {
    got = work();
  } catch (const std::exception& e) {
    return report.fail(name, show(expected), fmt::format("exception: {}", e.what()));
  }
  if (!why.empty()) return report.skip(name, why);
  if (got == expected)
    report.pass(name);
  else
    report.fail(name, show(expected), show(got));
}

void run_case(const CaseSet& set, const json& c, Report& report) {
  const int id = c.at("id").get<int>();
  const std::string name = fmt::format("{}/{}", set.name, id), input = input_of(c);
  const Tokenizer& t = *set.tokenizer;
  std::string why;
  if (c.at("cat") == "invalid_utf8") why = "ids of text that is not UTF-8 are not fixed";
  if (set.differing.count(id) > 0) why = "real tokenizers and llama.cpp differ";
  if (!c.contains("ids")) why = "llama.cpp refuses the text";

  const auto list = [&](const char* key, const Ids& fallback) { return c.contains(key) ? c.at(key).get<Ids>() : fallback; };
  const auto framed = [&](const Ids& ids) {
    Ids out = set.entry.at("add_special_prefix").get<Ids>();
    out.insert(out.end(), ids.begin(), ids.end());
    const Ids suffix = set.entry.at("add_special_suffix").get<Ids>();
    out.insert(out.end(), suffix.begin(), suffix.end());
    return out;
  };
  const Ids plain = list("ids", {}), parsed = list("ids_parse_special", plain);
  const auto mode = [&](const char* label, bool add, bool parse, const Ids& expected) {
    judge(report, fmt::format("{}/{}", name, label), expected, why,
          [&] { return t.encode(input, {.add_special = add, .parse_special = parse}); });
  };
  mode("plain", false, false, plain);
  mode("parse_special", false, true, parsed);
  mode("add_special", true, false, list("ids_add_special", framed(plain)));
  mode("add_special_parse_special", true, true, list("ids_add_special_parse_special", framed(parsed)));
  // The text of the ids: of the reference's own, so that it can be judged even where ids are not.
  const std::string text = c.contains("detok_hex") ? from_hex(c.at("detok_hex").get<std::string>()) : input;
  if (why.empty() && c.contains("text_repeat") && set.entry.value("vocab_type", "") == "WPM")
    why = "the text of a long run, which WordPiece does not keep, is not in the data";
  judge(report, name + "/detokenize", text, why, [&] { return t.decode(parsed, {.special = true, .clean_up = t.clean_up()}); });
}

// llama.cpp's own strings, `<stem>.inp` and their ids, `<stem>.out`: no BOS, control tokens stay text.
void run_pair(const CaseSet& set, const fs::path& stem, Report& report) {
  constexpr std::string_view kSeparator = "\n__ggml_vocab_test__\n";
  if (!fs::exists(stem.string() + ".inp") || !fs::exists(stem.string() + ".out")) return;
  const std::string inputs = read_file(stem.string() + ".inp");
  std::istringstream lines(read_file(stem.string() + ".out"));
  std::string line;
  int n = 0;
  for (std::size_t begin = 0; begin <= inputs.size() && std::getline(lines, line); ++n) {
    const std::size_t end = std::min(inputs.find(kSeparator, begin), inputs.size());
    const std::string input = inputs.substr(begin, end - begin);
    begin = end + kSeparator.size();
    Ids expected;
    std::istringstream numbers(line);
    for (TokenId id; numbers >> id;) expected.push_back(id);
    judge(report, fmt::format("{}/inp-{}", set.name, n), expected, "",
          [&] { return set.tokenizer->encode(input, {.add_special = false}); });
  }
}

void run_set(const fs::path& dir, CaseSet& set, const json& vocab, VocabFiles& files, Report& report) {
  const auto skip = [&](const std::string& reason) {
    if (report.wants(set.name)) report.skip(set.name, reason);
  };
  std::string reason;
  const auto file = files.find(dir, set.name, vocab, set.entry, reason);
  if (!file) return skip(reason);
  try {
    set.tokenizer = Tokenizer::from_gguf(io::Gguf::open(*file).metadata());
  } catch (const Error& e) {
    if (e.kind() == ErrorKind::unsupported) return skip(e.what());
    if (report.wants(set.name)) report.fail(set.name, "a tokenizer", fmt::format("{} (in {})", e.what(), e.where()));
    return;
  }
  if (const auto check = set.entry.find("hf_tokenizers_crosscheck"); check != set.entry.end())
    for (const json& id : check->at("differ_case_ids")) set.differing.insert(id.get<int>());
  std::ifstream cases(dir / set.entry.at("file").get<std::string>());
  for (std::string line; std::getline(cases, line);)
    if (!line.empty()) run_case(set, json::parse(line), report);
  if (vocab.contains("file") && vocab.at("file").is_string()) {
    fs::path stem = dir / vocab.at("file").get<std::string>();
    if (stem.extension() == ".xz") stem.replace_extension();
    run_pair(set, stem, report);
  }
}

}  // namespace

void run_tokenizer(const fs::path& dir, const Options&, Report& report) {
  const json manifest = json::parse(read_file(dir / "manifest.json"));
  VocabFiles files;
  for (const auto& [name, entry] : manifest.at("case_sets").items()) {
    CaseSet set{name, entry, nullptr, {}};
    const auto vocab = manifest.at("vocabs").find(name);
    run_set(dir, set, vocab == manifest.at("vocabs").end() ? json::object() : *vocab, files, report);
  }
}

}  // namespace hz::conformance
