// SPDX-License-Identifier: Apache-2.0
// Exit codes: part of every tool's interface.
#pragma once
#include <hanzo/core/error.hpp>

namespace hz::tools {

enum ExitCode : int {
  kOk = 0,
  kFailed = 1,
  kUsage = 2,        // the command line cannot be meant
  kBadFile = 3,      // unreadable or bad model or data file
  kOutOfMemory = 4,
  kCheckFailed = 5,  // the tool ran, what it checked is not so
  kInterrupted = 130,
};

constexpr int exit_code(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::usage: return kUsage;
    case ErrorKind::bad_file:
    case ErrorKind::io: return kBadFile;
    case ErrorKind::out_of_memory: return kOutOfMemory;
    case ErrorKind::cancelled: return kInterrupted;
    case ErrorKind::unsupported:
    case ErrorKind::numeric:
    case ErrorKind::failed: break;
  }
  return kFailed;
}

}  // namespace hz::tools
