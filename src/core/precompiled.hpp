// SPDX-License-Identifier: Apache-2.0
// What much of the library includes, compiled once for each of its parts; every source names its own too. Without nlohmann/json:
// its inline functions are instantiated in every source that has it, half a second each.
// No guard: it is a compilation of its own and included before any other line.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>
