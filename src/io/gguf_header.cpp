// SPDX-License-Identifier: Apache-2.0
// The fixed fields of a GGUF header and the order of the checks.
#include "src/io/gguf_header.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "src/io/message.hpp"

namespace hz::io {
namespace {

static_assert(std::endian::native == std::endian::little, "GGUF files are little-endian; a big-endian host needs swaps here");

void check_magic(Cursor& c) {
  const std::string_view magic(c.take(4), 4);
  if (magic == layout::kMagic) return;
  if (magic == "ggml" || magic == "ggjt" || magic == "ggmf" || magic == "lmgg" || magic == "tjgg" || magic == "fmgg")
    c.fail("this is a GGML file from before GGUF", "convert the original model to GGUF with a current tool");
  c.fail("the file begins with \"" + printable(magic) + "\", a GGUF file with \"GGUF\"",
         "check that the download is the model itself and not a web page or another format");
}

std::uint32_t check_version(Cursor& c) {
  const auto version = c.number<std::uint32_t>();
  if (version == 2 || version == 3) return version;
  if (version == 1) c.fail("GGUF version 1 is not supported, 2 and 3 are", "convert the original model again with a current tool");
  if (const auto swapped = __builtin_bswap32(version); swapped >= 1 && swapped <= 3)
    c.fail("a big-endian GGUF file (version " + std::to_string(swapped) + "), only little-endian ones are supported",
           "get the little-endian file of this model");
  c.fail("GGUF version " + std::to_string(version) + " is not supported, 2 and 3 are", "update hanzo, or convert the model to version 3");
}

std::uint64_t check_count(Cursor& c, std::string_view what, std::uint64_t least_bytes) {
  c.reading("the number of", what);
  const auto n = c.number<std::uint64_t>();
  const std::uint64_t room = c.left() / least_bytes;
  if (n > room) c.fail(grouped(n) + ", the file's " + grouped(c.left()) + " bytes hold at most " + grouped(room));
  if (n > layout::kMaxEntries) c.fail(grouped(n) + ", at most " + grouped(layout::kMaxEntries) + " are allowed");
  return n;
}

}  // namespace

void MemoryCount::add(const Cursor& at, Checked bytes) {
  total_ = total_ + bytes;
  if (!(total_ <= layout::kMaxHeader)) at.fail("the metadata so far takes more than " + grouped(layout::kMaxHeader) + " bytes of memory");
}

std::string_view find_duplicate(HeaderBytes& bytes, std::vector<std::uint32_t>& at) {
  const auto text = [&](std::uint32_t p) {
    std::uint64_t n;
    std::memcpy(&n, bytes.bytes(p, 8), 8);
    return std::string_view(bytes.bytes(p, 8) + 8, n);
  };
  std::sort(at.begin(), at.end(), [&](std::uint32_t a, std::uint32_t b) { return text(a) < text(b); });
  for (std::size_t i = 1; i < at.size(); ++i)
    if (text(at[i - 1]) == text(at[i])) return text(at[i]);
  return {};
}

Header scan_header(HeaderBytes& bytes) {
  Header h;
  Cursor c(bytes, 0);
  c.reading("magic");
  check_magic(c);
  c.reading("version");
  h.version = check_version(c);
  h.tensors = check_count(c, "tensors", layout::kLeastInfoBytes);
  h.keys = check_count(c, "metadata keys", layout::kLeastKeyBytes);
  h.keys_at = c.position();
  MemoryCount memory;
  scan_keys(c, bytes, h, memory);
  h.infos_at = c.position();
  scan_tensors(c, bytes, h, memory);
  return h;
}

}  // namespace hz::io
