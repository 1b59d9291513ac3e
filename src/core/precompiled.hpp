// SPDX-License-Identifier: Apache-2.0
// What much of the library and the tools includes, compiled once for each of them; every source names its own too.
// No guard: it is a compilation of its own and included before any other line.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>
