#include "sim/program/command_line.hpp"

#include "protocol/go_compat/flags.hpp"
#include "protocol/go_compat/syntax.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>

namespace belay::sim {

namespace {

using go_compat::flag_takes;

struct flag {
  std::string_view name;
  flag_takes value;
  std::string_view shown, help;

  bool is_number() const { return shown == "N"; }
};

constexpr std::array flags = {
    flag{"seed", flag_takes::value, "N", "one run"},
    flag{"seeds", flag_takes::value, "A..B", "a sweep over the seeds from A to B-1"},
    flag{"replay", flag_takes::value, "FILE", "the run of a saved tape"},
    flag{"shrink", flag_takes::value_or_nothing, "[FILE]",
         "make a failing tape smaller: that file's, or that of --seed"},
    flag{"regressions", flag_takes::value, "DIR", "replay every *.tape of a folder and compare with what it expects"},
    flag{"list-kinds", flag_takes::nothing, "", "kinds of operations of the profile restart-after-each"},
    flag{"list-profiles", flag_takes::nothing, "", "names for --profile"},
    flag{"list-mutants", flag_takes::nothing, "", "names for --mutant"},
    flag{"profile", flag_takes::value, "NAME", "which faults, how large, how long (default: the tape's, else swarm)"},
    flag{"mutant", flag_takes::value, "NAME", "switch a known bug on; none: off, whatever the tape says"},
    flag{"virtual-seconds", flag_takes::value, "N", "length of the phase with faults, instead of the profile's"},
    flag{"trace", flag_takes::nothing, "", "every event as a line on stdout (one run or replay)"},
    flag{"twice", flag_takes::nothing, "", "repeat every run and compare (default: every 50th seed)"},
    flag{"save", flag_takes::value, "FILE",
         "where the tape of --seed goes, or the shrunk one (default there: FILE.min)"},
    flag{"report", flag_takes::value, "FILE", "figures as JSON"},
    flag{"jobs", flag_takes::value, "N", "processes of a sweep (default: one per processor)"},
    flag{"until-failure", flag_takes::nothing, "", "stop the sweep at its first failing seed"},
    flag{"require-probes", flag_takes::value, "FILE", "fail if a probe named in that file was never reached"},
    flag{"run-seconds", flag_takes::value, "N",
         "real time a run may take before it counts as stuck (default 600; 0: no limit)"},
    flag{"shrink-runs", flag_takes::value, "N", "how often shrinking may run (default 2000)"},
    flag{"shrink-seconds", flag_takes::value, "N", "real time shrinking may take (default 120)"},
    flag{"quiet", flag_takes::nothing, "", "no progress, and nothing about what passed"},
    flag{"help", flag_takes::nothing, "", "this text"},
};

const flag* find_flag(std::string_view name) {
  if (name == "h")
    name = "help";
  const auto* found = std::find_if(flags.begin(), flags.end(), [&](const flag& f) { return f.name == name; });
  return found == flags.end() ? nullptr : found;
}

std::string invalid(std::string_view value, std::string_view flag_name, std::string_view why) {
  return "invalid value \"" + std::string(value) + "\" for flag -" + std::string(flag_name) + ": " + std::string(why);
}

/// The given flags, by name.
class given_flags {
public:
  /// @returns an error, or empty.
  std::string read(const std::vector<std::string>& words) {
    go_compat::flag_reader reader(words, [](std::string_view name) -> std::optional<flag_takes> {
      const auto* f = find_flag(name);
      return f == nullptr ? std::nullopt : std::optional(f->value);
    });
    for (;;) {
      auto given = reader.next();
      if (!given)
        return given.error();
      if (!*given)
        break;
      const auto* f = find_flag((*given)->name);
      const auto value = (*given)->value.value_or("");
      // Stricter than Go: an empty or repeated value is a mistake.
      if ((*given)->attached && f->value == flag_takes::nothing)
        return invalid(value, f->name, "it takes none");
      if ((*given)->attached && value.empty())
        return "flag needs an argument: -" + std::string(f->name);
      if (f->is_number() && !go_compat::parse_uint(value))
        return invalid(value, f->name, "not a number from 0 to 2^64-1");
      if (!values_.emplace(f->name, value).second)
        return "flag given twice: -" + std::string(f->name);
    }
    if (reader.position() < words.size())
      return (words[reader.position()] == "--" ? "bad flag syntax: " : "unexpected word: ") + words[reader.position()];
    return {};
  }

