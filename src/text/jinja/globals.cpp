// SPDX-License-Identifier: Apache-2.0
#include "src/text/jinja/globals.hpp"

#include "src/text/jinja/bind.hpp"
#include "src/text/jinja/compare.hpp"
#include "src/text/jinja/iterate.hpp"
#include "src/text/jinja/print.hpp"

namespace hz::text::jinja {

namespace {

constexpr std::int64_t kMaxRange = 100000;  // jinja's sandbox allows no more

Value range_function(Interp& in, Args& args) {
  if (args.positional.empty() || args.positional.size() > 3 || !args.named.empty()) throw Fault{"range expected 1 to 3 arguments"};
  std::int64_t v[3] = {0, 0, 1};
  for (std::size_t i = 0; i < args.positional.size(); ++i) v[i] = want_int("range", args.positional[i]);
  const bool single = args.positional.size() == 1;
  const std::int64_t start = single ? 0 : v[0];
  const std::int64_t stop = single ? v[0] : v[1];
  const std::int64_t step = v[2];
  if (step == 0) throw Fault{"range() arg 3 must not be zero"};
  // In 128 bits: the distance of two 64-bit numbers needs 65.
  __extension__ using Wide = __int128;
  const Wide span = step > 0 ? Wide{stop} - start : Wide{start} - stop;
  const Wide size = step > 0 ? Wide{step} : -Wide{step};
  const Wide count = span <= 0 ? 0 : (span - 1) / size + 1;
  if (count > kMaxRange) {
    throw Fault{"Range too big. The sandbox blocks ranges larger than MAX_RANGE (" + std::to_string(kMaxRange) + ")."};
  }
  return make_range(in.heap(), start, step, stop, static_cast<std::int64_t>(count));
}

void fill_dict(Interp& in, Dict& dict, const Value& from) {
  if (from.is(Kind::dict)) {
    for (const auto& e : from.as<Dict>().entries) dict.set(in.heap(), e.key, e.value);
    return;
  }
  Sequence sequence(in.heap(), from);
  std::size_t i = 0;
  for (Value item; sequence.next(item); ++i) {
    in.heap().charge();
    Values pair = items_of(in.heap(), item);
    if (pair.size() != 2) {
      throw Fault{"dictionary update sequence element #" + std::to_string(i) + " has length " + std::to_string(pair.size()) +
                  "; 2 is required"};
    }
    dict.set(in.heap(), std::move(pair[0]), std::move(pair[1]));
  }
}

Value dict_function(Interp& in, Args& args) {
  if (args.positional.size() > 1) throw Fault{"dict expected at most 1 argument"};
  Value r = make_dict(in.heap(), in.here());
  if (!args.positional.empty()) fill_dict(in, r.as<Dict>(), args.positional[0]);
  for (auto& [name, value] : args.named) r.as<Dict>().set(in.heap(), in.text(name), std::move(value));
  return r;
}

Value namespace_function(Interp& in, Args& args) {
  if (args.positional.size() > 1) throw Fault{"namespace expected at most 1 argument"};
  Value r = Value::object(Kind::space, in.heap().make<Namespace>(0), in.here());
  auto& space = r.as<Namespace>();
  if (!args.positional.empty()) {
    const Value from = make_dict(in.heap());
    fill_dict(in, from.as<Dict>(), args.positional[0]);
    for (const auto& e : from.as<Dict>().entries) space.set(in.heap(), text_of(want_str("namespace", e.key)), e.value);
  }
  for (auto& [name, value] : args.named) space.set(in.heap(), name, std::move(value));
  return r;
}

Value cycler_function(Interp& in, Args& args) {
  if (!args.named.empty()) throw Fault{"cycler() takes no keyword arguments"};
  if (args.positional.empty()) throw Fault{"at least one item has to be provided"};
  const std::size_t bytes = args.positional.size() * sizeof(Value);
  return Value::object(Kind::cycler, in.heap().make<Cycler>(bytes, std::move(args.positional)), in.here());
}

Value joiner_function(Interp& in, Args& args) {
  const auto [separator] = bind<1>("joiner", args, {"sep"}, 0);
  return Value::object(Kind::joiner, in.heap().make<Joiner>(0, separator.is_missing() ? in.text(", ") : separator), in.here());
}

Value lipsum_function(Interp&, Args&) { throw Fault{"lipsum() makes random text and is not supported", ErrorKind::unsupported}; }

Value raise_function(Interp& in, Args& args) {
  const auto [message] = bind<1>("raise_exception", args, {"message"}, 1);
  const Value text = to_str(in.heap(), message);
  throw Raised{std::string(text_of(text))};
}

Value time_function(Interp& in, Args& args) {
  const auto [format] = bind<1>("strftime_now", args, {"format"}, 1);
  const std::string_view text = text_of(want_str("strftime_now", format));
  in.heap().charge_bytes(64 * text.size());
  return in.text(format_time(in.now(), text));
}

constexpr FunctionDef kFunctions[] = {
    {"range", range_function},   {"dict", dict_function},     {"namespace", namespace_function},   {"cycler", cycler_function},
    {"joiner", joiner_function}, {"lipsum", lipsum_function}, {"raise_exception", raise_function}, {"strftime_now", time_function},
};

}  // namespace

void set_functions(Interp& in) {
  in.set_global("self", Value::object(Kind::space, in.heap().make<Namespace>(0)));  // for blocks of other templates: none
  for (const FunctionDef& def : kFunctions) {
    in.set_global(std::string(def.name), Value::object(Kind::function, in.heap().make<Function>(0, def)));
  }
}

}  // namespace hz::text::jinja
