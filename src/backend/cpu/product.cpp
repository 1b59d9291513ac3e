// SPDX-License-Identifier: Apache-2.0
// Panels of sixteen rows are expanded once per thread and used by all tokens; few tokens read the weights directly.
#include "src/backend/cpu/product.hpp"

#include <algorithm>
#include <cstring>
#include <memory>

#include "hanzo/core/parallel.hpp"

namespace hz::cpu {
namespace {

constexpr int kFewTokens = 3;  // up to here straight from the weights
constexpr std::int64_t kFloatSlab = 256;  // columns of a panel decoded to floats at a time: 16 KiB, half of what is nearest to a core

// What is expanded of sixteen rows; vectors are loaded from it all the time, none across two cache lines.
struct alignas(64) Slab {
  std::uint8_t codes[kSlab * 16];
  float scales[kSlab], mins[kSlab];  // 16-wide steps: kSlab / 16 blocks of 16 rows
  std::int32_t sub[kSlab * 4];
  float floats[kMostFloatPanels * kFloatSlab * 16];
};

// Per-thread working memory of the products; what is as long as the tokens are many grows to the most seen.
struct Scratch {
  std::unique_ptr<Slab> slab = std::make_unique<Slab>();
  std::vector<float> edge;
  std::vector<float*> y;

  IntPanel panel() const { return {slab->codes, slab->scales, slab->mins, slab->sub, 0, 0}; }
  // Where sixteen results of each token go: the row itself, or an edge buffer where fewer are wanted.
  float* const* targets(const std::vector<float*>& rows, std::int64_t row, bool at_edge) {
    y.resize(rows.size());
    if (at_edge) edge.resize(rows.size() * 16);
    for (std::size_t t = 0; t < rows.size(); ++t) y[t] = at_edge ? edge.data() + 16 * t : rows[t] + row;
    return y.data();
  }
  void copy_edge(const std::vector<float*>& rows, std::int64_t row, int count) const {
    for (std::size_t t = 0; t < rows.size(); ++t)
      std::memcpy(rows[t] + row, edge.data() + 16 * t, static_cast<std::size_t>(count) * sizeof(float));
  }
};
Scratch& scratch() {
  thread_local Scratch s;
  return s;
}

}  // namespace

bool Product::direct() const {
  if (integer()) return tokens() <= kFewTokens;
  return tokens() == 1 && w_.kernels->floating && w_.panels != nullptr;
}

bool Product::one_tile() const {
  return integer() && !direct() && w_.panels != nullptr && tokens() <= w_.kernels->packed_tile_tokens;
}

std::size_t Product::token_bytes() const {
  const auto cols = static_cast<std::size_t>(w_.cols);
  return integer() ? cols / 32 * w_.kernels->act_bytes : cols * sizeof(float);
}

std::size_t Product::packed_bytes() const { return direct() ? 0 : static_cast<std::size_t>(tokens()) * token_bytes(); }

void Product::pack(std::int64_t item, std::byte* packed) const {
  const auto first = static_cast<std::size_t>(item * tile_tokens());
  const int count = std::min(tile_tokens(), tokens() - static_cast<int>(first));
  std::byte* to = packed + first * token_bytes();
  if (integer()) w_.kernels->pack_acts(acts_.data() + first, count, w_.cols / 32, to);
  else set_->pack_float_acts(floats_.data() + first, w_.cols, count, reinterpret_cast<float*>(to));
}

bool Product::packs_as(const Product& o) const {
  const auto same = [](const ActRow& a, const ActRow& b) { return a.codes == b.codes; };
  if (integer() && w_.kernels->pack_acts != o.w_.kernels->pack_acts) return false;
  return w_.cols == o.w_.cols && floats_ == o.floats_ && std::equal(acts_.begin(), acts_.end(), o.acts_.begin(), o.acts_.end(), same);
}

void Product::run(std::int64_t item, const std::byte* packed) const {
  const std::int64_t row = item * item_rows();
  const int count = static_cast<int>(std::min(item_rows(), w_.rows - row));
  if (direct()) return run_direct(row, count);
  if (!integer() && count == item_rows()) return run_tile(row, count, packed);
  for (int r = 0; r < count; r += 16) run_tile(row + r, std::min(16, count - r), packed);
}

void Product::run_direct(std::int64_t row, int count) const {
  Scratch& s = scratch();
  if (w_.panels == nullptr) {
    float* const* y = s.targets(y_, row, false);
    w_.kernels->matvec_rows(w_.data + static_cast<std::size_t>(row) * w_.stride, w_.stride, count, w_.cols, acts_.data(), tokens(), y);
    return;
  }
  const std::int64_t panel = w_.first_panel + row / 16;
  const int whole = count / 16;
  if (!integer() && whole > 0)
    w_.kernels->float_matvec(w_.panels->at(panel), w_.panels->panel_bytes, whole, w_.cols, floats_[0], y_[0] + row);
  for (int i = integer() ? 0 : whole; 16 * i < count; ++i) {
    const bool edge = 16 * i + 16 > count;
    float* const* y = s.targets(y_, row + 16 * i, edge);
    if (integer()) w_.kernels->matvec_packed(w_.panels->at(panel + i), w_.cols, acts_.data(), tokens(), y);
    else w_.kernels->float_matvec(w_.panels->at(panel + i), w_.panels->panel_bytes, 1, w_.cols, floats_[0], y[0]);
    if (edge) s.copy_edge(y_, row + 16 * i, count - 16 * i);
  }
}

std::int64_t Product::item_rows() const {
  if (direct() || one_tile()) return 64;
  return integer() || tokens() < set_->float_tokens ? 16 : 16 * set_->float_panels;
}

void Product::run_tile(std::int64_t row, int count, const std::byte* packed) const {
  float* const* y = scratch().targets(y_, row, count < 16);
  if (integer()) int_tile(row, count, packed, y);
  else float_tile(row, count, packed, y);
  if (count < 16) scratch().copy_edge(y_, row, count);
}

void Product::int_tile(std::int64_t row, int count, const std::byte* packed, float* const* y) const {
  const FormatKernels& f = *w_.kernels;
  const std::byte* rows = w_.data + static_cast<std::size_t>(row) * w_.stride;
  const std::byte* panel = w_.panels ? w_.panels->at(w_.first_panel + row / 16) : nullptr;
  if (one_tile()) return f.packed_tile(panel, w_.cols, packed, tokens(), y);
  IntPanel ints = scratch().panel();
  for (std::int64_t k = 0; k < w_.cols; k += kSlab) {
    const std::int64_t end = std::min(w_.cols, k + kSlab);
    if (panel) f.expand_packed(panel, k, end, ints);
    else f.expand(rows, w_.stride, count, k, end, ints);
    f.tile(ints, packed, w_.cols / 32, k / 32, tokens(), y, k > 0);
  }
}

void Product::float_tile(std::int64_t row, int count, const std::byte* packed, float* const* y) const {
  const FormatKernels& f = *w_.kernels;
  const int panels = (count + 15) / 16;
  float* floats = scratch().slab->floats;
  for (std::int64_t k = 0; k < w_.cols; k += kFloatSlab) {
    const std::int64_t end = std::min(w_.cols, k + kFloatSlab);
    for (int p = 0; p < panels; ++p) {
      const std::int64_t first = row + 16 * p;
      float* to = floats + p * (end - k) * 16;
      if (w_.panels) f.expand_float_packed(w_.panels->at(w_.first_panel + first / 16), k, end, to);
      else f.expand_float(w_.data + static_cast<std::size_t>(first) * w_.stride, w_.stride, std::min(16, count - 16 * p), k, end, to);
    }
    set_->float_tile(floats, panels, reinterpret_cast<const float*>(packed), w_.cols, k, end - k, tokens(), y, k > 0);
  }
}

namespace {

// body(j, item) for all items of parts whose items, added up, end at ends[j].
template <class Body>
void each_item(int threads, const std::vector<std::int64_t>& ends, Body&& body) {
  parallel_for(threads, ends.empty() ? 0 : ends.back(), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t n = begin; n < end; ++n) {
      const auto j = static_cast<std::size_t>(std::upper_bound(ends.begin(), ends.end(), n) - ends.begin());
      body(j, n - (j == 0 ? 0 : ends[j - 1]));
    }
  });
}

