// SPDX-License-Identifier: Apache-2.0
// Strict JSON: what the parser itself lets pass is refused while it parses.
#include <bit>
#include <nlohmann/json.hpp>
#include <unordered_set>
#include <vector>

#include "hanzo/core/error.hpp"
#include "hanzo/io/jsonl.hpp"
#include "src/io/message.hpp"

namespace hz::io {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMaxDepth = 100;
constexpr std::size_t kMaxKeys = 4096;

[[noreturn]] void bad(const std::string& what) { throw Error(ErrorKind::bad_file, what); }

// Depth and keys of the objects that are open.
class Watch {
 public:
  bool operator()(int, Json::parse_event_t event, Json& value) {
    using Event = Json::parse_event_t;
    if (event == Event::object_start || event == Event::array_start) {
      if (open_.size() == kMaxDepth) bad("the JSON is nested more than " + std::to_string(kMaxDepth) + " deep");
      open_.emplace_back();
    } else if (event == Event::object_end || event == Event::array_end) {
      open_.pop_back();
    } else if (event == Event::key) {
      auto& keys = open_.back();
      const auto& key = value.get_ref<const std::string&>();
      if (!keys.insert(key).second) bad("the key \"" + printable(key, 60) + "\" occurs twice in one object");
      if (keys.size() > kMaxKeys) bad("an object has more than " + std::to_string(kMaxKeys) + " keys");
    }
    return true;
  }

 private:
  std::vector<std::unordered_set<std::string>> open_;
};

}  // namespace

Json parse_json(std::string_view text) {
  if (const std::size_t nul = text.find('\0'); nul != std::string_view::npos) bad("there is a NUL byte at column " + grouped(nul + 1));
  if (!valid_utf8(text)) {
    std::size_t good = 0;  // the longest well-formed beginning
    for (std::size_t step = std::bit_floor(text.size()); step > 0; step /= 2)
      while (good + step <= text.size() && valid_utf8(text.substr(good, step))) good += step;
    bad("the bytes at column " + grouped(good + 1) + " are no UTF-8");
  }
  Watch watch;
  try {
    return Json::parse(text, [&watch](int depth, Json::parse_event_t event, Json& value) { return watch(depth, event, value); });
  } catch (const Json::parse_error& e) {
    bad("no valid JSON at column " + grouped(e.byte) + ": " + json_reason(e.what(), false));
  } catch (const Json::exception& e) {
    bad("no valid JSON: " + json_reason(e.what(), false));
  }
}

}  // namespace hz::io
