// SPDX-License-Identifier: Apache-2.0
// The filter functions; filters.cpp has the table of their names.
#pragma once
#include "src/text/jinja/interp.hpp"

namespace hz::text::jinja {

using FilterFn = Value(Interp&, const Value&, Args&);

// text
FilterFn filter_capitalize, filter_center, filter_format, filter_indent, filter_lower, filter_replace, filter_string, filter_title,
    filter_trim, filter_truncate, filter_upper, filter_wordcount;
// HTML and URLs
FilterFn filter_escape, filter_forceescape, filter_safe, filter_striptags, filter_urlencode, filter_xmlattr;
// numbers
FilterFn filter_abs, filter_filesizeformat, filter_float, filter_int, filter_round;
// values and sequences
FilterFn filter_attr, filter_batch, filter_default, filter_dictsort, filter_first, filter_groupby, filter_items, filter_join, filter_last,
    filter_length, filter_list, filter_map, filter_max, filter_min, filter_reject, filter_rejectattr, filter_reverse, filter_select,
    filter_selectattr, filter_slice, filter_sort, filter_sum, filter_tojson, filter_unique;

// An attribute path "a.b.0" as jinja's filters read it.
class Getter {
 public:
  Getter(Interp& in, const Value& attribute);
  // `fallback`, if not missing, replaces an undefined step.
  Value operator()(const Value& item, const Value& fallback = {}) const;

 private:
  Interp& in_;
  Values parts_;
};
// Strings in lower case unless case matters.
Value fold_case(Interp& in, const Value& v, bool case_sensitive);

}  // namespace hz::text::jinja
