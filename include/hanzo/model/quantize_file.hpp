// SPDX-License-Identifier: Apache-2.0
// Quantizing a model file: tensor by tensor, streamed, to a new GGUF file or split set.
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hanzo/io/gguf.hpp"
#include "hanzo/io/gguf_writer.hpp"
#include "hanzo/model/importance.hpp"
#include "hanzo/model/recipe.hpp"

namespace hz::model {

struct QuantizeFileOptions {
  const Recipe* recipe = nullptr;
  const Importance* importance = nullptr;
  std::string importance_name;                         // recorded in the file
  std::vector<std::pair<std::string, WType>> types;    // pattern (PCRE2, found anywhere in the name), type; the first wins
  std::optional<WType> output_type, embedding_type;
  bool pure = false;         // every matrix gets the recipe's base type
  bool strict = false;       // refuse where rows do not divide, rather than fall back
  bool requantize = false;   // allow sources that are quantized already
  bool keep_split = false;   // as many parts as the input has
  quant::Search search = quant::Search::normal;
  int threads = 0;           // 0: default_threads()
};

struct PlannedTensor {
  const io::GgufTensor* from = nullptr;
  WType wanted{}, type{};    // type differs where the rows do not divide into blocks of `wanted`
  bool kept = false;         // bytes as they are: vectors, routers, plain types, the same type already
  std::uint64_t bytes = 0;   // in the result
};
struct QuantizePlan {
  std::vector<PlannedTensor> tensors;  // in the order of the file
  std::uint64_t bytes_in = 0, bytes_out = 0;  // of tensor data
  std::int64_t weights = 0;
  std::vector<std::string> unused_patterns;  // of QuantizeFileOptions::types: they decided no tensor's type
  std::vector<const PlannedTensor*> fallbacks() const;
  double bits() const { return weights > 0 ? 8.0 * static_cast<double>(bytes_out) / static_cast<double>(weights) : 0; }
};
// What quantize_file would do. Throws usage for a pattern that is none, strict fallbacks, types that need an importance
// matrix where none is given, an importance matrix of another model, and quantized sources without `requantize`.
QuantizePlan plan_quantize(const io::Gguf& file, const QuantizeFileOptions& options);
// Throws usage where the recipe needs an importance matrix and there is none; `where` for the message.
void refuse_without_importance(const Recipe& recipe, const Importance* importance, const std::string& where);

struct TypeSummary {
  WType type{};
  std::size_t tensors = 0;
  std::int64_t weights = 0;
  std::uint64_t bytes = 0;
  double mean_error = 0, worst_error = 0;  // root mean square error / root mean square, of the tensors encoded
  std::string worst;                       // the tensor
};
struct QuantizeSummary {
  std::vector<TypeSummary> types;          // largest first
  std::vector<std::filesystem::path> files;
  std::uint64_t bytes_in = 0, bytes_out = 0;
  std::int64_t weights = 0;
  std::size_t fallbacks = 0;
  std::vector<std::string> without_importance;  // matrices of which the importance matrix says nothing
  std::vector<std::string> unused_patterns;     // as in the plan
  double seconds = 0;
};

// Memory: the mapped input and a few megabytes. Every file appears whole or not at all. Refuses (usage) an output that is
// one of the input's files, also through a link. Throws Error(bad_file) for weights that are not finite.
QuantizeSummary quantize_file(const std::filesystem::path& in, const std::filesystem::path& out, const QuantizeFileOptions& options,
                              const Progress& progress = {});

// The rows of one tensor encoded in slabs of a few megabytes; for every slab `sink` gets its bytes.
struct EncodeJob {
  WType type{};
  std::vector<float> importance;  // one a column, or one a column of each expert, or empty
  quant::Search search = quant::Search::normal;
  int threads = 1;
  std::string name;               // for messages
};
struct EncodeError {
  double squares = 0, norm = 0;   // sums over all weights
  double relative() const;
};
EncodeError encode_rows(const QTensor& weights, const EncodeJob& job, const io::ByteSink& sink, const Progress& progress = {});

}  // namespace hz::model
