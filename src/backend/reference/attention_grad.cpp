// SPDX-License-Identifier: Apache-2.0
// Attention on the way back, as the formulas stand: p = softmax(s), ds = p (do . v - do . o), through softcap and scale.
#include <algorithm>

#include "src/backend/reference/parts.hpp"

namespace hz {

using namespace reference;

namespace {

std::vector<float> query_row(KvKind kind, const float* q, int n) {
  std::vector<float> row(q, q + n);
  for (int b = 0; kind == KvKind::q8_0 && b < n; b += 32) {  // the query met int8 codes
    std::int8_t codes[32];
    std::int32_t sums[2];
    const float d = quantize_group(q + b, codes, sums);
    float* const out = row.data() + b;
    for (int j = 0; j < 32; ++j) out[j] = static_cast<float>(codes[j]) * d;
  }
  return row;
}

struct Sums {
  std::vector<double> values;
  std::int64_t cols;
  Sums(std::int64_t rows, std::int64_t n) : values(static_cast<std::size_t>(rows * n)), cols(n) {}
  double* at(std::int64_t row, std::int64_t col) { return values.data() + row * cols + col; }
  void put(Tensor* t) const {
    for (std::size_t i = 0; t != nullptr && i < values.size(); ++i) t->data<float>()[i] = static_cast<float>(values[i]);
  }
};

}  // namespace

void ReferenceBackend::attention_grad(const AttentionArgs& args, const Tensor& q, int heads, const Tensor& out, const Tensor& dout,
                                      const AttentionGrads& grads) {
  const KvLayout& l = args.kv.layout;
  const std::int64_t hd = l.head_dim, vd = l.value_dim, head_floats = kKvPage * (hd + vd);
  Sums dq(q.rows(), q.cols()), dk(q.rows(), l.heads * hd), dv(q.rows(), l.heads * vd), dsinks(1, heads);
  for (const KvSegment& seg : args.kv.segments)
    for (std::int64_t i = 0; i < seg.count; ++i)
      for (int h = 0; h < heads; ++h) {
        const std::int64_t position = seg.position + i, last = args.causal ? position + 1 : seg.position + seg.count,
                           kv_head = h / (heads / l.heads);
        const std::int64_t first = std::max(seg.visible_from, args.window > 0 ? position + 1 - args.window : 0);
        const std::vector<float> qr = query_row(l.kind, row(q, seg.row + i) + h * hd, l.head_dim);
        const float *d_out = row(dout, seg.row + i) + h * vd, *o = row(out, seg.row + i) + h * vd;
        const float* stats = args.stats->data<float>() + ((seg.row + i) * heads + h) * 2;
        double delta = 0;
        for (std::int64_t d = 0; d < vd; ++d) delta += static_cast<double>(d_out[d]) * o[d];
        for (std::int64_t p = first; p < last; ++p) {
          const float* page = reinterpret_cast<const float*>(seg.pages[p / kKvPage] + args.kv.layer_offset) + kv_head * head_floats;
          const float *k = page + p % kKvPage * hd, *v = page + kKvPage * hd + p % kKvPage * vd;
          double s = 0, dp = 0, slope = args.scale;
          for (std::int64_t d = 0; d < hd; ++d) s += static_cast<double>(qr[static_cast<std::size_t>(d)]) * k[d];
          s *= args.scale;
          if (args.softcap > 0) {
            const double t = std::tanh(s / args.softcap);
            s = args.softcap * t;
            slope *= 1 - t * t;
          }
          if (args.slopes) s += args.slopes->data<float>()[h] * static_cast<double>(p - position);
          const double w = std::exp(s - stats[0]) / stats[1];
          for (std::int64_t d = 0; d < vd; ++d) dp += static_cast<double>(d_out[d]) * v[d];
          const double ds = w * (dp - delta) * slope;
          for (std::int64_t d = 0; d < hd; ++d) *dq.at(seg.row + i, h * hd + d) += ds * k[d];
          if (p < seg.position) continue;  // keys before the segment are constants
          const std::int64_t key_row = seg.row + p - seg.position;
          for (std::int64_t d = 0; d < hd; ++d) *dk.at(key_row, kv_head * hd + d) += ds * qr[static_cast<std::size_t>(d)];
          for (std::int64_t d = 0; d < vd; ++d) *dv.at(key_row, kv_head * vd + d) += w * d_out[d];
        }
        if (args.sinks) *dsinks.at(0, h) -= std::exp(args.sinks->data<float>()[h] - static_cast<double>(stats[0])) / stats[1] * delta;
      }
  dq.put(grads.dq);
  dk.put(grads.dk);
  dv.put(grads.dv);
  dsinks.put(grads.dsinks);
}

}  // namespace hz
