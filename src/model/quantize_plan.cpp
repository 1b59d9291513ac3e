// SPDX-License-Identifier: Apache-2.0
// Which type each tensor of a file gets.
#include <algorithm>
#include <charconv>

#include "hanzo/model/quantize_file.hpp"
#include "src/text/regex.hpp"

namespace hz::model {
namespace {

// Matrices that are read as they are: routers and what recurrences convolve with.
bool is_kept(const io::GgufTensor& t) {
  static constexpr std::string_view kKept[] = {".ffn_gate_inp", ".ssm_conv1d", ".time_mix_", "position_embd", "token_types"};
  if (!t.is_weight() || t.shape.rank() < 2 || !t.name.ends_with(".weight") || t.name.ends_with("_norm.weight")) return true;
  for (const std::string_view k : kKept)
    if (t.name.find(k) != std::string::npos) return true;
  return false;
}

// A count that may be one number or one a layer; the largest.
std::int64_t count_of(const io::Metadata& meta, const std::string& key, std::int64_t otherwise) {
  const io::Value* v = meta.find(key);
  if (v == nullptr) return otherwise;
  if (v->type() != io::ValueType::array) return meta.get<std::int64_t>(key).value_or(otherwise);
  const auto list = meta.get_array<std::int64_t>(key).value_or(std::vector<std::int64_t>{});
  return list.empty() ? otherwise : *std::max_element(list.begin(), list.end());
}

Place place_of(const io::Gguf& file, const QuantizeFileOptions& o) {
  const io::Metadata& meta = file.metadata();
  const auto arch = meta.get_or<std::string>("general.architecture", "");
  Place p;
  p.layers = std::max<std::int64_t>(1, meta.get_or<std::int64_t>(arch + ".block_count", 1));
  p.experts = meta.get_or<std::int64_t>(arch + ".expert_count", 0);
  const std::int64_t heads = count_of(meta, arch + ".attention.head_count", 1),
                     kv = count_of(meta, arch + ".attention.head_count_kv", heads);
  p.queries_per_kv = kv > 0 ? std::max<std::int64_t>(1, heads / kv) : 1;
  p.importance = o.importance != nullptr;
  p.tied = file.find("output.weight") == nullptr;
  return p;
}

std::int64_t layer_of(std::string_view name) {
  std::int64_t n = 0;
  if (name.starts_with("blk.")) std::from_chars(name.data() + 4, name.data() + name.size(), n);
  return n;
}

class Chooser {
 public:
  Chooser(const io::Gguf& file, const QuantizeFileOptions& o) : o_(o), place_(place_of(file, o)) {
    for (const auto& [pattern, type] : o.types) {
      try {
        patterns_.emplace_back(text::detail::Regex(pattern), type);
      } catch (const Error& e) {
        throw Error(ErrorKind::usage, "'" + pattern + "' is no pattern: " + e.what(), "--tensor-type",
                    "write a regular expression, such as ffn_down");
      }
    }
    used_.resize(patterns_.size());
  }
  std::vector<std::string> unused() const {
    std::vector<std::string> list;
    for (std::size_t i = 0; i < used_.size(); ++i)
      if (!used_[i]) list.push_back(o_.types[i].first);
    return list;
  }
  WType operator()(const io::GgufTensor& t) {
    for (std::size_t i = 0; i < patterns_.size(); ++i)
      if (text::detail::Regex::Matcher(patterns_[i].first).search(t.name, 0)) {
        used_[i] = true;
        return patterns_[i].second;
      }
    Place p = place_;
    p.role = role_of(t.name);
    p.layer = layer_of(t.name);
    if (o_.embedding_type && p.role == Role::embedding) return *o_.embedding_type;
    if (o_.output_type && (p.role == Role::output || (p.role == Role::embedding && p.tied))) return *o_.output_type;
    return o_.pure ? o_.recipe->base : type_for(*o_.recipe, p);
  }

