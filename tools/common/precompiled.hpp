// SPDX-License-Identifier: Apache-2.0
// What much of the tools includes, compiled once; every source names its own too. No guard: it is a compilation of its own and
// included before any other line.
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>
