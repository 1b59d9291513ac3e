// SPDX-License-Identifier: Apache-2.0
// State files: writing, and reading with every field checked before it is used.
#include "hanzo/engine/state.hpp"

#include <array>
#include <cstring>
#include <nlohmann/json.hpp>

#include "hanzo/core/checked.hpp"
#include "hanzo/io/atomic_file.hpp"
#include "hanzo/io/sha256.hpp"
#include "src/io/input_file.hpp"

namespace hz {
namespace {

using nlohmann::json;

constexpr std::string_view kMagic = "HZSTATE\n";
constexpr std::uint32_t kVersion = 1;
constexpr std::uint64_t kAlign = 64;
constexpr std::size_t kDigest = 32, kHead = 16;  // magic, version, header length
constexpr std::uint64_t kMostHeader = std::uint64_t{64} << 20;

std::uint64_t aligned(std::uint64_t n) { return (n + kAlign - 1) / kAlign * kAlign; }

// An atomic file that hashes what goes into it.
class HashedFile {
 public:
  explicit HashedFile(const std::filesystem::path& file) : out_(file) {}
  void write(std::span<const std::byte> bytes) {
    hash_.update(bytes);
    out_.write(bytes);
  }
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
  void align() {
    static constexpr std::array<char, kAlign> zeros{};
    write(std::string_view(zeros.data(), aligned(out_.position()) - out_.position()));
  }
  void commit() {
    const auto digest = hash_.digest();
    out_.write(std::as_bytes(std::span(digest)));
    out_.commit();
  }

