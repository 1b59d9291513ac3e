// SPDX-License-Identifier: Apache-2.0
// hz::Error: the one exception type of the library. It says what, where, and what to do.
#pragma once
#include <stdexcept>
#include <string>

namespace hz {

// What failed, coarse enough that a tool can map it to an exit code.
enum class ErrorKind {
  usage,          // a call or flag that cannot be meant (exit 2)
  bad_file,       // unreadable or malformed model or data file (exit 3)
  out_of_memory,  // more memory than the machine or the limit has (exit 4)
  unsupported,    // legal, but not built here: names what is missing
  numeric,        // NaN or infinity where none may be
  io,             // the operating system refused a read or write
  cancelled,      // the caller's stop token fired (exit 130)
  failed,         // anything else
};

class Error : public std::runtime_error {
 public:
  // what: the fault with found and expected values. where: file, tensor or place. hint: the next step.
  explicit Error(ErrorKind kind, const std::string& what, std::string where = {}, std::string hint = {})
      : std::runtime_error(what), kind_(kind), where_(std::move(where)), hint_(std::move(hint)) {}

  ErrorKind kind() const noexcept { return kind_; }
  const std::string& where() const noexcept { return where_; }
  const std::string& hint() const noexcept { return hint_; }

 private:
  ErrorKind kind_;
  std::string where_, hint_;
};

}  // namespace hz
