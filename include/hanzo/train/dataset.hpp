// SPDX-License-Identifier: Apache-2.0
// Datasets: rows of a file as token ids with labels, and an account of every row that is not used as it stands.
#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hanzo/core/progress.hpp"
#include "hanzo/io/metadata.hpp"
#include "hanzo/text/chat_template.hpp"
#include "hanzo/text/tokenizer.hpp"

namespace hz::train {

// What a row holds. JSON rows, in JSONL or one JSON array:
//   text               {"text"}
//   prompt_completion  {"prompt", "completion"}: strings, or lists of messages
//   alpaca             {"instruction", "input"?, "output"}
//   sharegpt           {"conversations": [{"from", "value"}]}
//   messages           {"messages": [{"role", "content", "tool_calls"?, "weight"?}], "tools"?}
//   tokens             {"input_ids", "labels"?}: -100 is not trained
// plain is a text file without rows. automatic: plain by the extensions .txt and .md, else by the keys of the first row.
enum class DataFormat { automatic, text, prompt_completion, alpaca, sharegpt, messages, tokens, plain };
// By name ("prompt-completion", ...); Error(usage) with the nearest for others.
DataFormat data_format(std::string_view name);
std::string_view name_of(DataFormat format);

constexpr std::int32_t kIgnore = -100;  // the label of a token that is not trained

// One document. labels[i] is ids[i] where token i is learned (predicted from those before it), else kIgnore; the first
// token never is.
struct Example {
  std::vector<std::int32_t> ids, labels;
  std::int64_t line = 0;         // of its row
  std::int64_t trained() const;  // tokens that are learned
};

struct DataOptions {
  DataFormat format = DataFormat::automatic;
  std::int64_t max_tokens = 1024;  // longer rows keep their beginning; a plain text is cut into pieces of this size
  bool train_on_prompt = false;    // every token is learned, not the answers alone
  bool strict = false;             // the first row of `bad`, `untrained` or `truncated` is an error
  std::size_t max_row_bytes = std::size_t{64} << 20;
  Progress progress = {};  // its stop ends reading and tokenizing
};

// Rows that are not used, or not whole, by line. The first kListed of each kind are listed.
struct RowProblem {
  std::int64_t line = 0;
  std::string what;
};
struct RowProblems {
  static constexpr std::size_t kListed = 100;
  std::int64_t count = 0;
  std::vector<RowProblem> listed;
  void add(std::int64_t line, std::string what);
};
struct DataReport {
  std::int64_t rows = 0;  // of the file
  std::int64_t tokens = 0, trained_tokens = 0;
  RowProblems bad;        // not readable as a row of this format, or refused by the chat template
  RowProblems untrained;  // nothing of them would be learned: left out
  RowProblems truncated;  // used, without what lies beyond max_tokens
};

struct Dataset {
  std::vector<Example> examples;
  DataFormat format = DataFormat::automatic;
  DataReport report;
  std::string sha256;  // of the file
};

// What turns text into tokens: a model's tokenizer and chat template.
struct TextSide {
  std::shared_ptr<const text::Tokenizer> tokenizer;
  std::optional<text::ChatTemplate> chat;  // absent: alpaca rows use their own headings, conversations are refused
  // From the metadata of a model file; pre: a pre-tokenizer in place of the file's. Throws as Tokenizer and ChatTemplate do.
  static TextSide from_gguf(const io::Metadata& metadata, std::string_view pre = {});
};

// Reads, checks and encodes a file. Throws Error(bad_file) naming the line where `strict` refuses, and when no row is left.
Dataset load_dataset(const std::filesystem::path& file, const TextSide& text, const DataOptions& options = {});
// Reads and checks the rows alone, without a model.
DataReport check_dataset(const std::filesystem::path& file, const DataOptions& options = {});

// A row as it is trained: stretches of the decoded text, alternately untrained and trained.
struct Stretch {
  std::string text;
  bool trained = false;
  std::int64_t tokens = 0;
};
std::vector<Stretch> stretches(const Example& example, const text::Tokenizer& tokenizer);

}  // namespace hz::train
