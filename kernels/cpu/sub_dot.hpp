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
HZ_FN VI pair_products(const ScalePair& s, const int16_t* sums) {
  return add_i(mul_i(s.first, set1_i(sums[0])), mul_i(s.second, set1_i(sums[1])));
}

using SubScales = ScalePair;
HZ_FN SubScales sub_scales(VI s0, VI s1, int) { return scale_pair(s0, s1); }

// Two dots of sixteen columns, each times its scale: steps 0 to 3 and end() of half 0, then of half 1. start() is told the sums of the
// activations of each half; it and end() also the same times the value of code 0, where the dots begin.
template <int Top>
struct SubDot {
  Dot<Top> dot;
  VI whole;

  HZ_FN SubDot start(const SubScales&, const int16_t*, const int32_t* start) { return {Dot<Top>::start(start[0]), set1_i(0)}; }
  template <int Step, int> void step(Codes w, const int8_t* x, const SubScales&) { dot.template step<Step>(w, x); }
  template <int Half> void end(const SubScales& s, const int32_t* start) {
    whole = add_i(whole, mul_i(dot.finish(start[Half]), Half == 0 ? s.first : s.second));
    if constexpr (Half == 0) dot = Dot<Top>::start(start[1]);
  }
  V value() const { return to_float(whole); }
};

}  // namespace HZ_UNIT
}  // namespace hz::cpu
