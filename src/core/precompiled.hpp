// SPDX-License-Identifier: Apache-2.0
// What much of the library includes, compiled once in the sanitized build (src/meson.build); every source names its own too.
#pragma once
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
