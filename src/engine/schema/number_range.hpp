// SPDX-License-Identifier: Apache-2.0
// Numbers between bounds, as grammar expressions over their decimal digits.
#pragma once
#include <optional>
#include <string>

#include "src/engine/schema/json_rules.hpp"

namespace hz::engine {

// A decimal number: (-1)^negative * whole.fraction, digits without needless zeros ("0" for no whole part).
struct Decimal {
  bool negative = false;
  std::string whole = "0", fraction;
  bool is_zero() const { return whole == "0" && fraction.empty(); }
};
// From JSON's notation, exponent included. Nothing when it has over 60 digits written out.
std::optional<Decimal> decimal_of(std::string_view json_number);
// -1, 0, 1.
int compare(const Decimal& a, const Decimal& b);

struct Bound {
  Decimal value;
  bool exclusive = false;
};

inline constexpr ExprId kNoExpr = -1;  // nothing lies between the bounds

// Integers from lo to hi; a missing bound allows 16 digits.
ExprId integers_between(JsonRules& json, std::optional<Bound> lo, std::optional<Bound> hi);
// Numbers without exponent, with up to max_fraction digits after the point (but as many as a bound needs).
ExprId numbers_between(JsonRules& json, std::optional<Bound> lo, std::optional<Bound> hi, int max_fraction = 16);

}  // namespace hz::engine
