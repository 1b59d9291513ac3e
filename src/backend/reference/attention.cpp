// SPDX-License-Identifier: Apache-2.0
// Attention of the reference backend: pages hold float rows [head][64][dim], already rounded to the cache's kind.
#include <algorithm>
#include <cmath>
#include <vector>

#include "src/backend/reference/reference.hpp"

namespace hz {
namespace {

// A row of K or V as the cache kind would give it back.
void round_row(KvKind kind, const float* x, int n, float* y) {
  if (kind == KvKind::f32) std::copy_n(x, n, y);
  if (kind == KvKind::f16)
    for (int i = 0; i < n; ++i) {
      y[i] = to_float(to_half(x[i]));
      if (std::isfinite(x[i]) && !std::isfinite(y[i]))
        throw Error(ErrorKind::numeric, "K or V does not fit a half-precision cache", "", "use --kv f32");
    }
  if (kind == KvKind::q8_0)
    for (int b = 0; b < n; b += 32) {
      float amax = 0;
      for (int i = 0; i < 32; ++i) amax = std::max(amax, std::fabs(x[b + i]));
      const float d = amax / 127.0f, id = d != 0 ? 1.0f / d : 0.0f, rounded = to_float(to_half(d));
      for (int i = 0; i < 32; ++i) y[b + i] = std::round(x[b + i] * id) * rounded;
    }
}

std::size_t head_floats(const KvLayout& l) {
  return static_cast<std::size_t>(kKvPage) * static_cast<std::size_t>(l.head_dim + l.value_dim);
}

}  // namespace

std::size_t ReferenceBackend::kv_layer_bytes(const KvLayout& l) const {
  return head_floats(l) * static_cast<std::size_t>(l.heads) * sizeof(float);
}

void ReferenceBackend::kv_write(const KvBatch& kv, const Tensor& k, const Tensor& v) {
  const KvLayout& l = kv.layout;
  for (const KvSegment& seg : kv.segments)
    for (std::int64_t i = 0; i < seg.count; ++i)
      for (int h = 0; h < l.heads; ++h) {
        const std::int64_t position = seg.position + i, slot = position % kKvPage;
        auto* head = reinterpret_cast<float*>(const_cast<std::byte*>(seg.pages[position / kKvPage]) + kv.layer_offset) +
                     static_cast<std::size_t>(h) * head_floats(l);
        round_row(l.kind, k.data<float>() + (seg.row + i) * k.cols() + h * l.head_dim, l.head_dim, head + slot * l.head_dim);
        round_row(l.kind, v.data<float>() + (seg.row + i) * v.cols() + h * l.value_dim, l.value_dim,
                  head + kKvPage * l.head_dim + slot * l.value_dim);
      }
}

void ReferenceBackend::attention(const AttentionArgs& args, const Tensor& q, int heads, Tensor& out) {
  const KvLayout& l = args.kv.layout;
  std::vector<float> rounded(static_cast<std::size_t>(l.head_dim));
  for (const KvSegment& seg : args.kv.segments)
    for (std::int64_t i = 0; i < seg.count; ++i)
      for (int h = 0; h < heads; ++h) {
        const std::int64_t position = seg.position + i, last = args.causal ? position + 1 : seg.position + seg.count;
        const std::int64_t first = std::max(seg.visible_from, args.window > 0 ? position + 1 - args.window : 0);
        const float* qr = q.data<float>() + (seg.row + i) * q.cols() + h * l.head_dim;
        if (l.kind == KvKind::q8_0) {  // the query meets int8 codes: quantized as an activation
          for (int b = 0; b < l.head_dim; b += 32) {
            std::int8_t codes[32];
            std::int32_t sums[2];
            const float d = quantize_group(qr + b, codes, sums);
            float* const out = rounded.data() + b;
            for (int j = 0; j < 32; ++j) out[j] = static_cast<float>(codes[j]) * d;
          }
          qr = rounded.data();
        }
        const auto head_at = [&](std::int64_t p) {
          return reinterpret_cast<const float*>(seg.pages[p / kKvPage] + args.kv.layer_offset) +
                 static_cast<std::size_t>(h / (heads / l.heads)) * head_floats(l);
        };
        std::vector<double> s;
        double top = args.sinks ? args.sinks->data<float>()[h] : -INFINITY;
        for (std::int64_t p = first; p < last; ++p) {
          double dot = 0;
          for (int d = 0; d < l.head_dim; ++d) dot += static_cast<double>(qr[d]) * head_at(p)[p % kKvPage * l.head_dim + d];
          dot *= args.scale;
          if (args.softcap > 0) dot = args.softcap * std::tanh(dot / args.softcap);
          if (args.slopes) dot += args.slopes->data<float>()[h] * static_cast<double>(p - position);
          s.push_back(dot);
          top = std::max(top, dot);
        }
        double sum = args.sinks ? std::exp(args.sinks->data<float>()[h] - top) : 0;
        std::vector<double> o(static_cast<std::size_t>(l.value_dim), 0.0);
        for (std::int64_t p = first; p < last; ++p) {
          const double w = std::exp(s[static_cast<std::size_t>(p - first)] - top);
          sum += w;
          for (int d = 0; d < l.value_dim; ++d)
            o[static_cast<std::size_t>(d)] += w * head_at(p)[kKvPage * l.head_dim + p % kKvPage * l.value_dim + d];
        }
        for (int d = 0; d < l.value_dim; ++d)
          out.data<float>()[(seg.row + i) * out.cols() + h * l.value_dim + d] = static_cast<float>(o[static_cast<std::size_t>(d)] / sum);
        if (args.stats != nullptr) {
          float* stats = args.stats->data<float>() + ((seg.row + i) * heads + h) * 2;
          stats[0] = static_cast<float>(top);
          stats[1] = static_cast<float>(sum);
        }
      }
}

std::shared_ptr<Backend> make_reference(const BackendOptions&) { return std::make_shared<ReferenceBackend>(); }

}  // namespace hz
