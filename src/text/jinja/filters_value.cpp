// SPDX-License-Identifier: Apache-2.0
// Filters that look into values: attributes, map, select, tojson.
#include <algorithm>

#include "src/text/jinja/bind.hpp"
#include "src/text/jinja/compare.hpp"
#include "src/text/jinja/filters.hpp"
#include "src/text/jinja/iterate.hpp"
#include "src/text/jinja/print.hpp"
#include "src/text/jinja/str_ops.hpp"

namespace hz::text::jinja {

namespace {

Args copy_tail(Interp& in, const Args& args, std::size_t from) {
  in.heap().charge(2 + args.positional.size());
  Args r;
  for (std::size_t i = from; i < args.positional.size(); ++i) r.positional.push_back(args.positional[i]);
  r.named = args.named;
  return r;
}

// select, reject, and their attr forms: keeps the items for which the test's answer is `wanted`.
Value select(Interp& in, const Value& v, const Args& args, bool wanted, bool by_attribute) {
  return make_generator(in.heap(), v.origin(), [&](Values& kept) {
    if (!truthy(v)) return;
    const std::size_t name = by_attribute ? 1 : 0;
    if (args.positional.size() < name) throw Fault{"Missing parameter for attribute name"};
    const Getter getter(in, by_attribute ? args.positional[0] : Value());
    const bool tested = args.positional.size() > name;
    Sequence sequence(in.heap(), v);
    for (Value item; sequence.next(item);) {
      in.heap().charge();
      const Value subject = getter(item);
      bool answer = false;
      if (tested) {
        Args rest = copy_tail(in, args, name + 1);
        answer = in.test(args.positional[name], subject, rest);
      } else {
        answer = truthy(subject);
      }
      if (answer == wanted) kept.push_back(std::move(item));
    }
  });
}

// A separator pair given to tojson.
void read_separators(Interp& in, const Value& v, JsonStyle& style) {
  const Values pair = items_of(in.heap(), v);
  if (pair.size() != 2) throw Fault{"tojson: separators is a pair (between items, between key and value)"};
  style.item_separator = std::string(text_of(want_str("tojson", pair[0])));
  style.key_separator = std::string(text_of(want_str("tojson", pair[1])));
}

}  // namespace

Getter::Getter(Interp& in, const Value& attribute) : in_(in) {
  if (attribute.is_missing() || attribute.is_none()) return;
  if (!attribute.is_str()) {
    parts_.push_back(attribute);
    return;
  }
  for (Value& part : split(in.heap(), attribute, in.text("."), -1)) {
    const std::string_view text = text_of(part);
    const bool number = !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (number) part = make_int(in.heap(), BigInt::parse(text, 10));
    parts_.push_back(std::move(part));
  }
}

Value Getter::operator()(const Value& item, const Value& fallback) const {
  Value v = item;
  for (const Value& part : parts_) {
    in_.heap().charge();
    v = in_.item(v, part);
    if (v.is_undefined() && !fallback.is_missing()) v = fallback;
  }
  return v;
}

Value fold_case(Interp& in, const Value& v, bool case_sensitive) {
  return case_sensitive || !v.is_str() ? v : recase(in.heap(), v, Recase::lower);
}

Value filter_attr(Interp& in, const Value& v, Args& args) {
  const auto [name] = bind<1>("attr", args, {"name"}, 1);
  return in.own_or_undefined(v, want_str("attr", name));
}

Value filter_map(Interp& in, const Value& v, Args& args) {
  return make_generator(in.heap(), v.origin(), [&](Values& results) {
    if (!truthy(v)) return;
    Sequence sequence(in.heap(), v);
    if (!args.positional.empty()) {
      for (Value item; sequence.next(item);) {
        Args rest = copy_tail(in, args, 1);
        results.push_back(in.filter(args.positional[0], item, rest));
      }
      return;
    }
    const auto [attribute, fallback] = bind<2>("map", args, {"attribute", "default"}, 0);
    if (attribute.is_missing()) throw Fault{"map requires a filter argument"};
    const Getter getter(in, attribute);
    for (Value item; sequence.next(item);) {
      in.heap().charge();
      results.push_back(getter(item, fallback.is_none() ? Value() : fallback));
    }
  });
}

Value filter_select(Interp& in, const Value& v, Args& args) { return select(in, v, args, true, false); }
Value filter_reject(Interp& in, const Value& v, Args& args) { return select(in, v, args, false, false); }
Value filter_selectattr(Interp& in, const Value& v, Args& args) { return select(in, v, args, true, true); }
Value filter_rejectattr(Interp& in, const Value& v, Args& args) { return select(in, v, args, false, true); }

// As Hugging Face's templates have it: json.dumps without HTML escapes.
Value filter_tojson(Interp& in, const Value& v, Args& args) {
  const auto [ascii, indent, separators, sort] = bind<4>("tojson", args, {"ensure_ascii", "indent", "separators", "sort_keys"}, 0);
  JsonStyle style;
  style.ensure_ascii = truth_or(ascii, false);
  style.sort_keys = truth_or(sort, false);
  if (!indent.is_missing() && !indent.is_none()) {
    style.indented = true;
    style.item_separator = ",";
    if (indent.is_str()) style.indent = std::string(text_of(indent));
    else style.indent.assign(want_count(in, "tojson", want_int("tojson", indent)), ' ');
  }
  if (!separators.is_missing() && !separators.is_none()) read_separators(in, separators, style);
  return to_json(in.heap(), v, style);
}

}  // namespace hz::text::jinja
