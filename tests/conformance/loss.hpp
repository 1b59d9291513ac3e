// SPDX-License-Identifier: Apache-2.0
// Group loss: what the files of reference losses, optimizers and schedules share.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "hanzo/core/tensor.hpp"
#include "tests/conformance/runner.hpp"

namespace hz::conformance {

using LossCase = nlohmann::json;

// The numbers of a (nested) array, flat; its shape.
std::vector<double> numbers(const nlohmann::json& array);
Shape shape_of(const nlohmann::json& array);
Tensor tensor_of(const nlohmann::json& array);

// Differences between what is computed and what is expected, relative to the largest magnitude expected.
class LossCheck {
 public:
  void near(const std::string& what, std::span<const float> got, const nlohmann::json& expected, double tolerance = 1e-5);
  void near(const std::string& what, double got, double expected, double tolerance = 1e-5);
  const std::string& fault() const { return fault_; }  // the first one; empty when all is near
  // For a case whose op is not built.
  void skip(std::string why) { skipped_ = std::move(why); }
  const std::string& skipped() const { return skipped_; }

 private:
  std::string fault_, skipped_;
};

// One function per file; a file without one is skipped by name.
void check_basic(const LossCase& c, LossCheck& check);
void check_sft(const LossCase& c, LossCheck& check);
void check_optim(const LossCase& c, LossCheck& check);
void check_schedule(const LossCase& c, LossCheck& check);
void check_lora(const LossCase& c, LossCheck& check);
void check_rope(const LossCase& c, LossCheck& check);
void check_norms(const LossCase& c, LossCheck& check);
void check_attention(const LossCase& c, LossCheck& check);

}  // namespace hz::conformance
