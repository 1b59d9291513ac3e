// SPDX-License-Identifier: Apache-2.0
// badfiles: what is known of one malformed or unusual file, and which checks each kind of file has.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hz::conformance {

struct BadFile {
  std::string file, kind, what, level;    // level: container | schema | model | eval
  std::string expect, container_expect;   // "ok" or "error"; container_expect is empty where the manifest has none
  std::string base;                       // of an adapter: the model it is for, in base/
  std::vector<std::string> needs;
  std::string prompt = "hi";              // of a model
  std::vector<std::int32_t> ref_prompt, ref_tokens;  // its ids, and the greedy ids that follow; empty: not told
  std::string messages;                   // of a template: JSON
  std::optional<std::string> output;      // what it renders
  std::int64_t rows = -1, line = 0;    // of a data file: how many rows it has, and where it is broken; -1, 0: not told
  bool strict = true;
  std::uint64_t bytes = 0;
};

// Reads the file as far as the check goes: returns when it is accepted, throws hz::Error when it is refused.
using FileCheck = void (*)(const std::filesystem::path& dir, const BadFile& file);

// One row per kind. container: parsing alone; whole: as a user would use the file (load, a few tokens, rows).
// Null: not built; such cases are skipped by name.
struct FileKind {
  std::string_view kind;
  FileCheck container;
  FileCheck whole;
};
const std::vector<FileKind>& file_kinds();

}  // namespace hz::conformance
