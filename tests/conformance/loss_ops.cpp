// SPDX-License-Identifier: Apache-2.0
// Ops of the reference losses with their gradients: rope, norms, softmax, functions, gated units, attention.
#include <algorithm>
#include <cmath>
#include <map>

#include "hanzo/autograd/tape.hpp"
#include "hanzo/model/kv_cache.hpp"
#include "hanzo/model/rope_table.hpp"
#include "hanzo/ops/ops.hpp"
#include "tests/conformance/loss.hpp"

namespace hz::conformance {
namespace {

constexpr double kThroughSoftmax = 1e-4;

const std::map<std::string, Unary> kFunctions = {
    {"silu", Unary::silu},      {"gelu_tanh", Unary::gelu_tanh}, {"gelu_erf", Unary::gelu_erf},   {"gelu_quick", Unary::gelu_quick},
    {"relu_sqr", Unary::relu2}, {"swiglu", Unary::silu},         {"geglu_tanh", Unary::gelu_tanh}};

// The gradients of sum(upstream * y).
GradStore backward(Tape& tape, const LossCase& c, const Tensor& y) {
  const Tensor up = tensor_of(c.at("upstream")).reshape(y.shape());
  return tape.backward({&y, 1}, {&up, 1});
}

// cos and sin of the case's own angles; for those that our tables know, the table is checked too.
Tensor table_of(const LossCase& c, LossCheck& check) {
  const auto theta = numbers(c.at("theta"));
  const auto half = c.at("n_dims").get<std::int64_t>() / 2;
  const double scale = c.at("mscale").get<double>();
  Tensor table = Tensor::empty({static_cast<std::int64_t>(theta.size()) / half, half, 2});
  for (std::size_t i = 0; i < theta.size(); ++i) {
    table.data<float>()[2 * i] = static_cast<float>(scale * std::cos(theta[i]));
    table.data<float>()[2 * i + 1] = static_cast<float>(scale * std::sin(theta[i]));
  }
  if (c.at("ext_factor").get<double>() != 0) return table;
  std::vector<float> factors;
  if (!c.at("freq_factors").is_null())
    for (const double f : numbers(c.at("freq_factors"))) factors.push_back(static_cast<float>(f));
  const auto positions = c.at("positions").get<std::vector<std::int64_t>>();
  const Tensor own = model::rope_table(*std::max_element(positions.begin(), positions.end()) + 1, static_cast<int>(2 * half),
                                       c.at("base").get<double>(), 1 / c.at("freq_scale").get<double>(), factors);
  for (std::size_t p = 0; p < positions.size(); ++p)
    for (std::int64_t i = 0; i < 2 * half; ++i) {
      const float want = table.data<float>()[static_cast<std::int64_t>(p) * 2 * half + i],
                  got = own.data<float>()[positions[p] * 2 * half + i];
      if (std::fabs(want - got) > 1e-3f) check.near("rope table", got, want, 0);  // float32 factors against float64 at large positions
    }
  return table;
}

void check_softmax(const LossCase& c, LossCheck& check) {
  Tensor values = tensor_of(c.at("x"));
  if (c.contains("masked")) {
    const auto masked = numbers(c.at("masked"));
    for (std::size_t i = 0; i < masked.size(); ++i)
      if (masked[i] != 0) values.data<float>()[i] = -INFINITY;
  }
  const Var x(values);
  Tape tape;
  const Tensor y = softmax(c.contains("scale") ? scale(x, c.at("scale").get<float>()) : x.tensor());
  // Rounding the inputs to float32 moves e^x by as much: a part of 2^24 of the largest.
  double top = 0;
  for (const float v : values.span<float>())
    if (std::isfinite(v)) top = std::max(top, static_cast<double>(std::fabs(v)));
  check.near("y", y.span<float>(), c.at("y"), std::max(1e-5, top * 0x1p-23));
  check.near("dx", backward(tape, c, y)[x].span<float>(), c.at("dx"), std::max(kThroughSoftmax, top * 0x1p-23));
}

void check_norm(const LossCase& c, LossCheck& check) {
  Tensor weight = tensor_of(c.at("weight"));
  if (c.at("kind") == "rms_norm_plus_one")
    for (float& w : weight.span<float>()) w += 1;
  const Var x(tensor_of(c.at("x"))), w(weight), b(c.contains("bias") ? tensor_of(c.at("bias")) : Tensor::zeros({weight.numel()}));
  const auto eps = c.at("eps").get<float>();
  Tape tape;
  const Tensor y = c.at("kind") == "layer_norm" ? layer_norm(x, w, b, eps) : rms_norm(x, w, eps);
  check.near("y", y.span<float>(), c.at("y"));
  const GradStore g = backward(tape, c, y);
  check.near("dx", g[x].span<float>(), c.at("dx"));
  check.near("dweight", g[w].span<float>(), c.at("dweight"));
  if (c.contains("dbias")) check.near("dbias", g[b].span<float>(), c.at("dbias"));
}

}  // namespace

void check_rope(const LossCase& c, LossCheck& check) {
  const Tensor table = table_of(c, check);
  const Var x(tensor_of(c.at("x")).reshape({table.size(0), c.at("head_dim").get<std::int64_t>()}));
  std::vector<std::int32_t> rows;  // the table has one row for each position of the case
  for (std::int32_t i = 0; i < table.size(0); ++i) rows.push_back(i);
  Tape tape;
  const Tensor y = rope(c.at("style") == "norm" ? Rope::adjacent : Rope::half_split, x, rows, table, 1);
  check.near("y", y.span<float>(), c.at("y"));
  check.near("dx", backward(tape, c, y)[x].span<float>(), c.at("dx"));
}

void check_norms(const LossCase& c, LossCheck& check) {
  const auto kind = c.at("kind").get<std::string>();
  if (kind.starts_with("softmax")) return check_softmax(c, check);
  if (kind.ends_with("norm") || kind == "rms_norm_plus_one") return check_norm(c, check);
  const auto name = c.at("name").get<std::string>();
  const auto function = kFunctions.find(name);
  if (function == kFunctions.end()) return check.skip("the gated unit " + name + " is not built yet");
  Tape tape;
  if (kind == "glu") {
    const Var gate(tensor_of(c.at("gate"))), up(tensor_of(c.at("up")));
    const Tensor y = glu(function->second, gate, up);
    check.near("y", y.span<float>(), c.at("y"));
    const GradStore g = backward(tape, c, y);
    check.near("dgate", g[gate].span<float>(), c.at("dgate"));
    check.near("dup", g[up].span<float>(), c.at("dup"));
    return;
  }
  const Var x(tensor_of(c.at("x")));
  const Tensor y = unary(function->second, x);
  check.near("y", y.span<float>(), c.at("y"));
  check.near("dx", backward(tape, c, y)[x].span<float>(), c.at("dx"));
}

// Queries after a prefix become rows of a longer document whose first rows have no upstream gradient.
void check_attention(const LossCase& c, LossCheck& check) {
  const Tensor q_given = tensor_of(c.at("q"));
  const Var k(tensor_of(c.at("k"))), v(tensor_of(c.at("v")));
  const std::int64_t keys = k.shape()[0], offset = c.at("q_offset").get<std::int64_t>(), heads = q_given.size(1), dim = q_given.size(2),
                     width = heads * dim;
  const auto padded = [&](const Tensor& t) {
    Tensor all = Tensor::zeros({keys, width});
    std::copy_n(t.data<float>(), t.numel(), all.data<float>() + offset * width);
    return all;
  };
  const Var q(padded(q_given));
  const auto kv_heads = static_cast<int>(k.shape()[1]);
  Backend& backend = backend_of(q);
  const auto layout = std::make_shared<model::PageLayout>(
      backend, std::vector<KvLayout>{{KvKind::f32, kv_heads, static_cast<int>(dim), static_cast<int>(dim)}});
  model::KvSequence sequence(layout);
  sequence.reserve(keys);
  const KvSegment segment{0, keys, 0, 0, sequence.pages()};
  const Tensor k_rows = k.tensor().reshape({keys, kv_heads * dim}), v_rows = v.tensor().reshape({keys, kv_heads * dim});
  AttentionArgs args;
  args.kv = {layout->layers[0], 0, {&segment, 1}};
  args.scale = c.at("scale").get<float>();
  args.softcap = c.at("softcap").is_null() ? 0.0f : c.at("softcap").get<float>();
  args.window = c.at("window").is_null() ? 0 : c.at("window").get<std::int64_t>();
  args.causal = c.at("causal").get<bool>();
  args.k = &k_rows;
  args.v = &v_rows;
  const Var sinks(c.at("sinks").is_null() ? Tensor::zeros({heads}) : tensor_of(c.at("sinks")));
  if (!c.at("sinks").is_null()) args.sinks = &sinks.tensor();
  kv_write(args.kv, k_rows, v_rows);
  Tape tape;
  const Tensor y = attention(args, q, static_cast<int>(heads)), up = padded(tensor_of(c.at("upstream")));
  const auto asked = [&](const Tensor& t) { return t.span<float>().subspan(static_cast<std::size_t>(offset * width)); };
  check.near("out", asked(y), c.at("out"));
  const GradStore g = tape.backward({&y, 1}, {&up, 1});
  check.near("dq", asked(g[q]), c.at("dq"), kThroughSoftmax);
  check.near("dk", g[k].span<float>(), c.at("dk"), kThroughSoftmax);
  check.near("dv", g[v].span<float>(), c.at("dv"), kThroughSoftmax);
  if (!c.at("sinks").is_null()) check.near("dsinks", g[sinks].span<float>(), c.at("dsinks"), kThroughSoftmax);
}

}  // namespace hz::conformance