 private:
  io::AtomicFile out_;
  io::Sha256 hash_;
};

[[noreturn]] void broken(const std::string& what, const std::filesystem::path& file) {
  throw Error(ErrorKind::bad_file, "no usable state file: " + what, file.string(), "save it again with --save-state");
}

template <class T>
T number_at(std::span<const std::byte> bytes, std::size_t at) {
  T v;
  std::memcpy(&v, bytes.data() + at, sizeof v);
  return v;
}

template <class T>
T field(const json& header, const char* name, const std::filesystem::path& file) {
  const auto it = header.find(name);
  bool fits = it != header.end();
  if constexpr (std::is_same_v<T, std::string>) fits = fits && it->is_string();
  else if constexpr (std::is_floating_point_v<T>) fits = fits && it->is_number();
  else fits = fits && it->is_number_unsigned();
  if (!fits) broken(std::string("its header has no valid '") + name + "'", file);
  return it->get<T>();
}

// The header of a file that begins as one; `end`: where it ends. Nothing behind it is read.
json header_of(const io::InputFile& in, std::uint64_t& end) {
  const std::filesystem::path& file = in.path();
  std::array<std::byte, kHead> head{};
  if (in.size() >= kHead + kDigest) in.read(0, head);
  if (std::memcmp(head.data(), kMagic.data(), kMagic.size()) != 0) broken("it does not begin as one", file);
  const auto version = number_at<std::uint32_t>(head, kMagic.size());
  if (version != kVersion) broken("it has version " + std::to_string(version) + ", this build reads " + std::to_string(kVersion), file);
  const std::uint64_t length = number_at<std::uint32_t>(head, kMagic.size() + 4);
  if (length > kMostHeader || kHead + length > in.size() - kDigest) broken("it is cut inside its header", file);
  end = kHead + length;
  std::string text(length, '\0');
  in.read(kHead, std::as_writable_bytes(std::span(text)));
  json header = json::parse(text, nullptr, false);
  if (!header.is_object()) broken("its header is no JSON object", file);
  return header;
}

// Where the other parts are, in bytes from the start of a file whose size is what its header tells of.
struct Places {
  std::uint64_t ids_at, ids_bytes, pages_at, page_bytes, body;  // body: all but the digest
};
Places places_of(const json& header, std::uint64_t header_end, const io::InputFile& in) {
  const std::filesystem::path& file = in.path();
  const auto ids = field<std::uint64_t>(header, "ids", file), pages = field<std::uint64_t>(header, "page_bytes", file);
  const std::uint64_t ids_at = aligned(header_end), body = in.size() - kDigest;
  const auto pages_at = (Checked(ids) * Checked(std::uint64_t{4}) + Checked(ids_at)).round_up(kAlign);
  const auto end = (pages_at + Checked(pages)).get();
  if (!end || *end != body)
    broken("it has " + std::to_string(in.size()) + " bytes, its header tells of " +
               (end ? std::to_string(*end + kDigest) : "more than a file can have"),
           file);
  return {ids_at, ids * 4, pages_at.or_max(), pages, body};
}

// The other parts, of a file whose hash is right.
struct Parts {
  std::span<const std::byte> ids, pages;
};
Parts split(std::span<const std::byte> bytes, const Places& at, const std::filesystem::path& file) {
  const auto digest = io::Sha256().update(bytes.first(at.body)).digest();
  if (std::memcmp(digest.data(), bytes.data() + at.body, kDigest) != 0)
    broken("its bytes are not those that were written (the hash differs)", file);
  return {bytes.subspan(at.ids_at, at.ids_bytes), bytes.subspan(at.pages_at, at.page_bytes)};
}

void check_binding(const json& header, const model::KvBinding& ours, const std::filesystem::path& file) {
  struct Bound {
    const char* name;
    const std::string& ours;
    const char *what, *hint;
  };
  const Bound all[] = {{"model", ours.model, "model", "load the model that it was saved with"},
                       {"backend", ours.backend, "backend", "choose it with --device"},
                       {"kv", ours.kv, "kind of KV cache", "choose it with --kv"},
                       {"activations", ours.activations, "kind of activations", "choose it with --activations"},
                       {"adapters", ours.adapters, "set of adapters", "load the adapters that it was saved with"}};
  for (const Bound& b : all) {
    const auto theirs = field<std::string>(header, b.name, file);
    if (theirs == b.ours) continue;
    const bool is_hash = b.ours.size() == 64 || theirs.size() == 64;
    const auto shown = [&](const std::string& s) { return s.empty() ? std::string("none") : is_hash ? s.substr(0, 12) + "…" : s; };
    throw Error(ErrorKind::bad_file,
                std::string("the state belongs to another ") + b.what + ": " + shown(theirs) + ", here it is " + shown(b.ours),
                file.string(), b.hint);
  }
}

StreamState stream_of(const json& header, const Parts& parts, const Model& model, const std::filesystem::path& file) {
  StreamState s;
  s.ids.resize(parts.ids.size() / 4);
  std::memcpy(s.ids.data(), parts.ids.data(), parts.ids.size());
  for (const std::int32_t id : s.ids)
    if (id < 0 || id >= model.hparams().vocab)
      broken("it holds token " + std::to_string(id) + ", the model has " + std::to_string(model.hparams().vocab), file);
  s.answer_begin = field<std::uint64_t>(header, "answer_begin", file);
  if (s.answer_begin > s.ids.size()) broken("its answer begins behind its end", file);
  s.seed = field<std::uint64_t>(header, "seed", file);
  s.stream = field<std::uint64_t>(header, "stream", file);
  s.mirostat_mu = field<float>(header, "mirostat_mu", file);
  s.conversation = field<std::string>(header, "conversation", file);
  if (s.ids.size() > static_cast<std::size_t>(model.context()))
    throw Error(ErrorKind::usage,
                "the state has " + std::to_string(s.ids.size()) + " tokens, the context holds " + std::to_string(model.context()),
                file.string(), "give a larger context (-c)");
  return s;
}

}  // namespace

void write_state(const std::filesystem::path& file, const Model& model, const model::KvSequence& kv, const StreamState& state,
                 const Progress& progress) {
  const model::KvBinding bound = model::kv_binding(model, progress);
  const auto length = std::min<std::int64_t>(kv.length(), static_cast<std::int64_t>(state.ids.size()));
  const std::uint64_t page_bytes = static_cast<std::uint64_t>(length / kKvPage) * kv.layout().bytes;
  const json header{{"model", bound.model},
                    {"backend", bound.backend},
                    {"kv", bound.kv},
                    {"activations", bound.activations},
                    {"adapters", bound.adapters},
                    {"context", model.context()},
                    {"ids", state.ids.size()},
                    {"page_bytes", page_bytes},
                    {"answer_begin", state.answer_begin},
                    {"seed", state.seed},
                    {"stream", state.stream},
                    {"mirostat_mu", state.mirostat_mu},
                    {"conversation", state.conversation}};
  const std::string text = header.dump(-1, ' ', false, json::error_handler_t::replace);
  if (text.size() > kMostHeader) throw Error(ErrorKind::usage, "the conversation is too long for a state file (64 MiB)", file.string());
  HashedFile out(file);
  const std::uint32_t numbers[] = {kVersion, static_cast<std::uint32_t>(text.size())};
  out.write(kMagic);
  out.write(std::as_bytes(std::span(numbers)));
  out.write(text);
  out.align();
  out.write(std::as_bytes(std::span(state.ids)));
  out.align();
  model::write_pages(kv, length, [&](std::span<const std::byte> page) {
    progress.check("saving the state");
    out.write(page);
  });
  out.commit();
}

LoadedState read_state(const std::filesystem::path& file, const Model& model, const Progress& progress) {
  const io::InputFile in(file);
  std::uint64_t header_end = 0;
  const json header = header_of(in, header_end);
  const Places places = places_of(header, header_end, in);
  const auto storage = in.copy(0, in.size(), progress, 0, in.size());
  const Parts parts = split({storage->data, storage->bytes}, places, file);
  in.check_unchanged(in.identity());
  check_binding(header, model::kv_binding(model, progress), file);
  StreamState stream = stream_of(header, parts, model, file);
  model::KvSequence kv = model::read_pages(model, parts.pages);
  if (kv.length() > static_cast<std::int64_t>(stream.ids.size())) broken("it has more keys and values than tokens", file);
  return {std::move(stream), std::move(kv)};
}

}  // namespace hz
