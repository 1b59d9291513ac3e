// SPDX-License-Identifier: Apache-2.0
// What hz-run prints about a model file.
#pragma once
#include <string>

#include "tools/common/console.hpp"

namespace hz::tools {

// Metadata, tensors, types, sizes, template and tokenizer; the architecture need not be built.
int print_info(const std::string& file, bool json, Console& console);

}  // namespace hz::tools
