// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <hanzo/io/atomic_file.hpp>
#include <nlohmann/json.hpp>

#include "tools/bench/grid.hpp"
#include "tools/common/meter.hpp"
#include "tools/common/run.hpp"

namespace hz::tools {
namespace {

using nlohmann::json;

std::string dump(const json& j, int indent) { return j.dump(indent, ' ', false, json::error_handler_t::replace); }

std::string share(const json& r) {
  if (r.contains("bandwidth_share")) return fmt::format("{:.0f} % of the read bandwidth", 100 * r["bandwidth_share"].get<double>());
  if (r.contains("int8_peak_share")) return fmt::format("{:.0f} % of the int8 peak", 100 * r["int8_peak_share"].get<double>());
  return "";
}

// A cell: names come from files.
std::string cell(const std::string& text) {
  std::string s;
  for (const char c : printable(text)) {
    if (c == '|') s += '\\';
    s += c == '\n' || c == '\t' ? ' ' : c;
  }
  return s;
}

std::string markdown(const json& records, const Layout& layout) {
  std::string s = "|", rule = "|";
  for (const Column& c : layout.columns) {
    s += fmt::format(" {} |", c.title);
    rule += c.right ? " ---: |" : " --- |";
  }
  s += "\n" + rule + "\n";
  for (const json& r : records) {
    s += "|";
    for (const Column& c : layout.columns) s += fmt::format(" {} |", cell(c.text(r)));
    s += "\n";
  }
  return s + layout.below;
}

// Every key that any record has, in order.
std::vector<std::string> columns(const json& records) {
  json all = json::object();
  for (const json& r : records)
    for (const auto& [key, value] : r.items())
      if (!value.is_array()) all[key] = nullptr;
  std::vector<std::string> names;
  for (const auto& [key, value] : all.items()) names.push_back(key);
  return names;
}

std::string quoted(const json& r, const std::string& key, char quote) {
  if (!r.contains(key)) return quote == '"' ? "\"\"" : "NULL";
  std::string text = r[key].is_string() ? r[key].get<std::string>() : dump(r[key], -1);
  for (std::size_t at = 0; (at = text.find(quote, at)) != std::string::npos; at += 2) text.insert(at, 1, quote);
  return quote + text + quote;
}

std::string csv(const json& records) {
  const auto names = columns(records);
  std::string s = fmt::format("{}\n", joined(names, ","));
  for (const json& r : records) {
    std::vector<std::string> cells;
    for (const std::string& n : names) cells.push_back(quoted(r, n, '"'));
    s += fmt::format("{}\n", joined(cells, ","));
  }
  return s;
}

std::string sql(const json& records, const std::string& table) {
  const auto names = columns(records);
  std::string s = fmt::format("CREATE TABLE IF NOT EXISTS {} (\n", table);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const json& sample = [&]() -> const json& {
      for (const json& r : records)
        if (r.contains(names[i])) return r[names[i]];
      return records;
    }();
    s += fmt::format("  {} {}{}\n", names[i],
                     sample.is_number_integer() || sample.is_boolean() ? "INTEGER"
                     : sample.is_number()                              ? "REAL"
                                                                       : "TEXT",
                     i + 1 < names.size() ? "," : "");
  }
  s += ");\n";
  for (const json& r : records) {
    std::vector<std::string> cells;
    for (const std::string& n : names) cells.push_back(quoted(r, n, '\''));
    s += fmt::format("INSERT INTO {} ({}) VALUES ({});\n", table, joined(names, ", "), joined(cells, ", "));
  }
  return s;
}

// Text of a number or a string of the record.
std::function<std::string(const json&)> of(const std::string& key) {
  return [key](const json& r) { return r[key].is_string() ? r[key].get<std::string>() : dump(r[key], -1); };
}

std::string limits(const json& r) {
  std::string s = fmt::format("\nload {:.2f} s, peak memory {}, {} of weights per token, memory reads {}/s",
                              r["load_seconds"].get<double>(), bytes_text(r["peak_memory"].get<double>()),
                              bytes_text(r["bytes_per_token"].get<double>()), bytes_text(r["read_bandwidth"].get<double>()));
  if (r.contains("int8_peak"))
    s += fmt::format(", one core {:.1f} G float and {:.1f} G int8 multiply-adds/s", r["fma_peak"].get<double>() / 1e9,
                     r["int8_peak"].get<double>() / 1e9);
  return s + "\n";
}

}  // namespace

