// SPDX-License-Identifier: Apache-2.0
// What kernels ask of a format beyond its description.
#pragma once

namespace hz::cpu {
inline namespace HZ_UNIT {

template <class W>
struct Traits {
  static constexpr int kVariant = W::kStep == 16                           ? kStep16
                                  : W::kMin == quant::Min::per_half        ? kSubMin
                                  : W::kSub                                ? kSubScaled
                                  : W::kMin == quant::Min::per_group       ? kMinGroup
                                                                           : kPlain;
  // Value of panel code 0. Where codes pass 128 it is -128: one bit makes them signed bytes, and AVX2's Dot counts on it.
  static constexpr int kLow = W::kHigh - W::kLow > 128 ? -128 : W::kLow;
  static constexpr int kTop = W::kHigh - kLow;  // largest panel code
  static_assert(kTop <= 255);
  static_assert(!W::kSub || (kLow >= -64 && W::kHigh <= 64));  // AVX-512's SubDot: times a scale of a byte exact as a float
  static constexpr int kGroups = W::kElems / W::kStep;
};

template <class W>
HZ_FN const typename W::Block* block_at(const std::byte* rows, size_t stride, int64_t r, int64_t k) {
  return (const typename W::Block*)(rows + (size_t)r * stride) + k / W::kElems;
}

}  // namespace HZ_UNIT
}  // namespace hz::cpu
