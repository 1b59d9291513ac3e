// SPDX-License-Identifier: Apache-2.0
// Sequence: one pass over whatever Python can iterate.
#pragma once
#include "src/text/jinja/objects.hpp"

namespace hz::text::jinja {

class Loop;

bool is_iterable(const Value& v);
// len(v), or -1 when it has none.
std::int64_t length_of(const Value& v);

class Sequence {
 public:
  // Throws Fault when v cannot be iterated.
  Sequence(Heap& heap, const Value& v);
  // The next item; false at the end.
  bool next(Value& item);

 private:
  Heap& heap_;
  Value over_;
  std::size_t at_ = 0;
};

// All items (a generator is used up).
Values items_of(Heap& heap, const Value& v);
// Item `index` of a list, tuple, string or range; index is in range.
Value item_at(Heap& heap, const Value& v, std::size_t index);

}  // namespace hz::text::jinja
