// SPDX-License-Identifier: Apache-2.0
// hz-bench cost: measured speed as money, beside what the roofline allows.
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <hanzo/hanzo.hpp>
#include <nlohmann/json.hpp>

#include "tools/bench/machine.hpp"
#include "tools/bench/quality.hpp"
#include "tools/bench/speed.hpp"
#include "tools/bench/stats.hpp"
#include "tools/common/model_options.hpp"
#include "tools/common/run.hpp"

namespace hz::tools {
namespace {

const CLI::Validator price_like(
    [](std::string& given) {
      double value = 0;
      const auto [end, error] = std::from_chars(given.data(), given.data() + given.size(), value);
      const bool good = error == std::errc() && end == given.data() + given.size() && std::isfinite(value) && value > 0;
      return good ? std::string() : "'" + given + "' is no price above 0";
    },
    "PRICE", "price");

struct CostArgs {
  ModelArgs model;
  double price = 0;
  std::int64_t prompt = 512, generate = 64;
  int repetitions = 5;
  bool json = false;
  explicit CostArgs(CLI::App& app) : model(app) {
    app.remove_option(app.get_option("--ctx"));  // what the tests need
    app.add_option("--price-per-hour", price, "price of this machine per hour, in any currency")->required()->check(price_like);
    app.add_option("-p,--n-prompt", prompt, "prompt tokens")
        ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 24))
        ->capture_default_str();
    app.add_option("-n,--n-gen", generate, "generated tokens")
        ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 24))
        ->capture_default_str();
    app.add_option("-r,--repetitions", repetitions, "measured runs; the median counts")->check(CLI::Range(1, 1000))->capture_default_str();
    app.add_flag("--json", json, "one JSON object on stdout");
  }
};

double median_rate(const Model& model, const Cell& cell, int repetitions, const std::stop_token& stop) {
  CellRunner runner(model, cell);
  runner.run(stop);
  std::vector<double> rates;
  for (int r = 0; r < repetitions; ++r)
    rates.push_back(static_cast<double>(cell.test.prompt + cell.test.generate) / runner.run(stop).seconds);
  return median(rates);
}

int run_cost(const CostArgs& args, Console& console) {
  ModelArgs sized = args.model;
  sized.context = std::max(args.prompt, args.generate);
  const Model model = load_model(sized, console);
  const Progress progress = console.progress();
  const int threads = args.model.threads > 0 ? args.model.threads : default_threads();
  Cell cell{.model = args.model.file,
            .kv = args.model.kv,
            .threads = threads,
            .batch = args.model.ubatch,
            .ubatch = args.model.ubatch,
            .test = {args.prompt, 0}};
  const double prompt = median_rate(model, cell, args.repetitions, progress.stop);
  cell.test = {0, args.generate};
  const double decode = median_rate(model, cell, args.repetitions, progress.stop);
  const double bandwidth = read_bandwidth(threads);
  const BackendPeaks peaks = model.backend().measure_peaks();
  const double roof_decode = bandwidth / static_cast<double>(token_bytes(model)),
               roof_prompt = peaks.int8_dot * threads / token_macs(model);
  const auto price = [&](double rate) { return args.price / 3600 / rate * 1e6; };
  const bool roofed = peaks.int8_dot > 0;  // a backend that measures none has no roof
  if (args.json) {
    nlohmann::json j{{"price_per_hour", args.price},
                     {"prompt_ts", prompt},
                     {"decode_ts", decode},
                     {"prompt_cost_per_million", price(prompt)},
                     {"decode_cost_per_million", price(decode)},
                     {"roofline_decode_ts", roof_decode},
                     {"read_bandwidth", bandwidth},
                     {"bytes_per_token", token_bytes(model)}};
    if (roofed) j.update({{"roofline_prompt_ts", roof_prompt}, {"int8_peak", peaks.int8_dot}});
    console.json(j);
    return kOk;
  }
  const auto row = [&](const char* work, std::int64_t tokens, double rate, double roof) {
    const std::string limit = roof > 0 ? fmt::format("{:.1f} | {:.0f} %", roof, 100 * rate / roof) : "unknown |";
    console.print(fmt::format("| {} {} | {:.1f} | {:.4f} | {} |\n", work, tokens, rate, price(rate), limit));
  };
  console.print("| work | tokens/s | cost of a million tokens | roofline tokens/s | share |\n| --- | ---: | ---: | ---: | ---: |\n");
  row("prompt", args.prompt, prompt, roof_prompt);
  row("decode", args.generate, decode, roof_decode);
  console.print(
      "\nroofline: prompt = int8 peak of all threads / multiply-adds per token, decode = read bandwidth / bytes of weights per token\n");
  return kOk;
}

}  // namespace

Subcommand add_cost(CLI::App& app) {
  CLI::App* sub = add_command(app, "cost", "tokens per second as cost per million tokens");
  return {sub, [args = std::make_shared<CostArgs>(*sub)](Console& c) { return run_cost(*args, c); }};
}

}  // namespace hz::tools
