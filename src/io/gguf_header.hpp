// SPDX-License-Identifier: Apache-2.0
// The header of one GGUF file: checked as a whole first (scan), then turned into values (read).
// The scan keeps a few bytes per entry, so that a refused file costs little more than its own size.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "hanzo/io/gguf.hpp"
#include "src/io/gguf_cursor.hpp"
#include "src/io/gguf_layout.hpp"

namespace hz::io {

struct Header {
  std::uint32_t version = 0;
  std::uint32_t alignment = layout::kDefaultAlignment;
  std::uint64_t keys = 0, tensors = 0;
  std::uint64_t keys_at = 0, infos_at = 0, end = 0;  // bytes from the start of the file
  std::uint64_t data_at = 0;                         // end rounded up to the alignment; may lie past the file's end
  std::uint64_t data_end = 0;                        // end of the last tensor's bytes
};

// Memory that the values will take once read, in bytes, counted against the limit for headers.
class MemoryCount {
 public:
  void add(const Cursor& at, Checked bytes);

 private:
  Checked total_{0};
};

struct TensorInfo {
  std::string_view name;  // into the header's bytes
  std::uint32_t n_dims = 0, type = 0;
  std::uint64_t dims[layout::kMaxDims] = {1, 1, 1, 1};  // the row length first, as in the file
  layout::ElementLayout element;
  std::uint64_t offset = 0, nbytes = 0;                 // offset from the start of the data
};

// Checks the whole file: every count, length, name, type, offset. Throws bad_file.
Header scan_header(HeaderBytes& bytes);
// Second pass over what scan_header accepted.
std::vector<std::pair<std::string, Value>> read_metadata(HeaderBytes& bytes, const Header& header);
std::vector<GgufTensor> read_tensors(HeaderBytes& bytes, const Header& header, std::uint32_t file_index);

// Parts of the above, one file each.
void scan_keys(Cursor& c, HeaderBytes& bytes, Header& header, MemoryCount& memory);
void scan_value(Cursor& c, ValueType type, MemoryCount& memory);
void scan_tensors(Cursor& c, HeaderBytes& bytes, Header& header, MemoryCount& memory);
TensorInfo read_info(Cursor& c, std::uint32_t alignment);
std::string describe(const TensorInfo& info);  // "4,096 x 11,008 Q4_K"
// Sorts strings given by the positions of their length fields; returns one that occurs twice, or an empty view.
std::string_view find_duplicate(HeaderBytes& bytes, std::vector<std::uint32_t>& at);

}  // namespace hz::io
