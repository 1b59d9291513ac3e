// SPDX-License-Identifier: Apache-2.0
// Tensor names and order of the built families, rows reordered where GGUF wants that, and the writing.
#include "hanzo/model/convert.hpp"

#include <set>

#include "hanzo/io/atomic_file.hpp"
#include "hanzo/io/gguf_writer.hpp"
#include "hanzo/io/map_guard.hpp"
#include "hanzo/model/arch.hpp"
#include "hanzo/model/hparams.hpp"
#include "src/io/input_file.hpp"
#include "src/io/temporary_folder.hpp"
#include "src/model/convert/config.hpp"
#include "src/model/convert/source.hpp"

namespace hz::model {
namespace {

using namespace convert;

class Converter {
 public:
  Converter(const std::filesystem::path& folder, const Progress& progress)
      : folder_(folder),
        progress_(progress),
        config_(read_json(folder / "config.json", true), (folder / "config.json").string()),
        family_(family_of(config_)),
        form_(stored_form(config_)),
        set_(folder) {}

  ConvertSummary run(const std::filesystem::path& out) {
    io::Metadata& meta = writer_.metadata();
    meta.set("general.architecture", {std::string(family_.arch)});
    meta.set("general.name", {std::filesystem::absolute(folder_).lexically_normal().filename().string()});
    meta.set("general.quantization_version", {std::uint32_t{2}});
    parts_ = write_header(config_, family_, meta);
    check_header(meta);
    ConvertSummary s;
    s.family = family_.arch;
    model();
    s.tokenizer = write_tokenizer(folder_, parts_.vocab, meta);
    meta.set("general.file_type", {file_type()});
    for (const std::string& name : set_.names()) {
      if (used_.contains(name) || belongs_to_quantized(form_, name)) continue;
      const bool known = name.ends_with("rotary_emb.inv_freq") || (parts_.tied && name == "lm_head.weight");
      if (!known)
        throw Error(ErrorKind::unsupported, "tensor " + name + " is not known in family " + std::string(family_.model_type),
                    folder_.string());
      s.ignored.push_back(name);
    }
    writer_.write(out, progress_);
    s.tensors = count_;
    s.bytes = writer_.file_bytes();
    return s;
  }

 private:
  struct Size {
    std::int64_t rows, cols;
  };

  // What the loader would refuse is refused here, where the file that says it is known.
  void check_header(const io::Metadata& meta) const {
    try {
      read_hparams(*find_arch(family_.arch), meta);
    } catch (const Error& e) {
      throw Error(e.kind(), e.what(), (folder_ / "config.json").string(), "config.json is damaged: get it again");
    }
  }