  bool has(std::string_view name) const { return values_.contains(name); }
  std::string text(std::string_view name) const { return has(name) ? values_.find(name)->second : std::string(); }
  std::uint64_t number(std::string_view name, std::uint64_t otherwise) const {
    return has(name) ? go_compat::parse_uint(text(name)).value_or(0) : otherwise;
  }
  const std::map<std::string_view, std::string, std::less<>>& all() const { return values_; }

private:
  std::map<std::string_view, std::string, std::less<>> values_;
};

/// An action, and the flags that may be combined with it.
struct mode {
  std::string_view flag_name;
  action what;
  std::set<std::string_view> companions;
};

const std::vector<mode>& modes() {
  // --seed comes last: it may be combined with --shrink.
  static const std::vector<mode> all = {
      {"help", action::help, {}},
      {"list-kinds", action::list_kinds, {}},
      {"list-profiles", action::list_profiles, {}},
      {"list-mutants", action::list_mutants, {}},
      {"shrink",
       action::shrink,
       {"seed", "profile", "mutant", "virtual-seconds", "run-seconds", "save", "shrink-runs", "shrink-seconds",
        "quiet"}},
      {"replay",
       action::replay,
       {"profile", "mutant", "virtual-seconds", "run-seconds", "trace", "twice", "save", "report", "quiet"}},
      {"regressions", action::regressions, {"run-seconds", "quiet"}},
      {"seeds",
       action::sweep,
       {"profile", "mutant", "virtual-seconds", "run-seconds", "twice", "report", "jobs", "until-failure",
        "require-probes", "quiet"}},
      {"seed",
       action::one_seed,
       {"profile", "mutant", "virtual-seconds", "run-seconds", "trace", "twice", "save", "report", "quiet"}},
  };
  return all;
}

/// @returns an error, or empty.
std::string take_seeds(const std::string& text, command_line& into) {
  const auto dots = text.find("..");
  const auto first = go_compat::parse_uint(std::string_view(text).substr(0, dots));
  const auto end = dots == text.npos ? std::nullopt : go_compat::parse_uint(std::string_view(text).substr(dots + 2));
  if (!first || !end)
    return invalid(text, "seeds", "not of the form A..B");
  if (*first >= *end)
    return invalid(text, "seeds", "there is no seed in it: B is excluded");
  into.first_seed = *first;
  into.end_seed = *end;
  return {};
}

std::string listed(const std::vector<std::string>& names) {
  std::string out;
  for (const auto& n : names)
    out += (out.empty() ? "" : ", ") + n;
  return out.empty() ? "nothing" : out;
}

/// @returns an error, or empty.
std::string take_names(const given_flags& given, const known_names& names, command_line& into) {
  const auto is_in = [](const std::vector<std::string>& all, const std::string& one) {
    return std::find(all.begin(), all.end(), one) != all.end();
  };
  if (given.has("profile")) {
    into.profile = given.text("profile");
    if (!is_in(names.profiles, *into.profile))
      return invalid(*into.profile, "profile", "there is " + listed(names.profiles));
  }
  if (given.has("mutant")) {
    into.mutant = given.text("mutant");
    if (*into.mutant == "none")
      into.mutant = "";
    else if (!is_in(names.mutants, *into.mutant))
      return invalid(*into.mutant, "mutant", "there is " + listed(names.mutants));
  }
  return {};
}

} // namespace

result<command_line> parse_command_line(const std::vector<std::string>& words, const known_names& names) {
  given_flags given;
  if (auto wrong = given.read(words); !wrong.empty())
    return failure{wrong};
  command_line line;
  if (given.has("help"))
    return line;
  const auto& all = modes();
  const auto chosen = std::find_if(all.begin(), all.end(), [&](const mode& m) { return given.has(m.flag_name); });
  if (chosen == all.end())
    return failure{"nothing to do: give -seed, -seeds, -replay, -shrink or -regressions"};
  for (const auto& [name, value] : given.all())
    if (name != chosen->flag_name && !chosen->companions.contains(name))
      return failure{"-" + std::string(name) + " does not go with -" + std::string(chosen->flag_name)};

  line.what = chosen->what;
  if (given.has("seed")) {
    line.first_seed = given.number("seed", 0);
    line.end_seed = line.first_seed + 1;
  }
  if (given.has("seeds"))
    if (auto wrong = take_seeds(given.text("seeds"), line); !wrong.empty())
      return failure{wrong};
  line.tape_file = given.has("replay") ? given.text("replay") : given.text("shrink");
  if (line.what == action::shrink && line.tape_file.empty() != given.has("seed"))
    return failure{"-shrink needs a file or -seed, one of them"};
  if (line.what == action::replay && line.tape_file.empty())
    return failure{"flag needs an argument: -replay"};
  line.regressions_folder = given.text("regressions");
  if (auto wrong = take_names(given, names, line); !wrong.empty())
    return failure{wrong};
  for (const auto* name : {"virtual-seconds", "jobs", "shrink-runs", "shrink-seconds"})
    if (given.has(name) && given.number(name, 0) == 0)
      return failure{invalid("0", name, "must be at least 1")};
  // A thousand processes, a virtual year, a month of real time: more is a typo, and could overflow.
  for (const auto& [name, most] : {std::pair{"jobs", 1000u}, std::pair{"virtual-seconds", 31'536'000u},
                                   std::pair{"run-seconds", 2'592'000u}, std::pair{"shrink-seconds", 2'592'000u}})
    if (given.number(name, 0) > most)
      return failure{invalid(given.text(name), name, "must be at most " + std::to_string(most))};
  line.virtual_seconds = given.number("virtual-seconds", line.virtual_seconds);
  line.run_seconds = given.number("run-seconds", line.run_seconds);
  line.jobs = given.number("jobs", line.jobs);
  line.shrink_runs = given.number("shrink-runs", line.shrink_runs);
  line.shrink_seconds = given.number("shrink-seconds", line.shrink_seconds);
  line.trace = given.has("trace");
  line.twice = given.has("twice");
  line.until_failure = given.has("until-failure");
  line.quiet = given.has("quiet");
  line.save_file = given.text("save");
  line.report_file = given.text("report");
  line.required_probes_file = given.text("require-probes");
  return line;
}

std::string usage(const std::string& program) {
  std::string out =
      "Usage: " + program + " --seed N | --seeds A..B | --replay FILE | --shrink FILE | --shrink --seed N" +
      " | --regressions DIR [options]\n\n"
      "  Runs whole clusters of Belay in virtual time, with faults, and checks what their clients see.\n\n"
      "Options\n\n";
  for (const auto& f : flags) {
    auto left = "  --" + std::string(f.name) + (f.shown.empty() ? "" : " ") + std::string(f.shown);
    left.resize(std::max<std::size_t>(left.size() + 1, 26), ' ');
    out += left + std::string(f.help) + "\n";
  }
  return out + "\nExit code: 0 passed; 1 safety: a rule was broken, or a required probe not reached; 2 liveness: no\n"
               "progress; 3 not deterministic; 64 wrong usage; 74 a file cannot be read or written; 130 interrupted.\n"
               "With several kinds of failure, 1 takes precedence over 3, and 3 over 2.\n"
               "The trace, lists and the summary of a sweep go to stdout, all else to stderr.\n";
}

} // namespace belay::sim
