// SPDX-License-Identifier: Apache-2.0
// What much of the tools includes, compiled once; every source names its own too. Half of them have nlohmann/json, which costs the
// others less than it gives these; of CLI11 the opposite is so. No guard: it is a compilation of its own and included before any
// other line.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>
