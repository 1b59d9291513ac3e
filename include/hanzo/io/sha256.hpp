// SPDX-License-Identifier: Apache-2.0
// Sha256: the hash of a stream of bytes (FIPS 180-4), as files and logits are named by.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace hz::io {

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;

  Sha256& update(std::span<const std::byte> bytes);
  Sha256& update(std::string_view text);
  // Of all bytes so far; more may follow.
  std::array<std::uint8_t, 32> digest() const;
  std::string hex() const;  // 64 lower-case digits

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

}  // namespace hz::io
