// SPDX-License-Identifier: Apache-2.0
#include "tools/common/generate_options.hpp"

#include <CLI/App.hpp>
#include <charconv>
#include <cmath>
#include <hanzo/text/utf8.hpp>
#include <limits>

#include "tools/common/prompt.hpp"
#include "tools/common/run.hpp"

namespace hz::tools {
namespace {

// A grammar's error says where in the text; the file is added.
template <class Make>
std::shared_ptr<const Grammar> grammar_from(const std::string& file, const Console& console, Make&& make) {
  const std::string text = read_text_file(file, console, kMostDefinition);
  try {
    return make(text);
  } catch (const Error& e) {
    throw Error(e.kind(), e.what(), file + (e.where().empty() ? "" : ": " + e.where()), e.hint());
  }
}

}  // namespace

TokenBias parse_bias(const std::string& text) {
  TokenBias b;
  const char *at = text.data(), *end = at + text.size();
  const auto [after_id, id_error] = std::from_chars(at, end, b.id);
  bool good = id_error == std::errc() && b.id >= 0 && after_id != end && (*after_id == '+' || *after_id == '-' || *after_id == '=');
  if (good) {
    const char* number = *after_id == '-' ? after_id : after_id + 1;
    const auto [after, error] = std::from_chars(number, end, b.bias);
    good = error == std::errc() && after == end && !std::isnan(b.bias);
  }
  if (!good)
    throw Error(ErrorKind::usage, "--logit-bias: '" + text + "' is no ID+BIAS", "", "write 15043+1.5, 15043-1.5, 15043=-2 or 15043-inf");
  return b;
}

GenerateArgs::GenerateArgs(CLI::App& app) {
  add_sampling(app);
  add_penalties(app);
  add_text(app);
}

void GenerateArgs::add_sampling(CLI::App& app) {
  const std::string group = "Sampling";
  SamplingOptions& s = sampling;
  app.add_option("--temp,--temperature", s.temperature, "temperature; 0 is greedy")->group(group);
  app.add_option("--top-k", s.top_k, "keep the k most likely tokens; 0 is off")->group(group);
  app.add_option("--top-p", s.top_p, "keep the most likely tokens up to this probability; 1 is off")->group(group);
  app.add_option("--min-p", s.min_p, "drop tokens below this share of the best one's probability; 0 is off")->group(group);
  app.add_option("--typical,--typical-p", s.typical_p, "keep the tokens nearest to the entropy, up to this probability; 1 is off")
      ->group(group);
  app.add_option("--top-n-sigma,--top-nsigma", s.top_n_sigma, "keep logits within n standard deviations of the greatest; -1 is off")
      ->group(group);
  app.add_option("--xtc-probability", s.xtc_probability, "how often the top choices but the last are removed; 0 is off")->group(group);
  app.add_option("--xtc-threshold", s.xtc_threshold, "probability that makes a top choice; above 0.5 is off")->group(group);
  app.add_option("--min-keep", s.min_keep, "tokens that the truncating stages leave at least")->group(group);
  app.add_option("--dynatemp-range", s.dynatemp_range, "dynamic temperature: from --temp minus to --temp plus this; 0 is off")
      ->group(group);
  app.add_option("--dynatemp-exponent,--dynatemp-exp", s.dynatemp_exponent, "dynamic temperature: exponent of the entropy's share")
      ->group(group);
  app.add_option("--mirostat", s.mirostat, "2: Mirostat 2 in place of truncation; 0 is off")->group(group);
  app.add_option("--mirostat-tau,--mirostat-ent", s.mirostat_tau, "Mirostat: target surprise, bits")->group(group);
  app.add_option("--mirostat-eta,--mirostat-lr", s.mirostat_eta, "Mirostat: learning rate")->group(group);
  seed_given = app.add_option("--seed", seed, "seed of the random numbers, 0 to 2^64-1; left out, a fresh one is drawn and printed")
                   ->check(any_seed())
                   ->group(group);
  app.add_option("--sampling-order,--samplers", s.sampling_order,
                 "the stages in their order, by name or one letter each; one that is not named does not run")
      ->group(group);
}

void GenerateArgs::add_penalties(CLI::App& app) {
  const std::string group = "Repetition and bias";
  SamplingOptions& s = sampling;
  app.add_option("--repeat-last-n", s.repeat_last_n, "tokens back that the penalties look at; -1 all, 0 none")->group(group);
  app.add_option("--repeat-penalty", s.repeat_penalty, "positive logits of seen tokens are divided, others multiplied by it; 1 is off")
      ->group(group);
  app.add_option("--frequency-penalty", s.frequency_penalty, "subtracted for each occurrence")->group(group);
  app.add_option("--presence-penalty", s.presence_penalty, "subtracted from tokens that occurred")->group(group);
  app.add_option("--dry-multiplier", s.dry_multiplier, "DRY: strength of the penalty on going on with a repetition; 0 is off")
      ->group(group);
  app.add_option("--dry-base", s.dry_base, "DRY: growth with each further token")->group(group);
  app.add_option("--dry-allowed-length", s.dry_allowed_length, "DRY: repetitions up to this length are free")->group(group);
  app.add_option("--dry-last-n,--dry-penalty-last-n", s.dry_last_n, "DRY: tokens back that it looks at; -1 all")->group(group);
  app.add_option("--dry-breaker,--dry-sequence-breaker", breakers,
                 "DRY: a text that no repetition reaches over, repeatable; none: no such text")
      ->group(group);
  app.add_option("--logit-bias", biases, "ID+BIAS or ID-BIAS, repeatable; -inf bans the token")->group(group);
  app.add_flag("--ignore-eos", s.ignore_eos, "no token that ends the turn, unless a grammar allows nothing else")->group(group);
}

void GenerateArgs::add_text(CLI::App& app) {
  const std::string group = "Answer";
  app.add_option("-n,--max-tokens", max_tokens, "tokens to generate; 0 evaluates only, -1 until the turn or the context ends")
      ->check(CLI::Range(std::int64_t{-1}, std::int64_t{1} << 40))
      ->group(group);
  app.add_option("--stop", stops, "the text ends before this string, repeatable")->group(group);
  logprobs_given = app.add_option("--logprobs", logprobs, "log-probabilities of each token and of the N most likely ones (with --json)")
                       ->check(CLI::Range(0, 1 << 24))
                       ->group(group);
  grammar_given = add_path(app, "--grammar", grammar, "GBNF file: the answer follows this grammar")->group(group);
  schema_given = add_path(app, "--json-schema", schema, "JSON Schema file: the answer is JSON that is valid under it")->group(group);
  grammar_given->excludes(schema_given);
}

GenerateOptions GenerateArgs::build(const Console& console) const {
  GenerateOptions o;
  o.sampling = sampling;
  o.max_tokens = max_tokens;
  if (is_given(seed_given)) o.seed = seed;
  if (is_given(logprobs_given)) o.logprobs = logprobs;
  for (const std::string& b : biases) o.sampling.logit_bias.push_back(parse_bias(b));
  if (!breakers.empty()) o.sampling.dry_breakers = breakers == std::vector<std::string>{"none"} ? std::vector<std::string>{} : breakers;
  o.stop_strings = stops;
  o.validate();
  if (is_given(grammar_given))
    o.grammar = grammar_from(grammar, console, [](const std::string& text) { return Grammar::from_gbnf(text); });
  if (is_given(schema_given))
    o.grammar = grammar_from(schema, console, [](const std::string& text) { return Grammar::from_json_schema(text); });
  return o;
}

}  // namespace hz::tools
