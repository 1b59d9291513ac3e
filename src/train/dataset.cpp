// SPDX-License-Identifier: Apache-2.0
// Datasets: from the rows of a file to examples, with the account.
#include "hanzo/train/dataset.hpp"

#include <algorithm>
#include <functional>

#include "hanzo/core/parallel.hpp"
#include "hanzo/io/jsonl.hpp"
#include "hanzo/text/utf8.hpp"
#include "src/train/encode.hpp"

namespace hz::train {
namespace {

constexpr std::size_t kMaxPlainBytes = std::size_t{1} << 30;

std::string line_of(const std::string& file, std::int64_t line) { return file + ", line " + std::to_string(line); }

// Reads a file's rows, and keeps the account of those that are bad.
class Reading {
 public:
  Reading(const std::filesystem::path& file, const DataOptions& options, DataReport& report)
      : name_(file.filename().string()),
        options_(options),
        report_(report),
        format_(options.format),
        reader_(file, io::RowReader::Layout::automatic, options.max_row_bytes) {}

  // use(line, row) for each good row; what it throws about the row counts as its fault.
  void each(const std::function<void(std::int64_t, const Row&)>& use) {
    while (const auto text = reader_.next()) {
      ++report_.rows;
      options_.progress.check("reading the data");
      try {
        if (text->too_long) bad_row("the row is longer than " + std::to_string(options_.max_row_bytes) + " bytes");
        const Json json = io::parse_json(text->text);
        if (format_ == DataFormat::automatic) format_ = format_of(json);
        use(text->line, read_row(json, format_));
      } catch (const Error& e) {
        if (e.kind() == ErrorKind::unsupported || e.kind() == ErrorKind::cancelled || e.kind() == ErrorKind::out_of_memory) throw;
        problem(report_.bad, text->line, e.where().empty() ? e.what() : std::string(e.what()) + " (" + e.where() + ")");
      }
      options_.progress("reading the data", reader_.position(), reader_.size());
    }
    if (report_.rows == 0)
      throw Error(ErrorKind::bad_file, "the file has no rows", name_, "give rows of text, messages, prompt and completion ...");
  }

  // Counts a row's fault; an error under strict.
  void problem(RowProblems& kind, std::int64_t line, const std::string& what) const {
    if (options_.strict)
      throw Error(ErrorKind::bad_file, what, line_of(name_, line), "mend the row, or leave --strict away to pass over it");
    kind.add(line, what);
  }

  // When nothing is left to learn from.
  void check_left(std::size_t examples) const {
    if (examples > 0) return;
    const RowProblems& why = report_.bad.count > 0 ? report_.bad : report_.untrained;
    const bool known = !why.listed.empty();
    throw Error(ErrorKind::bad_file,
                "none of " + std::to_string(report_.rows) + " rows can be used" + (known ? "; the first: " + why.listed[0].what : ""),
                known ? line_of(name_, why.listed[0].line) : name_);
  }

  DataFormat format() const { return format_; }
  std::string sha256() const { return reader_.sha256(); }
  const std::string& name() const { return name_; }

