// SPDX-License-Identifier: Apache-2.0
// Bounds on numbers: whole parts by digit, fractions by a walk along the digits of both bounds.
#include "src/engine/schema/number_range.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

namespace hz::engine {
namespace {

constexpr std::size_t kMostWritten = 60;
constexpr std::size_t kWholeDigits = 16;

int compare_whole(const std::string& a, const std::string& b) {
  if (a.size() != b.size()) return a.size() < b.size() ? -1 : 1;
  return a.compare(b) < 0 ? -1 : a == b ? 0 : 1;
}

// a + 1 or a - 1 (a > 0).
std::string next_whole(std::string a) {
  std::size_t i = a.size();
  while (i > 0 && a[i - 1] == '9') a[--i] = '0';
  if (i == 0) return "1" + a;
  ++a[i - 1];
  return a;
}
std::string previous_whole(std::string a) {
  std::size_t i = a.size();
  while (a[i - 1] == '0') a[--i] = '9';
  --a[i - 1];
  if (a.size() > 1 && a[0] == '0') a.erase(0, 1);
  return a;
}

class Ranges {
 public:
  explicit Ranges(JsonRules& json) : json_(json), tree_(json.tree()) {}

  // Whole numbers a to b without sign, a <= b.
  ExprId wholes(const std::string& a, const std::string& b) {
    std::vector<ExprId> ways;
    std::string from = a;
    for (std::size_t n = a.size(); n <= b.size(); ++n) {  // by number of digits
      const std::string to = n == b.size() ? b : std::string(n, '9');
      ways.push_back(same_length(from, to));
      from = "1" + std::string(n, '0');
    }
    return tree_.choice(std::move(ways));
  }

  // Digits after the point so that fraction >= lo (if tight) and <= hi (if tight), the point included; may be empty.
  ExprId fraction(const std::optional<Bound>& lo, const std::optional<Bound>& hi, int max_digits) {
    lo_ = lo;
    hi_ = hi;
    memo_.clear();
    const std::size_t need = std::max(lo ? lo->value.fraction.size() + 1 : 0, hi ? hi->value.fraction.size() : 0);
    limit_ = max_digits == 0 ? 0 : std::max(static_cast<std::size_t>(max_digits), max_digits == 16 ? need : 0);
    std::vector<ExprId> ways;
    if (may_end(0, lo.has_value(), hi.has_value())) ways.push_back(tree_.literal(""));
    const ExprId digits = limit_ > 0 ? step(0, lo.has_value(), hi.has_value()) : kNoExpr;
    if (digits != kNoExpr) ways.push_back(tree_.sequence({tree_.literal("."), digits}));
    return ways.empty() ? kNoExpr : tree_.choice(std::move(ways));
  }

 private:
  ExprId digit(char lo, char hi) {
    return lo == hi ? tree_.literal(std::string(1, lo)) : tree_.chars({{static_cast<char32_t>(lo), static_cast<char32_t>(hi)}});
  }
  ExprId any_digits(std::size_t n) { return json_.digits(static_cast<std::int32_t>(n), static_cast<std::int32_t>(n)); }

  ExprId same_length(const std::string& a, const std::string& b) {
    const std::size_t n = a.size();
    if (n == 0) return tree_.literal("");
    const std::string rest_a = a.substr(1), rest_b = b.substr(1);
    if (a[0] == b[0]) return tree_.sequence({digit(a[0], a[0]), same_length(rest_a, rest_b)});
    const bool low_full = rest_a == std::string(n - 1, '0'), high_full = rest_b == std::string(n - 1, '9');
    std::vector<ExprId> ways;
    if (!low_full) ways.push_back(tree_.sequence({digit(a[0], a[0]), same_length(rest_a, std::string(n - 1, '9'))}));
    const auto lo = static_cast<char>(a[0] + (low_full ? 0 : 1)), hi = static_cast<char>(b[0] - (high_full ? 0 : 1));
    if (lo <= hi) ways.push_back(tree_.sequence({digit(lo, hi), any_digits(n - 1)}));
    if (!high_full) ways.push_back(tree_.sequence({digit(b[0], b[0]), same_length(std::string(n - 1, '0'), rest_b)}));
    return tree_.choice(std::move(ways));
  }

