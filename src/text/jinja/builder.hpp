// SPDX-License-Identifier: Apache-2.0
// Builder: makes a string piece by piece and keeps where each byte came from.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "src/text/jinja/objects.hpp"

namespace hz::text::jinja {

class Builder {
 public:
  // `max_bytes`: longest text it accepts, checked on top of the heap's own limit.
  explicit Builder(Heap& heap, std::size_t max_bytes = static_cast<std::size_t>(-1)) : heap_(heap), max_(max_bytes) {}
  Builder(const Builder&) = delete;
  Builder& operator=(const Builder&) = delete;
  ~Builder() { heap_.release(reserved_); }

  std::size_t size() const { return text_.size(); }
  const std::string& text() const { return text_; }
  const std::vector<Run>& runs() const { return runs_; }

  void add(std::string_view text, Origin origin);
  void add(char c, Origin origin) { add(std::string_view(&c, 1), origin); }
  // The whole string value, or its bytes [begin, end).
  void add(const Value& str) { add(str, 0, text_of(str).size()); }
  void add(const Value& str, std::size_t begin, std::size_t end);
  void add_repeated(std::string_view text, std::size_t count, Origin origin);

  // The text as a value; the builder is empty afterwards.
  Value take(bool markup = false);

 private:
  void reserve(std::size_t more);
  void mark(Origin origin);  // the text so far, from the last run's end, is of this origin

  Heap& heap_;
  std::size_t max_;
  std::size_t reserved_ = 0;
  std::size_t adds_ = 0;  // calls that added text: they cost something even when each is short
  std::string text_;
  std::vector<Run> runs_;
};

// Origin of byte `at` of a string value.
Origin origin_at(const Value& str, std::size_t at);
// Bytes [begin, end) of a string value, still a Markup if it was one.
Value slice_bytes(Heap& heap, const Value& str, std::size_t begin, std::size_t end);
// The same text with every run's origin replaced by f(origin).
template <class F>
Value with_origin(Heap& heap, const Value& str, F f) {
  if (str.str().runs.empty()) {
    Value r = str;
    r.set_origin(f(str.origin()));
    return r;
  }
  std::vector<Run> runs = str.str().runs;
  for (Run& run : runs) run.origin = f(run.origin);
  Value r = make_string(heap, str.str().text, {}, std::move(runs));
  r.set_markup(str.markup());
  return r;
}

}  // namespace hz::text::jinja
