// SPDX-License-Identifier: Apache-2.0
// Pipeline: rewrite, cut into pieces, tokenize each piece. All kinds of tokenizers are made of it.
#pragma once
#include <memory>
#include <string_view>

#include "src/text/algorithm.hpp"
#include "src/text/normalize.hpp"
#include "src/text/pretokenizer.hpp"

namespace hz::text::detail {

// Takes tokens by their place in the rewritten text.
class PieceOutput {
 public:
  PieceOutput(Output& out, const AlignedText* aligned, std::uint32_t base) : out_(out), aligned_(aligned), base_(base) {}
  // Bytes [begin, end) of the rewritten text.
  void put(TokenId id, std::size_t begin, std::size_t end) {
    if (!out_.wants_spans()) return out_.put(id, {});
    if (aligned_) return out_.put(id, aligned_->span(begin, end, base_));
    out_.put(id, {base_ + static_cast<std::uint32_t>(begin), base_ + static_cast<std::uint32_t>(end)});
  }
  std::size_t size() const { return out_.size(); }
  void shrink(std::size_t size) { out_.shrink(size); }

 private:
  Output& out_;
  const AlignedText* aligned_;
  std::uint32_t base_;
};

// The state of one encode call of one thread.
class PieceEncoder {
 public:
  virtual ~PieceEncoder() = default;
  // Tokenizes text[begin, end), not empty. valid: it is well-formed UTF-8; else all of it is ill-formed bytes.
  virtual void piece(std::string_view text, std::size_t begin, std::size_t end, bool valid) = 0;
};

class PieceModel {
 public:
  virtual ~PieceModel() = default;
  virtual std::unique_ptr<PieceEncoder> start(PieceOutput& out) const = 0;
  virtual void hash(io::Sha256&) const {}
};

class Pipeline : public Algorithm {
 public:
  Pipeline(NormChain chain, PreTokenizer pre, std::unique_ptr<const PieceModel> model)
      : chain_(std::move(chain)), pre_(std::move(pre)), model_(std::move(model)) {}
  void encode(const Fragment& fragment, Output& out) const override;
  void hash(io::Sha256& sha) const override { model_->hash(sha); }

 private:
  NormChain chain_;
  PreTokenizer pre_;
  std::unique_ptr<const PieceModel> model_;
};

}  // namespace hz::text::detail
