#include "sim/record/report.hpp"

#include "protocol/base/hex.hpp"

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <sstream>

namespace belay::sim {

namespace json = boost::json;

namespace {

constexpr std::array all_outcomes = {run_outcome::passed, run_outcome::safety, run_outcome::liveness,
                                     run_outcome::nondeterminism};

std::string fixed(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

double per(double amount, double of) {
  return of > 0 ? amount / of : 0;
}

/// `a 1, b 2`
std::string listed(const std::map<std::string, std::uint64_t>& counts) {
  std::string out;
  for (const auto& [name, count] : counts)
    out += (out.empty() ? "" : ", ") + name + " " + std::to_string(count);
  return out.empty() ? "none" : out;
}

std::string described(const spread& s) {
  return "median " + std::to_string(s.percentile(50)) + " ms, p95 " + std::to_string(s.percentile(95)) + " ms, p99 " +
         std::to_string(s.percentile(99)) + " ms, max " + std::to_string(s.percentile(100)) + " ms";
}

/// Bars of at most 50 characters. Empty buckets are left out, because there are far outliers.
std::string drawn(const histogram_50ms& buckets) {
  std::uint64_t most = 1;
  for (const auto& [bucket, count] : buckets)
    most = std::max(most, count);
  std::string out;
  for (const auto& [bucket, count] : buckets) {
    char line[64];
    std::snprintf(line, sizeof line, "  %6u ms %8llu ", bucket * 50, static_cast<unsigned long long>(count));
    out += line + std::string(std::max<std::size_t>(1, static_cast<std::size_t>(count * 50 / most)), '#') + "\n";
  }
  return out;
}

/// The name of the longest wait, and its length.
std::pair<std::string, std::uint64_t> longest(const std::map<std::string, std::uint64_t>& waited_ms) {
  const auto most = std::max_element(waited_ms.begin(), waited_ms.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most == waited_ms.end())
    return {"nothing", 0};
  return *most;
}

std::string sent_slowly(const figures& f) {
  if (f.slow.empty())
    return "";
  std::map<std::string, std::uint64_t> reasons;
  for (const auto& s : f.slow)
    ++reasons[longest(s.waited_ms).first];
  auto out = "converged late         " + std::to_string(f.slow.size()) + " (above " +
             std::to_string(slow_convergence.count()) + " ms), most of it for: " + listed(reasons) + "\n";
  std::size_t shown = 0;
  for (auto s = f.slow.rbegin(); s != f.slow.rend() && shown < 10; ++s, ++shown)
    out += "  seed " + std::to_string(s->seed) + ": " + std::to_string(s->took.count()) + " ms (" +
           listed(s->waited_ms) + ")\n";
  return out;
}

json::object counts_object(const std::map<std::string, std::uint64_t>& counts) {
  json::object o;
  for (const auto& [name, count] : counts)
    o[name] = count;
  return o;
}

json::object spread_object(const spread& s) {
  return {
      {"median", s.percentile(50)}, {"p95", s.percentile(95)}, {"p99", s.percentile(99)}, {"max", s.percentile(100)}};
}

/// A word for a shell: quoted if needed.
std::string quoted(const std::string& word) {
  constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./=:+,@%";
  if (!word.empty() && word.find_first_not_of(plain) == word.npos)
    return word;
  std::string out = "'";
  for (char c : word)
    out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

void indent(const json::value& v, const std::string& margin, std::string& out) {
  const auto deeper = margin + "  ";
  bool first = true;
  const auto next = [&] {
    out += (first ? "\n" : ",\n") + deeper;
    first = false;
  };
  if (const auto* o = v.if_object(); o != nullptr && !o->empty()) {
    out += '{';
    for (const auto& member : *o) {
      next();
      out += json::serialize(json::string(member.key())) + ": ";
      indent(member.value(), deeper, out);
    }
    out += "\n" + margin + "}";
  } else if (const auto* a = v.if_array(); a != nullptr && !a->empty()) {
    out += '[';
    for (const auto& element : *a) {
      next();
      indent(element, deeper, out);
    }
    out += "\n" + margin + "]";
  } else if (const auto* d = v.if_double(); d != nullptr) {
    // Boost.JSON would write 1.5E0.
    out += fixed(*d, 3);
  } else {
    out += json::serialize(v);
  }
}

} // namespace

int exit_code_of(run_outcome v) {
  switch (v) {
  case run_outcome::passed:
    return exit_passed;
  case run_outcome::safety:
    return exit_safety;
  case run_outcome::liveness:
    return exit_liveness;
  case run_outcome::nondeterminism:
    return exit_nondeterminism;
  }
  return exit_safety;
}

std::uint64_t spread::size() const {
  std::uint64_t n = 0;
  for (const auto& [value, count] : counts_)
    n += count;
  return n;
}

std::uint64_t spread::percentile(unsigned percent) const {
  PRECONDITION(percent > 0 && percent <= 100);
  const auto needed = (size() * percent + 99) / 100;
  std::uint64_t seen = 0;
  for (const auto& [value, count] : counts_) {
    seen += count;
    if (seen >= needed)
      return value;
  }
  return 0;
}

histogram_50ms spread::buckets() const {
  histogram_50ms out;
  for (const auto& [value, count] : counts_)
    out[static_cast<std::uint32_t>(value / 50)] += count;
  return out;
}

void figures::add(const run_report& r) {
  ++runs;
  ++outcomes[r.outcome];
  virtual_seconds += r.duration;
  events += r.events;
  choices += r.choices;
  operations += r.operations;
  done += r.done;
  refused += r.refused;
  unknown += r.unknown;
  elections += r.elections;
  wrongly_released_locks += r.wrongly_released_locks;
  for (const auto& [name, count] : r.faults)
    faults[name] += count;
  if (r.outcome == run_outcome::passed) {
    heal_to_convergence.add(r.heal_to_convergence);
    last_fault_to_convergence.add(r.last_fault_to_convergence);
    longest_write_gap.add(r.longest_write_gap);
    if (r.heal_to_convergence > slow_convergence)
      slow.insert({r.heal_to_convergence, r.seed, r.waited_ms});
  } else {
    const auto by_seed = [](const run_report& a, const run_report& b) { return a.seed < b.seed; };
    failures.insert(std::upper_bound(failures.begin(), failures.end(), r, by_seed), r);
  }
}

void figures::add_probes(const std::map<std::string, std::uint64_t>& reached) {
  for (const auto& [name, count] : reached)
    probes[name] += count;
}

std::uint64_t figures::of(run_outcome v) const {
  const auto it = outcomes.find(v);
  return it == outcomes.end() ? 0 : it->second;
}

int exit_code_of(const figures& f) {
  if (f.of(run_outcome::safety) > 0 || !f.missing_probes.empty())
    return exit_safety;
  if (f.of(run_outcome::nondeterminism) > 0)
    return exit_nondeterminism;
  if (f.of(run_outcome::liveness) > 0)
    return exit_liveness;
  return f.interrupted ? exit_interrupted : exit_passed;
}

std::string recipe::command(const run_report& failed) const {
  auto out = quoted(program);
  out += tape_file.empty() ? " --seed " + std::to_string(failed.seed) : " --replay " + quoted(tape_file);
  if (!profile.empty())
    out += " --" + profile_flag + " " + quoted(profile);
  if (!mutant.empty())
    out += " --mutant " + quoted(mutant);
  if (virtual_seconds != 0)
    out += " --virtual-seconds " + std::to_string(virtual_seconds);
  if (failed.outcome == run_outcome::nondeterminism)
    out += " --twice";
  return out + " --trace";
}

std::set<std::string> parse_required_probes(std::string_view text) {
  std::set<std::string> names;
  std::istringstream in{std::string(text)};
  for (std::string line; std::getline(in, line);) {
    const auto last = line.find_last_not_of(" \t\r");
    line.resize(last == line.npos ? 0 : last + 1);
    if (!line.empty() && !line.starts_with('#'))
      names.insert(line);
  }
  return names;
}

std::set<std::string> missing(const std::set<std::string>& required,
                              const std::map<std::string, std::uint64_t>& reached) {
  std::set<std::string> out;
  for (const auto& name : required)
    if (const auto it = reached.find(name); it == reached.end() || it->second == 0)
      out.insert(name);
  return out;
}

std::string described(const run_report& r, const recipe& how) {
  auto out = "seed " + std::to_string(r.seed) + ": " + name_of(r.outcome);
  if (r.outcome == run_outcome::passed)
    return out + " (" + std::to_string(r.events) + " events, " + std::to_string(r.operations) + " operations, " +
           fixed(std::chrono::duration<double>(r.duration).count(), 1) + " virtual seconds, converged " +
           std::to_string(r.heal_to_convergence.count()) + " ms after the faults, trace " + to_hex(r.trace_hash) +
           ")\n";
  return out + ": " + r.checker + ": " + r.what + "\n  " + how.command(r) + "\n";
}

std::string described(const figures& f, const recipe& how) {
  std::ostringstream out;
  const auto wall = f.wall.count();
  out << f.runs << " runs in " << fixed(wall, 1) << " s: " << f.of(run_outcome::passed) << " passed";
  for (const auto v : all_outcomes)
    if (v != run_outcome::passed && f.of(v) > 0)
      out << ", " << f.of(v) << " " << name_of(v);
  out << (f.interrupted ? " (interrupted)\n" : "\n");
  out << "virtual time           " << fixed(f.virtual_seconds.count() / 3600, 2) << " h, "
      << fixed(per(f.virtual_seconds.count(), wall), 0) << " times as fast as real\n";
  out << "events                 " << f.events << ", " << fixed(per(static_cast<double>(f.events), wall), 0)
      << " per second; " << fixed(per(60.0 * static_cast<double>(f.runs), wall), 0) << " seeds per minute\n";
  out << "operations             " << f.operations << ": " << f.done << " done, " << f.refused << " refused, "
      << f.unknown << " unknown\n";
  out << "elections              " << f.elections << "\n";
  out << "wrongly released locks " << f.wrongly_released_locks << "\n";
  out << "faults                 " << listed(f.faults) << "\n";
  out << "probes                 " << listed(f.probes) << "\n";
  out << "longest write gap      " << described(f.longest_write_gap) << "\n";
  out << "heal to convergence    " << described(f.heal_to_convergence) << "\n"
      << drawn(f.heal_to_convergence.buckets());
  out << "the same, without faults that last: " << described(f.last_fault_to_convergence) << "\n" << sent_slowly(f);
  for (const auto& name : f.missing_probes)
    out << "never reached: " << name << "\n";
  for (const auto& r : f.failures)
    out << described(r, how);
  return out.str();
}

std::string progress_line(const figures& f, std::uint64_t total, std::chrono::duration<double> wall) {
  const auto rate = per(static_cast<double>(f.runs), wall.count());
  auto out = std::to_string(f.runs) + "/" + std::to_string(total) + "  " +
             std::to_string(f.runs - f.of(run_outcome::passed)) + " failed  " + fixed(rate * 60, 0) + " seeds/min";
  if (rate > 0 && total >= f.runs) {
    const auto left = static_cast<std::uint64_t>(std::ceil(static_cast<double>(total - f.runs) / rate));
    const auto seconds = std::to_string(left % 60);
    out += "  ETA " + std::to_string(left / 60) + (seconds.size() == 1 ? ":0" : ":") + seconds;
  }
  return out;
}

json::object to_json(const figures& f, const recipe& how, const std::string& command) {
  json::object o;
  o["format"] = 1;
  o["command"] = command;
  o["profile"] = how.profile;
  o["mutant"] = how.mutant;
  o["interrupted"] = f.interrupted;
  o["runs"] = f.runs;
  auto& outcomes = o["verdicts"].emplace_object();
  for (const auto v : all_outcomes)
    outcomes[name_of(v)] = f.of(v);
  o["wall_seconds"] = f.wall.count();
  o["virtual_hours"] = f.virtual_seconds.count() / 3600;
  o["events"] = f.events;
  o["choices"] = f.choices;
  o["events_per_second"] = per(static_cast<double>(f.events), f.wall.count());
  o["seeds_per_minute"] = per(60.0 * static_cast<double>(f.runs), f.wall.count());
  o["operations"] =
      json::object{{"asked", f.operations}, {"done", f.done}, {"refused", f.refused}, {"unknown", f.unknown}};
  o["elections"] = f.elections;
  o["wrongly_released_locks"] = f.wrongly_released_locks;
  auto heal = spread_object(f.heal_to_convergence);
  auto& buckets = heal["buckets"].emplace_object();
  for (const auto& [bucket, count] : f.heal_to_convergence.buckets())
    buckets[std::to_string(bucket * 50)] = count;
  auto& slow = heal["slow"].emplace_array();
  for (auto s = f.slow.rbegin(); s != f.slow.rend(); ++s)
    slow.push_back(
        json::object{{"seed", s->seed}, {"ms", s->took.count()}, {"waited_ms", counts_object(s->waited_ms)}});
  o["heal_to_convergence_ms"] = std::move(heal);
  o["last_fault_to_convergence_ms"] = spread_object(f.last_fault_to_convergence);
  o["longest_write_gap_ms"] = spread_object(f.longest_write_gap);
  o["faults"] = counts_object(f.faults);
  o["probes"] = counts_object(f.probes);
  o["missing_probes"] = json::array(f.missing_probes.begin(), f.missing_probes.end());
  auto& failures = o["failures"].emplace_array();
  for (const auto& r : f.failures)
    failures.push_back(
        json::object{{"seed", r.seed},
                     {"verdict", name_of(r.outcome)},
                     {"checker", r.checker},
                     {"text", r.what},
                     {"trace_hash", to_hex(r.trace_hash)},
                     {"events", r.events},
                     {"virtual_ms", std::chrono::duration_cast<std::chrono::milliseconds>(r.duration).count()},
                     {"replay", how.command(r)}});
  return o;
}

std::string pretty(const json::value& v) {
  std::string out;
  indent(v, "", out);
  return out + "\n";
}

json::object to_json(const run_report& r) {
  return {{"seed", r.seed},
          {"outcome", name_of(r.outcome)},
          {"checker", r.checker},
          {"what", r.what},
          {"trace_hash", r.trace_hash},
          {"events", r.events},
          {"duration", r.duration.count()},
          {"choices", r.choices},
          {"operations", r.operations},
          {"done", r.done},
          {"refused", r.refused},
          {"unknown", r.unknown},
          {"elections", r.elections},
          {"heal_to_convergence", r.heal_to_convergence.count()},
          {"last_fault_to_convergence", r.last_fault_to_convergence.count()},
          {"longest_write_gap", r.longest_write_gap.count()},
          {"wrongly_released_locks", r.wrongly_released_locks},
          {"waited_ms", counts_object(r.waited_ms)},
          {"faults", counts_object(r.faults)}};
}

/// Parses what to_json() wrote. A missing member, or one of another type, makes the whole report
/// invalid.
result<run_report> report_from_json(const json::value& v) {
  const auto* o = v.if_object();
  if (o == nullptr)
    return failure{"a report is an object"};
  bool complete = true;
  const auto text = [&](const char* name) {
    const auto* m = o->if_contains(name);
    complete = complete && m != nullptr && m->is_string();
    return complete ? std::string(m->get_string()) : std::string();
  };
  const auto number = [&](const json::value* m) {
    boost::system::error_code ec;
    const auto n = m == nullptr ? 0 : m->to_number<std::uint64_t>(ec);
    complete = complete && m != nullptr && !ec;
    return n;
  };
  const auto member = [&](const char* name) { return number(o->if_contains(name)); };
  run_report r;
  const auto outcome = text("outcome");
  const auto named =
      std::find_if(all_outcomes.begin(), all_outcomes.end(), [&](run_outcome x) { return outcome == name_of(x); });
  if (named == all_outcomes.end())
    return failure{"no verdict: " + outcome};
  r.outcome = *named;
  r.seed = member("seed");
  r.checker = text("checker");
  r.what = text("what");
  r.trace_hash = member("trace_hash");
  r.events = member("events");
  r.duration = virtual_time(member("duration"));
  r.choices = member("choices");
  r.operations = member("operations");
  r.done = member("done");
  r.refused = member("refused");
  r.unknown = member("unknown");
  r.elections = member("elections");
  r.heal_to_convergence = std::chrono::milliseconds(member("heal_to_convergence"));
  r.last_fault_to_convergence = std::chrono::milliseconds(member("last_fault_to_convergence"));
  r.longest_write_gap = std::chrono::milliseconds(member("longest_write_gap"));
  r.wrongly_released_locks = member("wrongly_released_locks");
  const auto counts = [&](const char* name, std::map<std::string, std::uint64_t>& into) {
    const auto* m = o->if_contains(name);
    complete = complete && m != nullptr && m->is_object();
    for (const auto& c : complete ? m->get_object() : json::object())
      into[std::string(c.key())] = number(&c.value());
  };
  counts("faults", r.faults);
  counts("waited_ms", r.waited_ms);
  if (!complete)
    return failure{"a report with a member missing or of another kind"};
  return r;
}

} // namespace belay::sim
