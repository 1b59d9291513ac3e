// SPDX-License-Identifier: Apache-2.0
// Filters on sequences and mappings.
#include <algorithm>

#include "src/text/jinja/bind.hpp"
#include "src/text/jinja/compare.hpp"
#include "src/text/jinja/filters.hpp"
#include "src/text/jinja/iterate.hpp"
#include "src/text/jinja/print.hpp"
#include "src/text/jinja/str_ops.hpp"

namespace hz::text::jinja {

namespace {

struct Keyed {
  Value key, value;
};

void sort_keyed(Interp& in, std::vector<Keyed>& items, bool reverse) {
  std::uint64_t n = 1;
  while (n < items.size()) n *= 2;
  in.heap().charge(items.size());
  // Stable; reversed order keeps equal items in their order too, as Python does.
  std::stable_sort(items.begin(), items.end(), [&](const Keyed& a, const Keyed& b) {
    in.heap().charge();
    return order(in.heap(), reverse ? b.key : a.key, reverse ? a.key : b.key, "<") < 0;
  });
}

Values values_of(std::vector<Keyed>& items) {
  Values r;
  r.reserve(items.size());
  for (auto& item : items) r.push_back(std::move(item.value));
  return r;
}

Value extreme(Interp& in, const Value& v, Args& args, bool largest) {
  const auto [sensitive, attribute] = bind<2>(largest ? "max" : "min", args, {"case_sensitive", "attribute"}, 0);
  const Getter getter(in, attribute);
  Sequence sequence(in.heap(), v);
  Value best, best_key;
  for (Value item; sequence.next(item);) {
    in.heap().charge();
    Value key = fold_case(in, getter(item), truth_or(sensitive, false));
    if (!best.is_missing()) {
      const auto c = order(in.heap(), key, best_key, largest ? ">" : "<");
      if (!(largest ? c > 0 : c < 0)) continue;
    }
    best = std::move(item);
    best_key = std::move(key);
  }
  return best.is_missing() ? in.hint("No aggregated item, sequence was empty.") : best;
}

}  // namespace

Value filter_default(Interp& in, const Value& v, Args& args) {
  const auto [fallback, boolean] = bind<2>("default", args, {"default_value", "boolean"}, 0);
  if (!v.is_undefined() && !(truth_or(boolean, false) && !truthy(v))) return v;
  return fallback.is_missing() ? in.text("") : fallback;
}

Value filter_length(Interp& in, const Value& v, Args& args) {
  bind_none("length", args);
  if (v.is(Kind::loop)) return Value::integer(static_cast<std::int64_t>(v.as<Loop>().values().size()), in.here());
  const std::int64_t n = length_of(v);
  if (n < 0) throw Fault{"object of type '" + std::string(type_name(v.kind())) + "' has no len()"};
  return Value::integer(n, in.here());
}

Value filter_list(Interp& in, const Value& v, Args& args) {
  bind_none("list", args);
  return make_list(in.heap(), items_of(in.heap(), v), v.is_str() ? in.here() : v.origin());
}

Value filter_first(Interp& in, const Value& v, Args& args) {
  bind_none("first", args);
  Sequence sequence(in.heap(), v);
  Value item;
  return sequence.next(item) ? item : in.hint("No first item, sequence was empty.");
}

Value filter_last(Interp& in, const Value& v, Args& args) {
  bind_none("last", args);
  if (v.is(Kind::dict) || v.is(Kind::view)) {
    Values all = items_of(in.heap(), v);
    return all.empty() ? in.hint("No last item, sequence was empty.") : all.back();
  }
  if (!is_iterable(v) || v.is(Kind::iter)) throw Fault{"'" + std::string(type_name(v.kind())) + "' object is not reversible"};
  const std::int64_t n = length_of(v);
  return n == 0 ? in.hint("No last item, sequence was empty.") : item_at(in.heap(), v, static_cast<std::size_t>(n - 1));
}

Value filter_reverse(Interp& in, const Value& v, Args& args) {
  bind_none("reverse", args);
  if (v.is_str()) return in.slice(v, {}, {}, Value::integer(-1));
  if (!is_iterable(v)) throw Fault{"argument must be iterable"};
  const bool iterator = !v.is(Kind::iter);  // a generator cannot be reversed lazily: jinja makes a list
  Values items = items_of(in.heap(), v);
  std::reverse(items.begin(), items.end());
  return iterator ? make_iter(in.heap(), std::move(items), v.origin()) : make_list(in.heap(), std::move(items), v.origin());
}

Value filter_join(Interp& in, const Value& v, Args& args) {
  const auto [separator, attribute] = bind<2>("join", args, {"d", "attribute"}, 0);
  const Value between = separator.is_missing() ? in.text("") : to_str(in.heap(), separator);
  const Getter getter(in, attribute);
  Sequence sequence(in.heap(), v);
  Builder out(in.heap());
  bool first = true;
  for (Value item; sequence.next(item); first = false) {
    in.heap().charge();
    if (!first) out.add(between);
    print_str(in.heap(), out, getter(item));
  }
  return out.take();
}

Value filter_items(Interp& in, const Value& v, Args& args) {
  bind_none("items", args);
  return make_generator(in.heap(), v.origin(), [&](Values& pairs) {
    if (v.is_undefined()) return;
    if (!v.is(Kind::dict)) throw Fault{"Can only get item pairs from a mapping."};
    for (const auto& e : v.as<Dict>().entries) pairs.push_back(make_tuple(in.heap(), {e.key, e.value}, v.origin()));
  });
}

Value filter_dictsort(Interp& in, const Value& v, Args& args) {
  const auto [sensitive, by, reverse] = bind<3>("dictsort", args, {"case_sensitive", "by", "reverse"}, 0);
  const std::string_view which = by.is_missing() ? "key" : text_of(want_str("dictsort", by));
  if (which != "key" && which != "value") throw Fault{"You can only sort by either \"key\" or \"value\""};
  if (v.is_undefined()) throw_undefined(v);
  if (!v.is(Kind::dict)) throw Fault{"dictsort needs a mapping, got '" + std::string(type_name(v.kind())) + "'"};
  std::vector<Keyed> items;
  for (const auto& e : v.as<Dict>().entries) {
    items.push_back(
        {fold_case(in, which == "key" ? e.key : e.value, truth_or(sensitive, false)), make_tuple(in.heap(), {e.key, e.value}, v.origin())});
  }
  sort_keyed(in, items, truth_or(reverse, false));
  return make_list(in.heap(), values_of(items), v.origin());
}

Value filter_sort(Interp& in, const Value& v, Args& args) {
  const auto [reverse, sensitive, attribute] = bind<3>("sort", args, {"reverse", "case_sensitive", "attribute"}, 0);
  std::vector<Getter> getters;
  if (attribute.is_str()) {
    for (const Value& part : split(in.heap(), attribute, in.text(","), -1)) getters.emplace_back(in, part);
  } else {
    getters.emplace_back(in, attribute);
  }
  std::vector<Keyed> items;
  Sequence sequence(in.heap(), v);
  for (Value item; sequence.next(item);) {
    in.heap().charge();
    Values key;
    for (const Getter& getter : getters) key.push_back(fold_case(in, getter(item), truth_or(sensitive, false)));
    items.push_back({make_list(in.heap(), std::move(key)), std::move(item)});
  }
  sort_keyed(in, items, truth_or(reverse, false));
  return make_list(in.heap(), values_of(items), v.is_str() ? in.here() : v.origin());
}

Value filter_unique(Interp& in, const Value& v, Args& args) {
  const auto [sensitive, attribute] = bind<2>("unique", args, {"case_sensitive", "attribute"}, 0);
  const Getter getter(in, attribute);
  return make_generator(in.heap(), v.origin(), [&, &sensitive = sensitive](Values& kept) {
    const Value seen = make_dict(in.heap());
    Sequence sequence(in.heap(), v);
    for (Value item; sequence.next(item);) {
      in.heap().charge(3);
      const Value key = fold_case(in, getter(item), truth_or(sensitive, false));
      if (seen.as<Dict>().find(in.heap(), key) != nullptr) continue;
      seen.as<Dict>().set(in.heap(), key, Value::none());
      kept.push_back(std::move(item));
    }
  });
}

Value filter_groupby(Interp& in, const Value& v, Args& args) {
  const auto [attribute, fallback, sensitive] = bind<3>("groupby", args, {"attribute", "default", "case_sensitive"}, 1);
  const Getter getter(in, attribute);
  const Value missing = fallback.is_none() ? Value() : fallback;
  std::vector<Keyed> items;
  Sequence sequence(in.heap(), v);
  for (Value item; sequence.next(item);) {
    in.heap().charge();
    items.push_back({fold_case(in, getter(item, missing), truth_or(sensitive, false)), std::move(item)});
  }
  sort_keyed(in, items, false);
  Values groups;
  for (std::size_t i = 0; i < items.size();) {
    const Value key = items[i].key;
    Values members;
    for (; i < items.size() && equal(in.heap(), items[i].key, key); ++i) members.push_back(items[i].value);
    Value shown = getter(members.front(), missing);
    Value group = make_tuple(in.heap(), {std::move(shown), make_list(in.heap(), std::move(members), v.origin())}, v.origin());
    group.as<List>().group = true;
    groups.push_back(std::move(group));
  }
  return make_list(in.heap(), std::move(groups), v.origin());
}

Value filter_batch(Interp& in, const Value& v, Args& args) {
  const auto bound = bind<2>("batch", args, {"linecount", "fill_with"}, 1);
  return make_generator(in.heap(), in.here(), [&](Values& lines) {
    const Value& fill = bound[1];
    const std::int64_t size = want_int("batch", bound[0]);
    Values line;
    Sequence sequence(in.heap(), v);
    for (Value item; sequence.next(item);) {
      in.heap().charge();
      if (static_cast<std::int64_t>(line.size()) == size) lines.push_back(make_list(in.heap(), std::exchange(line, {}), in.here()));
      line.push_back(std::move(item));
    }
    if (line.empty()) return;
    if (!fill.is_missing() && !fill.is_none() && size > static_cast<std::int64_t>(line.size())) {
      in.heap().check(static_cast<std::uint64_t>(size), sizeof(Value));
      in.heap().charge(static_cast<std::uint64_t>(size));
      line.resize(static_cast<std::size_t>(size), fill);
    }
    lines.push_back(make_list(in.heap(), std::move(line), in.here()));
  });
}

Value filter_slice(Interp& in, const Value& v, Args& args) {
  const auto bound = bind<2>("slice", args, {"slices", "fill_with"}, 1);
  return make_generator(in.heap(), in.here(), [&](Values& columns) {
    const Value& fill = bound[1];
    const Values items = items_of(in.heap(), v);
    const std::int64_t slices = want_int("slice", bound[0]);
    if (slices == 0) throw Fault{"integer division or modulo by zero"};
    if (slices < 0) return;
    in.heap().check(static_cast<std::uint64_t>(slices), sizeof(Value));
    const auto n = static_cast<std::size_t>(slices);
    const std::size_t extra = items.size() % n;
    auto at = items.begin();
    for (std::size_t i = 0; i < n; ++i) {
      in.heap().charge();
      const auto end = at + static_cast<std::ptrdiff_t>(items.size() / n + (i < extra ? 1 : 0));
      Values column(at, end);
      at = end;
      if (!fill.is_missing() && !fill.is_none() && i >= extra) column.push_back(fill);
      columns.push_back(make_list(in.heap(), std::move(column), in.here()));
    }
  });
}

Value filter_min(Interp& in, const Value& v, Args& args) { return extreme(in, v, args, false); }
Value filter_max(Interp& in, const Value& v, Args& args) { return extreme(in, v, args, true); }

Value filter_sum(Interp& in, const Value& v, Args& args) {
  const auto [attribute, start] = bind<2>("sum", args, {"attribute", "start"}, 0);
  if (start.is_str()) throw Fault{"sum() can't sum strings [use ''.join(seq) instead]"};
  const Getter getter(in, attribute);
  Value total = start.is_missing() ? Value::integer(0, in.here()) : start;
  Sequence sequence(in.heap(), v);
  for (Value item; sequence.next(item);) total = in.binary(Arith::add, total, getter(item));
  return total;
}

}  // namespace hz::text::jinja
