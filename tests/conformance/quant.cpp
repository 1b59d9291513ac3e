// SPDX-License-Identifier: Apache-2.0
// Group quant: decoding bit for bit, encoders (bytes, or row error where they search), dot products of decoded rows.
//
// Cases, T a type of manifest.json:
//   dequant/T           decode_row of <T>.blocks.bin equals <T>.f32 bit for bit (NaN: any NaN)
//   quantize/T          bytes of the encoder; a searching type (K, IQ) may instead have row errors <= 1.01 x rmse_rows
//   quantize-imatrix/T  row errors weighted by the importance <= 1.01 x those of the reference's decoded rows
//   rounding/T          F16 and BF16 of special values, NaN: any NaN
//   dot/T               dots of decoded rows within 1e-5 of the column's largest |dot|
//   act/T               bytes of the activation kinds' encoders
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "hanzo/quant/qtensor.hpp"
#include "tests/conformance/runner.hpp"

namespace hz::conformance {
namespace {

using nlohmann::json;
using Bytes = std::vector<std::byte>;

// The folder and its manifest. Files are read whole; their size must be what the manifest says.
class Folder {
 public:
  explicit Folder(std::filesystem::path dir) : dir_(std::move(dir)) {
    const Bytes b = load("manifest.json");
    manifest_ = json::parse(reinterpret_cast<const char*>(b.data()), reinterpret_cast<const char*>(b.data()) + b.size());
  }
  const json& manifest() const { return manifest_; }
  Bytes read(const std::string& name) const {
    Bytes b = load(name);
    const auto& files = manifest_.at("files");
    if (files.contains(name) && files.at(name).value("bytes", b.size()) != b.size())
      throw Error(ErrorKind::bad_file, "has " + std::to_string(b.size()) + " bytes, the manifest says " + files.at(name).at("bytes").dump(),
                  name);
    return b;
  }
  // Elements of a row: the last dimension that the manifest gives.
  std::int64_t cols(const std::string& name) const { return manifest_.at("files").at(name).at("shape").back().get<std::int64_t>(); }
  template <class T>
  std::vector<T> read_as(const std::string& name) const {
    const Bytes b = read(name);
    if (b.size() % sizeof(T) != 0) throw Error(ErrorKind::bad_file, "is no whole number of elements", name);
    std::vector<T> v(b.size() / sizeof(T));
    std::memcpy(v.data(), b.data(), b.size());
    return v;
  }

