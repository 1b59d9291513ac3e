// SPDX-License-Identifier: Apache-2.0
// tokenizer.json as GGUF keys; the result is read back and must cut sample texts as the original does.
#include <map>

#include "hanzo/core/error.hpp"
#include "hanzo/text/tokenizer.hpp"
#include "src/io/input_file.hpp"
#include "src/model/convert/config.hpp"

namespace hz::model::convert {
namespace {

using nlohmann::json;

// Patterns of tokenizer.json files by the pre-tokenizer that GGUF names: where the whole-word rule (ignore_merges, llama
// 3) or the NFC normalizer (qwen2) is there, and where it is not.
struct KnownPattern {
  std::string_view pattern, with, without;
};
constexpr KnownPattern kPatterns[] = {
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)", "llama-bpe",
     "smaug-bpe"},
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)", "qwen2",
     "hunyuan"},
    {R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)", "", "gpt-2"},
};

constexpr std::string_view kSamples[] = {
    "Hello, world! It's 12345 degrees; isn't that   odd?\n\n\tTabs and  spaces ",
    "caf\xC3\xA9 na\xC3\xAFve \xE4\xBD\xA0\xE5\xA5\xBD \xD0\xBF\xD1\x80\xD0\xB8\xD0\xB2\xD0\xB5\xD1\x82 \xF0\x9F\x98\x80!",
    "int main() { return 0x7f + 42; } // code",
    " leading",
    "a",
    "1 22 333 4444",
    "UPPER lower MiXeD",
    "...!?\r\n",
};

std::vector<json> steps_of(const json& pre) {
  if (pre.is_null()) return {};
  if (pre.value("type", "") == "Sequence") return pre.value("pretokenizers", std::vector<json>{});
  return {pre};
}

std::string pre_name(const json& root, const std::string& source) {
  const std::vector<json> steps = steps_of(root.contains("pre_tokenizer") ? root.at("pre_tokenizer") : json());
  std::string pattern, kinds;
  bool byte_level = false, digits = false;
  for (const json& s : steps) {
    const std::string type = s.value("type", "");
    kinds += (kinds.empty() ? "" : ", ") + type;
    if (type == "Split" && s.contains("pattern") && s.at("pattern").contains("Regex"))
      pattern = s.at("pattern").at("Regex").get<std::string>();
    if (type == "Digits") digits = s.value("individual_digits", false);
    if (type == "ByteLevel") {
      byte_level = true;
      if (s.value("use_regex", true) && pattern.empty()) pattern = kPatterns[2].pattern;
    }
  }
  if (byte_level)
    for (const KnownPattern& k : kPatterns) {
      if (pattern != k.pattern) continue;
      if (digits) return k.without == "gpt-2" ? "smollm" : "";
      const json normalizer = root.value("normalizer", json()), model = root.value("model", json::object());
      const bool with = (normalizer.is_object() && normalizer.value("type", "") == "NFC") || model.value("ignore_merges", false);
      return std::string(with && !k.with.empty() ? k.with : k.without);
    }
  throw Error(ErrorKind::unsupported,
              "the pre-tokenizer (" + kinds + ") with pattern " + pattern.substr(0, 60) + " has no name in GGUF that is known here",
              source);
}

std::string chat_template_of(const std::filesystem::path& folder, const json& config) {
  if (const std::string text = read_text(folder / "chat_template.jinja", false); !text.empty()) return text;
  const json own = read_json(folder / "chat_template.json", false);
  const json& from = own.is_object() && own.contains("chat_template") ? own : config;
  if (!from.is_object() || !from.contains("chat_template")) return {};
  const json& t = from.at("chat_template");
  if (t.is_string()) return t.get<std::string>();
  if (t.is_array())
    for (const json& named : t)
      if (named.is_object() && named.value("name", "") == "default" && named.contains("template"))
        return named.at("template").get<std::string>();
  return {};
}

class Writer {
 public:
  Writer(const std::filesystem::path& folder, io::Metadata& out)
      : folder_(folder),
        source_((folder / "tokenizer.json").string()),
        root_(read_json(folder / "tokenizer.json", true)),
        hf_(text::Tokenizer::from_hf(folder)),
        out_(out) {}

  std::string run(std::int64_t rows) {
    const json model = root_.value("model", json::object());
    if (model.value("type", "BPE") != "BPE")
      throw Error(ErrorKind::unsupported, "a tokenizer of type '" + model.value("type", "") + "' is not converted", source_);
    const bool bytes = model.value("byte_fallback", false);
    std::string name = "llama";
    if (!bytes) {
      pre_ = pre_name(root_, source_);
      if (pre_.empty())
        throw Error(ErrorKind::unsupported, "digits cut one by one with this pattern have no name in GGUF that is known here", source_);
      out_.set("tokenizer.ggml.pre", {pre_});
      name = "gpt2";
    }
    out_.set("tokenizer.ggml.model", {name});
    vocabulary(rows, bytes);
    const auto merges = merges_of(model);
    if (bytes) scores(merges);
    else out_.set("tokenizer.ggml.merges", {io::Array(merges)});
    roles(bytes);
    const json config = read_json(folder_ / "tokenizer_config.json", false);
    if (const std::string t = chat_template_of(folder_, config); !t.empty()) out_.set("tokenizer.chat_template", {t});
    compare();
    return name + (pre_.empty() ? "" : " (" + pre_ + ")");
  }

