// SPDX-License-Identifier: Apache-2.0
// VocabFiles: unpacking with liblzma, models by name and SHA-256.
#include "tests/conformance/vocab_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <vector>

#include "hanzo/core/error.hpp"
#include "hanzo/io/sha256.hpp"
#if HZ_HAVE_LZMA
#include <lzma.h>
#endif

namespace hz::conformance {
namespace {

namespace fs = std::filesystem;

#if HZ_HAVE_LZMA
void unpack(const fs::path& from, const fs::path& to) {
  std::ifstream in(from, std::ios::binary);
  std::ofstream out(to, std::ios::binary);
  lzma_stream stream = LZMA_STREAM_INIT;
  if (lzma_stream_decoder(&stream, 1ULL << 30, 0) != LZMA_OK) throw Error(ErrorKind::failed, "liblzma cannot start", from.string());
  std::vector<char> input(1 << 16), output(1 << 18);
  lzma_ret rc = LZMA_OK;
  while (rc == LZMA_OK) {
    if (stream.avail_in == 0) {
      in.read(input.data(), static_cast<std::streamsize>(input.size()));
      stream.next_in = reinterpret_cast<const std::uint8_t*>(input.data());
      stream.avail_in = static_cast<std::size_t>(in.gcount());
    }
    stream.next_out = reinterpret_cast<std::uint8_t*>(output.data());
    stream.avail_out = output.size();
    rc = lzma_code(&stream, stream.avail_in == 0 ? LZMA_FINISH : LZMA_RUN);
    out.write(output.data(), static_cast<std::streamsize>(output.size() - stream.avail_out));
  }
  lzma_end(&stream);
  out.flush();
  if (rc != LZMA_STREAM_END || !out)
    throw Error(ErrorKind::bad_file, fmt::format("cannot be unpacked (liblzma code {})", static_cast<int>(rc)), from.string());
}
#endif

std::string sha256_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::vector<char> buffer(1 << 20);
  io::Sha256 hash;
  while (in.read(buffer.data(), static_cast<std::streamsize>(buffer.size())), in.gcount() > 0)
    hash.update(std::string_view(buffer.data(), static_cast<std::size_t>(in.gcount())));
  return hash.hex();
}

// The model of a case set among the GGUF files of a folder: by its SHA-256, files named like the set first.
std::optional<fs::path> find_model(const fs::path& folder, const std::string& name, const nlohmann::json& case_set) {
  const auto wanted = case_set.find("model_sha256");
  if (wanted == case_set.end()) return std::nullopt;
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == ".gguf") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::stable_partition(files.begin(), files.end(), [&](const fs::path& f) { return f.filename().string().rfind(name, 0) == 0; });
  for (const fs::path& f : files)
    if (sha256_of(f) == wanted->get<std::string>()) return f;
  return std::nullopt;
}

}  // namespace

std::optional<fs::path> VocabFiles::find(const fs::path& dir, const std::string& name, const nlohmann::json& vocab,
                                         const nlohmann::json& case_set, std::string& reason) {
  if (vocab.contains("file") && vocab.at("file").is_string()) {
    const fs::path file = dir / vocab.at("file").get<std::string>();
    fs::path plain = file;
    if (file.extension() == ".xz") plain.replace_extension();
    if (fs::exists(plain)) return plain;
    if (fs::exists(file)) {
#if HZ_HAVE_LZMA
      const fs::path target = unpacked_.path() / plain.filename();
      unpack(file, target);
      return target;
#else
      reason = "built without liblzma, which unpacks the vocabulary";
      return std::nullopt;
#endif
    }
  }
  const char* models = std::getenv("HANZO_MODELS");
  if (models != nullptr && fs::is_directory(models))
    if (auto found = find_model(models, name, case_set)) return found;
  reason = models ? "the vocabulary is not in the data nor its model in HANZO_MODELS"
                  : "the vocabulary is not in the data (HANZO_MODELS can name a folder of models)";
  return std::nullopt;
}

}  // namespace hz::conformance
