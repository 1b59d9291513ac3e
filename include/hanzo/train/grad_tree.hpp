// SPDX-License-Identifier: Apache-2.0
// GradTree: the sum of the micro-batches' gradients of one step, in a fixed order of additions.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "hanzo/autograd/grad_store.hpp"
#include "hanzo/autograd/var.hpp"

namespace hz::train {

// Leaf i is micro-batch i; node j of level k is the sum of nodes 2j and 2j + 1 of level k - 1, or the first alone where
// there is no second. So a machine that has leaves [j 2^k, (j + 1) 2^k) has one node, and the sum of all is the same bits
// however the leaves are spread over machines.
class GradTree {
 public:
  explicit GradTree(std::vector<Var> variables) : variables_(std::move(variables)) {}

  void add(const GradStore& leaf);  // the next leaf
  std::int64_t leaves() const { return leaves_; }
  // The sum of all leaves so far, one tensor per variable (undefined where none got a gradient); empties the tree.
  std::vector<Tensor> finish();
  void clear();

  // For checkpoints amid a step: the partial sums by "LEVEL.NAME", and back. leaves: how many they are the sum of.
  std::vector<std::pair<std::string, Tensor>> state() const;
  template <class Find>
  void load_state(Find&& find, std::int64_t leaves) {
    clear();
    leaves_ = leaves;
    for (int level = 62; level >= 0; --level) {
      if ((leaves >> level & 1) == 0) continue;
      nodes_.push_back({level, {}});
      for (const Var& v : variables_) nodes_.back().sums.push_back(find(std::to_string(level) + "." + v.name()));
    }
  }

  // a += b, element by element; an undefined a becomes b.
  static void add_into(std::vector<Tensor>& a, const std::vector<Tensor>& b);

 private:
  struct Node {
    int level = 0;
    std::vector<Tensor> sums;
  };
  void merge_last();
  std::vector<Var> variables_;
  std::vector<Node> nodes_;  // levels descend: the binary digits of leaves_
  std::int64_t leaves_ = 0;
};

}  // namespace hz::train
