// SPDX-License-Identifier: Apache-2.0
// Group arch: tiny models against reference logits; one case a token sequence. The cache is F32.
#include <cmath>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "hanzo/model/model.hpp"
#include "tests/conformance/runner.hpp"

namespace hz::conformance {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

std::vector<float> read_floats(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::vector<float> v(fs::file_size(file) / 4);
  in.read(reinterpret_cast<char*>(v.data()), static_cast<std::streamsize>(v.size() * 4));
  return v;
}

struct Difference {
  double max = 0, rms = 0;
};
Difference compare(std::span<const float> got, std::span<const float> expected) {
  Difference d;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double e = std::fabs(static_cast<double>(got[i]) - expected[i]);
    d.max = std::isnan(e) ? INFINITY : std::max(d.max, e);
    d.rms += e * e;
  }
  d.rms = std::sqrt(d.rms / static_cast<double>(std::max<std::size_t>(1, got.size())));
  return d;
}

std::vector<float> run(const Model& model, std::span<const std::int32_t> ids, std::size_t chunk) {
  auto kv = model.new_sequence();
  std::vector<float> all;
  for (std::size_t at = 0; at < ids.size(); at += chunk) {
    const SequenceChunk c{&kv, ids.subspan(at, std::min(chunk, ids.size() - at))};
    const Tensor logits = model.forward({&c, 1}, LogitRows::all);
    const auto rows = logits.span<float>();
    all.insert(all.end(), rows.begin(), rows.end());
  }
  return all;
}

// Expected rows of one sequence from each accepted reference file.
void judge(const std::string& name, const json& m, std::size_t index, std::span<const float> got,
           const std::vector<std::vector<float>>& references, Report& report) {
  const std::size_t width = m["width"], offset = m["logits"]["row_offsets"][index].get<std::size_t>() * width;
  const bool quantized = m.contains("tolerance_act_quant_max");
  const double max_ok = quantized ? m["tolerance_act_quant_max"].get<double>() : m["tolerance"].get<double>();
  const double rms_ok = quantized ? m["tolerance_act_quant_rms"].get<double>() : INFINITY;
  Difference best{INFINITY, INFINITY};
  for (const auto& reference : references) {
    const Difference d = compare(got, std::span(reference).subspan(offset, got.size()));
    if (d.max < best.max) best = d;
  }
  if (best.max <= max_ok && best.rms <= rms_ok) report.pass(name);
  else
    report.fail(name, "max difference <= " + std::to_string(max_ok) + ", rms <= " + std::to_string(rms_ok),
                "max " + std::to_string(best.max) + ", rms " + std::to_string(best.rms));
}

void run_case(const fs::path& dir, const std::string& name, const Options& options, Report& report) {
  std::ifstream in(dir / "manifest.json");
  const json m = json::parse(in);
  const auto sequences = m["sequences"].get<std::vector<std::vector<std::int32_t>>>();
  const auto each = [&](auto f) {
    for (std::size_t i = 0; i < sequences.size(); ++i)
      if (const std::string n = name + "/" + std::to_string(i); report.wants(n)) f(i, n);
  };
  bool wanted = false;
  each([&](std::size_t, const std::string&) { wanted = true; });
  if (!wanted) return;
  std::optional<Model> model;
  try {
    LoadOptions load;
    load.device = options.device;
    load.kv = KvKind::f32;
    load.context = m.value("n_ctx", 256);
    for (const auto& s : sequences) load.context = std::max<std::int64_t>(load.context, static_cast<std::int64_t>(s.size()));
    model = Model::load(dir / m["gguf"].get<std::string>(), load);
  } catch (const Error& e) {
    each([&](std::size_t, const std::string& n) {
      if (e.kind() == ErrorKind::unsupported) report.skip(n, e.what());
      else report.fail(n, "the model loads", e.what());
    });
    return;
  }
  std::vector<std::vector<float>> references{read_floats(dir / m["logits_file"].get<std::string>())};
  if (fs::exists(dir / "logits_gelu_tanh.f32")) references.push_back(read_floats(dir / "logits_gelu_tanh.f32"));
  each([&](std::size_t i, const std::string& n) {
    try {
      const auto whole = run(*model, sequences[i], sequences[i].size());
      const auto single = run(*model, sequences[i], 1), halves = run(*model, sequences[i], (sequences[i].size() + 1) / 2);
      const bool same = std::memcmp(whole.data(), single.data(), whole.size() * 4) == 0 &&
                        std::memcmp(whole.data(), halves.data(), whole.size() * 4) == 0;
      if (!same && options.device == "cpu") report.fail(n, "the same bits as one batch, token by token and in two chunks", "other bits");
      else judge(n, m, i, whole, references, report);
    } catch (const Error& e) {
      if (e.kind() == ErrorKind::unsupported) report.skip(n, e.what());
      else report.fail(n, "logits", e.what());
    }
  });
}

}  // namespace

void run_arch(const fs::path& dir, const Options& options, Report& report) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(dir))
    if (entry.is_directory() && fs::exists(entry.path() / "manifest.json")) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  for (const std::string& name : names)
    run_case(dir / name, name, options, report);
}

}  // namespace hz::conformance
