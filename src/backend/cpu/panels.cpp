// SPDX-License-Identifier: Apache-2.0
#include "src/backend/cpu/panels.hpp"

#include "hanzo/core/parallel.hpp"

namespace hz::cpu {

// The layout is the same for every instruction set; another backend's form of the tensor is not ours to read (null).
const Panels* panels_of(const QTensor& w, const FormatKernels& kernels, int threads, const std::shared_ptr<PanelBudget>& budget) {
  if (kernels.packed_unit == 0 || w.rows() < 16) return nullptr;
  return dynamic_cast<const Panels*>(w.packed([&](const QTensor& q) -> std::unique_ptr<PackedForm> {
    auto p = std::make_unique<Panels>();
    const std::int64_t count = (q.rows() + 15) / 16;
    p->panel_bytes = kernels.packed_bytes * static_cast<std::size_t>(q.cols() / kernels.packed_unit);
    const std::size_t bytes = p->panel_bytes * static_cast<std::size_t>(count);
    if (kernels.expanded) {
      if (!budget->take(bytes - q.nbytes())) return nullptr;
      p->budget = budget;
      p->extra = bytes - q.nbytes();
    }
    p->storage = allocate_host(bytes);
    parallel_for(threads, count, 4, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i)
        kernels.pack(q.row(16 * i), q.row_bytes(), static_cast<int>(std::min<std::int64_t>(16, q.rows() - 16 * i)), q.cols(),
                     p->storage->data + static_cast<std::size_t>(i) * p->panel_bytes);
    });
    q.release_pages();
    return p;
  }));
}

}  // namespace hz::cpu
