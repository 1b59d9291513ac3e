// SPDX-License-Identifier: Apache-2.0
#include "hanzo/text/utf8.hpp"
#include "src/text/jinja/input.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "src/text/jinja/compare.hpp"
#include "src/text/jinja/number.hpp"
#include "src/text/jinja/unicode.hpp"

namespace hz::text::jinja {

namespace {

using Json = nlohmann::ordered_json;

Value from_string(Heap& heap, const std::string& text, Origin origin) {
  const std::size_t bad = first_invalid_utf8(text);
  if (bad != text.size()) {
    throw Fault{"the input has text that is not valid UTF-8 (byte " + std::to_string(bad) + " of a string)", ErrorKind::usage};
  }
  return make_string(heap, text, origin);
}

Value convert(Heap& heap, const Json& json, Origin origin, int depth) {
  if (depth > kMaxValueDepth) {
    throw Fault{"the input nests deeper than " + std::to_string(kMaxValueDepth), ErrorKind::usage};
  }
  switch (json.type()) {
    case Json::value_t::boolean: return Value::boolean(json.get<bool>(), origin);
    case Json::value_t::number_integer: return Value::integer(json.get<std::int64_t>(), origin);
    case Json::value_t::number_unsigned: return make_int(heap, BigInt::from_unsigned(json.get<std::uint64_t>()), origin);
    case Json::value_t::number_float: return Value::real(json.get<double>(), origin);
    case Json::value_t::string: return from_string(heap, json.get_ref<const std::string&>(), origin);
    case Json::value_t::array: {
      Values items;
      items.reserve(json.size());
      for (const auto& item : json) items.push_back(convert(heap, item, origin, depth + 1));
      return make_list(heap, std::move(items), origin);
    }
    case Json::value_t::object: {
      Value dict = make_dict(heap, origin);
      for (const auto& [key, value] : json.items()) {
        dict.as<Dict>().set(heap, from_string(heap, key, origin), convert(heap, value, origin, depth + 1));
      }
      return dict;
    }
    case Json::value_t::null:
    case Json::value_t::binary:
    case Json::value_t::discarded: break;
  }
  return Value::none(origin);
}

bool plain_identifier(const Value& v) {
  if (!v.is_str() || text_of(v).empty() || text_of(v).size() > 64) return false;
  const std::string_view s = text_of(v);
  return std::all_of(s.begin(), s.end(), [](char c) {
    const char lower = static_cast<char>(c | 0x20);
    return (lower >= 'a' && lower <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
}

}  // namespace

Value from_json(Heap& heap, const Json& json, Origin origin) { return convert(heap, json, origin, 0); }

Value from_messages(Heap& heap, const Json& messages) {
  if (!messages.is_array()) return from_json(heap, messages, Origin::data(0));
  Values items;
  items.reserve(messages.size());
  std::uint32_t index = 0;
  for (const auto& message : messages) {
    ++index;
    Value v = convert(heap, message, Origin::data(index), 1);
    if (v.is(Kind::dict)) {
      auto& dict = v.as<Dict>();
      dict.message = index;
      for (auto& e : dict.entries) {
        if (text_of(e.key) == "role" && plain_identifier(e.value)) e.value.set_origin(Origin::literal(index));
      }
    }
    items.push_back(std::move(v));
  }
  return make_list(heap, std::move(items), Origin::data(0));
}

}  // namespace hz::text::jinja