Column number_column(const std::string& title, const std::string& key, int digits) {
  return {title, true, [=](const json& r) { return fmt::format("{:.{}f}", r[key].get<double>(), digits); }};
}

void ReportArgs::add_to(CLI::App& app, const std::string& plot_help) {
  const std::vector<std::string> formats{"md", "csv", "json", "jsonl", "sql"};
  add_choice(app, "-o,--output", output, formats, "format of the results");
  add_choice(app, "--oe,--output-err", second_output, formats, "a second format, on stderr");
  add_path(app, "--plot", plot, plot_help);
}

void ReportArgs::check() const {
  if (!plot.empty()) io::check_writable(plot);
}

std::string format_records(const json& records, const std::string& format, const Layout& layout) {
  if (format == "json") return dump(records, 2) + "\n";
  if (format == "csv") return csv(records);
  if (format == "sql") return sql(records, layout.table);
  if (format != "jsonl") return markdown(records, layout);
  std::string s;
  for (const json& r : records) s += dump(r, -1) + "\n";
  return s;
}

void print_records(const json& records, const ReportArgs& args, const Layout& layout, Console& console) {
  console.print(format_records(records, args.output, layout));
  console.flush();
  if (args.second_output.empty()) return;
  const std::string second = format_records(records, args.second_output, layout);
  if (std::fwrite(second.data(), 1, second.size(), stderr) != second.size() || std::fflush(stderr) != 0)  // asked for: not a note
    throw Error(ErrorKind::io, "cannot write the second format", "standard error");
}

std::string test_name(std::int64_t prompt, std::int64_t generate, std::int64_t depth) {
  std::string s = prompt > 0 ? fmt::format("pp{}", prompt) : "";
  if (generate > 0) s += fmt::format("{}tg{}", s.empty() ? "" : "+", generate);
  return depth > 0 ? s + fmt::format(" @ d{}", depth) : s;
}

std::string test_name(const json& r) {
  return test_name(r["n_prompt"].get<std::int64_t>(), r["n_gen"].get<std::int64_t>(), r["n_depth"].get<std::int64_t>());
}

// A column for what is not as usual in some row, as llama-bench has it.
Layout speed_layout(const json& records) {
  Layout l{.table = "hz_bench", .columns = {}, .below = records.empty() ? "" : limits(records.back())};
  l.columns = {{"model", false, of("model_type")},
               {"size", true, [](const json& r) { return bytes_text(r["model_size"].get<double>()); }},
               {"params", true, [](const json& r) { return fmt::format("{:.2f} M", r["model_n_params"].get<double>() / 1e6); }},
               {"backend", false, of("backends")},
               {"threads", true, of("n_threads")},
               {"kv", false, of("type_k")}};
  const auto unusual = [&](const std::string& key, const json& usual) {
    return std::any_of(records.begin(), records.end(), [&](const json& r) { return r.contains(key) && r[key] != usual; });
  };
  if (unusual("n_batch", 2048)) l.columns.push_back({"batch", true, of("n_batch")});
  if (unusual("n_ubatch", 512)) l.columns.push_back({"ubatch", true, of("n_ubatch")});
  if (unusual("pack", "auto")) l.columns.push_back({"pack", false, of("pack")});
  if (unusual("activations", "int8")) l.columns.push_back({"activations", false, of("activations")});
  l.columns.push_back({"test", true, [](const json& r) { return test_name(r); }});
  l.columns.push_back(
      {"t/s", true, [](const json& r) { return fmt::format("{:.2f} ± {:.2f}", r["avg_ts"].get<double>(), r["stddev_ts"].get<double>()); }});
  l.columns.push_back({"ttft ms", true, [](const json& r) { return fmt::format("{:.1f}", r["ttft_ms"].get<double>()); }});
  l.columns.push_back({"ms/token p50, p95", true, [](const json& r) {
                         return r.contains("token_ms_p50")
                                    ? fmt::format("{:.2f}, {:.2f}", r["token_ms_p50"].get<double>(), r["token_ms_p95"].get<double>())
                                    : "";
                       }});
  l.columns.push_back({"share of the limit", false, share});
  if (unusual("logits_hash", json()))
    l.columns.push_back({"logits", false, [](const json& r) { return r["logits_hash"].get<std::string>().substr(0, 16); }});
  return l;
}

}  // namespace hz::tools
