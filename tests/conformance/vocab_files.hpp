// SPDX-License-Identifier: Apache-2.0
// VocabFiles: finds the vocabulary of a case set in the data, or the model in the folder HANZO_MODELS.
#pragma once
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "tests/temp_dir.hpp"

namespace hz::conformance {

class VocabFiles {
 public:
  // The GGUF file for a case set: the manifest's `file` beside it (an unpacked one first), or a model. nullopt
  // with the reason when there is none.
  std::optional<std::filesystem::path> find(const std::filesystem::path& dir, const std::string& name, const nlohmann::json& vocab,
                                            const nlohmann::json& case_set, std::string& reason);

 private:
  test::TempDir unpacked_;
};

}  // namespace hz::conformance
