// SPDX-License-Identifier: Apache-2.0
// hz-train inspect: rows as they are trained.
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <hanzo/io/gguf.hpp>
#include <hanzo/train/batches.hpp>
#include <nlohmann/json.hpp>

#include "tools/hz-train.hpp"

namespace hz::tools {
namespace {

struct InspectArgs {
  ModelArgs model;
  DataArgs data;
  std::int64_t row = 1, count = 1;
  bool json = false, tokens = false;

  explicit InspectArgs(CLI::App& app) : model(app), data(app) {
    app.add_option("--row", row, "first row shown, counted from 1 over the rows that are used")->check(CLI::PositiveNumber);
    app.add_option("-n,--count", count, "rows shown; 0: the account alone")->check(CLI::NonNegativeNumber);
    app.add_flag("--tokens", tokens, "one token a line: position, id, whether it is trained, text");
    app.add_flag("--json", json, "JSON on stdout: one object a row, the account last");
  }
};

void show(const train::Example& e, std::int64_t row, const text::Tokenizer& tokenizer, const InspectArgs& args, Console& console) {
  if (args.json) {
    nlohmann::json parts = nlohmann::json::array();
    for (const train::Stretch& s : train::stretches(e, tokenizer))
      parts.push_back({{"text", s.text}, {"trained", s.trained}, {"tokens", s.tokens}});
    return console.json({{"row", row},
                         {"line", e.line},
                         {"tokens", e.ids.size()},
                         {"trained", e.trained()},
                         {"input_ids", e.ids},
                         {"labels", e.labels},
                         {"parts", parts}});
  }
  console.print(console.colored_out(fmt::format("row {} (line {}): {} tokens, {} trained", row, e.line, e.ids.size(), e.trained()), "1") +
                "\n");
  if (args.tokens) {
    for (std::size_t i = 0; i < e.ids.size(); ++i)
      console.print(fmt::format(
          "{}\t{}\t{}\t{}\n", i, e.ids[i], e.labels[i] != train::kIgnore ? "trained" : "-",
          nlohmann::json(std::string(tokenizer.piece(e.ids[i]))).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)));
    return;
  }
  // Where colours are not wanted, brackets say it.
  const bool colors = console.colored_out("x", "32") != "x";
  for (const train::Stretch& s : train::stretches(e, tokenizer)) {
    const std::string text = printable(s.text);
    console.print(!s.trained ? text : colors ? console.colored_out(text, "32") : "[[" + text + "]]");
  }
  console.print("\n");
}

nlohmann::json problems(const train::RowProblems& p) {
  nlohmann::json lines = nlohmann::json::array();
  for (const train::RowProblem& r : p.listed) lines.push_back({{"line", r.line}, {"what", r.what}});
  return {{"count", p.count}, {"rows", lines}};
}

int inspect(const InspectArgs& args, Console& console) {
  if (args.model.file.empty())
    throw Error(ErrorKind::usage, "no model given", "", "name a GGUF file with -m: its tokenizer and chat template decide");
  if (args.data.file.empty()) throw Error(ErrorKind::usage, "no data given", "", "name a file with --data");
  const io::Gguf file = io::Gguf::open(args.model.file, io::ReadMode::map, console.progress());
  const train::TextSide text = train::TextSide::from_gguf(file.metadata(), args.model.pre);
  train::DataOptions options = args.data.options(args.model);
  options.progress = console.progress();
  const train::Dataset data = train::load_dataset(args.data.file, text, options);
  const auto rows = static_cast<std::int64_t>(data.examples.size());
  if (args.count > 0 && args.row > rows)
    throw Error(ErrorKind::usage, fmt::format("there is no row {}: {} are used", args.row, rows), args.data.file, "a smaller --row");
  for (std::int64_t i = args.row; i < std::min(rows + 1, args.row + args.count); ++i)
    show(data.examples[static_cast<std::size_t>(i - 1)], i, *text.tokenizer, args, console);
  const train::DataReport& r = data.report;
  if (args.json)
    console.json({{"format", train::name_of(data.format)},
                  {"rows", r.rows},
                  {"used", rows},
                  {"tokens", r.tokens},
                  {"trained_tokens", r.trained_tokens},
                  {"bad", problems(r.bad)},
                  {"untrained", problems(r.untrained)},
                  {"truncated", problems(r.truncated)},
                  {"packed_units", train::make_units(data.examples, true, options.max_tokens).size()}});
  else tell_data(fmt::format("{} ({})", args.data.file, train::name_of(data.format)), r, console);
  return kOk;
}

}  // namespace

Command add_inspect(CLI::App& app) {
  CLI::App* c = add_command(app, "inspect", "show rows as they are trained, the trained text marked");
  auto args = std::make_shared<InspectArgs>(*c);
  return {c, [args](Console& console) { return inspect(*args, console); }};
}

}  // namespace hz::tools
