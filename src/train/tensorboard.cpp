// SPDX-License-Identifier: Apache-2.0
// TensorBoard event files.
#include <array>
#include <bit>
#include <cstring>

#include "hanzo/train/run_log.hpp"

namespace hz::train {
namespace {

constexpr std::array<std::uint32_t, 256> kCrcTable = [] {
  std::array<std::uint32_t, 256> t{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t c = i;
    for (int bit = 0; bit < 8; ++bit) c = (c & 1u) != 0 ? (c >> 1) ^ 0x82F63B78u : c >> 1;
    t[i] = c;
  }
  return t;
}();

// Little-endian bytes.
template <class T>
std::string raw(T v) {
  static_assert(std::endian::native == std::endian::little);
  std::string s(sizeof v, '\0');
  std::memcpy(s.data(), &v, sizeof v);
  return s;
}

std::uint32_t masked(std::uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xa282ead8u; }

std::string framed(const std::string& data) {
  const std::string length = raw(static_cast<std::uint64_t>(data.size()));
  return length + raw(masked(crc32c(length))) + data + raw(masked(crc32c(data)));
}

// Protocol buffer fields: a key (number << 3 | wire type), then the value.
std::string varint(std::uint64_t v) {
  std::string s;
  for (; v >= 0x80; v >>= 7) s += static_cast<char>((v & 0x7f) | 0x80);
  return s + static_cast<char>(v);
}
std::string key(unsigned field, unsigned wire) { return varint(field << 3 | wire); }
std::string bytes_field(unsigned field, const std::string& bytes) { return key(field, 2) + varint(bytes.size()) + bytes; }

std::string scalar(const std::string& tag, double value) {
  return bytes_field(1, bytes_field(1, tag) + key(2, 5) + raw(static_cast<float>(value)));
}

}  // namespace

std::uint32_t crc32c(std::string_view bytes) {
  std::uint32_t c = ~0u;
  for (const char b : bytes) c = kCrcTable[(c ^ static_cast<unsigned char>(b)) & 0xffu] ^ (c >> 8);
  return ~c;
}

std::string tensorboard_header(double wall_time) { return framed(key(1, 1) + raw(wall_time) + bytes_field(3, "brain.Event:2")); }

std::string tensorboard_record(const MetricRow& row, double wall_time) {
  std::string summary;
  if (row.eval_loss) {
    summary = scalar("eval/loss", *row.eval_loss);
  } else {
    summary = scalar("train/loss", row.loss) + scalar("train/lr", row.lr) + scalar("train/grad_norm", row.grad_norm) +
              scalar("train/tokens_per_s", row.tokens_per_s);
  }
  return framed(key(1, 1) + raw(wall_time) + key(2, 0) + varint(static_cast<std::uint64_t>(row.step)) + bytes_field(5, summary));
}

}  // namespace hz::train