  void model() {
    const std::int64_t hidden = parts_.hidden;
    matrix("model.embed_tokens.weight", "token_embd.weight", {parts_.vocab, hidden});
    norm("model.norm.weight", "output_norm.weight", hidden);
    if (!parts_.tied) matrix("lm_head.weight", "output.weight", {parts_.vocab, hidden});
    if (!parts_.rope_divisors.empty()) {
      writer_.add("rope_freqs.weight", Tensor::from(parts_.rope_divisors, {static_cast<std::int64_t>(parts_.rope_divisors.size())}));
      ++count_;
    }
    for (std::int64_t i = 0; i < parts_.layers; ++i) layer("model.layers." + std::to_string(i) + ".", "blk." + std::to_string(i) + ".");
  }
  void layer(const std::string& from, const std::string& to) {
    const std::int64_t hidden = parts_.hidden, ffn = parts_.ffn, queries = parts_.heads * parts_.head_dim,
                       keys = parts_.kv_heads * parts_.head_dim;
    norm(from + "input_layernorm.weight", to + "attn_norm.weight", hidden);
    if (family_.sandwich) {
      norm(from + "post_attention_layernorm.weight", to + "post_attention_norm.weight", hidden);
      norm(from + "pre_feedforward_layernorm.weight", to + "ffn_norm.weight", hidden);
      norm(from + "post_feedforward_layernorm.weight", to + "post_ffw_norm.weight", hidden);
    } else {
      norm(from + "post_attention_layernorm.weight", to + "ffn_norm.weight", hidden);
    }
    const std::string a = from + "self_attn.";
    linear(a + "q_proj", to + "attn_q", {queries, hidden}, family_.permuted ? parts_.heads : 0);
    linear(a + "k_proj", to + "attn_k", {keys, hidden}, family_.permuted ? parts_.kv_heads : 0);
    linear(a + "v_proj", to + "attn_v", {keys, hidden});
    linear(a + "o_proj", to + "attn_output", {hidden, queries});
    for (const char* which : {"q", "k"})
      if (set_.has(a + which + "_norm.weight")) norm(a + which + "_norm.weight", to + "attn_" + which + "_norm.weight", parts_.head_dim);
    if (family_.experts) return experts(from + "block_sparse_moe.", to);
    linear(from + "mlp.gate_proj", to + "ffn_gate", {ffn, hidden});
    linear(from + "mlp.up_proj", to + "ffn_up", {ffn, hidden});
    linear(from + "mlp.down_proj", to + "ffn_down", {hidden, ffn});
  }
  void experts(const std::string& from, const std::string& to) {
    matrix(from + "gate.weight", to + "ffn_gate_inp.weight", {parts_.experts, parts_.hidden});
    static constexpr std::pair<const char*, const char*> kParts[] = {
        {"w1", "ffn_gate_exps"}, {"w2", "ffn_down_exps"}, {"w3", "ffn_up_exps"}};
    for (const auto& [theirs, ours] : kParts) {
      const bool down = std::string_view(theirs) == "w2";
      const Size size{down ? parts_.hidden : parts_.ffn, down ? parts_.ffn : parts_.hidden};
      std::vector<Matrix> all;
      for (std::int64_t e = 0; e < parts_.experts; ++e) {
        all.push_back(taken(from + "experts." + std::to_string(e) + "." + theirs + ".weight", size));
        if (all[0].type != all.back().type)
          throw Error(ErrorKind::bad_file, to + ours + ": experts differ in type", folder_.string());
      }
      if (all.empty()) config_.bad("num_local_experts is 0");
      const Shape shape{parts_.experts, all[0].rows, all[0].cols};
      const auto type = static_cast<std::uint32_t>(all[0].type);
      writer_.add(to + ours + ".weight", shape, type, [all](const io::ByteSink& sink) {
        for (const Matrix& m : all) emit(m, 0, sink);
      });
      ++count_;
    }
  }
  void linear(const std::string& from, const std::string& to, const Size& size, std::int64_t permute_heads = 0) {
    matrix(from + ".weight", to + ".weight", size, permute_heads);
    if (!set_.has(from + ".bias")) return;
    std::vector<float> b = vector(from + ".bias", size.rows);
    if (permute_heads > 0) {
      const auto n = static_cast<std::int64_t>(b.size());
      std::vector<float> p(b.size());
      for (std::int64_t i = 0; i < n; ++i) p[static_cast<std::size_t>(i)] = b[static_cast<std::size_t>(source_row(i, n, permute_heads))];
      b = std::move(p);
    }
    add_vector(to + ".bias", b);
  }
  void norm(const std::string& from, const std::string& to, std::int64_t length) {
    std::vector<float> v = vector(from, length);
    if (family_.norm_plus_one)
      for (float& f : v) f += 1.0f;
    add_vector(to, v);
  }
  void matrix(const std::string& from, const std::string& to, const Size& size, std::int64_t permute_heads = 0) {
    const Matrix m = taken(from, size);
    writer_.add(to, Shape{m.rows, m.cols}, static_cast<std::uint32_t>(m.type),
                [m, permute_heads](const io::ByteSink& sink) { emit(m, permute_heads, sink); });
    types_.insert(m.type);
    ++count_;
  }
  Matrix taken(const std::string& name, const Size& size) {
    used_.insert(name);
    Matrix m = read_matrix(set_, form_, name);
    if (m.rows != size.rows || m.cols != size.cols)
      throw Error(ErrorKind::bad_file, name + " is " + to_string(Shape{m.rows, m.cols}) + ", by config.json it must be " +
                                           to_string(Shape{size.rows, size.cols}),
                  folder_.string(), "config.json and the weights are of two models: take both from one place");
    return m;
  }
  std::vector<float> vector(const std::string& name, std::int64_t length) {
    used_.insert(name);
    const Tensor t = set_.tensor(name);
    if (t.rank() != 1 || t.numel() != length)
      throw Error(ErrorKind::bad_file,
                  name + " is " + to_string(t.shape()) + ", by config.json it must be a vector of " + std::to_string(length),
                  folder_.string());
    std::vector<float> v(static_cast<std::size_t>(t.numel()));
    for (std::size_t i = 0; i < v.size(); ++i) {
      if (t.dtype() == DType::f32) v[i] = t.data<float>()[i];
      else if (t.dtype() == DType::f16) v[i] = to_float(t.data<Half>()[i]);
      else if (t.dtype() == DType::bf16) v[i] = to_float(t.data<BFloat16>()[i]);
      else
        throw Error(ErrorKind::unsupported, name + " is " + std::string(name_of(t.dtype())) + ", a vector must be F32, F16 or BF16",
                    folder_.string());
    }
    return v;
  }
  void add_vector(const std::string& name, const std::vector<float>& v) {
    writer_.add(name, Tensor::from(v, {static_cast<std::int64_t>(v.size())}));
    ++count_;
  }
  // Within each head, rows j * half + i (half-split rope) become 2 i + j (adjacent pairs).
  static std::int64_t source_row(std::int64_t row, std::int64_t rows, std::int64_t heads) {
    const std::int64_t dim = rows / heads, at = row % dim;
    return row - at + at % 2 * (dim / 2) + at / 2;
  }
  static void emit(const Matrix& m, std::int64_t permute_heads, const io::ByteSink& sink) {
    std::vector<std::byte> bytes;
    for (std::int64_t i = 0; i < m.rows; ++i) {
      m.row(permute_heads > 0 ? source_row(i, m.rows, permute_heads) : i, bytes);
      sink(bytes);
    }
    io::check_intact();
  }
  std::uint32_t file_type() const {
    if (types_.contains(WType::bf16)) return 32;
    if (types_.contains(WType::f16)) return 1;
    if (types_.contains(WType::q4_1)) return 3;
    return types_.contains(WType::q5_1) ? 9 : 0;
  }

