// SPDX-License-Identifier: Apache-2.0
// Origin: where a byte of rendered text comes from. Every value and every run of a string carries one.
#pragma once
#include <cstdint>

namespace hz::text::jinja {

// Bit 31: input data (not the template's own text). Bit 30: inside a generation block. Low 30 bits: 1 + index of the
// message it belongs to (data: the message it was read from; template text: the message whose loop wrote it), 0 none.
class Origin {
 public:
  constexpr Origin() = default;
  static constexpr Origin literal(std::uint32_t message) { return Origin(message & kMessage); }
  static constexpr Origin data(std::uint32_t message) { return Origin((message & kMessage) | kData); }
  constexpr Origin generated() const { return Origin(bits_ | kGenerated); }

  constexpr bool is_data() const { return (bits_ & kData) != 0; }
  constexpr bool is_generated() const { return (bits_ & kGenerated) != 0; }
  constexpr std::uint32_t message() const { return bits_ & kMessage; }

  friend constexpr bool operator==(Origin, Origin) = default;

 private:
  static constexpr std::uint32_t kData = 1U << 31, kGenerated = 1U << 30, kMessage = kGenerated - 1;
  explicit constexpr Origin(std::uint32_t bits) : bits_(bits) {}
  std::uint32_t bits_ = 0;
};

}  // namespace hz::text::jinja
