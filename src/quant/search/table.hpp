// SPDX-License-Identifier: Apache-2.0
// The encoders that search, compiled once an instruction set: the same bytes from each, only faster.
#pragma once
#include <string_view>

#include "hanzo/quant/wtype.hpp"

#define HZ_SEARCHED(X) \
  X(q4_0) X(q4_1) X(q5_0) X(q5_1) X(q2_k) X(q3_k) X(q4_k) X(q5_k) X(q6_k) X(iq4_nl) X(iq4_xs) \
  X(iq3_s) X(iq3_xxs) X(iq2_s) X(iq2_xs) X(iq2_xxs) X(iq1_s) X(iq1_m)

namespace hz::quant {

struct SearchTable {
  const char* name;  // of the instruction set
#define HZ_X(format) Encoder format;
  HZ_SEARCHED(HZ_X)
#undef HZ_X
};

// The best of the build that this machine has.
const SearchTable& search_table();
// That of a name, or null where the build or the machine lacks it; for tests.
const SearchTable* search_table(std::string_view name);

}  // namespace hz::quant
