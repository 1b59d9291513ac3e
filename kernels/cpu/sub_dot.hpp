// SPDX-License-Identifier: Apache-2.0
// Lane primitives of sub-scaled formats for sets whose products are as wide as their sums; AVX2 has its own.
#pragma once

namespace hz::cpu {
inline namespace HZ_UNIT {

// Scales of two times sixteen columns.
struct ScalePair {
  VI first, second;
};
HZ_FN ScalePair scale_pair(VI s0, VI s1) { return {s0, s1}; }
HZ_FN VI pair_products(const ScalePair& s, const int32_t* sums) {
  return add_i(mul_i(s.first, set1_i(sums[0])), mul_i(s.second, set1_i(sums[1])));
}

// A sum of dots of sixteen columns, each times its scale, which every step and end() are told: steps 0 to 3, end().
template <int Top>
struct SubDot {
  Dot<Top> dot;
  VI whole;

  HZ_FN SubDot start(VI whole) { return {Dot<Top>::start(0), whole}; }
  template <int Step, int> void step(Codes w, const int8_t* x, const ScalePair&) { dot.template step<Step>(w, x); }
  template <int Half> void end(const ScalePair& s) {
    whole = add_i(whole, mul_i(dot.finish(0), Half == 0 ? s.first : s.second));
    dot = Dot<Top>::start(0);
  }
};

}  // namespace HZ_UNIT
}  // namespace hz::cpu