 private:
  const QuantizeFileOptions& o_;
  Place place_;
  std::vector<std::pair<text::detail::Regex, WType>> patterns_;
  std::vector<bool> used_;
};

std::string size_text(const io::GgufTensor& t) { return to_string(t.shape) + " " + std::string(t.type_name()); }

constexpr const char* kMakeOne = "make one: hz-quantize imatrix -m MODEL.gguf -f TEXT -o FILE, then give it with --imatrix FILE";

void check_source(const io::Gguf& file, const PlannedTensor& p, const QuantizeFileOptions& o) {
  const io::GgufTensor& t = *p.from;
  const std::string where = file.files()[t.file].filename().string() + ", " + t.name;
  if (!o.requantize && !quant::info(t.type).floating)
    throw Error(ErrorKind::usage, "the source is quantized already (" + size_text(t) + "): quantizing it again adds to its error", where,
                "start from an F16, BF16 or F32 file, or allow it with --requantize");
  if (needs_importance(p.type) && role_of(t.name) != Role::embedding && role_of(t.name) != Role::output &&
      (o.importance == nullptr || !o.importance->entries().contains(t.name)))
    throw Error(ErrorKind::usage,
                std::string(name_of(p.type)) + " needs an importance matrix" +
                    (o.importance ? ", and the one given has nothing for this tensor" : ""),
                where, kMakeOne);
  const std::int64_t experts = t.shape.rank() == 3 ? t.shape[0] : 1;
  if (o.importance != nullptr) o.importance->means(t.name, experts, t.shape.back());  // throws where it does not fit
}

// An importance matrix that knows none of the tensors to encode was made from another model.
void check_importance(const QuantizePlan& plan, const QuantizeFileOptions& o) {
  if (o.importance == nullptr) return;
  bool any = false, known = false;
  for (const PlannedTensor& t : plan.tensors) {
    any = any || !t.kept;
    known = known || (!t.kept && o.importance->entries().contains(t.from->name));
  }
  if (any && !known)
    throw Error(ErrorKind::usage, "the importance matrix says nothing about any tensor of the model", o.importance_name,
                std::string("it was made from another model; ") + kMakeOne);
}

}  // namespace

std::vector<const PlannedTensor*> QuantizePlan::fallbacks() const {
  std::vector<const PlannedTensor*> found;
  for (const PlannedTensor& t : tensors)
    if (!t.kept && t.type != t.wanted) found.push_back(&t);
  return found;
}

void refuse_without_importance(const Recipe& recipe, const Importance* importance, const std::string& where) {
  if (recipe.needs_importance && importance == nullptr)
    throw Error(ErrorKind::usage, std::string(recipe.name) + " needs an importance matrix", where, kMakeOne);
}

QuantizePlan plan_quantize(const io::Gguf& file, const QuantizeFileOptions& o) {
  if (o.recipe == nullptr) throw Error(ErrorKind::usage, "[quantize_file] no recipe given");
  Chooser choose(file, o);
  QuantizePlan plan;
  for (const io::GgufTensor& t : file.tensors()) {
    PlannedTensor p{&t, t.type, t.type, true, t.nbytes};
    if (!is_kept(t)) {
      p.wanted = choose(t);
      p.type = fallback_for(p.wanted, t.shape.back());
      p.kept = p.type == t.type;
      if (!p.kept) {
        check_source(file, p, o);
        p.bytes = quant::row_bytes(p.type, t.shape.back()) * static_cast<std::uint64_t>(t.shape.rows());
      }
    }
    plan.bytes_in += t.nbytes;
    plan.bytes_out += p.bytes;
    plan.weights += t.shape.numel();
    plan.tensors.push_back(p);
  }
  plan.unused_patterns = choose.unused();
  check_importance(plan, o);
  const auto fallbacks = plan.fallbacks();
  if (o.strict && !fallbacks.empty())
    throw Error(ErrorKind::usage,
                std::to_string(fallbacks.size()) + " tensors have rows that " + std::string(name_of(fallbacks[0]->wanted)) +
                    " blocks do not divide, the first is " + fallbacks[0]->from->name + " " + size_text(*fallbacks[0]->from),
                "", "choose another type, or leave out --strict: they become " + std::string(name_of(fallbacks[0]->type)));
  return plan;
}

}  // namespace hz::model
