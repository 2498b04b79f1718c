#include "sim/program/program.hpp"

#include "sim/program/shrink.hpp"
#include "sim/program/sweep.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <ostream>

namespace belay::sim {

namespace {

result<std::string> read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  if (!in.is_open() || in.bad())
    return failure{"cannot read " + path};
  return text;
}

status write_file(const std::string& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary);
  out << text << std::flush;
  if (!out)
    return failure{"cannot write " + path};
  return done{};
}

result<saved_tape> read_tape(const std::string& path) {
  auto text = read_file(path);
  if (!text)
    return text.reason();
  auto t = parse_tape(*text);
  if (!t)
    return failure{path + ": " + t.error()};
  return t;
}

/// A line that is redrawn, if the output is interactive.
class progress_display {
public:
  explicit progress_display(std::ostream* to) : to_(to) {}
  ~progress_display() { clear(); }

  void show(const std::string& line) {
    if (to_ == nullptr || line == shown_)
      return;
    const auto blanks = shown_.size() > line.size() ? shown_.size() - line.size() : 0;
    *to_ << '\r' << line << std::string(blanks, ' ') << std::flush;
    shown_ = line;
  }
  void clear() {
    if (!shown_.empty())
      *to_ << '\r' << std::string(shown_.size(), ' ') << '\r' << std::flush;
    shown_.clear();
  }

private:
  std::ostream* to_;
  std::string shown_;
};

std::string usage_of(const program_parts& parts) {
  return parts.usage.empty() ? usage(parts.name) : parts.usage;
}

class program {
public:
  program(const program_parts& parts, command_line line, const std::vector<std::string>& words)
      : parts_(parts), line_(std::move(line)), command_(parts.name) {
    for (const auto& w : words)
      command_ += " " + w;
  }

  int execute() {
    switch (line_.what) {
    case action::help:
      parts_.out << usage_of(parts_) << std::flush;
      return exit_passed;
    case action::list_mutants:
      return list(parts_.names.mutants);
    case action::list_kinds:
      return list(parts_.names.kinds);
    case action::list_profiles:
      return list(parts_.names.profiles);
    case action::one_seed:
      return one_seed();
    case action::replay:
      return replay();
    case action::sweep:
      return many_seeds();
    case action::shrink:
      return make_smaller();
    case action::regressions:
      return regressions();
    }
    return exit_usage;
  }

private:
  int complain(const std::string& text, int code) {
    parts_.err << text << std::endl;
    return code;
  }

  int list(const std::vector<std::string>& names) {
    for (const auto& n : names)
      parts_.out << n << '\n';
    parts_.out << std::flush;
    return exit_passed;
  }

  std::ostream* progress_to() const { return parts_.interactive && !line_.quiet ? &parts_.err : nullptr; }

  /// Decides what to run; the command line takes precedence over the tape. Activates the mutant.
  result<isolation> prepare(saved_tape& t) {
    if (line_.profile)
      t.profile = *line_.profile;
    if (t.profile.empty())
      t.profile = "swarm";
    if (line_.mutant)
      t.mutant = *line_.mutant;
    if (line_.virtual_seconds != 0)
      t.chaos_seconds = line_.virtual_seconds;
    auto p = parts_.profile_named(t.profile);
    if (!p)
      return failure{"there is no profile " + t.profile};
    if (!parts_.activate_mutant(t.mutant))
      return failure{"this build has no mutant " + t.mutant + " (BELAY_SIMULATION_HOOKS, and its name)"};
    if (t.chaos_seconds != 0)
      p->chaos = std::chrono::seconds(t.chaos_seconds);
    isolation how;
    how.run = parts_.run;
    how.profile = *p;
    how.wall_limit = std::chrono::seconds(line_.run_seconds);
    how.twice = line_.twice;
    how.trace = line_.trace ? &parts_.out : nullptr;
    return how;
  }

  recipe recipe_of(const saved_tape& t) const {
    return {parts_.name, t.profile, t.mutant, t.chaos_seconds, {}, parts_.profile_flag};
  }
  /// The options that the tape file does not contain.
  recipe recipe_of_file(const std::string& path) const {
    return {parts_.name, line_.profile.value_or(""), line_.mutant.value_or(""), line_.virtual_seconds,
            path,        parts_.profile_flag};
  }

  int one_seed() {
    saved_tape t;
    t.seed = line_.first_seed;
    auto how = prepare(t);
    if (!how)
      return complain(how.error(), exit_usage);
    return run_and_report(*how, tape(t.seed), t, recipe_of(t));
  }

