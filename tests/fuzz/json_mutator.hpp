// SPDX-License-Identifier: Apache-2.0
// A mutator of JSON: values are replaced, copied, renamed and removed in the parsed text, which is then written again.
#pragma once
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "tests/fuzz/fuzz.hpp"

namespace hz::fuzz {

using Json = nlohmann::ordered_json;

inline Json odd_json(std::minstd_rand& random) {
  const Json values[] = {nullptr,
                         true,
                         0,
                         1,
                         -1,
                         2.5,
                         -0.0,
                         1e300,
                         std::numeric_limits<std::int64_t>::min(),
                         std::numeric_limits<std::uint64_t>::max(),
                         "",
                         "NONE",
                         "LORA",
                         "<|im_end|>",
                         "\u00e9\u4e2d",
                         std::string(300, 'x'),
                         Json::array(),
                         Json::object(),
                         Json::array({1, "a", nullptr}),
                         {{"a", 1}},
                         "[[[[[]]]]]"};
  return values[random() % std::size(values)];
}

inline void collect(Json& value, std::vector<Json*>& all) {
  std::vector<Json*> open{&value};
  while (!open.empty()) {
    Json* next = open.back();
    open.pop_back();
    all.push_back(next);
    if (next->is_structured())
      for (Json& part : *next) open.push_back(&part);
  }
}

inline void mutate_json(Json& value, std::minstd_rand& random) {
  std::vector<Json*> all;
  collect(value, all);
  Json& at = *all[random() % all.size()];
  const Json other = *all[random() % all.size()];
  switch (random() % 6) {
    case 0: at = other; break;
    case 1:
      if (at.is_array()) at.push_back(other);
      else if (at.is_object()) at["key" + std::to_string(random() % 4)] = other;
      else at = Json::array({other});
      break;
    case 2:
      if (at.is_structured() && !at.empty()) at.erase(std::next(at.begin(), static_cast<std::ptrdiff_t>(random() % at.size())));
      break;
    case 3:
      if (at.is_string()) at = at.get<std::string>() + other.dump(-1, ' ', false, Json::error_handler_t::replace);
      else at = odd_json(random);
      break;
    default: at = odd_json(random);
  }
}

// The text with one to three changes; nothing when it is no JSON.
inline std::optional<std::string> mutated_json(std::string_view text, std::minstd_rand& random) {
  Json value = Json::parse(text, nullptr, false);
  if (value.is_discarded()) return std::nullopt;
  for (std::size_t i = 0; i < 1 + random() % 3; ++i) mutate_json(value, random);
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// A folder of this process for what has to lie in files, in memory where the system has a place for that.
class Folder {
 public:
  Folder() {
    const std::filesystem::path shm = "/dev/shm";
    std::error_code none;
    std::string name =
        ((std::filesystem::is_directory(shm, none) ? shm : std::filesystem::temp_directory_path()) / "hanzo-fuzz-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) std::abort();
    path_ = name;
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace hz::fuzz
