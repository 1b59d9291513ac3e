// SPDX-License-Identifier: Apache-2.0
#include "hanzo/model/importance.hpp"

#include <cmath>

#include "hanzo/io/gguf.hpp"
#include "hanzo/io/gguf_writer.hpp"
#include "src/io/input_file.hpp"

namespace hz::model {
namespace {

constexpr std::string_view kSums = ".in_sum2", kCounts = ".counts";
constexpr std::int64_t kMaxCols = std::int64_t{1} << 32;
constexpr std::uint64_t kMaxBytes = std::uint64_t{8} << 30;

[[noreturn]] void bad(const std::filesystem::path& file, const std::string& what) {
  throw Error(ErrorKind::bad_file, what, file.filename().string());
}

void check_values(const std::filesystem::path& file, const std::string& name, std::span<const float> values) {
  for (const float v : values)
    if (!(v >= 0 && std::isfinite(v))) bad(file, name + " holds " + std::to_string(v) + ", must be finite and not negative");
}

std::vector<float> floats_of(const io::Gguf& file, const io::GgufTensor& t) {
  if (!t.is_weight() || t.type != WType::f32) bad(file.files()[0], t.name + " is " + std::string(t.type_name()) + ", must be F32");
  const Tensor dense = file.dense(t.name);
  const auto values = dense.span<float>();
  check_values(file.files()[0], t.name, values);
  return {values.begin(), values.end()};
}

Importance from_gguf(const std::filesystem::path& path) {
  const io::Gguf file = io::Gguf::open(path, io::ReadMode::read);
  if (file.metadata().get_or<std::string>("general.type", "") != "imatrix")
    bad(path, "is a GGUF file, but no importance matrix (general.type is not imatrix)");
  Importance m;
  m.datasets = file.metadata().get_array<std::string>("imatrix.datasets").value_or(std::vector<std::string>{});
  m.chunk_count = file.metadata().get_or<std::uint32_t>("imatrix.chunk_count", 0);
  m.chunk_size = file.metadata().get_or<std::uint32_t>("imatrix.chunk_size", 0);
  for (const io::GgufTensor& t : file.tensors()) {
    if (!t.name.ends_with(kSums)) continue;
    const std::string name = t.name.substr(0, t.name.size() - kSums.size());
    const io::GgufTensor* counts = file.find(name + std::string(kCounts));
    if (counts == nullptr) bad(path, t.name + " has no " + name + std::string(kCounts));
    ImportanceEntry e;
    e.cols = t.shape.back();
    e.experts = t.shape.rows();
    e.sums = floats_of(file, t);
    e.counts = floats_of(file, *counts);
    if (static_cast<std::int64_t>(e.counts.size()) != e.experts)
      bad(path, counts->name + " has " + std::to_string(e.counts.size()) + " values, " + t.name + " is " + to_string(t.shape));
    m.entries().emplace(name, std::move(e));
  }
  if (m.entries().empty()) bad(path, "holds no tensor named ...in_sum2");
  return m;
}

// The older form: i32 count, then for each entry i32 length and name, i32 calls, i32 n and n floats (sums divided by
// tokens and multiplied by calls); after them i32 chunks, i32 length and dataset name. Read in place, piece by piece: what
// is announced is compared with what the file has left before it is held.
class DatReader {
 public:
  explicit DatReader(const io::InputFile& file) : file_(file) {}
  bool done() const { return at_ == file_.size(); }
  std::int32_t number(std::int64_t low, std::int64_t high, const char* what) {
    std::int32_t v = 0;
    take(std::as_writable_bytes(std::span(&v, 1)));
    if (v < low || v > high)
      bad(file_.path(),
          "is no importance matrix: " + std::string(what) + " is " + std::to_string(v) + " at byte " + std::to_string(at_ - 4));
    return v;
  }
  std::string text(std::int32_t n) {
    expect(static_cast<std::uint64_t>(n));
    std::string s(static_cast<std::size_t>(n), '\0');
    take(std::as_writable_bytes(std::span(s)));
    return s;
  }
  std::vector<float> floats(std::int32_t n) {
    expect(static_cast<std::uint64_t>(n) * sizeof(float));
    std::vector<float> v(static_cast<std::size_t>(n));
    take(std::as_writable_bytes(std::span(v)));
    return v;
  }

