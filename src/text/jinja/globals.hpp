// SPDX-License-Identifier: Apache-2.0
// Global functions of chat templates.
#pragma once
#include <ctime>
#include <string>
#include <string_view>

#include "src/text/jinja/interp.hpp"

namespace hz::text::jinja {

// What raise_exception throws: the template's own message.
struct Raised {
  std::string message;
};

// range, dict, namespace, cycler, joiner, lipsum, raise_exception, strftime_now.
void set_functions(Interp& in);

// strftime in the C locale. tm_wday and tm_yday are computed from the date. Throws Fault for an unknown directive.
std::string format_time(const std::tm& when, std::string_view format);

}  // namespace hz::text::jinja
