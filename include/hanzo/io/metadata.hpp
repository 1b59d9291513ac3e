// SPDX-License-Identifier: Apache-2.0
// Metadata: the typed key-value part of a GGUF file.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "hanzo/core/error.hpp"

namespace hz::io {

// GGUF value type numbers.
enum class ValueType : std::uint32_t { u8, i8, u16, i16, u32, i32, f32, boolean, string, array, u64, i64, f64 };
std::string_view name_of(ValueType t);

struct Value;
// The elements of an array of arrays: a class of its own, since libstdc++ 12 takes a variant of nothing but vectors for
// one that always holds a value, and reads past its table of destructors when copying one throws.
struct ValueList : std::vector<Value> {
  using std::vector<Value>::vector;
  ValueList(std::vector<Value> values);  // NOLINT(google-explicit-constructor)
};
// A flat array; nested arrays are kept as elements of type array.
using Array = std::variant<std::vector<std::uint8_t>, std::vector<std::int8_t>, std::vector<std::uint16_t>,
                           std::vector<std::int16_t>, std::vector<std::uint32_t>, std::vector<std::int32_t>,
                           std::vector<float>, std::vector<bool>, std::vector<std::string>, ValueList,
                           std::vector<std::uint64_t>, std::vector<std::int64_t>, std::vector<double>>;
struct Value {
  std::variant<std::uint8_t, std::int8_t, std::uint16_t, std::int16_t, std::uint32_t, std::int32_t, float, bool,
               std::string, Array, std::uint64_t, std::int64_t, double>
      data;
  ValueType type() const { return static_cast<ValueType>(data.index()); }
};
inline ValueList::ValueList(std::vector<Value> values) : std::vector<Value>(std::move(values)) {}

class Metadata {
 public:
  Metadata() = default;
  // All entries at once, in their order. Throws bad_file when a key occurs twice.
  explicit Metadata(std::vector<std::pair<std::string, Value>> entries, std::string source = {});

  // The file that messages name.
  void set_source(std::string source) { source_ = std::move(source); }
  const std::string& source() const { return source_; }

  void set(std::string key, Value value);  // replaces; keeps the order of first insertion
  bool erase(std::string_view key);          // false when there is no such key
  bool contains(std::string_view key) const { return find(key) != nullptr; }
  const Value* find(std::string_view key) const;
  const std::vector<std::pair<std::string, Value>>& entries() const { return entries_; }

  // Typed access. T: bool, float or double (f32 or f64), std::string, or an integer type (any GGUF integer whose value
  // fits T). nullopt when the key is absent; Error(bad_file) naming key and types when it is of another kind.
  template <class T>
  std::optional<T> get(std::string_view key) const;
  // As get, but an absent key is an Error(bad_file) too.
  template <class T>
  T require(std::string_view key) const {
    if (auto v = get<T>(key)) return *std::move(v);
    missing(key);
  }
  template <class T>
  T get_or(std::string_view key, T fallback) const {
    auto v = get<T>(key);
    return v ? *std::move(v) : fallback;
  }
  // An array whose elements are T by the same rule, copied; nullopt when absent.
  template <class T>
  std::optional<std::vector<T>> get_array(std::string_view key) const;
  // An array of exactly these elements, in place (a vocabulary is large); null when absent. T: string, float, integers.
  template <class T>
  const std::vector<T>* find_array(std::string_view key) const;

  [[noreturn]] void missing(std::string_view key) const;

 private:
  std::vector<std::uint32_t>::const_iterator lower_bound(std::string_view key) const;
  [[noreturn]] void wrong_kind(std::string_view key, std::string_view want, std::string_view got) const;
  [[noreturn]] void wrong_elements(std::string_view key, std::string_view kind, const Array& array) const;
  const Array* array_of(std::string_view key, std::string_view kind) const;

  std::string source_;
  std::vector<std::pair<std::string, Value>> entries_;
  std::vector<std::uint32_t> sorted_;  // indices of entries_ by key
};

}  // namespace hz::io
