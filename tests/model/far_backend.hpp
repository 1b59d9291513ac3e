// SPDX-License-Identifier: Apache-2.0
// FarBackend: a device whose memory the host cannot touch. Its addresses are those of host memory moved out of the address
// space, so that whoever follows one without copying crashes; the ops are the CPU backend's, on the true addresses.
#pragma once
#include <vector>

#include "hanzo/backend/backend.hpp"

namespace hz::test {

class FarBackend final : public Backend {
 public:
  std::string_view name() const override { return "far"; }
  std::string description() const override { return "a memory of its own"; }
  Capabilities capabilities() const override { return {.kv = {KvKind::f16, KvKind::f32}, .free_memory = std::uint64_t{1} << 40}; }

  bool on_host() const override { return false; }
  std::shared_ptr<Storage> allocate(std::size_t bytes) override {
    auto real = allocate_host(bytes);
    auto far = std::make_shared<Storage>();
    far->data = moved(real->data, kFar);
    far->bytes = bytes;
    far->host = false;
    far->owner = real;
    return far;
  }
  void copy(const Storage& from, std::size_t from_offset, Storage& to, std::size_t to_offset, std::size_t bytes) override {
    copies += 1;
    const Storage a = true_place(from);
    Storage b = true_place(to);
    host_memory().copy(a, from_offset, b, to_offset, bytes);
  }
  void clear(Storage& to, std::size_t offset, std::size_t bytes) override {
    Storage place = true_place(to);
    host_memory().clear(place, offset, bytes);
  }

  void embed(const QTensor& table, const Tensor& ids, Tensor& out) override { cpu_->embed(table, ids, *near(out)); }
  void add(const Tensor& a, const Tensor& b, Tensor& out) override { cpu_->add(*near(a), *near(b), *near(out)); }
  void add_row(const Tensor& a, const Tensor& r, Tensor& out) override { cpu_->add_row(*near(a), *near(r), *near(out)); }
  void scale(const Tensor& a, float s, Tensor& out) override { cpu_->scale(*near(a), s, *near(out)); }
  void unary(Unary kind, const Tensor& a, Tensor& out) override { cpu_->unary(kind, *near(a), *near(out)); }
  void softcap(const Tensor& a, float cap, Tensor& out) override { cpu_->softcap(*near(a), cap, *near(out)); }
  void glu(Unary kind, const Tensor& gate, const Tensor& up, Tensor& out) override { cpu_->glu(kind, *near(gate), *near(up), *near(out)); }
  void rms_norm(const Tensor& x, const Tensor& w, float eps, Tensor& out) override { cpu_->rms_norm(*near(x), *near(w), eps, *near(out)); }
  void softmax(const Tensor& x, Tensor& out) override { cpu_->softmax(*near(x), *near(out)); }
  void weighted_sum(const Tensor& rows, const Tensor& weights, Tensor& y) override {
    cpu_->weighted_sum(*near(rows), *near(weights), *near(y));
  }
  bool all_finite(const Tensor& x) override { return cpu_->all_finite(*near(x)); }
  void quantize(const Tensor& x, QAct& out) override {
    QAct q = near_codes(out);
    cpu_->quantize(*near(x), q);
  }
  void rope(Rope kind, const Tensor& x, std::span<const std::int32_t> positions, const Tensor& table, int heads, Tensor& out) override {
    cpu_->rope(kind, *near(x), positions, *near(table), heads, *near(out));
  }
  void linear(std::span<const LinearJob> jobs) override {
    for (const LinearJob& job : jobs) {
      const QAct q = job.q ? near_codes(*job.q) : QAct();
      const auto x = near(job.x), y = near(job.y), dense = near(job.dense);
      const LinearJob one{job.w, dense.get(), x.get(), job.q ? &q : nullptr, y.get()};
      cpu_->linear({&one, 1});
    }
  }
  void expert_linear(const ExpertJob& job) override {
    const QAct q = job.q ? near_codes(*job.q) : QAct();
    const auto x = near(job.x), y = near(job.y);
    cpu_->expert_linear({job.w, x.get(), job.q ? &q : nullptr, job.x_rows, job.experts, y.get()});
  }
  std::size_t kv_layer_bytes(const KvLayout& layout) const override { return cpu_->kv_layer_bytes(layout); }
  void kv_write(const KvBatch& kv, const Tensor& k, const Tensor& v) override { cpu_->kv_write(NearKv(kv).batch, *near(k), *near(v)); }
  void attention(const AttentionArgs& args, const Tensor& q, int heads, Tensor& out) override {
    const NearKv kv(args.kv);
    AttentionArgs a = args;
    a.kv = kv.batch;
    a.k = a.v = nullptr;
    cpu_->attention(a, *near(q), heads, *near(out));
  }

  int copies = 0;

 private:
  static constexpr std::uintptr_t kFar = std::uintptr_t{1} << 62;  // no process has addresses there

  static std::byte* moved(const std::byte* p, std::uintptr_t by) {
    return reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(p) + by);
  }
  static Storage true_place(const Storage& s) {
    Storage t = s;
    if (reinterpret_cast<std::uintptr_t>(s.data) >= kFar) t.data = moved(s.data, -kFar);
    return t;
  }
  // The tensor at its true address. Throws when its memory is not the device's.
  std::unique_ptr<Tensor> near(const Tensor* t) const {
    if (t == nullptr) return nullptr;
    if (!t->defined()) return std::make_unique<Tensor>();
    if (t->storage()->host) throw Error(ErrorKind::usage, "a tensor of the host was given to an op of the far device");
    auto place = std::make_shared<Storage>(true_place(*t->storage()));
    place->host = true;
    return std::make_unique<Tensor>(Tensor(place, t->byte_offset(), t->shape(), t->dtype(), cpu_->device()));
  }
  std::unique_ptr<Tensor> near(const Tensor& t) const { return near(&t); }
  QAct near_codes(const QAct& q) const { return {*near(q.codes), *near(q.scales), *near(q.sums)}; }

  // A batch with its page tables at their true addresses.
  struct NearKv {
    std::vector<std::vector<const std::byte*>> tables;
    std::vector<KvSegment> segments;
    KvBatch batch;
    explicit NearKv(const KvBatch& kv) : segments(kv.segments.begin(), kv.segments.end()), batch(kv) {
      for (KvSegment& s : segments) {
        auto& table = tables.emplace_back();
        for (std::int64_t page = 0; page * kKvPage < s.position + s.count; ++page) table.push_back(moved(s.pages[page], -kFar));
      }
      for (std::size_t i = 0; i < segments.size(); ++i) segments[i].pages = tables[i].data();
      batch.segments = segments;
    }
  };

  std::shared_ptr<Backend> cpu_ = make_backend("cpu", {.threads = 1});
};

}  // namespace hz::test
