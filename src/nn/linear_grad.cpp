// SPDX-License-Identifier: Apache-2.0
// The gradient of layers that share an input x, with their adapters. For Y = X W^T + s (X A^T) B^T:
//   U = X A^T, dU = s dY B, dB = s dY^T U, dA = dU^T X, dX = dY W + dU A, and dW = dY^T X for a dense W that is trained.
// DoRA: Y = (m / n) Y', n a constant: dm = the column sums of dY Y' / n, dY' = dY (m / n).
#include "src/nn/linear_grad.hpp"

#include <cstring>

namespace hz::nn {
namespace {

// What is kept of one use. Inputs of the record: x, then for each layer its dense weight, then for each use x after
// dropout, A, B and the magnitude.
struct KeptUse {
  std::size_t layer;
  float scale;
  std::int64_t begin, count;
  bool own_x;  // x is not the layers' input: dropout, or a part of the rows
  Saved x, u, a, b, magnitude, gain, before;
};
struct Kept {
  std::vector<QTensor> weights;
  std::vector<Saved> dense;
  Saved x;
  std::vector<KeptUse> uses;
  Shape x_shape;
  Device device;

  std::size_t input_of(std::size_t use, std::size_t part) const { return 1 + weights.size() + 4 * use + part; }
};

Tensor rows_of(const Tensor& t, std::int64_t begin, std::int64_t count) {
  return begin == 0 && count == t.rows() ? t : t.slice(0, begin, begin + count);
}
Tensor matrix(std::int64_t rows, std::int64_t cols, Device device) { return Tensor::empty({rows, cols}, DType::f32, device); }

class LinearBackward {
 public:
  LinearBackward(const Kept& kept, Backward& g) : kept_(kept), g_(g), backend_(backend_of(Tensor::empty({1}, DType::f32, kept.device))) {}

  void run() {
    for (std::size_t i = 0; i < kept_.weights.size(); ++i) dy_.push_back(g_.dy(i));
    for (std::size_t n = kept_.uses.size(); n-- > 0;) use(n);
    dense();
    input();
  }

 private:
  // From the last use to the first: each sees the gradient of the rows it left behind.
  void use(std::size_t n) {
    const KeptUse& u = kept_.uses[n];
    Tensor& dy = dy_[u.layer];
    if (!dy.defined()) return;
    if (u.gain.defined()) magnitude(n, dy);
    const Tensor rows = rows_of(dy, u.begin, u.count);
    const bool want_x = g_.wants(u.own_x ? kept_.input_of(n, 0) : 0), want_a = g_.wants(kept_.input_of(n, 1));
    if (g_.wants(kept_.input_of(n, 2))) {
      Tensor db = matrix(u.b.get().rows(), u.b.get().cols(), kept_.device), scaled = matrix(u.count, u.u.get().cols(), kept_.device);
      backend_.scale(u.u.get(), u.scale, scaled);
      backend_.weight_grad(rows, scaled, db);
      g_.give(kept_.input_of(n, 2), db);
    }
    if (!want_x && !want_a) return;
    Tensor plain = matrix(u.count, u.a.get().rows(), kept_.device), du = matrix(u.count, u.a.get().rows(), kept_.device);
    const InputGradJob job{.dense = &u.b.get(), .dy = &rows};
    backend_.linear_input_grad({&job, 1}, plain);
    backend_.scale(plain, u.scale, du);
    if (want_a) {
      Tensor da = matrix(u.a.get().rows(), u.a.get().cols(), kept_.device);
      backend_.weight_grad(du, u.x.get(), da);
      g_.give(kept_.input_of(n, 1), da);
    }
    if (!want_x) return;
    if (!u.own_x) {
      through_.push_back({n, du});
      return;
    }
    Tensor dx = matrix(u.count, u.a.get().cols(), kept_.device);
    const InputGradJob back{.dense = &u.a.get(), .dy = &du};
    backend_.linear_input_grad({&back, 1}, dx);
    g_.give(kept_.input_of(n, 0), dx);
  }

