// SPDX-License-Identifier: Apache-2.0
// The tensor descriptions of a GGUF header: each alone, then all against the file and one another.
#include <algorithm>
#include <limits>

#include "src/io/gguf_header.hpp"
#include "src/io/message.hpp"

namespace hz::io {
namespace {

constexpr std::string_view kIncomplete = "the file is damaged or incomplete: download it again";

struct Span {
  std::uint64_t begin, end;  // bytes from the start of the data
  std::uint32_t info_at;     // where the description is in the file
};

void read_dims(Cursor& c, TensorInfo& info) {
  info.n_dims = c.number<std::uint32_t>();
  if (info.n_dims > layout::kMaxDims)
    c.fail(grouped(info.n_dims) + " dimensions, at most " + std::to_string(layout::kMaxDims) + " are allowed");
  Checked count = 1;  // zeros left out, so that none hides an overflow
  for (std::uint32_t i = 0; i < info.n_dims; ++i) {
    info.dims[i] = c.number<std::uint64_t>();
    count = count * Checked(std::max<std::uint64_t>(info.dims[i], 1));
    if (!(count <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())))
      c.fail("dimension " + std::to_string(i) + " of " + grouped(info.dims[i]) + " makes more elements than can be counted");
  }
}

// Bytes of all rows; the row length must divide into whole blocks.
void set_bytes(Cursor& c, TensorInfo& info) {
  const auto element = layout::element_layout(info.type);
  if (!element)
    throw Error(ErrorKind::bad_file, printable(info.name) + ": tensor type " + std::to_string(info.type) + " is not known here",
                shown(c.path()), "update hanzo, or get this model in another quantization");
  info.element = *element;
  if (info.dims[0] % element->block_elems != 0)
    c.fail("a row of " + grouped(info.dims[0]) + " does not divide into " + std::string(element->name) + " blocks of " +
           grouped(element->block_elems));
  Checked bytes = Checked(info.dims[0] / element->block_elems) * Checked(element->block_bytes);
  for (std::size_t i = 1; i < layout::kMaxDims; ++i) bytes = bytes * Checked(info.dims[i]);
  if (!bytes.ok()) c.fail(describe(info) + " is more bytes than can be counted");
  info.nbytes = bytes.or_max();
}

Cursor at_info(HeaderBytes& bytes, std::uint32_t at) { return {bytes, at}; }

[[noreturn]] void fail_past_end(HeaderBytes& bytes, const Header& header, const Span& s, Checked data_end) {
  Cursor c = at_info(bytes, s.info_at);
  const TensorInfo info = read_info(c, header.alignment);
  const Checked begin = Checked(header.data_at) + Checked(s.begin), end = Checked(header.data_at) + Checked(s.end);
  const std::uint64_t size = bytes.file().size();
  const std::uint64_t whole = (Checked(header.data_at) + data_end).or_max();
  const bool credible = whole / 4096 <= size;  // a cut download, rather than an invented number
  c.fail_at(printable(info.name),
            describe(info) + " needs " + grouped(info.nbytes) + " bytes at offset " +
                (begin.ok() ? grouped(begin.or_max()) : "2^64 and more") + ", the file ends " + grouped(end.or_max() - size) +
                " bytes earlier",
            credible ? "download the file again (it has " + grouped(size) + " bytes, at least " + grouped(whole) + " are expected)"
                     : std::string(kIncomplete));
}

void check_overlaps(HeaderBytes& bytes, const Header& header, std::vector<Span>& spans) {
  std::sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) { return a.begin < b.begin; });
  const Span* last = nullptr;
  for (const Span& s : spans) {
    if (s.begin == s.end) continue;
    if (last != nullptr && s.begin < last->end) {
      Cursor a = at_info(bytes, last->info_at), b = at_info(bytes, s.info_at);
      const TensorInfo first = read_info(a, header.alignment), second = read_info(b, header.alignment);
      b.fail_at(printable(second.name), "its bytes from offset " + grouped(header.data_at + s.begin) + " overlap those of " +
                    printable(first.name) + ", which end at " + grouped(header.data_at + last->end), {});
    }
    last = &s;
  }
}

}  // namespace

std::string describe(const TensorInfo& info) {
  std::string s;
  for (std::uint32_t i = 0; i < info.n_dims; ++i) s += (i ? " x " : "") + grouped(info.dims[i]);
  return (s.empty() ? "scalar" : s) + " " + std::string(info.element.name);
}

TensorInfo read_info(Cursor& c, std::uint32_t alignment) {
  TensorInfo info;
  c.reading("a tensor description");
  info.name = c.text();
  if (const std::string fault = layout::name_fault(info.name); !fault.empty()) c.fail(fault + ", before byte " + grouped(c.position()));
  c.reading("tensor", info.name);
  read_dims(c, info);
  info.type = c.number<std::uint32_t>();
  info.offset = c.number<std::uint64_t>();
  set_bytes(c, info);
  if (info.offset % alignment != 0) c.fail("offset " + grouped(info.offset) + " is no multiple of the alignment " + grouped(alignment));
  return info;
}

void scan_tensors(Cursor& c, HeaderBytes& bytes, Header& header, MemoryCount& memory) {
  std::vector<std::uint32_t> names;
  std::vector<Span> spans;
  names.reserve(header.tensors);
  spans.reserve(header.tensors);
  Checked data_end = 0;
  for (std::uint64_t i = 0; i < header.tensors; ++i) {
    const auto at = static_cast<std::uint32_t>(c.position());
    const TensorInfo info = read_info(c, header.alignment);
    memory.add(c, Checked(info.name.size()) + Checked(sizeof(GgufTensor)));
    const Checked end = Checked(info.offset) + Checked(info.nbytes);
    if (!end.ok()) c.fail("offset " + grouped(info.offset) + " and " + grouped(info.nbytes) + " bytes are more than can be counted");
    names.push_back(at);
    spans.push_back({info.offset, end.or_max(), at});
    data_end = std::max(data_end.or_max(), end.or_max());
  }
  header.end = c.position();
  header.data_at = Checked(header.end).round_up(header.alignment).or_max();
  header.data_end = header.end;
  for (const Span& s : spans) {
    const Checked end = Checked(header.data_at) + Checked(s.end);
    if (!(end <= bytes.file().size())) fail_past_end(bytes, header, s, data_end);
    header.data_end = std::max(header.data_end, end.or_max());
  }
  if (const std::string_view twice = find_duplicate(bytes, names); !twice.empty())
    c.fail_at("tensor " + printable(twice), "the name occurs twice", {});
  check_overlaps(bytes, header, spans);
}

std::vector<GgufTensor> read_tensors(HeaderBytes& bytes, const Header& header, std::uint32_t file_index) {
  Cursor c(bytes, header.infos_at);
  std::vector<GgufTensor> tensors;
  tensors.reserve(header.tensors);
  for (std::uint64_t i = 0; i < header.tensors; ++i) {
    const TensorInfo info = read_info(c, header.alignment);
    GgufTensor t;
    t.name = info.name;
    for (std::uint32_t d = info.n_dims; d-- > 0;) t.shape.push_back(static_cast<std::int64_t>(info.dims[d]));
    t.type = static_cast<WType>(info.type);
    t.file = file_index;
    t.offset = header.data_at + info.offset;
    t.nbytes = info.nbytes;
    tensors.push_back(std::move(t));
  }
  return tensors;
}

}  // namespace hz::io