// The activations of one call's products, packed once for all that read the same rows in the same form.
class PackedActs {
 public:
  PackedActs(const std::vector<Product>& products, int threads) : at_(products.size()) {
    thread_local std::unique_ptr<std::byte[]> memory;  // of the calling thread; grows to the largest call seen
    thread_local std::size_t capacity = 0;
    std::vector<std::size_t> packers;
    std::vector<std::int64_t> ends;
    std::size_t bytes = 0;
    for (std::size_t j = 0; j < products.size(); ++j) {
      if (products[j].packed_bytes() == 0) continue;
      const auto same = std::find_if(packers.begin(), packers.end(), [&](std::size_t i) { return products[i].packs_as(products[j]); });
      at_[j] = same != packers.end() ? at_[*same] : bytes;
      if (same != packers.end()) continue;
      packers.push_back(j);
      ends.push_back((ends.empty() ? 0 : ends.back()) + products[j].pack_items());
      bytes += (products[j].packed_bytes() + 63) / 64 * 64;
    }
    if (bytes > capacity) {
      memory.reset();
      capacity = 0;  // should the next line throw
      memory = std::make_unique_for_overwrite<std::byte[]>(bytes);
      capacity = bytes;
    }
    base_ = memory.get();
    each_item(bytes < kSerialBytes ? 1 : threads, ends,
              [&](std::size_t i, std::int64_t item) { products[packers[i]].pack(item, base_ + at_[packers[i]]); });
  }
  const std::byte* of(std::size_t product) const { return base_ + at_[product]; }

 private:
  static constexpr std::size_t kSerialBytes = 64 << 10;  // below it, waking threads costs more than it gives
  std::byte* base_ = nullptr;
  std::vector<std::size_t> at_;
};

}  // namespace

void run_products(const std::vector<Product>& products, int threads) {
  std::vector<std::int64_t> ends;
  for (const Product& p : products) ends.push_back((ends.empty() ? 0 : ends.back()) + p.items());
  const PackedActs packed(products, threads);
  each_item(threads, ends, [&](std::size_t j, std::int64_t item) { products[j].run(item, packed.of(j)); });
}

}  // namespace hz::cpu
