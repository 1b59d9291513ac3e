// SPDX-License-Identifier: Apache-2.0
// Ranks that train together: sums along the tree of GradTree, each rank one node.
#include "tools/hz-train-mpi.hpp"

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <hanzo/core/error.hpp>
#include <string>

#if HZ_HAVE_MPI
#include <mpi.h>
#endif

namespace hz::tools {
namespace {

// What launchers tell a process: Open MPI, and those that speak PMI.
int launched_size() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"})
    if (const char* text = std::getenv(name)) {
      int size = 1;
      std::from_chars(text, text + std::strlen(text), size);  // what is no number leaves 1
      return size;
    }
  return 1;
}

#if HZ_HAVE_MPI

class MpiPeers : public train::Peers {
 public:
  MpiPeers() {
    int level = 0;
    ::MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &level);
    ::MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    ::MPI_Comm_size(MPI_COMM_WORLD, &size_);
  }
  ~MpiPeers() override {
    if (std::uncaught_exceptions() > 0) ::MPI_Abort(MPI_COMM_WORLD, 1);  // the others would wait for ever
    ::MPI_Finalize();
  }
  int rank() const override { return rank_; }
  int size() const override { return size_; }

  void sum(std::vector<Tensor>& gradients) override {
    for (int step = 1; step < size_; step *= 2) {
      if (rank_ % (2 * step) == step) {
        send(gradients, rank_ - step);
        break;
      }
      if (rank_ % (2 * step) == 0 && rank_ + step < size_) train::GradTree::add_into(gradients, receive(gradients, rank_ + step));
    }
    share(gradients);
  }

  std::vector<double> gather(std::vector<double> mine) override {
    const int count = static_cast<int>(mine.size());
    std::vector<int> counts(static_cast<std::size_t>(size_)), starts(counts);
    ::MPI_Allgather(&count, 1, MPI_INT, counts.data(), 1, MPI_INT, MPI_COMM_WORLD);
    int total = 0;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      starts[i] = total;
      total += counts[i];
    }
    std::vector<double> all(static_cast<std::size_t>(total));
    ::MPI_Allgatherv(mine.data(), count, MPI_DOUBLE, all.data(), counts.data(), starts.data(), MPI_DOUBLE, MPI_COMM_WORLD);
    return all;
  }

  bool any(bool mine) override {
    int in = mine ? 1 : 0, out = 0;
    ::MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_LOR, MPI_COMM_WORLD);
    return out != 0;
  }

 private:
  // One flag a tensor, then the floats of those that are there. Shapes are those of the parameters, known everywhere;
  // a tensor that only another rank has arrives flat and takes its shape in the optimizer's order.
  static std::vector<long> sizes(const std::vector<Tensor>& tensors) {
    std::vector<long> n;
    for (const Tensor& t : tensors) n.push_back(t.defined() ? static_cast<long>(t.numel()) : 0L);
    return n;
  }
  static void send(const std::vector<Tensor>& tensors, int to) {
    const auto n = sizes(tensors);
    ::MPI_Send(n.data(), static_cast<int>(n.size()), MPI_LONG, to, 0, MPI_COMM_WORLD);
    for (const Tensor& t : tensors)
      if (t.defined()) ::MPI_Send(t.data<float>(), static_cast<int>(t.numel()), MPI_FLOAT, to, 1, MPI_COMM_WORLD);
  }
  static std::vector<Tensor> receive(const std::vector<Tensor>& like, int from) {
    std::vector<long> n(like.size());
    ::MPI_Recv(n.data(), static_cast<int>(n.size()), MPI_LONG, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    std::vector<Tensor> got(like.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      if (n[i] == 0) continue;
      got[i] = Tensor::empty(like[i].defined() ? like[i].shape() : Shape{n[i]});
      ::MPI_Recv(got[i].data<float>(), static_cast<int>(n[i]), MPI_FLOAT, from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    return got;
  }
  // Rank 0's tensors to all.
  static void share(std::vector<Tensor>& tensors) {
    auto n = sizes(tensors);
    ::MPI_Bcast(n.data(), static_cast<int>(n.size()), MPI_LONG, 0, MPI_COMM_WORLD);
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      if (n[i] == 0) continue;
      if (!tensors[i].defined()) tensors[i] = Tensor::empty({n[i]});
      ::MPI_Bcast(tensors[i].data<float>(), static_cast<int>(n[i]), MPI_FLOAT, 0, MPI_COMM_WORLD);
    }
  }

  int rank_ = 0, size_ = 1;
};

#endif

}  // namespace

std::unique_ptr<train::Peers> launched_peers() {
  if (launched_size() <= 1) return nullptr;
#if HZ_HAVE_MPI
  return std::make_unique<MpiPeers>();
#else
  throw Error(ErrorKind::unsupported, "this hz-train was built without MPI", "",
              "install libopenmpi-dev and build again with -Dmpi=enabled, or run one process");
#endif
}

}  // namespace hz::tools