  static char digit_of(const std::optional<Bound>& b, std::size_t i) { return i < b->value.fraction.size() ? b->value.fraction[i] : '0'; }

  // After i digits, equal so far to the bounds that are tight: may the number stop?
  bool may_end(std::size_t i, bool tight_lo, bool tight_hi) const {
    if (tight_lo && (i < lo_->value.fraction.size() || lo_->exclusive)) return false;
    return !(tight_hi && i >= hi_->value.fraction.size() && hi_->exclusive);
  }

  // At least one further digit, or nothing.
  ExprId step(std::size_t i, bool tight_lo, bool tight_hi) {
    if (i >= limit_) return kNoExpr;
    if (!tight_lo && !tight_hi) return json_.digits(1, static_cast<std::int32_t>(limit_ - i));
    const auto [at, added] = memo_.try_emplace({i, tight_lo, tight_hi}, kNoExpr);
    if (!added) return at->second;
    const char lo = tight_lo ? digit_of(lo_, i) : '0', hi = tight_hi ? digit_of(hi_, i) : '9';
    std::vector<ExprId> ways;
    for (char from = lo; from <= hi;) {  // runs of digits that leave the same bounds tight
      const auto tight = [&](char d) { return std::pair(tight_lo && d == lo, tight_hi && d == hi); };
      char to = from;
      while (to < hi && tight(static_cast<char>(to + 1)) == tight(from)) ++to;
      const auto [next_lo, next_hi] = tight(from);
      const ExprId more = step(i + 1, next_lo, next_hi);
      const bool end = may_end(i + 1, next_lo, next_hi);
      if (more != kNoExpr) ways.push_back(tree_.sequence({digit(from, to), end ? tree_.optional(more) : more}));
      else if (end) ways.push_back(digit(from, to));
      from = static_cast<char>(to + 1);
    }
    const ExprId result = ways.empty() ? kNoExpr : tree_.choice(std::move(ways));
    memo_[{i, tight_lo, tight_hi}] = result;
    return result;
  }

