// SPDX-License-Identifier: Apache-2.0
// Methods of strings: is... questions.
#include "src/text/jinja/bind.hpp"
#include "src/text/jinja/methods.hpp"
#include "src/text/jinja/unicode.hpp"

namespace hz::text::jinja {

namespace {

// True when the text is not empty and all its code points satisfy `is`.
template <class F>
Value all_codes(Interp& in, const Value& self, Args& args, F is) {
  bind_none("str method", args);
  const std::string_view text = text_of(self);
  in.heap().charge_bytes(16 * text.size());
  bool all = !text.empty();
  for (std::size_t i = 0; all && i < text.size();) all = is(decode(text, i));
  return Value::boolean(all, in.here());
}

// All cased code points are `wanted` and there is one.
template <class F>
bool all_cased(Heap& heap, std::string_view text, F wanted) {
  heap.charge_bytes(16 * text.size());
  bool some = false;
  for (std::size_t i = 0; i < text.size();) {
    const char32_t c = decode(text, i);
    if (wanted(c)) some = true;
    else if (is_upper(c) || is_lower(c) || is_title(c)) return false;
  }
  return some;
}

}  // namespace

bool is_lower_text(Heap& heap, std::string_view text) { return all_cased(heap, text, is_lower); }
bool is_upper_text(Heap& heap, std::string_view text) { return all_cased(heap, text, is_upper); }

Value str_isalnum(Interp& in, const Value& self, Args& args) {
  return all_codes(in, self, args, [](char32_t c) { return is_alpha(c) || is_numeric(c); });
}
Value str_isalpha(Interp& in, const Value& self, Args& args) { return all_codes(in, self, args, is_alpha); }
Value str_isdecimal(Interp& in, const Value& self, Args& args) { return all_codes(in, self, args, is_decimal); }
Value str_isdigit(Interp& in, const Value& self, Args& args) { return all_codes(in, self, args, is_digit); }
Value str_isnumeric(Interp& in, const Value& self, Args& args) { return all_codes(in, self, args, is_numeric); }
Value str_isspace(Interp& in, const Value& self, Args& args) { return all_codes(in, self, args, is_space); }

Value str_isascii(Interp& in, const Value& self, Args& args) {
  bind_none("isascii", args);
  return Value::boolean(self.str().ascii(), in.here());
}

Value str_isprintable(Interp& in, const Value& self, Args& args) {
  if (!text_of(self).empty()) return all_codes(in, self, args, is_printable);
  bind_none("isprintable", args);
  return Value::boolean(true, in.here());
}

Value str_isidentifier(Interp& in, const Value& self, Args& args) {
  bool first = true;
  return all_codes(in, self, args, [&](char32_t c) {
    const bool ok = first ? is_word_start(c) : is_word(c);
    first = false;
    return ok;
  });
}

Value str_islower(Interp& in, const Value& self, Args& args) {
  bind_none("islower", args);
  return Value::boolean(is_lower_text(in.heap(), text_of(self)), in.here());
}

Value str_isupper(Interp& in, const Value& self, Args& args) {
  bind_none("isupper", args);
  return Value::boolean(is_upper_text(in.heap(), text_of(self)), in.here());
}

Value str_istitle(Interp& in, const Value& self, Args& args) {
  bind_none("istitle", args);
  const std::string_view text = text_of(self);
  in.heap().charge_bytes(16 * text.size());
  bool some = false, after_cased = false, ok = true;
  for (std::size_t i = 0; ok && i < text.size();) {
    const char32_t c = decode(text, i);
    const bool big = is_upper(c) || is_title(c);
    const bool small = is_lower(c);
    if (big) ok = !after_cased;
    if (small) ok = after_cased;
    some = some || big || small;
    after_cased = big || small;
  }
  return Value::boolean(ok && some, in.here());
}

}  // namespace hz::text::jinja
