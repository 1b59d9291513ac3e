// SPDX-License-Identifier: Apache-2.0
// Attributes of objects that are neither strings nor containers.
#pragma once
#include "src/text/jinja/interp.hpp"

namespace hz::text::jinja {

// loop.index, namespace attributes, cycler.next, group.grouper, range.start ...; missing when there is none.
Value object_attribute(Interp& in, const Value& base, std::string_view name);

}  // namespace hz::text::jinja