 private:
  void vocabulary(std::int64_t rows, bool bytes) {
    if (hf_->size() > rows)
      throw Error(ErrorKind::bad_file,
                  "the tokenizer has " + std::to_string(hf_->size()) + " tokens, the embedding " + std::to_string(rows) + " rows", source_);
    std::map<std::string, bool> added;  // text, special
    for (const json& t : root_.value("added_tokens", std::vector<json>{})) added[t.value("content", "")] = t.value("special", false);
    std::vector<std::int32_t> types;
    for (std::int32_t i = 0; i < rows; ++i) {
      const bool real = i < hf_->size();
      std::string text = real ? std::string(hf_->text(i)) : "[PAD" + std::to_string(i) + "]";
      const auto at = added.find(text);
      const bool is_byte = bytes && text.size() == 6 && text.starts_with("<0x") && text.ends_with(">");
      types.push_back(!real ? 5 : hf_->unk() == i ? 2 : at != added.end() ? (at->second ? 3 : 4) : is_byte ? 6 : 1);
      tokens_.push_back(std::move(text));
    }
    out_.set("tokenizer.ggml.tokens", {io::Array(tokens_)});
    out_.set("tokenizer.ggml.token_type", {io::Array(types)});
  }
  std::vector<std::string> merges_of(const json& model) const {
    std::vector<std::string> list;
    for (const json& m : model.value("merges", std::vector<json>{})) {
      if (m.is_string()) list.push_back(m.get<std::string>());
      else if (m.is_array() && m.size() == 2 && m[0].is_string() && m[1].is_string())
        list.push_back(m[0].get<std::string>() + " " + m[1].get<std::string>());
      else throw Error(ErrorKind::bad_file, "a merge is no pair", source_);
    }
    return list;
  }
  // SentencePiece merges the pair whose joined piece has the best score: the earlier the merge, the better.
  void scores(const std::vector<std::string>& merges) {
    std::map<std::string, std::size_t> rank;
    for (std::size_t i = 0; i < merges.size(); ++i) {
      const std::size_t cut = merges[i].find(' ', 1);
      if (cut == std::string::npos) throw Error(ErrorKind::bad_file, "a merge is no pair", source_);
      rank.emplace(merges[i].substr(0, cut) + merges[i].substr(cut + 1), i);
    }
    std::vector<float> scores;
    for (const std::string& t : tokens_) {
      const auto at = rank.find(t);
      scores.push_back(at == rank.end() ? -static_cast<float>(merges.size()) : -static_cast<float>(at->second));
    }
    out_.set("tokenizer.ggml.scores", {io::Array(scores)});
  }
  void roles(bool bytes) {
    const auto id = [&](const char* key, std::optional<text::TokenId> token) {
      if (token) out_.set(std::string("tokenizer.ggml.") + key, {static_cast<std::uint32_t>(*token)});
    };
    id("bos_token_id", hf_->bos());
    id("eos_token_id", hf_->eos());
    id("eot_token_id", hf_->eot());
    id("unknown_token_id", hf_->unk());
    id("padding_token_id", hf_->pad());
    out_.set("tokenizer.ggml.add_bos_token", {hf_->add_bos()});
    out_.set("tokenizer.ggml.add_eos_token", {hf_->add_eos()});
    if (bytes) out_.set("tokenizer.ggml.add_space_prefix", {hf_->add_space_prefix()});
  }
  void compare() const {
    const auto ours = text::Tokenizer::from_gguf(out_);
    for (const std::string_view s : kSamples)
      if (ours->encode(s, {.add_special = true}) != hf_->encode(s, {.add_special = true}))
        throw Error(ErrorKind::unsupported,
                    "the tokenizer's steps cannot be told in GGUF: the text '" + std::string(s) + "' would be cut differently", source_);
  }

  std::filesystem::path folder_;
  std::string source_;
  json root_;
  std::shared_ptr<const text::Tokenizer> hf_;
  io::Metadata& out_;
  std::vector<std::string> tokens_;
  std::string pre_;
};

}  // namespace

std::string write_tokenizer(const std::filesystem::path& folder, std::int64_t rows, io::Metadata& out) {
  if (!io::is_there(folder / "tokenizer.json")) {
    out.set("tokenizer.ggml.model", {std::string("none")});
    return {};
  }
  try {
    return Writer(folder, out).run(rows);
  } catch (const nlohmann::json::exception& e) {
    throw Error(ErrorKind::bad_file, std::string("holds something of an unexpected kind: ") + e.what(),
                (folder / "tokenizer.json").string());
  }
}

}  // namespace hz::model::convert
