// SPDX-License-Identifier: Apache-2.0
// The header's bytes as far as they were asked for, and reads that cannot leave the file.
#include "src/io/gguf_cursor.hpp"

#include <algorithm>

#include "src/io/gguf_layout.hpp"
#include "src/io/message.hpp"

namespace hz::io {
namespace {
constexpr std::uint64_t kPiece = std::uint64_t{1} << 20;  // least bytes per read
}

HeaderBytes::HeaderBytes(const InputFile& file)
    : file_(file), pages_(anonymous_pages(std::min(file.size(), layout::kMaxHeader), file.path())) {}

const char* HeaderBytes::bytes(std::uint64_t at, std::uint64_t n) {
  const Checked end = Checked(at) + Checked(n);
  if (!(end <= pages_->bytes))
    throw Error(ErrorKind::bad_file, "metadata and tensor descriptions need more than " + grouped(layout::kMaxHeader) + " bytes",
                shown(file_.path()), "this is no sane model file: get it from a source you trust");
  if (end.or_max() > loaded_) {
    const std::uint64_t more = std::min<std::uint64_t>(std::max(end.or_max() - loaded_, kPiece), pages_->bytes - loaded_);
    file_.read(loaded_, {pages_->data + loaded_, more});
    loaded_ += more;
  }
  return reinterpret_cast<const char*>(pages_->data + at);
}

const char* Cursor::take(std::uint64_t n) {
  if (n > left())
    fail("needs " + grouped(n) + (n == 1 ? " byte" : " bytes") + " at byte " + grouped(at_) + ", the file ends after " + grouped(left()),
         "the file is damaged or incomplete: download it again");
  const char* p = bytes_.bytes(at_, n);
  at_ += n;
  return p;
}

std::string_view Cursor::text() {
  const auto n = number<std::uint64_t>();
  if (n > left())
    fail("a string of " + grouped(n) + " bytes at byte " + grouped(at_) + ", the file has " + grouped(left()) + " left",
         "the file is damaged or incomplete: download it again");
  return {take(n), n};
}

void Cursor::fail(const std::string& fault, std::string hint) const {
  std::string what(what_);
  if (!name_.empty()) what += (what.empty() ? "" : " ") + printable(name_);
  fail_at(what, fault, std::move(hint));
}

void Cursor::fail_at(const std::string& what, const std::string& fault, std::string hint) const {
  if (hint.empty()) hint = "the file is damaged or was written by a faulty tool: get it again, or report it to its maker";
  throw Error(ErrorKind::bad_file, what + ": " + fault, shown(path()), std::move(hint));
}

}  // namespace hz::io
