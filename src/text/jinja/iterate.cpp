// SPDX-License-Identifier: Apache-2.0
#include "src/text/jinja/iterate.hpp"

#include "src/text/jinja/builder.hpp"
#include "src/text/jinja/unicode.hpp"

namespace hz::text::jinja {

namespace {
Value view_item(Heap& heap, const View& view, Origin origin, std::size_t i) {
  const auto& e = view.dict.as<Dict>().entries[i];
  if (view.what == View::What::keys) return e.key;
  if (view.what == View::What::values) return e.value;
  return make_tuple(heap, {e.key, e.value}, origin);
}
}  // namespace

bool is_iterable(const Value& v) {
  switch (v.kind()) {
    case Kind::undefined:
    case Kind::str:
    case Kind::list:
    case Kind::tuple:
    case Kind::dict:
    case Kind::view:
    case Kind::range:
    case Kind::iter: return true;
    default: return false;
  }
}

std::int64_t length_of(const Value& v) {
  switch (v.kind()) {
    case Kind::undefined: return 0;
    case Kind::str: return static_cast<std::int64_t>(v.str().length);
    case Kind::list:
    case Kind::tuple: return static_cast<std::int64_t>(v.as<List>().items.size());
    case Kind::dict: return static_cast<std::int64_t>(v.as<Dict>().entries.size());
    case Kind::view: return length_of(v.as<View>().dict);
    case Kind::range: return v.as<Range>().count;
    default: return -1;
  }
}

Sequence::Sequence(Heap& heap, const Value& v) : heap_(heap), over_(v) {
  if (!is_iterable(v)) throw Fault{"'" + std::string(type_name(v.kind())) + "' object is not iterable"};
}

bool Sequence::next(Value& item) {
  switch (over_.kind()) {
    case Kind::str: {
      const std::string_view text = text_of(over_);
      if (at_ >= text.size()) return false;
      const std::size_t from = at_;
      decode(text, at_);
      item = slice_bytes(heap_, over_, from, at_);
      item.set_markup(false);  // characters of a Markup are plain
      return true;
    }
    case Kind::list:
    case Kind::tuple: {
      const Values& items = over_.as<List>().items;
      if (at_ >= items.size()) return false;
      item = items[at_++];
      return true;
    }
    case Kind::iter: {
      auto& it = over_.as<Iter>();
      if (it.next >= it.items.size()) {
        if (it.fault) throw *std::exchange(it.fault, std::nullopt);
        return false;
      }
      item = it.items[it.next++];
      return true;
    }
    case Kind::dict: {
      const auto& entries = over_.as<Dict>().entries;
      if (at_ >= entries.size()) return false;
      item = entries[at_++].key;
      return true;
    }
    case Kind::view: {
      const auto& view = over_.as<View>();
      if (at_ >= view.dict.as<Dict>().entries.size()) return false;
      item = view_item(heap_, view, over_.origin(), at_++);
      return true;
    }
    case Kind::range: {
      const auto& r = over_.as<Range>();
      if (at_ >= static_cast<std::size_t>(r.count)) return false;
      item = Value::integer(r.start + r.step * static_cast<std::int64_t>(at_++));
      return true;
    }
    default: return false;
  }
}

Values items_of(Heap& heap, const Value& v) {
  Sequence sequence(heap, v);
  Values r;
  const std::int64_t n = length_of(v);
  if (n > 0) {
    heap.check(static_cast<std::uint64_t>(n), sizeof(Value));
    heap.charge(static_cast<std::uint64_t>(n) / 4);
    r.reserve(static_cast<std::size_t>(n));
  }
  for (Value item; sequence.next(item);) r.push_back(std::move(item));
  return r;
}

Value item_at(Heap& heap, const Value& v, std::size_t index) {
  switch (v.kind()) {
    case Kind::str: {
      const Str& s = v.str();
      return slice_bytes(heap, v, s.offset(index), s.offset(index + 1));
    }
    case Kind::range: {
      const auto& r = v.as<Range>();
      return Value::integer(r.start + r.step * static_cast<std::int64_t>(index));
    }
    default: return v.as<List>().items[index];
  }
}

}  // namespace hz::text::jinja