  int replay() {
    auto t = read_tape(line_.tape_file);
    if (!t)
      return complain(t.error(), exit_files);
    auto how = prepare(*t);
    if (!how)
      return complain(how.error(), exit_usage);
    const auto code = run_and_report(*how, tape(t->seed, t->items), *t, recipe_of_file(line_.tape_file));
    if (!t->expect.empty() && !line_.quiet)
      parts_.err << "the tape expects: " << t->expect << std::endl;
    return code;
  }

  int run_and_report(const isolation& how, const tape& start, saved_tape t, const recipe& again) {
    const auto begin = std::chrono::steady_clock::now();
    auto ran = run_isolated(how, start);
    if (!ran)
      return complain(ran.error(), exit_files);
    const auto& r = ran->report;
    figures f;
    f.add(r);
    f.wall = std::chrono::steady_clock::now() - begin;
    // The report of a run that died ends with its stderr.
    const bool died = !ran->stderr_tail.empty() && r.what.ends_with(ran->stderr_tail);
    if (!ran->stderr_tail.empty() && !died)
      parts_.err << ran->stderr_tail << '\n';
    if (r.outcome != run_outcome::passed || !line_.quiet)
      parts_.err << described(r, again) << std::flush;
    if (auto ok = save_report(f, again); !ok)
      return complain(ok.error(), exit_files);
    if (line_.save_file.empty())
      return exit_code_of(f);
    if (!ran->taken_known)
      return complain("the run ended without reporting its tape: nothing saved", exit_code_of(f));
    t.items = ran->taken;
    t.expect = name_of(r.outcome);
    if (r.outcome != run_outcome::passed)
      t.story += r.checker + ": " + r.what + "\n";
    if (auto ok = write_file(line_.save_file, to_text(t)); !ok)
      return complain(ok.error(), exit_files);
    return exit_code_of(f);
  }

  status save_report(const figures& f, const recipe& how) {
    if (line_.report_file.empty())
      return done{};
    return write_file(line_.report_file, pretty(to_json(f, how, command_)));
  }

  int many_seeds() {
    // Read first, to detect a wrong name at the start.
    std::set<std::string> required;
    if (!line_.required_probes_file.empty()) {
      auto text = read_file(line_.required_probes_file);
      if (!text)
        return complain(text.error(), exit_files);
      required = parse_required_probes(*text);
    }
    saved_tape t;
    auto how = prepare(t);
    if (!how)
      return complain(how.error(), exit_usage);
    const auto again = recipe_of(t);
    const auto total = line_.end_seed - line_.first_seed;

    progress_display display(progress_to());
    sweep_options o;
    o.first_seed = line_.first_seed;
    o.end_seed = line_.end_seed;
    o.jobs = line_.jobs != 0 ? line_.jobs : std::max<std::size_t>(1, parts_.processors);
    o.profile = how->profile;
    if (line_.twice)
      o.repeat_every = 1;
    o.wall_limit = how->wall_limit;
    o.until_failure = line_.until_failure;
    o.stop = parts_.stop;
    o.on_tick = [&](const figures& f) { display.show(progress_line(f, total, f.wall)); };
    o.on_report = [&](const run_report& r) {
      if (r.outcome == run_outcome::passed)
        return;
      display.clear();
      parts_.err << described(r, again) << std::flush;
    };
    auto f = sweep(parts_.run, o);
    display.clear();
    if (!f)
      return complain(f.error(), exit_files);
    f->missing_probes = missing(required, f->probes);
    const auto code = exit_code_of(*f);
    if (!line_.quiet || code != exit_passed)
      parts_.out << described(*f, again) << std::flush;
    if (auto ok = save_report(*f, again); !ok)
      return complain(ok.error(), exit_files);
    return code;
  }

  int make_smaller() {
    saved_tape t;
    if (line_.tape_file.empty()) {
      t.seed = line_.first_seed;
    } else {
      auto read = read_tape(line_.tape_file);
      if (!read)
        return complain(read.error(), exit_files);
      t = std::move(*read);
    }
    auto how = prepare(t);
    if (!how)
      return complain(how.error(), exit_usage);
    if (line_.tape_file.empty()) {
      auto ran = run_isolated(*how, tape(t.seed));
      if (!ran)
        return complain(ran.error(), exit_files);
      if (ran->report.outcome == run_outcome::passed)
        return complain("seed " + std::to_string(t.seed) + " passed: nothing to shrink", exit_usage);
      if (!ran->taken_known)
        return complain("the run ended without reporting its tape: nothing to shrink", exit_files);
      t.items = ran->taken;
    }
    return shrink_it(*how, std::move(t));
  }

