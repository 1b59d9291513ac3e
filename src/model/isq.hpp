// SPDX-License-Identifier: Apache-2.0
// Quantizing at load: the file that takes the model's place.
#pragma once
#include <filesystem>
#include <optional>

#include "hanzo/model/model.hpp"
#include "src/io/temporary_folder.hpp"

namespace hz::model {

// Makes the file in its constructor; a temporary one goes with the object, when the model has mapped or read it.
class QuantizedForLoad {
 public:
  QuantizedForLoad(const std::filesystem::path& model, const LoadOptions& options);
  const std::filesystem::path& file() const { return file_; }

 private:
  std::filesystem::path file_;
  std::optional<io::TemporaryFolder> temporary_;
};

}  // namespace hz::model
