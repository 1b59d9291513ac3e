// SPDX-License-Identifier: Apache-2.0
// Optimizers: the frame, AdamW, SGD.
#include "hanzo/nn/optim.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "hanzo/core/parallel.hpp"

namespace hz::optim {
namespace {

constexpr std::int64_t kGrain = 16384;  // elements that a thread updates at a time

bool is_b_factor(const std::string& name) {
  for (const char* mark : {"lora_b", "lora_B"})
    if (name.find(mark) != std::string::npos) return true;
  return false;
}

bool all_finite(const Tensor& t) {
  const auto values = t.span<const float>();
  return std::all_of(values.begin(), values.end(), [](float v) { return std::isfinite(v); });
}

// The parameter's values, rounded to its type.
void store(const Tensor& master, const Tensor& value, std::int64_t begin, std::int64_t end) {
  const float* from = master.data<float>();
  if (value.dtype() == DType::f16)
    for (std::int64_t i = begin; i < end; ++i) value.data<Half>()[i] = to_half(from[i]);
  if (value.dtype() == DType::bf16)
    for (std::int64_t i = begin; i < end; ++i) value.data<BFloat16>()[i] = to_bfloat16(from[i]);
}

Tensor master_of(const Var& p) {
  if (p.tensor().dtype() == DType::f32) return p.tensor();
  if (p.tensor().dtype() != DType::f16 && p.tensor().dtype() != DType::bf16)
    throw Error(ErrorKind::usage,
                "[optim] parameter " + p.name() + " is " + std::string(name_of(p.tensor().dtype())) + "; F32, F16 and BF16 can be trained");
  Tensor master = Tensor::empty(p.tensor().shape());
  float* to = master.data<float>();
  for (std::int64_t i = 0; i < master.numel(); ++i)
    to[i] = p.tensor().dtype() == DType::f16 ? to_float(p.tensor().data<Half>()[i]) : to_float(p.tensor().data<BFloat16>()[i]);
  return master;
}

std::vector<Group> one_group(std::vector<Var> parameters) {
  std::vector<Group> groups(1);
  groups[0].parameters = std::move(parameters);
  return groups;
}

}  // namespace

std::vector<Group> lora_plus_groups(std::span<const Var> parameters, double ratio) {
  std::vector<Group> groups;
  for (const Var& p : parameters) {
    groups.push_back({{p}, is_b_factor(p.name()) ? ratio : 1.0, std::nullopt});
    if (p.tensor().rank() < 2) groups.back().weight_decay = 0.0;
  }
  return groups;
}

std::vector<Group> decay_groups(std::span<const Var> parameters) {
  std::vector<Group> groups(2);
  groups[1].weight_decay = 0.0;
  for (const Var& p : parameters) groups[p.tensor().rank() < 2 ? 1 : 0].parameters.push_back(p);
  return groups;
}

double global_norm(std::span<const Tensor> gradients) {
  double sum = 0;
  for (const Tensor& g : gradients) {
    if (!g.defined()) continue;
    double of_tensor = 0;
    for (const float v : g.span<const float>()) of_tensor += static_cast<double>(v) * v;
    sum += of_tensor;
  }
  return std::sqrt(sum);
}

double clip_factor(double norm, double max_norm) { return max_norm > 0 ? std::min(1.0, max_norm / (norm + 1e-6)) : 1.0; }

Optimizer::Optimizer(std::vector<Group> groups, double lr, double weight_decay, std::vector<std::string> moments)
    : moment_names_(std::move(moments)), lr_(lr) {
  for (const Group& group : groups)
    for (const Var& p : group.parameters) {
      if (!p.tensor().contiguous()) throw Error(ErrorKind::usage, "[optim] parameter " + p.name() + " is not contiguous");
      Slot slot;
      slot.master = master_of(p);
      for (std::size_t i = 0; i < moment_names_.size(); ++i) slot.moments.push_back(Tensor::zeros(p.tensor().shape()));
      slot.updates = Tensor::zeros({1}, DType::i64);
      slot.lr_scale = group.lr_scale;
      slot.weight_decay = group.weight_decay.value_or(weight_decay);
      slots_.push_back(std::move(slot));
      parameters_.push_back(p);
    }
}

bool Optimizer::step(std::span<const Tensor> gradients, const StepOptions& options) {
  if (gradients.size() != parameters_.size())
    throw Error(ErrorKind::usage,
                "[optim] " + std::to_string(gradients.size()) + " gradients for " + std::to_string(parameters_.size()) + " parameters");
  for (std::size_t i = 0; i < gradients.size(); ++i)
    if (gradients[i].defined() && !(gradients[i].shape() == parameters_[i].shape()))
      throw Error(ErrorKind::usage, "[optim] the gradient of " + parameters_[i].name() + " is " + to_string(gradients[i].shape()) +
                                        ", the parameter " + to_string(parameters_[i].shape()));
  const bool finite = std::isfinite(options.scale) &&
                      std::all_of(gradients.begin(), gradients.end(), [](const Tensor& g) { return !g.defined() || all_finite(g); });
  if (!finite) {
    ++skipped_;
    return false;
  }
  const IeeeMode mode;
  const int threads = options.threads > 0 ? options.threads : default_threads();
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    if (!gradients[i].defined()) continue;
    Slot& slot = slots_[i];
    const std::int64_t t = ++*slot.updates.data<std::int64_t>();
    const double lr = options.lr.value_or(lr_) * slot.lr_scale;
    const float* g = gradients[i].span<const float>().data();
    parallel_for(threads, slot.master.numel(), kGrain, [&](std::int64_t begin, std::int64_t end) {
      update(slot, t, lr, static_cast<float>(options.scale), g, begin, end);
      store(slot.master, parameters_[i].tensor(), begin, end);
    });
    parameters_[i].touch();
  }
  ++steps_;
  return true;
}

