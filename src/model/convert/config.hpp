// SPDX-License-Identifier: Apache-2.0
// config.json of a Hugging Face folder: typed access with messages, and the family it names.
#pragma once
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "hanzo/io/metadata.hpp"

namespace hz::model::convert {

// Reads and parses a JSON file of at most 256 MB; null json where an optional one is absent.
nlohmann::json read_json(const std::filesystem::path& file, bool needed);
std::string read_text(const std::filesystem::path& file, bool needed);

class Config {
 public:
  explicit Config(nlohmann::json values, std::string source) : values_(std::move(values)), source_(std::move(source)) {}
  bool has(std::string_view key) const;
  const nlohmann::json& at(std::string_view key) const { return values_.at(std::string(key)); }
  std::int64_t integer(std::string_view key) const;
  std::int64_t integer_or(std::string_view key, std::int64_t fallback) const { return has(key) ? integer(key) : fallback; }
  double real(std::string_view key) const;
  double real_or(std::string_view key, double fallback) const { return has(key) ? real(key) : fallback; }
  bool flag_or(std::string_view key, bool fallback) const;
  std::string text_or(std::string_view key, std::string fallback) const;
  const std::string& source() const { return source_; }
  [[noreturn]] void bad(const std::string& what) const;
  [[noreturn]] void unsupported(const std::string& what, const std::string& hint = {}) const;

 private:
  nlohmann::json values_;
  std::string source_;
};

// How a family differs from llama, as data.
struct Family {
  std::string_view model_type;  // of config.json
  std::string_view arch;        // general.architecture
  bool permuted = false;        // q and k rows are reordered for rope on adjacent pairs
  bool norm_plus_one = false;   // norm weights are stored less one
  bool sandwich = false;        // norms before and after
  bool experts = false;
  bool tied = false;            // where the config does not say
  std::string_view activation = "silu";
};
const Family& family_of(const Config& config);

// The keys ARCH.*; rope divisors, if the config asks for them, as rope_freqs.weight.
struct HeaderParts {
  std::int64_t layers = 0, hidden = 0, ffn = 0, heads = 0, kv_heads = 0, head_dim = 0, experts = 0, vocab = 0;
  bool tied = false;
  std::vector<float> rope_divisors;
};
HeaderParts write_header(const Config& config, const Family& family, io::Metadata& out);

// The keys tokenizer.*; returns what ConvertSummary::tokenizer says. rows: of the embedding.
std::string write_tokenizer(const std::filesystem::path& folder, std::int64_t rows, io::Metadata& out);

}  // namespace hz::model::convert