 private:
  std::string name_;
  const DataOptions& options_;
  DataReport& report_;
  DataFormat format_;
  io::RowReader reader_;
};

bool is_plain(const std::filesystem::path& file, const DataOptions& options) {
  if (options.format != DataFormat::automatic) return options.format == DataFormat::plain;
  return file.extension() == ".txt" || file.extension() == ".md";
}

void cut(Example& e, std::int64_t max_tokens) {
  if (static_cast<std::int64_t>(e.ids.size()) <= max_tokens) return;
  e.ids.resize(static_cast<std::size_t>(max_tokens));
  e.labels.resize(static_cast<std::size_t>(max_tokens));
}

void keep(Dataset& data, Example e, std::int64_t line) {
  e.line = line;
  data.report.tokens += static_cast<std::int64_t>(e.ids.size());
  data.report.trained_tokens += e.trained();
  data.examples.push_back(std::move(e));
}

void load_rows(Reading& reading, const Encoder& encoder, const DataOptions& options, Dataset& data) {
  reading.each([&](std::int64_t line, const Row& row) {
    Example e = encoder.encode(row);
    const auto tokens = static_cast<std::int64_t>(e.ids.size());
    const std::int64_t trained = e.trained();
    cut(e, options.max_tokens);
    if (e.trained() == 0) {
      const std::string why = trained == 0 ? (row.form == Row::Form::chat ? "no answer to learn" : "nothing to learn")
                                           : "what is to be learned lies beyond the first " + std::to_string(options.max_tokens) + " of " +
                                                 std::to_string(tokens) + " tokens";
      return reading.problem(data.report.untrained, line, why);
    }
    if (tokens > options.max_tokens)
      reading.problem(data.report.truncated, line, std::to_string(tokens) + " tokens, cut to " + std::to_string(options.max_tokens));
    keep(data, std::move(e), line);
  });
  reading.check_left(data.examples.size());
}

// A text without rows, whole, as one stream of tokens in pieces.
void load_plain(const std::filesystem::path& file, const Encoder& encoder, const DataOptions& options, Dataset& data) {
  io::RowReader reader(file, io::RowReader::Layout::lines, kMaxPlainBytes);
  std::string text;
  std::int64_t line = 0;
  while (const auto row = reader.next()) {
    options.progress.check("reading the data");
    if (row->too_long || text.size() + row->text.size() > kMaxPlainBytes)
      throw Error(ErrorKind::bad_file, "the text is longer than " + std::to_string(kMaxPlainBytes) + " bytes",
                  line_of(file.filename().string(), row->line), "split it, or give rows");
    if (!text::is_valid_utf8(row->text))
      throw Error(ErrorKind::bad_file, "the text is not UTF-8", line_of(file.filename().string(), row->line),
                  "convert it (iconv -t UTF-8)");
    text.append(static_cast<std::size_t>(line == 0 ? 0 : row->line - line), '\n').append(row->text);  // blank lines stay
    line = row->line;
  }
  if (text.empty()) throw Error(ErrorKind::bad_file, "the file has no text", file.filename().string());
  data.report.rows = 1;
  data.sha256 = reader.sha256();
  const Example all = encoder.encode_plain(text);
  for (std::size_t at = 0; at + 1 < all.ids.size(); at += static_cast<std::size_t>(options.max_tokens)) {
    const auto n = std::min(static_cast<std::size_t>(options.max_tokens), all.ids.size() - at);
    const auto begin = static_cast<std::ptrdiff_t>(at), end = static_cast<std::ptrdiff_t>(at + n);
    Example e{{all.ids.begin() + begin, all.ids.begin() + end}, {all.labels.begin() + begin, all.labels.begin() + end}};
    e.labels[0] = kIgnore;
    if (n > 1) keep(data, std::move(e), 1);
  }
}

}  // namespace

std::int64_t Example::trained() const {
  return std::count_if(labels.begin(), labels.end(), [](std::int32_t l) { return l != kIgnore; });
}

void RowProblems::add(std::int64_t line, std::string what) {
  ++count;
  if (listed.size() < kListed) listed.push_back({line, std::move(what)});
}

TextSide TextSide::from_gguf(const io::Metadata& metadata, std::string_view pre) {
  TextSide side;
  side.tokenizer = text::Tokenizer::from_gguf(metadata, pre);
  if (const auto source = metadata.get<std::string>("tokenizer.chat_template"))
    side.chat = text::ChatTemplate::parse(*source, "tokenizer.chat_template");
  return side;
}

Dataset load_dataset(const std::filesystem::path& file, const TextSide& text, const DataOptions& options) {
  if (options.max_tokens < 2)
    throw Error(ErrorKind::usage, "rows of " + std::to_string(options.max_tokens) + " tokens teach nothing", "", "a context of at least 2");
  Dataset data;
  const StopScope scope(options.progress.stop);  // a row may be large, a text is one
  const Encoder encoder(text, options);
  if (is_plain(file, options)) {
    data.format = DataFormat::plain;
    load_plain(file, encoder, options, data);
    return data;
  }
  Reading reading(file, options, data.report);
  load_rows(reading, encoder, options, data);
  data.format = reading.format();
  data.sha256 = reading.sha256();
  return data;
}

DataReport check_dataset(const std::filesystem::path& file, const DataOptions& options) {
  DataReport report;
  Reading reading(file, options, report);
  std::size_t good = 0;
  reading.each([&](std::int64_t, const Row&) { ++good; });
  reading.check_left(good);
  return report;
}

std::vector<Stretch> stretches(const Example& example, const text::Tokenizer& tokenizer) {
  std::vector<Stretch> all;
  for (std::size_t begin = 0, end = 0; begin < example.ids.size(); begin = end) {
    const bool trained = example.labels[begin] != kIgnore;
    while (end < example.ids.size() && (example.labels[end] != kIgnore) == trained) ++end;
    const auto ids = std::span(example.ids).subspan(begin, end - begin);
    std::string text;
    for (const text::TokenId id : ids) text += tokenizer.piece(id);
    all.push_back({std::move(text), trained, static_cast<std::int64_t>(ids.size())});
  }
  return all;
}

}  // namespace hz::train
