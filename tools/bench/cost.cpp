// SPDX-License-Identifier: Apache-2.0
// hz-bench cost: measured speed as money, beside what the roofline allows.
#include <fmt/format.h>

#include <chrono>
#include <hanzo/hanzo.hpp>
#include <nlohmann/json.hpp>

#include "tools/bench/machine.hpp"
#include "tools/bench/quality.hpp"
#include "tools/bench/speed.hpp"
#include "tools/common/model_options.hpp"
#include "tools/common/run.hpp"

namespace hz::tools {
namespace {

struct CostArgs {
  ModelArgs model;
  double price = 0;
  std::int64_t prompt = 512, generate = 64;
  int repetitions = 5;
  bool json = false;
  explicit CostArgs(CLI::App& app) : model(app) {
    app.add_option("--price-per-hour", price, "price of this machine per hour, in any currency")->required()->check(CLI::PositiveNumber);
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
  std::nth_element(rates.begin(), rates.begin() + static_cast<std::ptrdiff_t>(rates.size() / 2), rates.end());
  return rates[rates.size() / 2];
}

int run_cost(const CostArgs& args, Console& console) {
  ModelArgs sized = args.model;
  sized.context = std::max(args.prompt, args.generate);
  const Model model = load_model(sized, console);
  const Progress progress = console.progress();
  const int threads = args.model.threads > 0 ? args.model.threads : default_threads();
  Cell cell{.model = args.model.file, .kv = args.model.kv, .threads = threads, .ubatch = args.model.ubatch, .test = {args.prompt, 0}};
  const double prompt = median_rate(model, cell, args.repetitions, progress.stop);
  cell.test = {0, args.generate};
  const double decode = median_rate(model, cell, args.repetitions, progress.stop);
  const double bandwidth = read_bandwidth(threads);
  const BackendPeaks peaks = model.backend().measure_peaks();
  const double roof_decode = bandwidth / static_cast<double>(token_bytes(model)),
               roof_prompt = peaks.int8_dot * threads / token_macs(model);
  const auto price = [&](double rate) { return args.price / 3600 / rate * 1e6; };
  if (args.json) {
    console.json({{"price_per_hour", args.price},
                  {"prompt_ts", prompt},
                  {"decode_ts", decode},
                  {"prompt_cost_per_million", price(prompt)},
                  {"decode_cost_per_million", price(decode)},
                  {"roofline_prompt_ts", roof_prompt},
                  {"roofline_decode_ts", roof_decode},
                  {"read_bandwidth", bandwidth},
                  {"int8_peak", peaks.int8_dot},
                  {"bytes_per_token", token_bytes(model)}});
    return kOk;
  }
  console.print("| work | tokens/s | cost of a million tokens | roofline tokens/s | share |\n| --- | ---: | ---: | ---: | ---: |\n");
  console.print(fmt::format("| prompt {} | {:.1f} | {:.4f} | {:.1f} | {:.0f} % |\n", args.prompt, prompt, price(prompt), roof_prompt,
                            100 * prompt / roof_prompt));
  console.print(fmt::format("| decode {} | {:.1f} | {:.4f} | {:.1f} | {:.0f} % |\n", args.generate, decode, price(decode), roof_decode,
                            100 * decode / roof_decode));
  console.print(
      "\nroofline: prompt = int8 peak of all threads / multiply-adds per token, decode = read bandwidth / bytes of weights per token\n");
  return kOk;
}

}  // namespace

Subcommand add_cost(CLI::App& app) {
  CLI::App* sub = app.add_subcommand("cost", "tokens per second as cost per million tokens");
  return {sub, [args = std::make_shared<CostArgs>(*sub)](Console& c) { return run_cost(*args, c); }};
}

}  // namespace hz::tools
