// SPDX-License-Identifier: Apache-2.0
// GradTree: a binary counter of partial sums.
#include "hanzo/train/grad_tree.hpp"

namespace hz::train {

void GradTree::add_into(std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!b[i].defined()) continue;
    if (!a[i].defined()) {
      a[i] = b[i];
      continue;
    }
    if (a[i].storage().use_count() > 1) a[i] = a[i].clone();  // somebody else reads it
    const auto to = a[i].span<float>();
    const auto from = b[i].span<const float>();
    for (std::size_t j = 0; j < to.size(); ++j) to[j] += from[j];
  }
}

void GradTree::merge_last() {
  add_into(nodes_[nodes_.size() - 2].sums, nodes_.back().sums);
  nodes_.pop_back();
  ++nodes_.back().level;
}

void GradTree::add(const GradStore& leaf) {
  Node node;
  for (const Var& v : variables_) {
    Tensor g = leaf[v];
    node.sums.push_back(g.defined() && !g.contiguous() ? g.clone() : g);
  }
  nodes_.push_back(std::move(node));
  ++leaves_;
  while (nodes_.size() > 1 && nodes_[nodes_.size() - 2].level == nodes_.back().level) merge_last();
}

std::vector<Tensor> GradTree::finish() {
  while (nodes_.size() > 1) merge_last();
  std::vector<Tensor> sums = nodes_.empty() ? std::vector<Tensor>(variables_.size()) : std::move(nodes_[0].sums);
  clear();
  return sums;
}

void GradTree::clear() {
  nodes_.clear();
  leaves_ = 0;
}

std::vector<std::pair<std::string, Tensor>> GradTree::state() const {
  std::vector<std::pair<std::string, Tensor>> all;
  for (const Node& node : nodes_)
    for (std::size_t i = 0; i < variables_.size(); ++i)
      if (node.sums[i].defined()) all.emplace_back(std::to_string(node.level) + "." + variables_[i].name(), node.sums[i]);
  return all;
}

}  // namespace hz::train