 private:
  Bytes load(const std::string& name) const {
    std::ifstream in(dir_ / name, std::ios::binary);
    if (!in) throw Error(ErrorKind::bad_file, "cannot be read", (dir_ / name).string());
    const std::vector<char> c((std::istreambuf_iterator<char>(in)), {});
    Bytes b(c.size());
    if (!c.empty()) std::memcpy(b.data(), c.data(), c.size());
    return b;
  }
  std::filesystem::path dir_;
  json manifest_;
};

// Some rows of a type as a QTensor that owns its bytes.
QTensor tensor_of(const std::string& name, const Bytes& bytes, WType type, std::int64_t cols) {
  auto storage = allocate_host(bytes.size());
  std::memcpy(storage->data, bytes.data(), bytes.size());
  const auto rows = static_cast<std::int64_t>(bytes.size() / quant::row_bytes(type, cols));
  return {name, Shape{rows, cols}, type, storage, 0};
}

std::string hex(std::uint32_t v) {
  char s[16];
  std::snprintf(s, sizeof s, "0x%08x", v);
  return s;
}

// One case under way: its name, and where its outcome goes.
struct Case {
  const Folder& folder;
  Report& report;
  std::string name;
  const json& entry;  // of the type in the manifest
  WType type;
  const quant::FormatInfo& info;
};

// Empty, or where and how the bytes differ: {expected, got}.
std::pair<std::string, std::string> compare_bytes(const Bytes& want, const Bytes& got) {
  if (want.size() != got.size()) return {std::to_string(want.size()) + " bytes", std::to_string(got.size()) + " bytes"};
  std::size_t different = 0, first = 0;
  for (std::size_t i = want.size(); i-- > 0;)
    if (want[i] != got[i]) ++different, first = i;
  if (different == 0) return {};
  const auto at = [&](const Bytes& b) { return "byte " + std::to_string(first) + " = " + std::to_string(static_cast<int>(b[first])); };
  return {at(want), at(got) + ", " + std::to_string(different) + " bytes differ"};
}

void dequant(const Case& c) {
  const json& d = c.entry.at("dequant");
  if (c.info.block_elems != c.entry.at("block_size").get<int>() || c.info.block_bytes != c.entry.at("type_size").get<std::size_t>())
    return c.report.fail(c.name, c.entry.at("block_size").dump() + " weights in " + c.entry.at("type_size").dump() + " bytes",
                         std::to_string(c.info.block_elems) + " in " + std::to_string(c.info.block_bytes));
  Bytes blocks;
  if (d.contains("blocks")) {
    blocks = c.folder.read(d.at("blocks"));
  } else {  // every 16-bit pattern in order
    for (int i = 0; i < 65536; ++i) {
      blocks.push_back(static_cast<std::byte>(i & 255));
      blocks.push_back(static_cast<std::byte>(i >> 8));
    }
  }
  const auto want = c.folder.read_as<std::uint32_t>(d.at("out"));
  const QTensor t = tensor_of(c.name, blocks, c.type, static_cast<std::int64_t>(want.size()));
  std::vector<float> got(want.size());
  t.decode_row(0, got.data());
  for (std::size_t i = 0; i < want.size(); ++i) {
    const bool both_nan = std::isnan(got[i]) && std::isnan(std::bit_cast<float>(want[i]));
    if (std::bit_cast<std::uint32_t>(got[i]) != want[i] && !both_nan)
      return c.report.fail(c.name, "weight " + std::to_string(i) + " = " + hex(want[i]), hex(std::bit_cast<std::uint32_t>(got[i])));
  }
  c.report.pass(c.name);
}

// A file of F32 rows.
Tensor rows_of(const Case& c, const std::string& name) {
  const auto x = c.folder.read_as<float>(name);
  const std::int64_t cols = c.folder.cols(name);
  if (cols <= 0 || static_cast<std::int64_t>(x.size()) % cols != 0)
    throw Error(ErrorKind::bad_file, "does not divide into rows of " + std::to_string(cols), name);
  return Tensor::from(x, {static_cast<std::int64_t>(x.size()) / cols, cols});
}

// sqrt(sum w (x - y)^2 / sum w) of each row; w = 1 where importance is empty.
std::vector<double> row_errors(const Tensor& x, const Tensor& y, std::span<const float> importance) {
  std::vector<double> errors;
  for (std::int64_t row = 0; row < x.rows(); ++row) {
    double sum = 0, weights = 0;
    for (std::int64_t i = 0; i < x.cols(); ++i) {
      const std::int64_t at = row * x.cols() + i;
      const double w = importance.empty() ? 1.0 : double(importance[static_cast<std::size_t>(i)]);
      const double e = double(x.data<float>()[at]) - double(y.data<float>()[at]);
      sum += w * e * e;
      weights += w;
    }
    errors.push_back(std::sqrt(sum / weights));
  }
  return errors;
}

void compare_errors(const Case& c, const std::vector<double>& want, const std::vector<double>& got) {
  if (want.size() != got.size()) return c.report.fail(c.name, std::to_string(want.size()) + " rows", std::to_string(got.size()));
  for (std::size_t i = 0; i < want.size(); ++i)
    if (!(got[i] <= want[i] * 1.01))
      return c.report.fail(c.name, "row " + std::to_string(i) + " error at most 1.01 x " + std::to_string(want[i]),
                           std::to_string(got[i]) + " (" + std::to_string(got[i] / want[i]) + " x)");
  c.report.pass(c.name);
}

// Types whose encoders search: another search need not find the same bytes.
bool searches(std::string_view type) { return type.starts_with("IQ") || (type.ends_with("_K") && type != "Q8_K"); }

void quantize_plain(const Case& c) {
  const json& q = c.entry.at("quantize");
  const Tensor x = rows_of(c, q.at("input"));
  const QTensor t = quantize(x, c.type);
  const auto [want, got] = compare_bytes(c.folder.read(q.at("out")), Bytes(t.bytes().begin(), t.bytes().end()));
  if (want.empty()) return c.report.pass(c.name);
  if (!searches(c.info.name)) return c.report.fail(c.name, want, got);
  compare_errors(c, c.entry.at("rmse_rows").get<std::vector<double>>(), row_errors(x, t.decode(), {}));
}

void quantize_importance(const Case& c) {
  const json& q = c.entry.at("quantize_imatrix");
  const Tensor x = rows_of(c, q.at("input"));
  const auto importance = c.folder.read_as<float>(q.at("imatrix"));
  std::string decoded = q.at("out");
  decoded.replace(decoded.rfind(".bin"), 4, ".deq.f32");
  const Tensor reference = rows_of(c, decoded);
  if (reference.shape() != x.shape()) throw Error(ErrorKind::bad_file, "has another shape than the input", decoded);
  const Tensor ours = quantize(x, c.type, importance).decode();
  compare_errors(c, row_errors(x, reference, importance), row_errors(x, ours, importance));
}

void special_rounding(const Case& c) {
  const json& q = c.entry.at("special_rounding");
  const auto x = c.folder.read_as<float>(q.at("input"));
  const auto want = c.folder.read_as<std::uint16_t>(q.at("out"));
  std::vector<std::uint16_t> got(x.size());
  c.info.encoder(x.data(), static_cast<std::int64_t>(x.size()), {}, reinterpret_cast<std::byte*>(got.data()));
  for (std::size_t i = 0; i < x.size(); ++i) {
    const bool nan = std::isnan(x[i]);
    const std::uint16_t infinity = c.info.name == "F16" ? 0x7c00 : 0x7f80;
    if (nan ? (got[i] & 0x7fff) <= infinity : got[i] != want.at(i))
      return c.report.fail(c.name, hex(std::bit_cast<std::uint32_t>(x[i])) + " gives " + (nan ? "a NaN" : hex(want[i])), hex(got[i]));
  }
  c.report.pass(c.name);
}

// Dot of two decoded rows: summed in double, and by the contract's float rule, one fma chain.
struct Dot {
  double exact = 0, magnitude = 0;  // magnitude: sum of |w x|
  float chain = 0;
};
Dot dot_of(const float* w, const float* x, std::int64_t n) {
  Dot d;
  for (std::int64_t k = 0; k < n; ++k) {
    const double product = double(w[k]) * double(x[k]);
    d.exact += product;
    d.magnitude += std::fabs(product);
    d.chain = std::fma(w[k], x[k], d.chain);
  }
  return d;
}

// `rows` is [n, cols] of the type, `act` [m, cols] decoded, `dots` a file of [n][m]. Returns what is wrong, or "".
// One chain of n float roundings may stray by n * 2^-24 of the summed magnitudes: past 1e-5 where all terms agree.
std::string compare_dots(const Case& c, const std::string& rows, const Tensor& act, const std::string& dots) {
  const Tensor w = tensor_of(rows, c.folder.read(rows), c.type, act.cols()).decode();
  const auto want = c.folder.read_as<double>(dots);
  const std::int64_t n = w.rows(), m = act.rows(), cols = act.cols();
  if (static_cast<std::int64_t>(want.size()) != n * m) return dots + " has " + std::to_string(want.size()) + " dots";
  const auto at = [&](std::int64_t i, std::int64_t j) { return want[static_cast<std::size_t>(i * m + j)]; };
  for (std::int64_t j = 0; j < m; ++j) {
    double largest = 0;
    for (std::int64_t i = 0; i < n; ++i) largest = std::max(largest, std::fabs(at(i, j)));
    for (std::int64_t i = 0; i < n; ++i) {
      const Dot d = dot_of(w.data<float>() + i * cols, act.data<float>() + j * cols, cols);
      const double chain_limit = 1e-5 * largest + double(cols) * 0x1p-24 * d.magnitude;
      if (std::fabs(d.exact - at(i, j)) <= 1e-5 * largest && std::fabs(double(d.chain) - at(i, j)) <= chain_limit) continue;
      return dots + "[" + std::to_string(i) + "][" + std::to_string(j) + "] = " + std::to_string(d.exact) + ", as a float chain " +
             std::to_string(d.chain) + ", instead of " + std::to_string(at(i, j));
    }
  }
  return {};
}

void dot(const Case& c) {
  const json& v = c.entry.at("vec_dot");
  const auto act_type = quant::from_name(v.at("act_type").get<std::string>());
  if (!act_type) return c.report.skip(c.name, "no format " + v.at("act_type").get<std::string>());
  const Tensor act = tensor_of("act", c.folder.read(v.at("act")), *act_type, c.folder.cols("vecdot/act.f32")).decode();
  std::string wrong = compare_dots(c, v.at("rows"), act, v.at("dot_f64"));
  if (wrong.empty() && v.contains("random_rows")) wrong = compare_dots(c, v.at("random_rows"), act, v.at("random_dot_f64"));
  if (wrong.empty()) c.report.pass(c.name);
  else c.report.fail(c.name, "within 1e-5 of the column's largest |dot|", wrong);
}

void activation(const Case& c) {
  const Bytes want = c.folder.read("vecdot/act." + std::string(c.info.name) + ".bin");
  const QTensor t = quantize(rows_of(c, "vecdot/act.f32"), c.type);
  const auto [expected, got] = compare_bytes(want, Bytes(t.bytes().begin(), t.bytes().end()));
  if (expected.empty()) c.report.pass(c.name);
  else c.report.fail(c.name, expected, got);
}

void run_case(const Case& c, void (*body)(const Case&)) {
  try {
    body(c);
  } catch (const Error& e) {
    if (e.kind() == ErrorKind::unsupported) c.report.skip(c.name, e.what());
    else c.report.fail(c.name, "no error", std::string(e.what()) + (e.where().empty() ? "" : " (" + e.where() + ")"));
  } catch (const std::exception& e) {
    c.report.fail(c.name, "no error", e.what());
  }
}

void run_one(const Folder& folder, Report& report, const char* direction, const std::string& type, const json& entry,
             void (*body)(const Case&)) {
  const std::string name = std::string(direction) + "/" + type;
  if (!report.wants(name)) return;
  const auto wtype = quant::from_id(entry.at("type_id").get<std::uint32_t>());
  if (!wtype) return report.skip(name, "no format " + type);
  const quant::FormatInfo& info = quant::info(*wtype);
  if (info.name != type) return report.fail(name, type, "type " + entry.at("type_id").dump() + " is " + std::string(info.name));
  run_case({folder, report, name, entry, *wtype, info}, body);
}

}  // namespace

void run_quant(const std::filesystem::path& dir, const Options&, Report& report) {
  const Folder folder(dir);
  const json& types = folder.manifest().at("types");
  std::set<std::string> act_types;
  for (const auto& [type, entry] : types.items()) {
    const auto has = [&entry = entry](const char* key) { return entry.contains(key) && entry.at(key).is_object(); };
    if (has("dequant")) run_one(folder, report, "dequant", type, entry, dequant);
    if (has("quantize")) run_one(folder, report, "quantize", type, entry, quantize_plain);
    if (has("quantize_imatrix")) run_one(folder, report, "quantize-imatrix", type, entry, quantize_importance);
    if (has("special_rounding")) run_one(folder, report, "rounding", type, entry, special_rounding);
    if (has("vec_dot")) run_one(folder, report, "dot", type, entry, dot);
    if (has("vec_dot")) act_types.insert(entry.at("vec_dot").value("act_type", ""));
  }
  for (const std::string& type : act_types)
    if (types.contains(type)) run_one(folder, report, "act", type, types.at(type), activation);
}

}  // namespace hz::conformance