  int shrink_it(isolation how, saved_tape t) {
    std::string trouble;
    std::optional<std::chrono::steady_clock::duration> original_took;
    const auto attempt_at = [&](const std::vector<tape_item>& items) -> attempt {
      const auto begun = std::chrono::steady_clock::now();
      auto ran = run_isolated(how, tape(t.seed, items));
      if (!original_took) {
        // A smaller tape with a much longer run is of no use, and must not use up the time.
        original_took = std::chrono::steady_clock::now() - begun;
        const auto time_limit = std::chrono::ceil<std::chrono::seconds>(10 * *original_took) + std::chrono::seconds(5);
        how.wall_limit = how.wall_limit.count() == 0 ? time_limit : std::min(how.wall_limit, time_limit);
      }
      if (!ran) {
        trouble = ran.error();
        return {};
      }
      return {ran->report, ran->taken_known ? ran->taken : items};
    };
    progress_display display(progress_to());
    const auto original = t.items.size();
    const auto s = shrink(t.items, attempt_at, {line_.shrink_runs, std::chrono::seconds(line_.shrink_seconds)},
                          [&](std::size_t left, std::uint64_t runs) {
                            display.show("shrinking: " + std::to_string(original) + " -> " + std::to_string(left) +
                                         " choices, " + std::to_string(runs) + " runs");
                          });
    display.clear();
    if (!trouble.empty())
      parts_.err << trouble << std::endl;
    if (!s.reproduced)
      return complain("the tape did not fail when it was run again: nothing to shrink", exit_usage);
    t.items = s.items;
    t.expect = name_of(s.report.outcome);
    t.story += "shrunk from " + std::to_string(original) + " to " + std::to_string(s.items.size()) + " choices in " +
               std::to_string(s.runs) + " runs" + (s.minimal ? "\n" : ", then the limit was reached\n");
    t.story += std::string(name_of(s.report.outcome)) + ": " + s.report.checker + ": " + s.report.what + "\n";
    const auto path = !line_.save_file.empty()   ? line_.save_file
                      : !line_.tape_file.empty() ? line_.tape_file + ".min"
                                                 : "seed-" + std::to_string(t.seed) + ".tape.min";
    if (auto ok = write_file(path, to_text(t)); !ok)
      return complain(ok.error(), exit_files);
    if (!line_.quiet)
      parts_.err << t.story << "  " << recipe{parts_.name, "", "", 0, path}.command(s.report) << std::endl;
    return exit_code_of(s.report.outcome);
  }

  int regressions() {
    std::vector<std::string> paths;
    std::error_code ec;
    for (std::filesystem::directory_iterator i(line_.regressions_folder, ec), end; !ec && i != end; i.increment(ec))
      if (i->path().extension() == ".tape")
        paths.push_back(i->path().string());
    if (ec)
      return complain("cannot read " + line_.regressions_folder + ": " + ec.message(), exit_files);
    std::sort(paths.begin(), paths.end());
    figures f;
    std::uint64_t wrong = 0;
    for (const auto& path : paths) {
      auto t = read_tape(path);
      if (!t)
        return complain(t.error(), exit_files);
      auto how = prepare(*t);
      if (!how)
        return complain(path + ": " + how.error(), exit_usage);
      auto ran = run_isolated(*how, tape(t->seed, t->items));
      if (!ran)
        return complain(ran.error(), exit_files);
      const auto& r = ran->report;
      const auto expected = t->expect.empty() ? std::string(name_of(run_outcome::passed)) : t->expect;
      if (expected == name_of(r.outcome)) {
        if (!line_.quiet)
          parts_.err << "ok      " << path << "\n";
        continue;
      }
      ++wrong;
      // A mutant that is no longer found is as bad as a bug.
      f.add(r);
      ++f.outcomes[r.outcome == run_outcome::passed ? run_outcome::safety : r.outcome];
      parts_.err << "FAILED  " << path << ": expected " << expected << ", " << described(r, recipe_of_file(path));
    }
    if (!line_.quiet || wrong != 0)
      parts_.err << paths.size() - wrong << " as expected, " << wrong << " not" << std::endl;
    return exit_code_of(f);
  }

  const program_parts& parts_;
  const command_line line_;
  std::string command_;
};

} // namespace

int run_program(const std::vector<std::string>& words, const program_parts& parts) {
  auto line = parse_command_line(words, parts.names);
  if (!line) {
    parts.err << line.error() << "\n" << usage_of(parts) << std::flush;
    return exit_usage;
  }
  return program(parts, std::move(*line), words).execute();
}

} // namespace belay::sim