 private:
  void expect(std::uint64_t n) const {
    if (n > file_.size() - at_) bad(file_.path(), "ends at byte " + std::to_string(file_.size()) + " where more is announced");
  }
  void take(std::span<std::byte> out) {
    expect(out.size());
    file_.read(at_, out);
    at_ += out.size();
  }
  const io::InputFile& file_;
  std::uint64_t at_ = 0;
};

Importance from_dat(const io::InputFile& file) {
  DatReader in(file);
  Importance m;
  for (std::int32_t left = in.number(1, 1 << 20, "the number of entries"); left > 0; --left) {
    const std::string name = in.text(in.number(1, 1024, "the length of a name"));
    const std::int32_t calls = in.number(0, 1 << 30, "the number of calls");
    ImportanceEntry e;
    e.cols = in.number(1, 1 << 30, "the number of values");  // experts, if any, stand one after another
    e.sums = in.floats(static_cast<std::int32_t>(e.cols));
    check_values(file.path(), name, e.sums);
    e.counts = {static_cast<float>(calls > 0 ? calls : 1)};
    m.entries()[name] = std::move(e);
  }
  if (in.done()) return m;
  m.chunk_count = static_cast<std::uint32_t>(in.number(0, 1 << 30, "the number of chunks"));
  if (!in.done()) m.datasets.push_back(in.text(in.number(0, 1 << 16, "the length of the dataset's name")));
  return m;
}

}  // namespace

Importance Importance::read(const std::filesystem::path& path) {
  const io::InputFile file(path);
  if (file.size() < 8 || file.size() > kMaxBytes) bad(path, "has " + std::to_string(file.size()) + " bytes, which is no importance matrix");
  std::string magic(4, '\0');
  file.read(0, std::as_writable_bytes(std::span(magic)));
  return magic == "GGUF" ? from_gguf(path) : from_dat(file);
}

void Importance::write(const std::filesystem::path& path, const Progress& progress) const {
  io::GgufWriter w;
  w.metadata().set("general.type", {std::string("imatrix")});
  w.metadata().set("imatrix.datasets", {io::Array(datasets)});
  w.metadata().set("imatrix.chunk_count", {chunk_count});
  w.metadata().set("imatrix.chunk_size", {chunk_size});
  for (const auto& [name, e] : entries_) {
    w.add(name + std::string(kSums), Tensor::from(e.sums, {e.experts, e.cols}));
    w.add(name + std::string(kCounts), Tensor::from(e.counts, {e.experts, 1}));
  }
  w.write(path, progress);
}

void Importance::add(const Importance& other) {
  for (const auto& [name, theirs] : other.entries_) {
    const auto [at, fresh] = entries_.try_emplace(name, theirs);
    if (fresh) continue;
    ImportanceEntry& e = at->second;
    if (e.experts != theirs.experts || e.cols != theirs.cols)
      throw Error(ErrorKind::usage,
                  name + " is " + std::to_string(e.experts) + " x " + std::to_string(e.cols) + " in one importance matrix and " +
                      std::to_string(theirs.experts) + " x " + std::to_string(theirs.cols) + " in another",
                  "", "merge matrices of one model only");
    for (std::size_t i = 0; i < e.sums.size(); ++i) e.sums[i] += theirs.sums[i];
    for (std::size_t i = 0; i < e.counts.size(); ++i) e.counts[i] += theirs.counts[i];
  }
  datasets.insert(datasets.end(), other.datasets.begin(), other.datasets.end());
  chunk_count += other.chunk_count;
  if (chunk_size == 0) chunk_size = other.chunk_size;
}

std::vector<float> Importance::means(std::string_view name, std::int64_t experts, std::int64_t cols) const {
  const auto at = entries_.find(name);
  if (at == entries_.end()) return {};
  const ImportanceEntry& e = at->second;
  const std::int64_t have = e.experts * e.cols;
  if (cols < 1 || experts < 1 || cols > kMaxCols || (have != experts * cols && have != cols))
    throw Error(ErrorKind::usage,
                "the importance matrix has " + std::to_string(have) + " values for " + std::string(name) + ", the tensor " +
                    std::to_string(experts * cols),
                "", "it was made from another model");
  std::vector<float> means(e.sums.size());
  for (std::int64_t i = 0; i < have; ++i) {
    const auto expert = static_cast<std::size_t>(i / e.cols);
    const float count = e.counts[expert];
    means[static_cast<std::size_t>(i)] = count > 0 ? e.sums[static_cast<std::size_t>(i)] / count : 1.0f;
  }
  return means;
}

}  // namespace hz::model
