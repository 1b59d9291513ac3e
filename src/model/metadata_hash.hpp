// SPDX-License-Identifier: Apache-2.0
// What names a model, a tokenizer or an adapter: hashes of numbers (u64), texts (length first) and metadata values.
#pragma once
#include <cstdint>
#include <string_view>

#include "hanzo/io/metadata.hpp"
#include "hanzo/io/sha256.hpp"

namespace hz::model {

void hash_number(io::Sha256& h, std::uint64_t v);
void hash_text(io::Sha256& h, std::string_view text);
void hash_value(io::Sha256& h, const io::Value& value);  // its type, then its elements

}  // namespace hz::model
