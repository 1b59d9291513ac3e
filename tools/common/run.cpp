// SPDX-License-Identifier: Apache-2.0
// run: the frame around every tool.
#include "tools/common/run.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <hanzo/backend/backend.hpp>
#include <hanzo/core/near_names.hpp>
#include <hanzo/core/version.hpp>
#include <hanzo/io/map_guard.hpp>
#include <signal.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <new>
#include <set>

#include "tools/common/interrupt.hpp"

namespace hz::tools {
namespace {

std::string version_text(std::string_view name) {
  const BuildInfo& b = build_info();
  std::string s = fmt::format("{} {} ({})\nbuild: {}, {}\n", name, b.version, b.commit, b.compiler, b.build);
  for (const BackendInfo& backend : list_backends()) s += fmt::format("device {}: {}\n", backend.name, backend.description);
  return s + "licence: Apache-2.0\n";
}

// The subcommand that was named last, where the mistake is.
const CLI::App& innermost(const CLI::App& app) {
  const auto named = app.get_subcommands();
  return named.empty() ? app : innermost(*named.back());
}

// What lists the options of the subcommand named: "hz-train sft --help".
std::string help_of(const CLI::App& app) {
  const auto named = app.get_subcommands();
  return app.get_name() + (named.empty() ? " --help" : " " + help_of(*named.back()));
}

std::vector<std::string> flags_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* o : app.get_options()) {
    for (const std::string& l : o->get_lnames()) names.push_back("--" + l);
    for (const std::string& s : o->get_snames()) names.push_back("-" + s);
  }
  return names;
}

// Long flags may be written with one dash, as llama.cpp's tools have them: -ub 512, -pg 512,128.
std::vector<std::string> with_long_flags(const CLI::App& app, std::vector<std::string> words) {
  std::set<std::string> names;
  const std::function<void(const CLI::App&)> collect = [&](const CLI::App& a) {
    for (const CLI::Option* o : a.get_options()) names.insert(o->get_lnames().begin(), o->get_lnames().end());
    for (const CLI::App* sub : a.get_subcommands({})) collect(*sub);
  };
  collect(app);
  for (std::string& w : words) {
    if (w == "--") break;
    if (w.size() > 2 && w[0] == '-' && w[1] != '-' && names.contains(w.substr(1, w.find('=') - 1))) w.insert(0, "-");
  }
  return words;
}

Error usage_error(const CLI::App& app, const CLI::ParseError& e) {
  const CLI::App& inner = innermost(app);
  const std::string help = help_of(app);
  const auto left = app.remaining(true);
  const auto unknown = std::find_if(left.begin(), left.end(), [](const std::string& s) { return s.size() > 1 && s[0] == '-'; });
  if (dynamic_cast<const CLI::ExtrasError*>(&e) == nullptr || left.empty()) return Error(ErrorKind::usage, e.what(), "", help);
  if (unknown == left.end()) return Error(ErrorKind::usage, fmt::format("'{}' is one argument too many", left.front()), "", help);
  const std::string flag = unknown->substr(0, unknown->find('='));
  const auto names = flags_of(inner);
  const std::vector<std::string_view> views(names.begin(), names.end());
  const std::string_view near = meant(flag, views);
  return Error(ErrorKind::usage, fmt::format("unknown option {}", flag), "", near.empty() ? help : fmt::format("{}, or {}", near, help));
}

int run_checked(Console& console, const Action& action) {
  const auto fail = [&](const Error& e) {
    console.error(e);
    return exit_code(e.kind());
  };
  try {
    const int code = action(console);
    console.flush();
    return code == kInterrupted && Interrupt::pending() != 0 ? 128 + Interrupt::pending() : code;
  } catch (const ClosedPipe&) {
    return kOk;
  } catch (const Error& e) {
    try {
      console.flush();  // what was produced before the error
    } catch (...) {     // the first error is the one to tell
    }
    const int signal = Interrupt::pending();
    if (e.kind() != ErrorKind::cancelled || signal == 0) return fail(e);
    console.note(e.what());
    return 128 + signal;
  } catch (const std::bad_alloc&) {
    return fail(Error(ErrorKind::out_of_memory, "out of memory", "", "a smaller model, context or batch"));
  } catch (const std::exception& e) {
    return fail(Error(ErrorKind::failed, e.what()));
  }
}

}  // namespace

