// SPDX-License-Identifier: Apache-2.0
// JSON input to template values, with the origins that tell data from template text.
#pragma once
#include <nlohmann/json_fwd.hpp>

#include "src/text/jinja/objects.hpp"

namespace hz::text::jinja {

// Throws Fault(usage) for invalid UTF-8 or nesting beyond kMaxValueDepth.
Value from_json(Heap& heap, const nlohmann::ordered_json& json, Origin origin);
// The messages: element i and all in it are data of message i, but its role, when that is a plain identifier, counts as
// template text: callers choose roles, and templates build control tokens of them.
Value from_messages(Heap& heap, const nlohmann::ordered_json& messages);

}  // namespace hz::text::jinja
