// SPDX-License-Identifier: Apache-2.0
// Optimizers: AdamW (Loshchilov and Hutter, ICLR 2019) and SGD with momentum, in the order of operations of PyTorch.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "hanzo/autograd/grad_store.hpp"

namespace hz::optim {

// Parameters that share settings. What is not set comes from the optimizer's options.
struct Group {
  std::vector<Var> parameters;
  double lr_scale = 1.0;  // times the learning rate of each step
  std::optional<double> weight_decay = {};
};

// LoRA+ (Hayou et al., ICML 2024): the B factors learn `ratio` times as fast as the rest. B is recognised by its name. One group for each
// parameter, in their order; tensors of one dimension are not decayed.
std::vector<Group> lora_plus_groups(std::span<const Var> parameters, double ratio);
// Tensors of one dimension (norms, biases, DoRA magnitudes) are not decayed.
std::vector<Group> decay_groups(std::span<const Var> parameters);

// sqrt of the sum of squares over all gradients, in double, tensor by tensor; undefined ones count as zero.
double global_norm(std::span<const Tensor> gradients);
// The factor min(1, max_norm / (norm + 1e-6)) of torch's clip_grad_norm_; 1 for max_norm <= 0.
double clip_factor(double norm, double max_norm);

// One step's numbers. Gradients are used as `scale` * gradient (clipping, normalisation), without a copy.
struct StepOptions {
  std::optional<double> lr = {};  // of this step, from a schedule; else the optimizer's
  double scale = 1.0;
  int threads = 0;  // 0: default_threads()
};

// The frame of every optimizer: float32 master copies of parameters that are not F32, float32 state, and the refusal
// of gradients that are not finite. A step is a function of its inputs alone, whatever the number of threads.
class Optimizer {
 public:
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  // All parameters, in the order in which step() wants their gradients.
  const std::vector<Var>& parameters() const { return parameters_; }
  // gradients[i]: F32, the shape of parameters()[i]; an undefined one leaves its parameter as it is. Returns false, and
  // counts, when a gradient or the scale is not finite: then nothing has changed. Throws usage for other shapes.
  bool step(std::span<const Tensor> gradients, const StepOptions& options = {});
  bool step(const GradStore& gradients, const StepOptions& options = {});
  std::int64_t steps() const { return steps_; }      // steps taken
  std::int64_t skipped() const { return skipped_; }  // steps refused

  // State as named tensors ("NAME.master", "NAME.exp_avg", "NAME.updates", ...), shared with the optimizer: what a checkpoint holds.
  std::vector<std::pair<std::string, Tensor>> state() const;
  // Takes over values and counts of a checkpoint; `find` gives a tensor by name or null. Throws bad_file naming what is
  // missing or of another shape.
  template <class Find>
  void load_state(Find&& find, std::int64_t steps, std::int64_t skipped) {
    for (auto& [name, tensor] : state()) copy_state(name, find(name), tensor);
    restore(steps, skipped);
  }

 protected:
  struct Slot {
    Tensor master;                // F32; the parameter itself where that is F32
    std::vector<Tensor> moments;  // F32, zeros at first
    Tensor updates;               // I64 [1]: steps in which it had a gradient
    double lr_scale = 1.0, weight_decay = 0.0;
  };
  Optimizer(std::vector<Group> groups, double lr, double weight_decay, std::vector<std::string> moments);
  // Elements [begin, end) of one parameter: p, g and the slot's moments are all F32. `t` counts this update, from 1.
  virtual void update(const Slot& slot, std::int64_t t, double lr, float scale, const float* g, std::int64_t begin,
                      std::int64_t end) const = 0;

 private:
  static void copy_state(const std::string& name, const Tensor* from, Tensor& to);
  void restore(std::int64_t steps, std::int64_t skipped);

  std::vector<Var> parameters_;
  std::vector<Slot> slots_;
  std::vector<std::string> moment_names_;
  double lr_;
  std::int64_t steps_ = 0, skipped_ = 0;
};

struct AdamWOptions {
  double lr = 1e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-8;
  double weight_decay = 1e-2;  // decoupled: p *= 1 - lr * weight_decay before the update
};

class AdamW : public Optimizer {
 public:
  explicit AdamW(std::vector<Group> groups, const AdamWOptions& options = {});
  explicit AdamW(std::vector<Var> parameters, const AdamWOptions& options = {});

 private:
  void update(const Slot& slot, std::int64_t t, double lr, float scale, const float* g, std::int64_t begin,
              std::int64_t end) const override;
  AdamWOptions options_;
};

struct SgdOptions {
  double lr = 1e-3, momentum = 0, dampening = 0;
  double weight_decay = 0;  // added to the gradient
  bool nesterov = false;
};

class Sgd : public Optimizer {
 public:
  explicit Sgd(std::vector<Group> groups, const SgdOptions& options = {});
  explicit Sgd(std::vector<Var> parameters, const SgdOptions& options = {});

 private:
  void update(const Slot& slot, std::int64_t t, double lr, float scale, const float* g, std::int64_t begin,
              std::int64_t end) const override;
  SgdOptions options_;
};

}  // namespace hz::optim
