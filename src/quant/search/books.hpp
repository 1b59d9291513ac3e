// SPDX-License-Identifier: Apache-2.0
// PairBook: a codebook of the IQ formats, indexed by the two halves of its points for an exact search of the nearest, and
// with the neighbours of every place for a quick one.
#pragma once
#include <cstdint>

namespace hz::quant {

// A half is four ternary levels or two octal ones. Its cell is where its cost stands in a table of rows of sixteen:
// ternary 16 * (l2 + 3 l3) + l0 + 3 l1 (nine of sixteen used), octal l0 + 8 l1.
struct PairBook {
  static constexpr int kMaxCells = 144, kMaxPoints = 2048;
  static constexpr std::uint16_t kNone = 0xffff;
  struct Partner {
    std::uint16_t cell, point;
  };
  int cells = 0, rows = 0;           // rows of sixteen cells
  std::uint16_t begin[2][kMaxCells + 1];  // partners of a cell as first (second) half: partners[side][begin .. next begin)
  Partner partners[2][kMaxPoints];
  std::uint16_t point[kMaxCells * kMaxCells];  // [first * cells + second], or kNone
  // Where there is no point: the nearest ones in levels, nearest first, those equally near by number. [16 * place + i]
  static constexpr int kNeighbours = 16;
  std::uint16_t neighbours[kMaxCells * kMaxCells * kNeighbours];
  // Four nibbles of each point: the levels of its pairs, l0 + 3 l1 (ternary), or its levels (octal).
  std::uint16_t parts[kMaxPoints];
};

enum class Book { iq2_xxs, iq2_xs, iq2_s, iq1, iq3_xxs, iq3_s };
// Made on first use.
const PairBook& book(Book which);

}  // namespace hz::quant
