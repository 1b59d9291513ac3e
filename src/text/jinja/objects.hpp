// SPDX-License-Identifier: Apache-2.0
// The objects that values point to: strings with their origins, containers, iterators.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/text/jinja/value.hpp"

namespace hz::text::jinja {

// Bytes [previous end, end) of a string come from `origin`.
struct Run {
  std::size_t end;
  Origin origin;
};

// Immutable UTF-8 text. `runs` is empty when all of it has the origin of the Value that points here.
struct Str : Object {
  explicit Str(std::string text_, std::vector<Run> runs_ = {});
  std::string text;
  std::vector<Run> runs;
  std::size_t length;  // code points
  bool ascii() const { return length == text.size(); }
  // Byte offset of code point `index` (<= length).
  std::size_t offset(std::size_t index) const;

 private:
  std::vector<std::size_t> marks_;  // byte offset of code points 64, 128, ...; only if the text is not ASCII
};

// list and tuple.
struct List : Object {
  explicit List(Values items_) : items(std::move(items_)) {}
  Values items;
  bool group = false;  // a tuple made by groupby: also has .grouper and .list
};

// Insertion-ordered, immutable once made.
struct Dict : Object {
  struct Entry {
    std::size_t hash;
    Value key, value;
  };
  std::vector<Entry> entries;
  std::uint32_t message = 0;  // 1 + index when this is an element of the input's messages

  const Value* find(Heap& heap, const Value& key) const;
  const Value* find(std::string_view key) const;
  // Inserts or replaces (the first key stays).
  void set(Heap& heap, Value key, Value value);

 private:
  // The entry whose hash is `hash` and for which `same(key)` holds, or entries.size().
  template <class Same>
  std::size_t locate(Heap* heap, std::size_t hash, Same same) const;
  void reindex();
  std::vector<std::uint32_t> index_;  // open addressing, 1 + entry; empty while the dict is small
};

struct View : Object {
  enum class What : std::uint8_t { keys, values, items };
  View(Value dict_, What what_) : dict(std::move(dict_)), what(what_) {}
  Value dict;
  What what;
};

struct Range : Object {
  Range(std::int64_t start_, std::int64_t step_, std::int64_t stop_, std::int64_t count_)
      : start(start_), step(step_), stop(stop_), count(count_) {}
  std::int64_t start, step, stop, count;
};

// A generator whose items are already computed; reading consumes it.
struct Iter : Object {
  explicit Iter(Values items_) : items(std::move(items_)) {}
  Values items;
  std::size_t next = 0;
  std::optional<Fault> fault;  // thrown after the last item, where Python's generator would meet it
};

struct Namespace : Object {
  std::vector<std::pair<std::string, Value>> attributes;
  const Value* find(std::string_view name) const;
  void set(Heap& heap, std::string_view name, Value value);

 protected:
  void clear() override { attributes.clear(); }
  bool can_cycle() const override { return true; }
};

struct Cycler : Object {
  explicit Cycler(Values items_) : items(std::move(items_)) {}
  Values items;
  std::size_t position = 0;
};

struct Joiner : Object {
  explicit Joiner(Value separator_) : separator(std::move(separator_)) {}
  Value separator;
  bool used = false;
};

inline const Str& Value::str() const { return as<Str>(); }
inline std::string_view text_of(const Value& v) { return v.str().text; }

// A string that belongs to a parsed template.
Value literal_string(std::string text, std::vector<std::unique_ptr<Object>>& owner);

Value make_string(Heap& heap, std::string text, Origin origin = {}, std::vector<Run> runs = {});
Value make_list(Heap& heap, Values items, Origin origin = {});
Value make_tuple(Heap& heap, Values items, Origin origin = {});
Value make_iter(Heap& heap, Values items, Origin origin = {});
// A generator of what `fill(Values&)` appends; a Fault in it is put off until the items are read.
template <class F>
Value make_generator(Heap& heap, Origin origin, F fill) {
  Values items;
  std::optional<Fault> fault;
  try {
    fill(items);
  } catch (const Fault& f) {
    if (f.fatal || f.kind == ErrorKind::unsupported) throw;
    fault = f;
  }
  Value v = make_iter(heap, std::move(items), origin);
  v.as<Iter>().fault = std::move(fault);
  return v;
}
Value make_dict(Heap& heap, Origin origin = {});
inline Value make_range(Heap& heap, std::int64_t start, std::int64_t step, std::int64_t stop, std::int64_t count) {
  return Value::object(Kind::range, heap.make<Range>(0, start, step, stop, count));
}

}  // namespace hz::text::jinja
