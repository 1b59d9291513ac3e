// SPDX-License-Identifier: Apache-2.0
#include "src/model/isq.hpp"

#include "hanzo/model/convert.hpp"
#include "src/io/input_file.hpp"

namespace hz::model {
namespace {

void refuse_quantized(const std::filesystem::path& model) {
  const io::Gguf file = io::Gguf::open(model);
  for (const io::GgufTensor& t : file.tensors())
    if (t.is_weight() && !quant::info(t.type).floating)
      throw Error(ErrorKind::usage, "the model is quantized already (" + t.name + " is " + std::string(t.type_name()) + ")", model.string(),
                  "load it as it is, or quantize the F16, BF16 or F32 model");
}

}  // namespace

QuantizedForLoad::QuantizedForLoad(const std::filesystem::path& model, const LoadOptions& options)
    : file_(options.isq_save) {
  QuantizeFileOptions o;
  o.recipe = find_recipe(options.isq);
  if (o.recipe == nullptr)
    throw Error(ErrorKind::usage, "'" + options.isq + "' is no type", "--isq", "near names: " + near_recipes(options.isq));
  o.threads = options.threads;
  Importance importance;
  if (!options.isq_importance.empty()) {
    importance = Importance::read(options.isq_importance);
    o.importance = &importance;
    o.importance_name = options.isq_importance.filename().string();
  }
  if (file_.empty()) {
    temporary_.emplace(std::filesystem::temp_directory_path());
    file_ = temporary_->path() / "quantized.gguf";
  }
  if (io::is_folder(model)) {
    ConvertSummary converted;
    convert_and_quantize(model, file_, o, converted, options.progress);
  } else {
    refuse_quantized(model);
    quantize_file(model, file_, o, options.progress);
  }
}

}  // namespace hz::model