bool Optimizer::step(const GradStore& gradients, const StepOptions& options) {
  std::vector<Tensor> ordered;
  for (const Var& p : parameters_) ordered.push_back(gradients[p]);
  return step(ordered, options);
}

std::vector<std::pair<std::string, Tensor>> Optimizer::state() const {
  std::vector<std::pair<std::string, Tensor>> all;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const std::string& name = parameters_[i].name();
    all.emplace_back(name + ".master", slots_[i].master);
    all.emplace_back(name + ".updates", slots_[i].updates);
    for (std::size_t m = 0; m < moment_names_.size(); ++m) all.emplace_back(name + "." + moment_names_[m], slots_[i].moments[m]);
  }
  return all;
}

void Optimizer::copy_state(const std::string& name, const Tensor* from, Tensor& to) {
  if (from == nullptr) throw Error(ErrorKind::bad_file, "the optimizer's state lacks " + name);
  if (from->dtype() != to.dtype() || !(from->shape() == to.shape()))
    throw Error(ErrorKind::bad_file, "the optimizer's " + name + " is " + std::string(name_of(from->dtype())) + " " +
                                         to_string(from->shape()) + ", expected " + std::string(name_of(to.dtype())) + " " +
                                         to_string(to.shape()));
  std::memcpy(to.raw(), from->raw(), to.nbytes());
}

void Optimizer::restore(std::int64_t steps, std::int64_t skipped) {
  steps_ = steps;
  skipped_ = skipped;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    store(slots_[i].master, parameters_[i].tensor(), 0, slots_[i].master.numel());
    parameters_[i].touch();
  }
}

AdamW::AdamW(std::vector<Group> groups, const AdamWOptions& options)
    : Optimizer(std::move(groups), options.lr, options.weight_decay, {"exp_avg", "exp_avg_sq"}), options_(options) {}
AdamW::AdamW(std::vector<Var> parameters, const AdamWOptions& options) : AdamW(one_group(std::move(parameters)), options) {}

void AdamW::update(const Slot& slot, std::int64_t t, double lr, float scale, const float* g, std::int64_t begin, std::int64_t end) const {
  const double c1 = 1 - std::pow(options_.beta1, static_cast<double>(t)), c2 = 1 - std::pow(options_.beta2, static_cast<double>(t));
  const auto decay = static_cast<float>(1 - lr * slot.weight_decay), step = static_cast<float>(lr / c1),
             root = static_cast<float>(std::sqrt(c2));
  const auto b2 = static_cast<float>(options_.beta2), rest1 = static_cast<float>(1 - options_.beta1),
             rest2 = static_cast<float>(1 - options_.beta2);
  const auto eps = static_cast<float>(options_.eps);
  float *p = slot.master.data<float>(), *m = slot.moments[0].data<float>(), *v = slot.moments[1].data<float>();
  for (std::int64_t i = begin; i < end; ++i) {
    const float grad = g[i] * scale;
    m[i] = m[i] + (grad - m[i]) * rest1;
    v[i] = v[i] * b2 + grad * grad * rest2;
    p[i] = p[i] * decay - step * (m[i] / (std::sqrt(v[i]) / root + eps));
  }
}

Sgd::Sgd(std::vector<Group> groups, const SgdOptions& options)
    : Optimizer(std::move(groups), options.lr, options.weight_decay,
                options.momentum != 0 ? std::vector<std::string>{"momentum_buffer"} : std::vector<std::string>{}),
      options_(options) {
  if (options.nesterov && (options.momentum <= 0 || options.dampening != 0))
    throw Error(ErrorKind::usage, "[optim] Nesterov momentum needs a momentum and no dampening");
}
Sgd::Sgd(std::vector<Var> parameters, const SgdOptions& options) : Sgd(one_group(std::move(parameters)), options) {}

void Sgd::update(const Slot& slot, std::int64_t t, double lr, float scale, const float* g, std::int64_t begin, std::int64_t end) const {
  const auto rate = static_cast<float>(lr), decay = static_cast<float>(slot.weight_decay);
  const auto momentum = static_cast<float>(options_.momentum), rest = static_cast<float>(1 - options_.dampening);
  float* p = slot.master.data<float>();
  float* buffer = slot.moments.empty() ? nullptr : slot.moments[0].data<float>();
  for (std::int64_t i = begin; i < end; ++i) {
    float d = g[i] * scale + decay * p[i];
    if (buffer != nullptr) {
      buffer[i] = t == 1 ? d : momentum * buffer[i] + rest * d;
      d = options_.nesterov ? d + momentum * buffer[i] : buffer[i];
    }
    p[i] -= rate * d;
  }
}

}  // namespace hz::optim
