// SPDX-License-Identifier: Apache-2.0
#include "src/text/jinja/objects.hpp"

#include <functional>

#include "src/text/jinja/compare.hpp"

namespace hz::text::jinja {

namespace {
constexpr std::size_t kMark = 64;      // code points between two entries of Str::marks_
constexpr std::size_t kSmallDict = 8;  // up to here a dict is searched in order

bool continuation(char c) { return (static_cast<unsigned char>(c) & 0xc0U) == 0x80U; }
}  // namespace

Str::Str(std::string text_, std::vector<Run> runs_) : text(std::move(text_)), runs(std::move(runs_)) {
  std::size_t tails = 0;
  for (const char c : text) tails += continuation(c) ? 1U : 0U;
  length = text.size() - tails;
  if (tails == 0) return;
  marks_.reserve(length / kMark);
  std::size_t seen = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (continuation(text[i])) continue;
    if (seen != 0 && seen % kMark == 0) marks_.push_back(i);
    ++seen;
  }
}

std::size_t Str::offset(std::size_t index) const {
  if (ascii()) return index;
  if (index >= length) return text.size();
  const std::size_t block = index / kMark;
  std::size_t at = block == 0 ? 0 : marks_[block - 1];
  for (std::size_t left = index % kMark; left > 0; --left) {
    ++at;
    while (at < text.size() && continuation(text[at])) ++at;
  }
  return at;
}

template <class Same>
std::size_t Dict::locate(Heap* heap, std::size_t hash, Same same) const {
  if (index_.empty()) {
    for (std::size_t i = 0; i < entries.size(); ++i) {
      if (entries[i].hash == hash && same(entries[i].key)) return i;
    }
    return entries.size();
  }
  const std::size_t mask = index_.size() - 1;
  std::size_t probes = 0;
  for (std::size_t at = hash & mask; index_[at] != 0; at = (at + 1) & mask) {
    const Entry& e = entries[index_[at] - 1];
    if (e.hash == hash && same(e.key)) return index_[at] - 1;
    if (heap != nullptr && ++probes % 8 == 0) heap->charge();
  }
  return entries.size();
}

const Value* Dict::find(Heap& heap, const Value& key) const {
  const std::size_t i = locate(&heap, hash_of(heap, key), [&](const Value& k) { return equal(heap, k, key); });
  return i == entries.size() ? nullptr : &entries[i].value;
}

const Value* Dict::find(std::string_view key) const {
  const std::size_t i = locate(nullptr, hash_of(key), [&](const Value& k) { return k.is_str() && text_of(k) == key; });
  return i == entries.size() ? nullptr : &entries[i].value;
}

void Dict::set(Heap& heap, Value key, Value value) {
  const std::size_t hash = hash_of(heap, key);
  const std::size_t i = locate(&heap, hash, [&](const Value& k) { return equal(heap, k, key); });
  if (i != entries.size()) {
    entries[i].value = std::move(value);
    return;
  }
  heap.grow(*this, 2 * sizeof(Entry));
  entries.push_back({hash, std::move(key), std::move(value)});
  if (entries.size() <= kSmallDict) return;
  if (2 * entries.size() > index_.size()) {
    reindex();
    return;
  }
  const std::size_t mask = index_.size() - 1;
  std::size_t at = hash & mask;
  while (index_[at] != 0) at = (at + 1) & mask;
  index_[at] = static_cast<std::uint32_t>(entries.size());
}

void Dict::reindex() {
  std::size_t size = 4 * kSmallDict;
  while (size < 4 * entries.size()) size *= 2;
  index_.assign(size, 0);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    std::size_t at = entries[i].hash & (size - 1);
    while (index_[at] != 0) at = (at + 1) & (size - 1);
    index_[at] = static_cast<std::uint32_t>(i + 1);
  }
}

const Value* Namespace::find(std::string_view name) const {
  for (const auto& [key, value] : attributes) {
    if (key == name) return &value;
  }
  return nullptr;
}

void Namespace::set(Heap& heap, std::string_view name, Value value) {
  heap.charge(attributes.size() / 8);
  for (auto& [key, old] : attributes) {
    if (key != name) continue;
    old = std::move(value);
    return;
  }
  heap.grow(*this, 2 * sizeof(attributes[0]) + name.size());
  attributes.emplace_back(std::string(name), std::move(value));
}

Value literal_string(std::string text, std::vector<std::unique_ptr<Object>>& owner) {
  auto str = std::make_unique<Str>(std::move(text));
  Str* raw = str.get();
  owner.push_back(std::move(str));
  return Value::object(Kind::str, raw);
}

Value make_string(Heap& heap, std::string text, Origin origin, std::vector<Run> runs) {
  heap.charge_bytes(text.size());
  const std::size_t extra = text.size() + text.size() / 8 + runs.size() * sizeof(Run);
  return Value::object(Kind::str, heap.make<Str>(extra, std::move(text), std::move(runs)), origin);
}

namespace {
Value make_items(Heap& heap, Kind kind, Values items, Origin origin) {
  heap.charge(items.size() / 16);
  const std::size_t extra = items.size() * sizeof(Value);
  return Value::object(kind, heap.make<List>(extra, std::move(items)), origin);
}
}  // namespace

Value make_list(Heap& heap, Values items, Origin origin) { return make_items(heap, Kind::list, std::move(items), origin); }
Value make_tuple(Heap& heap, Values items, Origin origin) { return make_items(heap, Kind::tuple, std::move(items), origin); }

Value make_iter(Heap& heap, Values items, Origin origin) {
  const std::size_t extra = items.size() * sizeof(Value);
  return Value::object(Kind::iter, heap.make<Iter>(extra, std::move(items)), origin);
}

Value make_dict(Heap& heap, Origin origin) { return Value::object(Kind::dict, heap.make<Dict>(0), origin); }

}  // namespace hz::text::jinja