  JsonRules& json_;
  GrammarTree& tree_;
  std::optional<Bound> lo_, hi_;
  std::map<std::tuple<std::size_t, bool, bool>, ExprId> memo_;
  std::size_t limit_ = 0;
};

// Numbers without sign from lo to hi, lo >= 0; no hi: up to 16 digits.
ExprId magnitudes(JsonRules& json, const Bound& lo, const std::optional<Bound>& hi, int max_fraction) {
  Ranges ranges(json);
  GrammarTree& tree = json.tree();
  std::vector<ExprId> ways;
  const auto add = [&](ExprId whole, const std::optional<Bound>& low, const std::optional<Bound>& high) {
    const ExprId fraction = ranges.fraction(low, high, max_fraction);
    if (fraction != kNoExpr) ways.push_back(tree.sequence({whole, fraction}));
  };
  const std::string& a = lo.value.whole;
  const std::string b = hi ? hi->value.whole : std::string(std::max(kWholeDigits, a.size()), '9');
  if (compare_whole(a, b) > 0) return kNoExpr;
  if (a == b) {
    add(tree.literal(a), lo, hi);
  } else {
    add(tree.literal(a), lo, std::nullopt);
    const std::string first = next_whole(a), last = hi ? previous_whole(b) : b;
    if (compare_whole(first, last) <= 0) add(ranges.wholes(first, last), std::nullopt, std::nullopt);
    if (hi) add(tree.literal(b), std::nullopt, hi);
  }
  return ways.empty() ? kNoExpr : tree.choice(std::move(ways));
}

Bound negated(Bound b) {
  b.value.negative = !b.value.negative;
  return b;
}

}  // namespace

std::optional<Decimal> decimal_of(std::string_view n) {
  Decimal d;
  std::string digits;
  std::int64_t point = 0, exponent = 0;  // the number is 0.digits * 10^point
  std::size_t i = 0;
  if (i < n.size() && n[i] == '-') d.negative = true, ++i;
  bool after_point = false;
  for (; i < n.size() && (n[i] == '.' || (n[i] >= '0' && n[i] <= '9')); ++i) {
    if (n[i] == '.') after_point = true;
    else digits += n[i], point += after_point ? 0 : 1;
  }
  if (i < n.size() && (n[i] == 'e' || n[i] == 'E')) {
    const bool negative = i + 1 < n.size() && n[i + 1] == '-';
    for (i += 1; i < n.size(); ++i)
      if (n[i] >= '0' && n[i] <= '9' && exponent < 100000) exponent = exponent * 10 + (n[i] - '0');
    point += negative ? -exponent : exponent;
  }
  while (!digits.empty() && digits.back() == '0') digits.pop_back();
  const std::size_t zeros = std::min(digits.find_first_not_of('0'), digits.size());
  digits.erase(0, zeros);
  point -= static_cast<std::int64_t>(zeros);
  if (digits.empty()) return Decimal{};
  constexpr auto kMost = static_cast<std::int64_t>(kMostWritten);
  if (point > kMost || static_cast<std::int64_t>(digits.size()) - point > kMost) return std::nullopt;
  if (point < 0) digits.insert(0, static_cast<std::size_t>(-point), '0'), point = 0;
  if (static_cast<std::int64_t>(digits.size()) < point) digits.append(static_cast<std::size_t>(point) - digits.size(), '0');
  d.whole = point == 0 ? "0" : digits.substr(0, static_cast<std::size_t>(point));
  d.fraction = digits.substr(static_cast<std::size_t>(point));
  return d;
}

int compare(const Decimal& a, const Decimal& b) {
  const bool na = a.negative && !a.is_zero(), nb = b.negative && !b.is_zero();
  if (na != nb) return na ? -1 : 1;
  int c = compare_whole(a.whole, b.whole);
  if (c == 0) c = a.fraction < b.fraction ? -1 : a.fraction == b.fraction ? 0 : 1;  // no trailing zeros
  return na ? -c : c;
}

ExprId numbers_between(JsonRules& json, std::optional<Bound> lo, std::optional<Bound> hi, int max_fraction) {
  if (lo && hi) {
    const int order = compare(lo->value, hi->value);
    if (order > 0 || (order == 0 && (lo->exclusive || hi->exclusive))) return kNoExpr;
  }
  const auto below_zero = [](const Bound& b) { return b.value.negative && !b.value.is_zero(); };
  const Bound zero, above_zero{{}, true};
  std::vector<ExprId> ways;
  if (!lo || below_zero(*lo)) {  // the negative ones, by their size
    const Bound least = hi && below_zero(*hi) ? negated(*hi) : above_zero;
    const ExprId sizes = magnitudes(json, least, lo ? std::optional(negated(*lo)) : std::nullopt, max_fraction);
    if (sizes != kNoExpr) ways.push_back(json.tree().sequence({json.tree().literal("-"), sizes}));
  }
  if (!hi || !below_zero(*hi)) {
    const ExprId sizes = magnitudes(json, lo && !below_zero(*lo) ? *lo : zero, hi, max_fraction);
    if (sizes != kNoExpr) ways.push_back(sizes);
  }
  return ways.empty() ? kNoExpr : json.tree().choice(std::move(ways));
}

ExprId integers_between(JsonRules& json, std::optional<Bound> lo, std::optional<Bound> hi) {
  return !lo && !hi ? json.integer() : numbers_between(json, std::move(lo), std::move(hi), 0);
}

}  // namespace hz::engine
