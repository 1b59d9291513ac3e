// SPDX-License-Identifier: Apache-2.0
// Metadata: ordered entries with a sorted index, and the conversions of typed access.
#include "hanzo/io/metadata.hpp"

#include <algorithm>
#include <numeric>

#include "hanzo/core/checked.hpp"
#include "src/io/message.hpp"

namespace hz::io {
namespace {

template <class T>
constexpr bool kInteger = std::is_integral_v<T> && !std::is_same_v<T, bool>;

template <class T>
std::string_view kind_name() {
  if constexpr (std::is_same_v<T, bool>) return "bool";
  else if constexpr (std::is_floating_point_v<T>) return "f32 or f64";
  else if constexpr (kInteger<T>) return "an integer";
  else return "string";
}

// True when values of the file's type U may be read as T (an integer's value is checked on its own).
template <class T, class U>
constexpr bool kConvertible = std::is_same_v<T, U> || (kInteger<T> && kInteger<U>) ||
                              (std::is_floating_point_v<T> && std::is_floating_point_v<U>);

// nullopt: an integer that T cannot hold.
template <class T, class U>
std::optional<T> convert(const U& v) {
  if constexpr (kInteger<T>) return narrow<T>(v);
  else return static_cast<T>(v);
}

[[noreturn]] void out_of_range(const std::string& key, const std::string& value, const std::string& source) {
  throw Error(ErrorKind::bad_file, printable(key) + ": the value " + value + " is out of range", source);
}

}  // namespace

std::string_view name_of(ValueType t) {
  constexpr std::string_view names[] = {"u8", "i8", "u16", "i16", "u32", "i32", "f32", "bool", "string", "array", "u64", "i64", "f64"};
  const auto i = static_cast<std::size_t>(t);
  return i < std::size(names) ? names[i] : "unknown";
}

Metadata::Metadata(std::vector<std::pair<std::string, Value>> entries, std::string source)
    : source_(std::move(source)), entries_(std::move(entries)), sorted_(entries_.size()) {
  std::iota(sorted_.begin(), sorted_.end(), 0u);
  std::sort(sorted_.begin(), sorted_.end(), [&](std::uint32_t a, std::uint32_t b) { return entries_[a].first < entries_[b].first; });
  for (std::size_t i = 1; i < sorted_.size(); ++i)
    if (const std::string& key = entries_[sorted_[i]].first; key == entries_[sorted_[i - 1]].first)
      throw Error(ErrorKind::bad_file, "the key " + printable(key) + " occurs twice", source_);
}

std::vector<std::uint32_t>::const_iterator Metadata::lower_bound(std::string_view key) const {
  return std::lower_bound(sorted_.begin(), sorted_.end(), key, [&](std::uint32_t i, std::string_view k) { return entries_[i].first < k; });
}

const Value* Metadata::find(std::string_view key) const {
  const auto it = lower_bound(key);
  return it != sorted_.end() && entries_[*it].first == key ? &entries_[*it].second : nullptr;
}

void Metadata::set(std::string key, Value value) {
  const auto it = lower_bound(key);
  if (it != sorted_.end() && entries_[*it].first == key) {
    entries_[*it].second = std::move(value);
    return;
  }
  const auto index = static_cast<std::uint32_t>(entries_.size());
  const auto place = it - sorted_.begin();
  entries_.emplace_back(std::move(key), std::move(value));
  sorted_.insert(sorted_.begin() + place, index);
}

bool Metadata::erase(std::string_view key) {
  const auto it = lower_bound(key);
  if (it == sorted_.end() || entries_[*it].first != key) return false;
  const std::uint32_t index = *it;
  sorted_.erase(it);
  entries_.erase(entries_.begin() + index);
  for (std::uint32_t& i : sorted_) i -= i > index ? 1 : 0;
  return true;
}

void Metadata::missing(std::string_view key) const {
  throw Error(ErrorKind::bad_file, "the metadata key " + printable(key) + " is missing", source_,
              "the file is no complete model of this kind: convert or download it again");
}

void Metadata::wrong_kind(std::string_view key, std::string_view want, std::string_view got) const {
  throw Error(ErrorKind::bad_file, printable(key) + ": expected " + std::string(want) + ", the file has " + std::string(got), source_,
              "the file was written by a faulty tool: convert or download it again");
}

template <class T>
std::optional<T> Metadata::get(std::string_view key) const {
  const Value* value = find(key);
  if (value == nullptr) return std::nullopt;
  return std::visit(
      [&]<class U>(const U& v) -> T {
        if constexpr (kConvertible<T, U>) {
          if (auto r = convert<T>(v)) return *std::move(r);
          if constexpr (kInteger<U>) out_of_range(std::string(key), std::to_string(v), source_);
        }
        wrong_kind(key, kind_name<T>(), name_of(value->type()));
      },
      value->data);
}

// The array under the key, or null; `kind` of elements is told when it is none.
const Array* Metadata::array_of(std::string_view key, std::string_view kind) const {
  const Value* value = find(key);
  if (value == nullptr) return nullptr;
  const Array* array = std::get_if<Array>(&value->data);
  if (array == nullptr) wrong_kind(key, "an array of " + std::string(kind), name_of(value->type()));
  return array;
}

void Metadata::wrong_elements(std::string_view key, std::string_view kind, const Array& array) const {
  wrong_kind(key, "an array of " + std::string(kind), "an array of " + std::string(name_of(static_cast<ValueType>(array.index()))));
}

template <class T>
std::optional<std::vector<T>> Metadata::get_array(std::string_view key) const {
  const Array* array = array_of(key, kind_name<T>());
  if (array == nullptr) return std::nullopt;
  return std::visit(
      [&]<class U>(const std::vector<U>& from) -> std::vector<T> {
        if constexpr (kConvertible<T, U>) {
          std::vector<T> to;
          to.reserve(from.size());
          for (const U& v : from) {
            auto r = convert<T>(v);
            if constexpr (kInteger<U>)
              if (!r) out_of_range(std::string(key) + "[" + std::to_string(to.size()) + "]", std::to_string(v), source_);
            to.push_back(*std::move(r));
          }
          return to;
        } else {
          wrong_elements(key, kind_name<T>(), *array);
        }
      },
      *array);
}

template <class T>
const std::vector<T>* Metadata::find_array(std::string_view key) const {
  const std::string_view kind = kInteger<T> ? name_of(Value{T{}}.type()) : kind_name<T>();
  const Array* array = array_of(key, kind);
  if (array == nullptr) return nullptr;
  if (const auto* v = std::get_if<std::vector<T>>(array)) return v;
  wrong_elements(key, kind, *array);
}

#define HZ_METADATA_TYPE(T)                                                       \
  template std::optional<T> Metadata::get<T>(std::string_view) const;             \
  template std::optional<std::vector<T>> Metadata::get_array<T>(std::string_view) const;
#define HZ_METADATA_IN_PLACE(T) template const std::vector<T>* Metadata::find_array<T>(std::string_view) const;
#define HZ_METADATA_NUMBER(T) HZ_METADATA_TYPE(T) HZ_METADATA_IN_PLACE(T)
HZ_METADATA_TYPE(bool)
HZ_METADATA_NUMBER(std::string)
HZ_METADATA_NUMBER(float)
HZ_METADATA_NUMBER(double)
HZ_METADATA_NUMBER(std::uint8_t)
HZ_METADATA_NUMBER(std::int8_t)
HZ_METADATA_NUMBER(std::uint16_t)
HZ_METADATA_NUMBER(std::int16_t)
HZ_METADATA_NUMBER(std::uint32_t)
HZ_METADATA_NUMBER(std::int32_t)
HZ_METADATA_NUMBER(std::uint64_t)
HZ_METADATA_NUMBER(std::int64_t)

}  // namespace hz::io
