// SPDX-License-Identifier: Apache-2.0
// Products with weights: panels of sixteen rows are expanded once per thread and used by all tokens.
#include <atomic>
#include <bit>
#include <cstring>

#include "src/backend/cpu/cpu.hpp"
#include "src/backend/cpu/panels.hpp"

namespace hz::cpu {
namespace {

constexpr std::int64_t kSlab = 1024;  // columns expanded at a time: an integer panel of 16 KiB and its scales
constexpr int kFewTokens = 3;         // up to here straight from the weights' own bytes

// Weights of one product as rows of bytes of a listed format.
struct Rows {
  const FormatKernels* kernels;
  const std::byte* data;
  std::size_t stride;
  std::int64_t rows, cols;
  const Panels* panels;  // the packed form, or null
};

std::uint32_t dense_type(DType t) {
  switch (t) {
    case DType::f32: return static_cast<std::uint32_t>(WType::f32);
    case DType::f16: return static_cast<std::uint32_t>(WType::f16);
    case DType::bf16: return static_cast<std::uint32_t>(WType::bf16);
    default: throw Error(ErrorKind::usage, "[linear] a weight of " + std::string(name_of(t)));
  }
}

// Per-thread working memory of the products; grows to the largest panel seen.
struct Scratch {
  std::vector<std::uint8_t> codes;
  std::vector<float> floats, scales, mins, edge;
  std::vector<std::int32_t> sub;
  std::vector<float*> y;
  std::vector<const float*> x;

  IntPanel panel() {
    codes.resize(static_cast<std::size_t>(kSlab) * 16);
    scales.resize(static_cast<std::size_t>(kSlab) / 16 * 16);
    mins.resize(static_cast<std::size_t>(kSlab) / 16 * 16);
    sub.resize(static_cast<std::size_t>(kSlab) / 16 * 64);
    return {codes.data(), scales.data(), mins.data(), sub.data(), 0, 0};
  }
};
Scratch& scratch() {
  thread_local Scratch s;
  return s;
}

// Sixteen rows from `first` against all tokens; outputs go to y[token * ldy + first ...].
class PanelJob {
 public:
  PanelJob(const Rows& w, const LinearJob& job) : w_(w), y_(job.y->data<float>()), ldy_(job.y->cols()), tokens_(job.y->rows()) {
    if (job.q == nullptr) {
      x_ = job.x->data<float>();
      return;
    }
    acts_.resize(static_cast<std::size_t>(tokens_));
    for (std::int64_t t = 0; t < tokens_; ++t)
      acts_[static_cast<std::size_t>(t)] = {job.q->codes.data<std::int8_t>() + t * w.cols, job.q->scales.data<float>() + t * (w.cols / 32),
                                            job.q->sums.data<std::int32_t>() + t * (w.cols / 16)};
  }

  void run(std::int64_t first) const {
    Scratch& s = scratch();
    const int count = static_cast<int>(std::min<std::int64_t>(16, w_.rows - first));
    s.y.resize(static_cast<std::size_t>(tokens_));
    if (count < 16) s.edge.resize(static_cast<std::size_t>(tokens_) * 16);
    for (std::int64_t t = 0; t < tokens_; ++t)
      s.y[static_cast<std::size_t>(t)] = count < 16 ? s.edge.data() + t * 16 : y_ + t * ldy_ + first;
    const std::byte* rows = w_.data + static_cast<std::size_t>(first) * w_.stride;
    if (x_ != nullptr) run_float(s, rows, first, count);
    else run_int(s, rows, first, count);
    if (count < 16)
      for (std::int64_t t = 0; t < tokens_; ++t) std::memcpy(y_ + t * ldy_ + first, s.edge.data() + t * 16, static_cast<std::size_t>(count) * 4);
  }

  // Few tokens: rows [begin, end), begin a multiple of 16.
  void run_rows(std::int64_t begin, std::int64_t end) const {
    Scratch& s = scratch();
    if (w_.panels != nullptr) return run_panels(s, begin, end);
    s.y.resize(static_cast<std::size_t>(tokens_));
    for (std::int64_t t = 0; t < tokens_; ++t) s.y[static_cast<std::size_t>(t)] = y_ + t * ldy_ + begin;
    w_.kernels->matvec_rows(w_.data + static_cast<std::size_t>(begin) * w_.stride, w_.stride, end - begin, w_.cols, acts_.data(),
                            static_cast<int>(tokens_), s.y.data());
  }
  std::int64_t rows() const { return w_.rows; }
  bool by_rows() const { return x_ == nullptr ? tokens_ <= kFewTokens : (tokens_ == 1 && w_.panels != nullptr && w_.kernels->floating); }
  void set_tile(void (*tile)(const float*, const float* const*, std::int64_t, int, float* const*, bool)) { float_tile_ = tile; }

