// SPDX-License-Identifier: Apache-2.0
// The key-value part of a GGUF header: the checking pass and the reading pass.
#include <array>
#include <cstring>
#include <utility>

#include "src/io/gguf_header.hpp"
#include "src/io/message.hpp"

namespace hz::io {
namespace {

ValueType value_type(Cursor& c) {
  const auto t = c.number<std::uint32_t>();
  if (!layout::known_value_type(t)) c.fail("unknown value type " + std::to_string(t) + ", 0 to 12 are known");
  return static_cast<ValueType>(t);
}

void check_bools(const Cursor& c, const char* p, std::uint64_t n) {
  for (std::uint64_t i = 0; i < n; ++i)
    if (static_cast<unsigned char>(p[i]) > 1)
      c.fail("a bool of value " + std::to_string(static_cast<unsigned char>(p[i])) + ", 0 or 1 are legal");
}

void scan_text(Cursor& c, MemoryCount& memory) {
  const std::size_t n = c.text().size();
  memory.add(c, Checked(sizeof(std::string)) + Checked(n < sizeof(std::string) / 2 ? 0 : n + 1));
}

// Element type and count of an array, the count backed by the bytes left in the file.
std::pair<ValueType, std::uint64_t> array_head(Cursor& c) {
  const ValueType type = value_type(c);
  const auto n = c.number<std::uint64_t>();
  const std::uint64_t room = c.left() / layout::least_bytes(type);
  if (n > room)
    c.fail("an array of " + grouped(n) + " " + std::string(name_of(type)) + " values, the file's " + grouped(c.left()) +
               " bytes left hold at most " + grouped(room),
           "the file is damaged or incomplete: download it again");
  return {type, n};
}

// Without recursion: the open arrays of arrays wait in a fixed stack.
void scan_array(Cursor& c, MemoryCount& memory) {
  std::array<std::uint64_t, layout::kMaxNesting> waiting;  // inner arrays still to come, per level
  std::size_t depth = 0;
  do {
    const auto [type, n] = array_head(c);
    if (type == ValueType::array) {
      if (depth + 1 >= waiting.size()) c.fail("arrays nested deeper than " + std::to_string(layout::kMaxNesting));
      memory.add(c, Checked(n) * Checked(sizeof(Value)));
      waiting[depth++] = n;
    } else if (type == ValueType::string) {
      for (std::uint64_t i = 0; i < n; ++i) scan_text(c, memory);
    } else {
      const std::uint64_t bytes = n * layout::least_bytes(type);  // at most the bytes left: array_head
      memory.add(c, bytes);
      const char* p = c.take(bytes);
      if (type == ValueType::boolean) check_bools(c, p, n);
    }
    while (depth > 0 && waiting[depth - 1] == 0) --depth;
    if (depth > 0) --waiting[depth - 1];
    else return;
  } while (true);
}

void check_alignment(Cursor& c, ValueType type, Header& header) {
  if (type != ValueType::u32) c.fail("this key must be u32, it is " + std::string(name_of(type)));
  Cursor ahead = c;
  header.alignment = ahead.number<std::uint32_t>();
  if (!layout::legal_alignment(header.alignment)) c.fail(grouped(header.alignment) + " is no legal alignment: a power of two from 8 on");
}

template <class T>
std::vector<T> numbers(Cursor& c, std::uint64_t n) {
  std::vector<T> v(n);
  if (n != 0) std::memcpy(v.data(), c.take(n * sizeof(T)), n * sizeof(T));
  return v;
}

// Nesting was checked by the scan: at most kMaxNesting levels of recursion.
Value read_value(Cursor& c, ValueType type);

Array read_array(Cursor& c) {
  const auto [type, n] = array_head(c);
  switch (type) {
    case ValueType::u8: return numbers<std::uint8_t>(c, n);
    case ValueType::i8: return numbers<std::int8_t>(c, n);
    case ValueType::u16: return numbers<std::uint16_t>(c, n);
    case ValueType::i16: return numbers<std::int16_t>(c, n);
    case ValueType::u32: return numbers<std::uint32_t>(c, n);
    case ValueType::i32: return numbers<std::int32_t>(c, n);
    case ValueType::f32: return numbers<float>(c, n);
    case ValueType::u64: return numbers<std::uint64_t>(c, n);
    case ValueType::i64: return numbers<std::int64_t>(c, n);
    case ValueType::f64: return numbers<double>(c, n);
    case ValueType::boolean: {
      const char* p = c.take(n);
      return std::vector<bool>(p, p + n);
    }
    case ValueType::string: {
      std::vector<std::string> v;
      v.reserve(n);
      for (std::uint64_t i = 0; i < n; ++i) v.emplace_back(c.text());
      return v;
    }
    case ValueType::array: break;
  }
  ValueList v;
  v.reserve(n);
  for (std::uint64_t i = 0; i < n; ++i) v.push_back(read_value(c, ValueType::array));
  return v;
}

Value read_value(Cursor& c, ValueType type) {
  switch (type) {
    case ValueType::u8: return {c.number<std::uint8_t>()};
    case ValueType::i8: return {c.number<std::int8_t>()};
    case ValueType::u16: return {c.number<std::uint16_t>()};
    case ValueType::i16: return {c.number<std::int16_t>()};
    case ValueType::u32: return {c.number<std::uint32_t>()};
    case ValueType::i32: return {c.number<std::int32_t>()};
    case ValueType::f32: return {c.number<float>()};
    case ValueType::boolean: return {c.number<std::uint8_t>() != 0};
    case ValueType::string: return {std::string(c.text())};
    case ValueType::u64: return {c.number<std::uint64_t>()};
    case ValueType::i64: return {c.number<std::int64_t>()};
    case ValueType::f64: return {c.number<double>()};
    case ValueType::array: break;
  }
  return {read_array(c)};
}

}  // namespace

void scan_value(Cursor& c, ValueType type, MemoryCount& memory) {
  if (type == ValueType::array) return scan_array(c, memory);
  if (type == ValueType::string) return scan_text(c, memory);
  const char* p = c.take(layout::least_bytes(type));
  if (type == ValueType::boolean) check_bools(c, p, 1);
}

void scan_keys(Cursor& c, HeaderBytes& bytes, Header& header, MemoryCount& memory) {
  std::vector<std::uint32_t> at;
  at.reserve(header.keys);
  for (std::uint64_t i = 0; i < header.keys; ++i) {
    c.reading("a metadata key");
    at.push_back(static_cast<std::uint32_t>(c.position()));  // headers end below 2^28
    const std::string_view key = c.text();
    if (const std::string fault = layout::key_fault(key); !fault.empty()) c.fail(fault + ", before byte " + grouped(c.position()));
    c.reading("key", key);
    memory.add(c, Checked(key.size()) + Checked(sizeof(std::pair<std::string, Value>)));
    const ValueType type = value_type(c);
    if (key == layout::kAlignmentKey) check_alignment(c, type, header);
    scan_value(c, type, memory);
  }
  if (const std::string_view twice = find_duplicate(bytes, at); !twice.empty()) {
    c.reading("key", twice);
    c.fail("the key occurs twice");
  }
}

std::vector<std::pair<std::string, Value>> read_metadata(HeaderBytes& bytes, const Header& header) {
  Cursor c(bytes, header.keys_at);
  std::vector<std::pair<std::string, Value>> entries;
  entries.reserve(header.keys);
  for (std::uint64_t i = 0; i < header.keys; ++i) {
    std::string key(c.text());
    const auto type = static_cast<ValueType>(c.number<std::uint32_t>());
    entries.emplace_back(std::move(key), read_value(c, type));
  }
  return entries;
}

}  // namespace hz::io
