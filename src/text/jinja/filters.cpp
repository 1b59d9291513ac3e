// SPDX-License-Identifier: Apache-2.0
// The table of filters.
#include "src/text/jinja/filters.hpp"

#include <algorithm>

namespace hz::text::jinja {

namespace {

Value not_built(Interp&, const Value&, Args&) {
  throw Fault{"this filter (pprint, random, urlize or wordwrap) is not supported in chat templates", ErrorKind::unsupported};
}

constexpr FilterDef kFilters[] = {
    {"abs", filter_abs},
    {"attr", filter_attr},
    {"batch", filter_batch},
    {"capitalize", filter_capitalize},
    {"center", filter_center},
    {"count", filter_length},
    {"d", filter_default},
    {"default", filter_default},
    {"dictsort", filter_dictsort},
    {"e", filter_escape},
    {"escape", filter_escape},
    {"filesizeformat", filter_filesizeformat},
    {"first", filter_first},
    {"float", filter_float},
    {"forceescape", filter_forceescape},
    {"format", filter_format},
    {"groupby", filter_groupby},
    {"indent", filter_indent},
    {"int", filter_int},
    {"items", filter_items},
    {"join", filter_join},
    {"last", filter_last},
    {"length", filter_length},
    {"list", filter_list},
    {"lower", filter_lower},
    {"map", filter_map},
    {"max", filter_max},
    {"min", filter_min},
    {"pprint", not_built},
    {"random", not_built},
    {"reject", filter_reject},
    {"rejectattr", filter_rejectattr},
    {"replace", filter_replace},
    {"reverse", filter_reverse},
    {"round", filter_round},
    {"safe", filter_safe},
    {"select", filter_select},
    {"selectattr", filter_selectattr},
    {"slice", filter_slice},
    {"sort", filter_sort},
    {"string", filter_string},
    {"striptags", filter_striptags},
    {"sum", filter_sum},
    {"title", filter_title},
    {"tojson", filter_tojson},
    {"trim", filter_trim},
    {"truncate", filter_truncate},
    {"unique", filter_unique},
    {"upper", filter_upper},
    {"urlencode", filter_urlencode},
    {"urlize", not_built},
    {"wordcount", filter_wordcount},
    {"wordwrap", not_built},
    {"xmlattr", filter_xmlattr},
};

}  // namespace

const FilterDef* find_filter(std::string_view name) {
  const auto* at =
      std::lower_bound(std::begin(kFilters), std::end(kFilters), name, [](const FilterDef& f, std::string_view n) { return f.name < n; });
  return at != std::end(kFilters) && at->name == name ? at : nullptr;
}

}  // namespace hz::text::jinja
