// SPDX-License-Identifier: Apache-2.0
// The named string formats of JSON Schema as regular expressions.
#include <array>
#include <utility>

#include "src/engine/schema/pattern.hpp"

namespace hz::engine {
namespace {

// The days that there are: February has a 29th in leap years only (RFC 3339, appendix C).
#define HZ_DATE                                                                                                   \
  "(?:[0-9]{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)"              \
  "|02-(?:0[1-9]|1[0-9]|2[0-8]))|(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)-02-29)"
#define HZ_TIME "(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\\.[0-9]{1,9})?(?:Z|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])"
#define HZ_OCTET "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
#define HZ_GROUP "[0-9A-Fa-f]{1,4}"
#define HZ_LABEL "[A-Za-z0-9](?:[A-Za-z0-9-]{0,30}[A-Za-z0-9])?"
#define HZ_HOST HZ_LABEL "(?:\\." HZ_LABEL "){0,4}"
#define HZ_PATH "(?:[A-Za-z0-9._~!$&'()*+,;=:@/-]|%[0-9A-Fa-f]{2})*"

constexpr std::array<std::pair<std::string_view, std::string_view>, 11> kFormats{{
    {"date", "^" HZ_DATE "$"},
    {"time", "^" HZ_TIME "$"},
    {"date-time", "^" HZ_DATE "T" HZ_TIME "$"},
    {"duration",
     "^P(?:[0-9]{1,4}W|(?:[0-9]{1,4}Y(?:[0-9]{1,4}M(?:[0-9]{1,4}D)?)?|[0-9]{1,4}M(?:[0-9]{1,4}D)?|[0-9]{1,4}D)"
     "(?:T(?:[0-9]{1,4}H(?:[0-9]{1,4}M(?:[0-9]{1,4}S)?)?|[0-9]{1,4}M(?:[0-9]{1,4}S)?|[0-9]{1,4}S))?"
     "|T(?:[0-9]{1,4}H(?:[0-9]{1,4}M(?:[0-9]{1,4}S)?)?|[0-9]{1,4}M(?:[0-9]{1,4}S)?|[0-9]{1,4}S))$"},
    {"uuid", "^[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}$"},
    {"email", "^[A-Za-z0-9_+-](?:\\.?[A-Za-z0-9_+-]){0,31}@" HZ_LABEL "(?:\\." HZ_LABEL "){1,4}$"},
    {"hostname", "^" HZ_HOST "$"},
    {"ipv4", "^" HZ_OCTET "(?:\\." HZ_OCTET "){3}$"},
    {"ipv6", "^(?:" HZ_GROUP "(?::" HZ_GROUP "){7}|::|::" HZ_GROUP "(?::" HZ_GROUP "){0,5}|" HZ_GROUP "(?::" HZ_GROUP "){0,5}::"
             "|" HZ_GROUP "::" HZ_GROUP "(?::" HZ_GROUP "){0,4}|" HZ_GROUP "(?::" HZ_GROUP "){1}::" HZ_GROUP "(?::" HZ_GROUP "){0,3}"
             "|" HZ_GROUP "(?::" HZ_GROUP "){2}::" HZ_GROUP "(?::" HZ_GROUP "){0,2}|" HZ_GROUP "(?::" HZ_GROUP "){3}::" HZ_GROUP
             "(?::" HZ_GROUP "){0,1})$"},
    {"uri", "^[A-Za-z][A-Za-z0-9+.-]{0,15}://" HZ_HOST "(?::[0-9]{1,5})?(?:/" HZ_PATH ")?(?:\\?" HZ_PATH ")?(?:#" HZ_PATH ")?$"},
    {"json-pointer", "^(?:/(?:[^/~]|~[01])*)*$"},
}};

}  // namespace

std::string_view format_pattern(std::string_view name) {
  for (const auto& [known, pattern] : kFormats)
    if (known == name) return pattern;
  return {};
}

std::string known_formats() {
  std::string names;
  for (const auto& [known, pattern] : kFormats) names += (names.empty() ? "" : ", ") + std::string(known);
  return names;
}

}  // namespace hz::engine
