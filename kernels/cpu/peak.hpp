// SPDX-License-Identifier: Apache-2.0
// What one core can do at most: chains of independent multiply-adds in registers.
#pragma once

namespace hz::cpu {
inline namespace HZ_UNIT {

// Runs twelve chains of fma for a while; returns the multiply-adds done.
static double fma_peak() {
  V acc[12];
  for (int i = 0; i < 12; ++i) acc[i] = set1(1.0f + (float)i);
  const V a = set1(0.999f), b = set1(0.001f);
  constexpr int kRounds = 100000;
  for (int r = 0; r < kRounds; ++r)
    for (int i = 0; i < 12; ++i) acc[i] = fma(acc[i], a, b);
  V sum = acc[0];
  for (int i = 1; i < 12; ++i) sum = add(sum, acc[i]);
  float out[kLanes];
  store(out, sum);
  volatile float keep = out[0];
  (void)keep;
  return 12.0 * kLanes * kRounds;
}

// The same for dots of 32 bytes, each of activations of its own, which differ from round to round: nothing to hoist.
static double dot_peak() {
  alignas(64) int8_t x[12 * 32 + 8];
  alignas(64) uint8_t w[64];
  for (int i = 0; i < (int)sizeof x; ++i) x[i] = (int8_t)(i % 7);
  for (int i = 0; i < 64; ++i) w[i] = (uint8_t)(i % 15);
  const Codes codes = load_codes(w);
  constexpr int kRounds = 25000;
  VI total = set1_i(0);
  for (int r = 0; r < kRounds; ++r) {
    const int8_t* at = x + (r & 1) * 4;
#pragma GCC unroll 12
    for (int i = 0; i < 12; ++i, at += 32) {
      Dot<15> dot = Dot<15>::start(0);
      dot.template step<0>(codes, at);
      dot.template step<1>(codes, at + 4);
      dot.template step<2>(codes, at + 8);
      dot.template step<3>(codes, at + 12);
      dot.template step<4>(codes, at + 16);
      dot.template step<5>(codes, at + 20);
      dot.template step<6>(codes, at + 24);
      dot.template step<7>(codes, at + 28);
      total = add_i(total, dot.finish(0));
    }
  }
  volatile int32_t keep = sum_i(total);
  (void)keep;
  return 12.0 * 8 * kLanes * 4 * kRounds;
}

}  // namespace HZ_UNIT
}  // namespace hz::cpu
