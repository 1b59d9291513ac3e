// SPDX-License-Identifier: Apache-2.0
// Writing a quantized model: metadata, then tensor after tensor through the writer's sources.
#include "hanzo/model/quantize_file.hpp"

#include <algorithm>
#include <chrono>
#include <map>

#include "hanzo/core/parallel.hpp"
#include "hanzo/io/atomic_file.hpp"
#include "hanzo/io/map_guard.hpp"
#include "src/io/input_file.hpp"
#include "src/io/split_name.hpp"
#include "src/io/sys.hpp"

namespace hz::model {
namespace {

namespace fs = std::filesystem;

// Adds up what each tensor came to.
class Account {
 public:
  void add(const PlannedTensor& t, const EncodeError* error) {
    TypeSummary& s = types_[t.type];
    s.type = t.type;
    ++s.tensors;
    s.weights += t.from->shape.numel();
    s.bytes += t.bytes;
    if (error == nullptr) return;
    const double e = error->relative();
    Sum& sum = sums_[t.type];
    sum.total += e;
    ++sum.count;
    s.mean_error = sum.total / static_cast<double>(sum.count);
    if (s.worst.empty() || e > s.worst_error) {
      s.worst_error = e;
      s.worst = t.from->name;
    }
  }
  std::vector<TypeSummary> types() const {
    std::vector<TypeSummary> list;
    for (const auto& [type, s] : types_) list.push_back(s);
    std::stable_sort(list.begin(), list.end(), [](const TypeSummary& a, const TypeSummary& b) { return a.bytes > b.bytes; });
    return list;
  }

 private:
  struct Sum {
    double total = 0;
    std::size_t count = 0;
  };
  std::map<WType, TypeSummary> types_;
  std::map<WType, Sum> sums_;
};

io::Metadata new_metadata(const io::Gguf& in, const QuantizeFileOptions& o) {
  io::Metadata m = in.metadata();
  for (const char* key : {"split.no", "split.count", "split.tensors.count"}) m.erase(key);
  m.set("general.quantization_version", {std::uint32_t{2}});
  m.set("general.file_type", {o.recipe->file_type});
  if (o.importance != nullptr) {
    m.set("quantize.imatrix.file", {o.importance_name});
    if (!o.importance->datasets.empty()) m.set("quantize.imatrix.dataset", {o.importance->datasets[0]});
    m.set("quantize.imatrix.entries_count", {static_cast<std::uint32_t>(o.importance->entries().size())});
    m.set("quantize.imatrix.chunks_count", {o.importance->chunk_count});
  }
  return m;
}

// Removes the parts written so far unless told to keep them.
struct Written {
  std::vector<fs::path> files;
  bool keep = false;
  ~Written() {
    for (std::size_t i = 0; !keep && i < files.size(); ++i) io::sys().unlink(files[i].c_str());
  }
};

std::vector<fs::path> output_files(const io::Gguf& in, const fs::path& out, bool keep_split) {
  if (!keep_split || in.files().size() == 1) return {out};
  std::vector<fs::path> files;
  io::SplitName name{out.extension() == ".gguf" ? out.stem().string() : out.filename().string(), 1,
                     static_cast<std::uint32_t>(in.files().size())};
  for (; name.number <= name.count; ++name.number) files.push_back(io::split_path(out.parent_path(), name));
  for (const fs::path& f : files)
    if (io::is_there(f))
      throw Error(ErrorKind::usage, "the part exists already and would be overwritten", f.string(),
                  "choose another name, or remove the old parts");
  return files;
}

class Run {
 public:
  Run(const io::Gguf& in, const QuantizePlan& plan, const QuantizeFileOptions& o, const Progress& progress)
      : in_(in), plan_(plan), o_(o), progress_(progress), threads_(o.threads > 0 ? o.threads : default_threads()) {}

  void write(const std::vector<fs::path>& files, Written& written) {
    for (std::size_t i = 0; i < files.size(); ++i) {
      io::GgufWriter w(part_metadata(i, files.size()));
      for (const PlannedTensor& t : plan_.tensors)
        if (files.size() == 1 || t.from->file == i)
          w.add(t.from->name, t.from->shape, static_cast<std::uint32_t>(t.type),
                [this, &t](const io::ByteSink& sink) { produce(t, sink); });
      if (files.size() > 1) written.files.push_back(files[i]);
      w.write(files[i], {{}, progress_.stop});
    }
  }
  const Account& account() const { return account_; }
  const std::vector<std::string>& without_importance() const { return without_; }

 private:
  io::Metadata part_metadata(std::size_t index, std::size_t count) const {
    io::Metadata m;
    if (index == 0) m = new_metadata(in_, o_);
    else if (const io::Value* alignment = in_.metadata().find("general.alignment")) m.set("general.alignment", *alignment);
    if (count > 1) {
      m.set("split.no", {static_cast<std::uint16_t>(index)});
      m.set("split.count", {static_cast<std::uint16_t>(count)});
      m.set("split.tensors.count", {static_cast<std::int32_t>(plan_.tensors.size())});
    }
    return m;
  }
  void produce(const PlannedTensor& t, const io::ByteSink& sink) {
    if (t.kept) {
      sink(in_.bytes(t.from->name));
      account_.add(t, nullptr);
    } else {
      const QTensor w = in_.tensor(t.from->name);
      EncodeJob job{t.type, {}, o_.search, threads_, t.from->name};
      const std::int64_t experts = t.from->shape.rank() == 3 ? t.from->shape[0] : 1;
      if (o_.importance != nullptr) job.importance = o_.importance->means(t.from->name, experts, w.cols());
      if (o_.importance != nullptr && job.importance.empty()) without_.push_back(t.from->name);
      std::uint64_t made = 0;
      const EncodeError e = encode_rows(w, job, [&](std::span<const std::byte> bytes) {
        sink(bytes);
        made += bytes.size();
        w.release_pages();
        const double share = static_cast<double>(made) / static_cast<double>(t.bytes);
        progress_("quantizing", done_ + static_cast<std::uint64_t>(share * static_cast<double>(t.from->nbytes)), plan_.bytes_in);
      }, progress_);
      w.release_pages();
      account_.add(t, &e);
    }
    io::check_intact();
    done_ += t.from->nbytes;
    progress_("quantizing", done_, plan_.bytes_in);
  }

  const io::Gguf& in_;
  const QuantizePlan& plan_;
  const QuantizeFileOptions& o_;
  const Progress& progress_;
  int threads_;
  Account account_;
  std::vector<std::string> without_;
  std::uint64_t done_ = 0;
};

}  // namespace

QuantizeSummary quantize_file(const fs::path& in, const fs::path& out, const QuantizeFileOptions& o, const Progress& progress) {
  const auto begin = std::chrono::steady_clock::now();
  const io::Gguf file = io::Gguf::open(in, io::ReadMode::map, progress);
  const QuantizePlan plan = plan_quantize(file, o);
  const std::vector<fs::path> files = output_files(file, out, o.keep_split);
  for (const fs::path& f : files) io::refuse_input(f, file.files());
  Written written;
  Run run(file, plan, o, progress);
  run.write(files, written);
  written.keep = true;
  QuantizeSummary s;
  s.types = run.account().types();
  s.files = files;
  s.bytes_in = plan.bytes_in;
  s.bytes_out = plan.bytes_out;
  s.weights = plan.weights;
  s.fallbacks = plan.fallbacks().size();
  s.without_importance = run.without_importance();
  s.unused_patterns = plan.unused_patterns;
  s.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return s;
}

}  // namespace hz::model
