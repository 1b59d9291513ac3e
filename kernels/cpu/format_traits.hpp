// SPDX-License-Identifier: Apache-2.0
// What kernels ask of a format beyond its description.
#pragma once

namespace hz::cpu {
inline namespace HZ_UNIT {

template <class W>
struct Traits {
  // Value of panel code 0. Where codes pass 128 it is -128: one bit makes them signed bytes, and AVX2's Dot counts on it.
  static constexpr int kLow = W::kHigh - W::kLow > 128 ? -128 : W::kLow;
  static constexpr int kTop = W::kHigh - kLow;  // largest panel code
  static_assert(kTop <= 255);
  static_assert(!W::kSub || (kLow >= -64 && W::kHigh <= 64));  // AVX-512's SubDot: times a scale of a byte exact as a float
  static constexpr int kGroups = W::kElems / W::kStep;
};

// Sub-scaled formats whose products of a sub-scale and a weight fit the codes of a panel: the one dot of 32 columns is the sum that
// two dots and their scales would give. Products reach from kLow to kHigh.
template <class W>
struct Products {
  static constexpr int corner(bool largest) {
    const int corners[] = {W::kScaleLow * W::kLow, W::kScaleLow * W::kHigh, W::kScaleHigh * W::kLow, W::kScaleHigh * W::kHigh};
    int found = 0;
    for (const int c : corners)
      if (largest ? c > found : c < found) found = c;
    return found;
  }
  static constexpr int kLow = corner(false), kHigh = corner(true);
};
template <class W>
constexpr bool folds() {
  if constexpr (requires { W::kScaleHigh; }) return Products<W>::kHigh - Products<W>::kLow <= (kLanes == 16 ? 255 : 128);
  else return false;
}

// What the tile kernels ask: of an expanded panel.
template <class W>
struct TileTraits {
  static_assert(W::kMin != quant::Min::per_half);  // the tile kernels have a minimum for each half behind one dot alone
  static constexpr bool kFolded = false, kSub = W::kSub;
  static constexpr int kLow = Traits<W>::kLow, kTop = Traits<W>::kTop;
};
template <class W>
  requires(folds<W>())
struct TileTraits<W> {
  static constexpr bool kFolded = true, kSub = false;
  static constexpr int kLow = Products<W>::kLow, kTop = Products<W>::kHigh - kLow;
};
template <class W>
constexpr int kVariant = W::kStep == 16                     ? kStep16
                         : W::kMin == quant::Min::per_half  ? kHalfMin
                         : TileTraits<W>::kSub              ? kSubScaled
                         : W::kMin == quant::Min::per_group ? kMinGroup
                                                            : kPlain;

template <class W>
HZ_FN const typename W::Block* block_at(const std::byte* rows, size_t stride, int64_t r, int64_t k) {
  return (const typename W::Block*)(rows + (size_t)r * stride) + k / W::kElems;
}

}  // namespace HZ_UNIT
}  // namespace hz::cpu