// Standard descriptors that the caller closed are filled, so that no pipe or file of ours takes their number. All are
// opened for reading: writing to a closed stdout stays an error.
static void fill_closed_descriptors() {
  for (int fd = 0; fd <= 2; ++fd)
    if (::fcntl(fd, F_GETFD) < 0) ::open("/dev/null", O_RDONLY);  // takes the lowest free number: this one
}

int run_action(std::string_view name, int argc, char** argv, const std::function<Action(CLI::App&)>& setup) {
  fill_closed_descriptors();
  static_cast<void>(::signal(SIGPIPE, SIG_IGN));  // a closed pipe is an error of write, not the end of the process
  static_cast<void>(::signal(SIGXFSZ, SIG_IGN));  // so is a file that may not grow: its temporary must go
  ConsoleOptions options;
  CLI::App app{"", std::string(name)};
  app.option_defaults()->always_capture_default();
  try {
    std::string color = "auto";
    app.add_flag("-q,--quiet", options.quiet, "only warnings and errors on stderr");
    app.add_flag("-v,--verbose", options.verbose, "more on stderr");
    add_choice(app, "--color", color, {"auto", "always", "never"}, "colours");
    app.set_version_flag("--version", [&] { return version_text(name); }, "show version, build and devices");
    Action action;
    try {
      app.footer("Exit codes: 0 done, 1 failed, 2 wrong usage, 3 unreadable or bad file, 4 not enough memory, 5 a check failed,\n"
                 "130 or 143 stopped by Ctrl-C or SIGTERM. Environment: HANZO_ISA=scalar|avx2|avx512|neon forces an instruction set,\n"
                 "NO_COLOR turns colours off.");
      action = setup(app);
      std::vector<std::string> words = with_long_flags(app, {argv + 1, argv + argc});
      std::reverse(words.begin(), words.end());  // as CLI11 takes them
      app.parse(std::move(words));
    } catch (const CLI::Success& e) {  // --help or --version
      const bool version = dynamic_cast<const CLI::CallForVersion*>(&e) != nullptr;
      action = [text = version ? std::string(e.what()) : app.help()](Console& c) {
        c.print(text);
        return static_cast<int>(kOk);
      };
    } catch (const CLI::ParseError& e) {
      Console().error(usage_error(app, e));
      return kUsage;
    }
    options.color = color == "always" ? Color::always : color == "never" ? Color::never : Color::automatic;
    const io::MapGuard guard;  // a model file that is cut while mapped is an error; Console asks before data leaves
    Interrupt interrupt;
    Console console(options, &interrupt);
    return run_checked(console, action);
  } catch (const Error& e) {
    Console(options).error(e);
    return exit_code(e.kind());
  } catch (const std::exception& e) {
    Console(options).error(Error(ErrorKind::failed, e.what()));
    return kFailed;
  }
}

CLI::Option* add_path(CLI::App& app, const std::string& names, std::string& value, const std::string& help) {
  return app.add_option(names, value, help)
      ->check([](const std::string& given) { return std::string(given.empty() ? "an empty name" : ""); })
      ->type_name("PATH");
}

CLI::App* add_command(CLI::App& app, const std::string& name, const std::string& help) { return app.add_subcommand(name, help); }

bool is_given(const CLI::Option* option) { return option->count() > 0; }

const CLI::Validator& any_seed() {
  static const CLI::Validator seed(
      [](std::string& given) {
        std::uint64_t value = 0;
        const auto [end, error] = std::from_chars(given.data(), given.data() + given.size(), value);
        const bool good = error == std::errc() && end == given.data() + given.size();
        return good ? std::string()
                    : fmt::format("'{}' is no whole number from 0 to 18446744073709551615; leave it out for a fresh one", given);
      },
      "", "seed");
  return seed;
}

CLI::Option* add_choice(CLI::App& app, const std::string& names, std::string& value, std::vector<std::string> choices,
                        const std::string& help) {
  std::string all;
  for (const std::string& c : choices) all += (all.empty() ? "" : "|") + c;
  auto check = [choices, all](const std::string& given) -> std::string {
    if (std::find(choices.begin(), choices.end(), given) != choices.end()) return "";
    const std::vector<std::string_view> views(choices.begin(), choices.end());
    const std::string_view near = meant(given, views);
    return fmt::format("'{}' is none of {}{}", given, all, near.empty() ? "" : fmt::format("; did you mean {}?", near));
  };
  return app.add_option(names, value, help)->check(CLI::Validator(check, all, "choice"))->type_name("");
}

}  // namespace hz::tools
