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

// The same for dots of four bytes, a fresh activation in each round.
static double dot_peak() {
  int8_t x[256];
  uint8_t w[64];
  for (int i = 0; i < 256; ++i) x[i] = (int8_t)(i % 7);
  for (int i = 0; i < 64; ++i) w[i] = (uint8_t)(i % 15);
  const Codes codes = load_codes(w);
  constexpr int kRounds = 50000;
  VI total = set1_i(0);
  for (int r = 0; r < kRounds; ++r) {
    Dot<15> dot[12];
    for (int i = 0; i < 12; ++i) dot[i] = Dot<15>::start(r);
    for (int i = 0; i < 12; ++i) {
      const int8_t* at = x + (16 * i + 4 * r) % 192;  // another activation each round: nothing to hoist
      dot[i].template step<0>(codes, at);
      dot[i].template step<1>(codes, at + 4);
      dot[i].template step<2>(codes, at + 8);
      dot[i].template step<3>(codes, at + 12);
    }
    for (int i = 0; i < 12; ++i) total = add_i(total, dot[i].finish(r));
  }
  volatile int32_t keep = sum_i(total);
  (void)keep;
  return 12.0 * 4 * kLanes * 4 * kRounds;
}

}  // namespace HZ_UNIT
}  // namespace hz::cpu