 private:
  void run_panels(Scratch& s, std::int64_t begin, std::int64_t end) const {
    const std::int64_t whole = end / 16 * 16;
    s.edge.resize(static_cast<std::size_t>(tokens_) * 16);
    s.y.resize(static_cast<std::size_t>(tokens_));
    if (x_ != nullptr && whole > begin)
      w_.kernels->float_matvec(w_.panels->at(begin / 16), w_.panels->panel_bytes, static_cast<int>((whole - begin) / 16), w_.cols, x_, y_ + begin);
    for (std::int64_t row = x_ != nullptr ? whole : begin; row < end; row += 16) {
      const bool edge = row + 16 > w_.rows;
      for (std::int64_t t = 0; t < tokens_; ++t) s.y[static_cast<std::size_t>(t)] = edge ? s.edge.data() + t * 16 : y_ + t * ldy_ + row;
      if (x_ != nullptr) w_.kernels->float_matvec(w_.panels->at(row / 16), w_.panels->panel_bytes, 1, w_.cols, x_, s.y[0]);
      else w_.kernels->matvec_packed(w_.panels->at(row / 16), w_.cols, acts_.data(), static_cast<int>(tokens_), s.y.data());
      if (edge)
        for (std::int64_t t = 0; t < tokens_; ++t)
          std::memcpy(y_ + t * ldy_ + row, s.edge.data() + t * 16, static_cast<std::size_t>(w_.rows - row) * 4);
    }
  }
  void run_int(Scratch& s, const std::byte* rows, std::int64_t first, int count) const {
    IntPanel panel = s.panel();
    for (std::int64_t k = 0; k < w_.cols; k += kSlab) {
      const std::int64_t end = std::min(w_.cols, k + kSlab);
      if (w_.panels != nullptr) w_.kernels->expand_packed(w_.panels->at(first / 16), k, end, panel);
      else w_.kernels->expand(rows, w_.stride, count, k, end, panel);
      w_.kernels->tile(panel, acts_.data(), k / w_.kernels->step, static_cast<int>(tokens_), s.y.data(), k > 0);
    }
  }
  void run_float(Scratch& s, const std::byte* rows, std::int64_t first, int count) const {
    s.floats.resize(static_cast<std::size_t>(kSlab) * 16);
    s.x.resize(static_cast<std::size_t>(tokens_));
    for (std::int64_t k = 0; k < w_.cols; k += kSlab) {
      const std::int64_t end = std::min(w_.cols, k + kSlab);
      if (w_.panels != nullptr) w_.kernels->expand_float_packed(w_.panels->at(first / 16), k, end, s.floats.data());
      else w_.kernels->expand_float(rows, w_.stride, count, k, end, s.floats.data());
      for (std::int64_t t = 0; t < tokens_; ++t) s.x[static_cast<std::size_t>(t)] = x_ + t * w_.cols + k;
      float_tile_(s.floats.data(), s.x.data(), end - k, static_cast<int>(tokens_), s.y.data(), k > 0);
    }
  }

  Rows w_;
  float* y_;
  std::int64_t ldy_, tokens_;
  const float* x_ = nullptr;
  std::vector<ActRow> acts_;
  void (*float_tile_)(const float*, const float* const*, std::int64_t, int, float* const*, bool) = nullptr;
};

Rows rows_of(const CpuKernels& kernels, const LinearJob& job, bool pack, int threads) {
  if (job.dense != nullptr)
    return {kernels.format(dense_type(job.dense->dtype())), job.dense->raw(), static_cast<std::size_t>(job.dense->cols()) * size_of(job.dense->dtype()),
            job.dense->rows(), job.dense->cols(), nullptr};
  const FormatKernels* format = kernels.format(static_cast<std::uint32_t>(job.w->wtype()));
  return {format, job.w->bytes().data(), job.w->row_bytes(), job.w->rows(), job.w->cols(), pack ? panels_of(*job.w, *format, threads) : nullptr};
}

}  // namespace

void CpuBackend::linear(std::span<const LinearJob> jobs) {
  const IeeeMode mode;
  constexpr std::int64_t kPanel = 16, kRowChunk = 64;
  std::vector<PanelJob> work;
  std::vector<std::int64_t> ends;  // running count of work items
  std::int64_t total = 0, macs = 0;
  for (const LinearJob& job : jobs) {
    const Rows w = rows_of(kernels_, job, pack_, threads_);
    if (job.y->rows() == 0 || w.rows == 0) continue;
    work.emplace_back(w, job);
    work.back().set_tile(kernels_.float_tile);
    const std::int64_t unit = work.back().by_rows() ? kRowChunk : kPanel;
    total += (w.rows + unit - 1) / unit;
    macs += w.rows * w.cols * job.y->rows();
    ends.push_back(total);
  }
  const auto item = [&](std::int64_t n) {
    std::size_t j = 0;
    while (n >= ends[j]) ++j;
    const std::int64_t i = n - (j == 0 ? 0 : ends[j - 1]);
    if (work[j].by_rows()) work[j].run_rows(i * kRowChunk, std::min(work[j].rows(), (i + 1) * kRowChunk));
    else work[j].run(i * kPanel);
  };
  const int threads = macs < 20000 ? 1 : threads_;
  parallel_for(threads, total, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t n = begin; n < end; ++n) item(n);
  });
}

void CpuBackend::expert_linear(const ExpertJob&) { missing("expert_linear"); }

}  // namespace hz::cpu
