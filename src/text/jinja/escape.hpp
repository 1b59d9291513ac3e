// SPDX-License-Identifier: Apache-2.0
// HTML escaping as markupsafe does it.
#pragma once
#include "src/text/jinja/builder.hpp"

namespace hz::text::jinja {

// The text of `str` with & < > ' " as entities, as Markup. A Markup is returned as it is unless `again`.
Value escape(Heap& heap, const Value& str, bool again = false);

}  // namespace hz::text::jinja
