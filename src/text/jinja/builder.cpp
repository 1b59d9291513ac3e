// SPDX-License-Identifier: Apache-2.0
#include "src/text/jinja/builder.hpp"

#include <algorithm>

namespace hz::text::jinja {

namespace {
// First run that holds byte `at`.
std::vector<Run>::const_iterator run_at(const std::vector<Run>& runs, std::size_t at) {
  return std::upper_bound(runs.begin(), runs.end(), at, [](std::size_t v, const Run& r) { return v < r.end; });
}
}  // namespace

void Builder::reserve(std::size_t more) {
  const std::size_t need = text_.size() + more;
  if (need > max_) throw Fault{"the template writes more than " + std::to_string(max_) + " bytes"};
  if (need <= reserved_) return;
  const std::size_t target = std::max({need, 2 * reserved_, std::size_t{64}});
  heap_.account(target - reserved_);
  reserved_ = target;
  text_.reserve(target);
}

void Builder::mark(Origin origin) {
  if (!runs_.empty() && runs_.back().origin == origin) runs_.back().end = text_.size();
  else runs_.push_back({text_.size(), origin});
}

void Builder::add(std::string_view text, Origin origin) {
  if (text.empty()) return;
  reserve(text.size());
  heap_.charge_bytes(text.size());
  if (++adds_ % 4 == 0) heap_.charge();
  text_.append(text);
  mark(origin);
}

void Builder::add_repeated(std::string_view text, std::size_t count, Origin origin) {
  if (text.empty() || count == 0) return;
  heap_.check(count, text.size());
  reserve(text.size() * count);
  heap_.charge_bytes(text.size() * count);
  heap_.charge(count / 16);
  for (std::size_t i = 0; i < count; ++i) text_.append(text);
  mark(origin);
}

void Builder::add(const Value& str, std::size_t begin, std::size_t end) {
  const Str& s = str.str();
  if (begin >= end) return;
  if (s.runs.empty()) {
    add(std::string_view(s.text).substr(begin, end - begin), str.origin());
    return;
  }
  for (auto run = run_at(s.runs, begin); begin < end; ++run) {
    const std::size_t stop = std::min(run->end, end);
    add(std::string_view(s.text).substr(begin, stop - begin), run->origin);
    begin = stop;
    heap_.charge();
  }
}

Value Builder::take(bool markup) {
  std::vector<Run> runs;
  Origin origin;
  if (runs_.size() == 1) origin = runs_[0].origin;
  else runs = std::move(runs_);
  runs_.clear();
  heap_.release(reserved_);
  reserved_ = 0;
  if (text_.capacity() > text_.size() + text_.size() / 8 + 64) text_.shrink_to_fit();
  std::string text = std::move(text_);
  text_.clear();
  Value r = make_string(heap_, std::move(text), origin, std::move(runs));
  r.set_markup(markup);
  return r;
}

Origin origin_at(const Value& str, std::size_t at) {
  const Str& s = str.str();
  if (s.runs.empty() || at >= s.text.size()) return s.runs.empty() ? str.origin() : s.runs.back().origin;
  return run_at(s.runs, at)->origin;
}

Value slice_bytes(Heap& heap, const Value& str, std::size_t begin, std::size_t end) {
  if (begin == 0 && end == text_of(str).size()) return str;
  if (str.str().runs.empty()) {
    Value r = make_string(heap, std::string(text_of(str).substr(begin, end - begin)), str.origin());
    r.set_markup(str.markup());
    return r;
  }
  Builder b(heap);
  b.add(str, begin, end);
  return b.take(str.markup());
}

}  // namespace hz::text::jinja