  // dy's rows of use n times the gain, as a copy; the magnitude's gradient from the rows before it.
  void magnitude(std::size_t n, Tensor& dy) {
    const KeptUse& u = kept_.uses[n];
    const Tensor rows = rows_of(dy, u.begin, u.count);
    if (g_.wants(kept_.input_of(n, 3))) {
      Tensor product = matrix(u.count, rows.cols(), kept_.device), sum = Tensor::empty({rows.cols()}, DType::f32, kept_.device);
      backend_.mul(rows, u.before.get(), product);
      backend_.column_sum(product, sum);
      // 1 / n = gain / m
      for (std::int64_t i = 0; i < sum.numel(); ++i) {
        const float m = u.magnitude.get().data<float>()[i];
        sum.data<float>()[i] *= m != 0 ? u.gain.get().data<float>()[i] / m : 0.0f;
      }
      g_.give(kept_.input_of(n, 3), sum);
    }
    Tensor scaled = matrix(u.count, rows.cols(), kept_.device);
    backend_.mul_row(rows, u.gain.get(), scaled);
    Tensor copy = u.count == dy.rows() ? scaled : dy.clone();
    if (u.count != dy.rows()) std::memcpy(copy.slice(0, u.begin, u.begin + u.count).raw(), scaled.raw(), scaled.nbytes());
    dy = copy;
  }

  void dense() {
    for (std::size_t i = 0; i < kept_.dense.size(); ++i) {
      if (!g_.wants(1 + i) || !dy_[i].defined()) continue;
      Tensor dw = matrix(kept_.dense[i].get().rows(), kept_.dense[i].get().cols(), kept_.device);
      backend_.weight_grad(dy_[i], kept_.x.get(), dw);
      g_.give(1 + i, dw);
    }
  }

  // dX = the sum of dY W over the layers, then of dU A: one chain.
  void input() {
    if (!g_.wants(0)) return;
    std::vector<InputGradJob> jobs;
    for (std::size_t i = 0; i < dy_.size(); ++i) {
      if (!dy_[i].defined()) continue;
      if (kept_.weights[i].defined()) jobs.push_back({.w = &kept_.weights[i], .dy = &dy_[i]});
      else jobs.push_back({.dense = &kept_.dense[i].get(), .dy = &dy_[i]});
    }
    for (const auto& [n, du] : through_) jobs.push_back({.dense = &kept_.uses[n].a.get(), .dy = &du});
    Tensor dx = Tensor::empty(kept_.x_shape, DType::f32, kept_.device);
    backend_.linear_input_grad(jobs, dx);
    g_.give(0, dx);
  }

  const Kept& kept_;
  Backward& g_;
  Backend& backend_;
  std::vector<Tensor> dy_;
  std::vector<std::pair<std::size_t, Tensor>> through_;
};

}  // namespace

void record_linear(Tape& tape, std::initializer_list<const Linear*> layers, const Activation& x, const std::vector<LoraUse>& uses,
                   std::vector<Tensor>& y) {
  std::vector<std::uint64_t> ids{x.grad_id()};
  bool keep_x = false;
  for (const Linear* layer : layers) {
    ids.push_back(layer->dense.defined() ? layer->dense.grad_id() : 0);
    keep_x |= tape.wants(ids.back());
  }
  const std::uint64_t x_id = ids[0];
  for (const LoraUse& u : uses) {
    const LoraAdapter& a = *u.adapter;
    const bool own_x = u.x.grad_id() != x_id;
    for (const std::uint64_t id : {own_x ? u.x.grad_id() : 0, a.a.id(), a.b.id(), a.magnitude.defined() ? a.magnitude.id() : 0})
      ids.push_back(id);
  }
  bool any = false;
  for (const std::uint64_t id : ids) any |= id != 0 && tape.wants(id);
  if (!any) return;
  Kept kept;
  for (const Linear* layer : layers) {
    kept.weights.push_back(layer->weight);
    kept.dense.emplace_back(layer->dense);
  }
  if (keep_x) kept.x = Saved(x.x());
  kept.x_shape = Shape{x.rows(), x.cols()};
  kept.device = x.device();
  for (const LoraUse& u : uses) {
    const LoraAdapter& a = *u.adapter;
    kept.uses.push_back({u.layer, u.scale, u.begin, u.count, u.x.grad_id() != x_id, u.x, u.u, a.a.tensor(), a.b.tensor(),
                         a.magnitude.tensor(), u.gain, u.before});
  }
  std::vector<Shape> shapes;
  for (const Tensor& t : y) shapes.push_back(t.shape());
  std::uint64_t id = tape.record(
      {"linear", std::move(ids), std::move(shapes), 0, [kept = std::move(kept)](Backward& g) { LinearBackward(kept, g).run(); }});
  for (Tensor& t : y) t = t.with_grad_id(id++);
}

}  // namespace hz::nn