  std::filesystem::path folder_;
  const Progress& progress_;
  Config config_;
  const Family& family_;
  StoredForm form_;
  TensorSet set_;
  io::GgufWriter writer_;
  HeaderParts parts_;
  std::set<std::string> used_;
  std::set<WType> types_;
  std::size_t count_ = 0;
};

// An earlier result in the folder may be replaced, what the model is made of may not.
void refuse_source(const std::filesystem::path& folder, const std::filesystem::path& out) {
  if (!io::is_folder(folder)) throw Error(ErrorKind::usage, "is no folder", folder.string(), "name the folder that holds config.json");
  std::error_code error;
  std::vector<std::filesystem::path> sources;
  const std::filesystem::directory_iterator end;
  for (std::filesystem::directory_iterator at(folder, error); !error && at != end; at.increment(error))
    if (at->path().extension() != ".gguf") sources.push_back(at->path());
  io::refuse_input(out, sources);
}

}  // namespace

ConvertSummary convert_folder(const std::filesystem::path& folder, const std::filesystem::path& out, const Progress& progress) {
  refuse_source(folder, out);
  try {
    return Converter(folder, progress).run(out);
  } catch (const nlohmann::json::exception& e) {
    throw Error(ErrorKind::bad_file, std::string("a JSON file holds something of an unexpected kind: ") + e.what(), folder.string());
  }
}

QuantizeSummary convert_and_quantize(const std::filesystem::path& folder, const std::filesystem::path& out,
                                     const QuantizeFileOptions& options, ConvertSummary& converted, const Progress& progress) {
  if (options.recipe != nullptr) refuse_without_importance(*options.recipe, options.importance, out.filename().string());
  refuse_source(folder, out);
  io::check_writable(out);
  const io::TemporaryFolder between(out.parent_path());
  const std::filesystem::path whole = between.path() / out.filename();
  converted = convert_folder(folder, whole, progress);
  return quantize_file(whole, out, options, progress);
}

}  // namespace hz::model
