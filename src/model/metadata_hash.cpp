// SPDX-License-Identifier: Apache-2.0
// Numbers, texts and metadata values as bytes of a hash.
#include "src/model/metadata_hash.hpp"

namespace hz::model {
namespace {

template <class T>
void hash_element(io::Sha256& h, const T& x) {
  if constexpr (std::is_same_v<T, std::string>) hash_text(h, x);
  else if constexpr (std::is_same_v<T, io::Value>) hash_value(h, x);
  else h.update(std::as_bytes(std::span(&x, 1)));
}

void hash_array(io::Sha256& h, const io::Array& array) {
  hash_number(h, array.index());
  std::visit(
      [&](const auto& list) {
        hash_number(h, list.size());
        if constexpr (std::is_same_v<std::decay_t<decltype(list)>, std::vector<bool>>)
          for (const bool x : list) hash_number(h, x ? 1 : 0);
        else
          for (const auto& x : list) hash_element(h, x);
      },
      array);
}

}  // namespace

void hash_number(io::Sha256& h, std::uint64_t v) { h.update(std::as_bytes(std::span(&v, 1))); }
void hash_text(io::Sha256& h, std::string_view text) {
  hash_number(h, text.size());
  h.update(text);
}
void hash_value(io::Sha256& h, const io::Value& value) {
  hash_number(h, static_cast<std::uint64_t>(value.type()));
  std::visit(
      [&](const auto& x) {
        if constexpr (std::is_same_v<std::decay_t<decltype(x)>, io::Array>) hash_array(h, x);
        else hash_element(h, x);
      },
      value.data);
}

}  // namespace hz::model
