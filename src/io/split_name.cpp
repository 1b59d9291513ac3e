// SPDX-License-Identifier: Apache-2.0
// The names of split sets, and their agreement with the split.* keys.
#include "src/io/split_name.hpp"

#include <algorithm>

#include "hanzo/core/error.hpp"
#include "src/io/message.hpp"

namespace hz::io {
namespace {

constexpr std::string_view kExtension = ".gguf";
constexpr std::size_t kDigits = 5;

std::string five_digits(std::uint32_t n) {
  const std::string s = std::to_string(n);
  return std::string(s.size() < kDigits ? kDigits - s.size() : 0, '0') + s;
}

// Takes "-DDDDD" off the end of `s`.
std::optional<std::uint32_t> take_number(std::string_view& s) {
  if (s.size() < kDigits) return std::nullopt;
  const std::string_view digits = s.substr(s.size() - kDigits);
  std::uint32_t n = 0;
  for (const char c : digits) {
    if (c < '0' || c > '9') return std::nullopt;
    n = n * 10 + static_cast<std::uint32_t>(c - '0');
  }
  s.remove_suffix(kDigits);
  return n;
}
bool take_suffix(std::string_view& s, std::string_view suffix) {
  if (!s.ends_with(suffix)) return false;
  s.remove_suffix(suffix.size());
  return true;
}

std::uint32_t split_count(const Metadata& metadata) { return metadata.get_or<std::uint32_t>("split.count", 1); }

}  // namespace

std::optional<SplitName> parse_split_name(const std::filesystem::path& file) {
  const std::string name = file.filename().string();
  std::string_view s = name;
  if (!take_suffix(s, kExtension)) return std::nullopt;
  const auto count = take_number(s);
  if (!count || !take_suffix(s, "-of-")) return std::nullopt;
  const auto number = take_number(s);
  if (!number || !take_suffix(s, "-") || *number < 1 || *number > *count) return std::nullopt;
  return SplitName{std::string(s), *number, *count};
}

std::filesystem::path split_path(const std::filesystem::path& folder, const SplitName& name) {
  return folder / (name.stem + "-" + five_digits(name.number) + "-of-" + five_digits(name.count) + std::string(kExtension));
}

std::vector<std::filesystem::path> split_set(const std::filesystem::path& file, const Metadata& metadata) {
  const std::uint32_t count = split_count(metadata);
  if (count <= 1) return {file};
  const auto number = metadata.require<std::uint32_t>("split.no");
  auto name = parse_split_name(file);
  if (!name || name->count != count || number >= count || name->number != number + 1)
    throw Error(ErrorKind::bad_file,
                "by its metadata this is part " + grouped(std::uint64_t{number} + 1) + " of " + grouped(count) + ", by its name it is not",
                shown(file),
                "the parts of a split model are found by name: keep them as NAME-00001-of-" + five_digits(count) + ".gguf and so on");
  SplitName first = *name;
  first.number = 1;
  const std::filesystem::path folder = file.parent_path();
  if (number != 0)
    throw Error(ErrorKind::bad_file, "this is part " + grouped(std::uint64_t{number} + 1) + " of a model split into " + grouped(count),
                shown(file), "open the first part: " + shown(split_path(folder, first)));
  std::vector<std::filesystem::path> files{file};
  for (first.number = 2; first.number <= count; ++first.number) {
    const std::filesystem::path part = split_path(folder, first);
    std::error_code error;
    if (!std::filesystem::exists(part, error))
      throw Error(ErrorKind::bad_file, "part " + grouped(first.number) + " of " + grouped(count) + " is missing: " + shown(part),
                  shown(file), "put all parts of the model into one folder");
    files.push_back(part);
  }
  return files;
}

void check_split_part(const std::filesystem::path& file, const Metadata& metadata, std::size_t index, std::size_t count) {
  if (count <= 1) return;
  const auto number = metadata.require<std::uint32_t>("split.no");
  const auto of = metadata.require<std::uint32_t>("split.count");
  if (number != index || of != count)
    throw Error(ErrorKind::bad_file,
                "by its name this is part " + grouped(index + 1) + " of " + grouped(count) + ", by its metadata part " +
                    grouped(std::uint64_t{number} + 1) + " of " + grouped(of),
                shown(file), "a part was renamed or belongs to another model: download it again");
}

}  // namespace hz::io
