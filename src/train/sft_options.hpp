// SPDX-License-Identifier: Apache-2.0
// What run.json records of a run's options.
#pragma once
#include <nlohmann/json.hpp>

#include "hanzo/train/sft.hpp"

namespace hz::train {

// Every option that decides the result, under the name of its flag.
nlohmann::ordered_json config_of(const SftOptions& options);

}  // namespace hz::train
