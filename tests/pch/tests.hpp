// SPDX-License-Identifier: Apache-2.0
// What nearly every unit test includes, compiled once.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "hanzo/core/error.hpp"
#include "hanzo/io/metadata.hpp"
#include "hanzo/quant/qtensor.hpp"
#include "tests/catch.hpp"
