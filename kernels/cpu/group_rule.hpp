// SPDX-License-Identifier: Apache-2.0
// The rule of the contract for 32 columns of kLanes rows, once their integer dots are known (docs/numerics.md).
#pragma once

namespace hz::cpu {
inline namespace HZ_UNIT {

// Scales of the j-th 32 columns of a block: one group, or two of 16.
template <class W>
struct GroupRule {
  decltype(W::scales_of(*(const LaneBytes<W>*)nullptr, 0)) s, second;

  GroupRule(const LaneBytes<W>& head, int j) {
    if constexpr (W::kStep == 16) {
      s = W::scales_of(head, 2 * j);
      second = W::scales_of(head, 2 * j + 1);
    } else {
      s = W::scales_of(head, j);
    }
  }
  // y + the products of columns [k, k + 32) of one token; a, b: dots of the first and the second sixteen.
  V add(VI a, VI b, const ActRow& x, int64_t k, V y) const {
    const V dx = set1(x.scales[k / 32]);
    const int32_t* sums = x.sums + k / 16;
    if constexpr (W::kStep == 16) {
      y = fma(to_float(a), mul(s.dw, dx), y);
      return fma(to_float(b), mul(second.dw, dx), y);
    } else {
      y = fma(to_float(W::kSub ? add_i(mul_i(a, s.s0.v), mul_i(b, s.s1.v)) : add_i(a, b)), mul(s.dw, dx), y);
      if constexpr (W::kMin == quant::Min::per_group) y = fma(s.mw, set1((float)(sums[0] + sums[1]) * x.scales[k / 32]), y);
      if constexpr (W::kMin == quant::Min::per_half) {
        const VI m = add_i(mul_i(s.m0.v, set1_i(sums[0])), mul_i(s.m1.v, set1_i(sums[1])));
        y = fma(to_float(m), mul(s.mw, dx), y);
      }
      return y;
    }
  }
};

}  // namespace HZ_UNIT
}  // namespace hz::cpu
